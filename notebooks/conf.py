"""Settings of the documentation site, which Sphinx builds from this folder, without a network.

    sphinx-build -W notebooks build/site

Notebooks are shown with the outputs that are stored in them. `-D nb_execution_mode=force` runs them, as CI does.
"""

import base64
import io
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from PIL import Image, ImageOps
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

import bayesnb
from bayesnb import mcmc, scale
from bayesnb.datasets import penguins
from bayesnb.plots import COLOURS
from bayesnb.report import report

logger = getLogger(__name__)
HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))
from tests import page_examples  # noqa: E402

# What a build makes: pages of the reference, the gallery's cards, pictures.
GENERATED = HERE / "generated"
# Files of the site that are no pages of Sphinx: the report to look at.
COPIED = GENERATED / "copied"
DRAWS = re.compile(r"plot_\w+\(|\.plot\(|plt\.subplots\(")  # an example with a picture
DRAWN = "picture"  # stands for the alternative text of an example's picture
# A line of the guide's table.
QUESTION = re.compile(r"^\| ([^|]+) \| (.*) \|$", flags=re.MULTILINE)
AIM = re.compile(r"^- (.+?)[,.]?$", flags=re.MULTILINE)
PAGE = re.compile(r"\]\(([\w-]+)\.md\)")
SENTENCE = re.compile(r"(?<=[.?!]) ")
LOADED = re.compile(  # what a page would fetch when it is opened
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|icon))[^>]*\bhref=[\"']?(?:https?:)?//"
    r"|(?:@import|url\()\s*[\"']?(?:https?:)?//"
)
STYLE = {  # of pictures
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=COLOURS),
}
# A reference, its text, and perhaps its label.
MANUAL = re.compile(r":(?:ref|term):`([^<`]*?)\s*(?:<[^`]*>)?`")
ROOMS = {"bayesnb": bayesnb, "bayesnb.mcmc": mcmc, "bayesnb.scale": scale}
METHODS = [
    name for name in dir(bayesnb.NaiveBayes) if name.islower() and name[0] != "_"
]
TARGETS = (  # what inline code links to; the last of two equal names counts
    {
        f"{kind}{name}": f"bayesnb.NaiveBayes.{name}"
        for name in METHODS
        for kind in ("", "NaiveBayes.")
    }
    | {
        f"{room}.{name}": f"{room}.{name}"
        for room, module in ROOMS.items()
        for name in module.__all__
    }
    | {
        f"{room.removeprefix('bayesnb.')}.{name}": f"{room}.{name}"
        for room, m in ROOMS.items()
        for name in m.__all__
    }
    | {name: f"bayesnb.{name}" for name in bayesnb.__all__}
    | dict.fromkeys(("report", "bayesnb.report"), "bayesnb.report.report")
)

project = "bayesnb"
author = "the authors of bayesnb"
version = release = bayesnb.__version__
html_title = f"bayesnb {version}"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
]
exclude_patterns = ["templates", "generated/cards.md"]
templates_path = ["templates"]
default_role = "py:obj"
highlight_language = "none"  # where a block does not say what it is
smartquotes = False  # temper="loo" is code, even in a table
toc_object_entries_show_parents = "hide"
# A function of this file is no reason to distrust what was built before.
suppress_warnings = ["config.cache"]

nb_execution_mode = "off"
nb_execution_timeout = 900
nb_execution_in_temp = True
nb_execution_raise_on_error = True
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "alphabetical"
numpydoc_show_class_members = False  # the templates list them
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["generated/copied"]
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"text": "bayesnb"},
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
copyright = f"{author}. BSD-3-Clause"


def write_report(app: Sphinx, config: Any) -> None:
    """Write the report about the penguins, which the home page links to."""
    shutil.rmtree(GENERATED, ignore_errors=True)  # pages of names that are gone
    COPIED.mkdir(parents=True)
    table = penguins().drop(columns="year")
    X, y = table.drop(columns="species"), table["species"]
    report(bayesnb.NaiveBayes(), X, y, progress=False).save(
        COPIED / "penguins-report.html"
    )


