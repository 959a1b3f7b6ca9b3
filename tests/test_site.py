"""What builds the documentation site notices what is wrong with one; `python -m tests.site` checks the site itself."""

import re
from pathlib import Path

import pytest

import bayesnb
from tests.notebooks import FOLDER, ROOT
from tests.site import broken, methods, public_names, served, undescribed, unexplained
from tests.test_docstrings import BELIEF


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Two pages, one of them in a folder, with nothing wrong."""
    (tmp_path / "generated").mkdir()
    (tmp_path / "style.css").write_text("")
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="style.css?v=1"><h1 id="top">A</h1><a href="generated/b.html#here">b</a>'
        '<a href="#top">up</a><a href="https://example.org/#x">far</a><img src="data:image/png;base64,AA">'
    )
    (tmp_path / "generated" / "b.html").write_text('<p id="here">B</p><a href="../index.html">back</a>')
    return tmp_path


def test_a_sound_site_has_no_broken_link(site: Path) -> None:
    assert [*broken(site)] == []


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a href="missing.html">x</a>', "index.html: missing.html leads nowhere"),
        ('<a href="generated/b.html#there">x</a>', "there is no there where generated/b.html#there leads"),
        ('<a href="#nowhere">x</a>', "there is no nowhere where #nowhere leads"),
        ('<img src="missing.png">', "missing.png leads nowhere"),
        ('<script src="https://cdn.example.org/a.js"></script>', "loads https://cdn.example.org/a.js from elsewhere"),
        ('<link rel="stylesheet" href="//fonts.example.org/a.css">', "loads //fonts.example.org/a.css from elsewhere"),
    ],
)
def test_what_is_broken_is_noticed(site: Path, html: str, problem: str) -> None:
    with (site / "index.html").open("a") as file:
        file.write(html)
    assert any(problem in line for line in broken(site))


def test_a_name_without_a_page_is_noticed(site: Path) -> None:
    (site / "generated" / "room.there.html").write_text('<dt id="room.there">')
    (site / "generated" / "room.empty.html").write_text("<h1>room.empty</h1>")
    (site / "generated" / "bayesnb.NaiveBayes.html").write_text('<dt id="bayesnb.NaiveBayes.fit">')
    assert [*unexplained(site, ["room.there"])] == []
    assert [*unexplained(site, ["room.gone", "room.empty"])] == [
        "room.gone has no page in the reference",
        "the page of room.empty does not describe it",
    ]
    assert [*undescribed(site, ["fit", "predict"])] == ["the page of NaiveBayes does not describe predict"]


def test_the_reference_lists_every_public_name() -> None:
    listed = set(re.findall(r"^   ([\w.]+)$", (FOLDER / "reference.md").read_text(), flags=re.MULTILINE))
    assert {f"bayesnb.{name}" for name in listed} >= {*public_names()}
    assert {f"bayesnb.{name}" for name in bayesnb.__all__} <= {*public_names()}
    assert {"fit", "predict_interval", "loo", "decide", "save", "merge"} <= {*methods()}


def test_the_reference_describes_the_methods_of_beliefs_that_have_complete_docstrings() -> None:
    template = (FOLDER / "templates" / "autosummary" / "class.rst").read_text()
    assert re.findall(r":members: (.+)", template) == [", ".join(BELIEF.split())]


def test_every_page_is_in_a_table_of_contents() -> None:
    pages = {page.stem for page in FOLDER.glob("*.md")} - {"index"}
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", "".join(p.read_text() for p in FOLDER.glob("*.md")), re.DOTALL)
    assert pages == {line for block in blocks for line in block.split("\n") if re.fullmatch(r"[a-z][\w-]*", line)}


def test_a_plain_environment_does_not_install_what_builds_the_site() -> None:
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert any(package.startswith("sphinx>") for package in settings["dependency-groups"]["docs"])
    assert not any("sphinx" in package for package in settings["dependency-groups"]["dev"])
    assert "default-groups" not in settings.get("tool", {}).get("uv", {})  # so it is dev alone


def test_pictures_of_the_pages_are_small() -> None:
    for picture in (*FOLDER.glob("*.png"), *FOLDER.glob("*.svg")):
        assert picture.stat().st_size < 150_000, picture.name


def test_a_folder_is_served(site: Path) -> None:
    from urllib.request import urlopen

    with served(site) as address, urlopen(f"{address}/generated/b.html") as answer:
        assert b"here" in answer.read()