def read_aim(cells: list[dict[str, Any]]) -> str:
    """Return, as a sentence, the first line of what a reader of a notebook will be able to do."""
    aim = AIM.search("".join(cells[0]["source"]))[1]
    return f"{aim[0].upper()}{aim[1:]}."


def write_gallery(app: Sphinx, config: Any) -> None:
    """Write a card for each notebook: its title, its largest picture as thumbnail, and its first aim."""
    cards = ["::::{grid} 1 2 2 3", ":gutter: 3", ""]
    for path in sorted(HERE.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        title = "".join(cells[0]["source"]).splitlines()[0].removeprefix("# ")
        start = " {bdg-primary}`start here`" if path.name[0] == "1" else ""
        card = [
            f":::{{grid-item-card}} {path.name[0]}. {title}{start}",
            f":link: {path.stem}",
            ":link-type: doc",
        ]
        shown = [
            output.get("data", {})
            for cell in cells
            for output in cell.get("outputs", ())
        ]
        if pictures := [data["image/png"] for data in shown if "image/png" in data]:
            picture = Image.open(
                io.BytesIO(base64.b64decode(max(pictures, key=len)))
            ).convert("RGB")
            ImageOps.pad(picture, (480, 280), color="white").save(
                GENERATED / f"{path.stem}.png", optimize=True
            )
            card += [f":img-top: generated/{path.stem}.png"]
        cards += [*card, "", read_aim(cells), ":::", ""]
    (GENERATED / "cards.md").write_text(
        "\n".join([*cards, "::::", ""]), encoding="utf-8"
    )


def show_pictures(app: Sphinx, docname: str, source: list[str]) -> None:
    """Run a page's examples where they draw something, and show each picture below its example."""
    text = source[0]
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".md" or not any(
        DRAWS.search(each.code) for each in page_examples.examples(text)
    ):
        return
    plt.rcParams.update(STYLE)
    shown = []
    for number, _ in enumerate(page_examples.outputs(text, path.name)):
        lines = [""]
        for figure in map(plt.figure, plt.get_fignums()):
            name = f"generated/{docname}-{number}-{figure.number}.svg"
            figure.savefig(HERE / name, bbox_inches="tight")
            lines.append(f"![{DRAWN}]({name})")
        plt.close("all")
        shown.append("\n\n".join(lines))
    pictures = iter(shown)
    source[0] = page_examples.BLOCK.sub(lambda match: match[0] + next(pictures), text)


def adapt_docstring(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Show diagrams in modules' docstrings as they are, and references to scikit-learn's manual as text."""
    lines[:] = [MANUAL.sub(r"\1", line) for line in lines]
    if what == "module":
        for at in range(len(lines) - 2):
            if (
                lines[at].endswith(":")
                and not lines[at + 1]
                and lines[at + 2].startswith("    ")
            ):
                lines[at] += ":"


def link_inline_code(app: Sphinx, doctree: nodes.document) -> None:
    """Make inline code that is a public name a link to the page of that name in the reference."""
    for literal in list(doctree.findall(nodes.literal)):
        target = TARGETS.get(literal.astext().partition("(")[0])
        inside = isinstance(
            literal.parent, (nodes.reference, nodes.title, pending_xref)
        )
        if target and not inside:
            link = pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=target,
                refdoc=app.env.docname,
            )
            literal.replace_self(link)
            link += literal


def describe_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Give pictures of cells and examples the heading above them as alternative text."""
    for image in doctree.findall(nodes.image):
        if image.get("alt") in (None, DRAWN):
            section = image.parent
            while not isinstance(section, nodes.section):
                section = section.parent
            image["alt"] = section[0].astext()


def show_paper(app: Sphinx, docname: str, source: list[str]) -> None:
    """Make the paper, which is written for a journal's pandoc, a page with names, years and a list of references."""
    if docname != "paper":
        return
    head, text = re.fullmatch(r"---\n(.*?)---\n(.*)", source[0], re.DOTALL).groups()
    listed, names = [], {}
    for key, body in re.findall(
        r"@\w+\{(\w+),\n(.*?)\n\}", (HERE / "paper.bib").read_text("utf-8"), re.DOTALL
    ):
        entry = dict(re.findall(r"(\w+) = \{(.*)\}", body))
        authors = entry["author"].split(" and ")
        families = [author.split(",")[0] for author in authors]
        names[key] = (
            " and ".join(families) if len(families) < 3 else families[0] + " et al."
        ) + f" {entry['year']}"
        venue = entry.get("journal") or entry.get("booktitle") or entry["organization"]
        where = (
            "https://doi.org/" + entry["doi"]
            if "doi" in entry
            else entry.get("url", "")
        )
        line = f"- {'; '.join(authors)} ({entry['year']}). *{entry['title']}.* {venue}. {where and f'<{where}>'}"
        listed.append(re.sub(r"[{}]", "", line))
    text = re.sub(r"\[(@[^]]+)\]", lambda match: f"({match[1]})", text)
    text = re.sub(r"@(\w+)", lambda match: names[match[1]], text)
    title = re.search(r'title: "(.*)"', head)[1]
    source[0] = (
        f"# {title}\n\n"
        + re.sub("^#", "##", text, flags=re.MULTILINE)
        + "\n"
        + "\n".join(listed)
        + "\n"
    )


def math(self: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers lay out without a script."""
    block = isinstance(node, nodes.math_block)
    tex = node.astext().replace(r"\dots", r"\ldots")  # which docutils does not know
    tex = tex.replace(r"\log ", r"\log\,")  # it sets no space either
    self.body.append(tex2mathml(tex, as_block=block))
    raise nodes.SkipNode


def write_overview(app: Sphinx, exception: Exception | None) -> None:
    """Write llms.txt (https://llmstxt.org): a link to every page, and what it is about."""
    if exception or app.builder.format != "html":
        return
    rows = QUESTION.findall((HERE / "guide.md").read_text(encoding="utf-8"))
    questions = {
        page: question for question, links in rows for page in PAGE.findall(links)
    }
    home, pages = app.config.root_doc, app.env.toctree_includes
    lines = ["# bayesnb", "", f"> {first_paragraph(app, home)}"]
    for section in pages[home]:
        lines += ["", f"## {app.env.titles[section].astext()}", ""]
        for page in pages[section]:
            title = app.env.titles[page].astext()
            about = questions.get(page, title)
            if (notebook := HERE / f"{page}.ipynb").exists():
                about = read_aim(
                    json.loads(notebook.read_text(encoding="utf-8"))["cells"]
                )
            elif about == title:
                about = SENTENCE.split(first_paragraph(app, page))[0]
            lines.append(f"- [{title}]({app.builder.get_target_uri(page)}): {about}")
    (app.outdir / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


def first_paragraph(app: Sphinx, docname: str) -> str:
    """Return a page's first paragraph, in one line."""
    return " ".join(
        next(app.env.get_doctree(docname).findall(nodes.paragraph)).astext().split()
    )


def refuse_network(app: Sphinx, exception: Exception | None) -> None:
    """Warn, which `-W` makes an error, of pages that load something from elsewhere when they are opened."""
    written = (
        [] if exception else [*app.outdir.rglob("*.html"), *app.outdir.rglob("*.css")]
    )
    for page in written:
        if load := LOADED.search(page.read_text(encoding="utf-8")):
            logger.warning(
                "%s loads something from the network: %s", page.name, load[0]
            )


def setup(app: Sphinx) -> None:
    """Register the functions above."""
    app.add_html_math_renderer("mathml", (math, None), (math, None))
    app.connect("config-inited", write_report)
    app.connect("config-inited", write_gallery)
    app.connect("source-read", show_pictures)
    app.connect("source-read", show_paper)
    # before numpydoc
    app.connect("autodoc-process-docstring", adapt_docstring, priority=400)
    app.connect("doctree-read", link_inline_code)
    app.connect("doctree-read", describe_pictures)
    app.connect("build-finished", write_overview)
    app.connect("build-finished", refuse_network)
