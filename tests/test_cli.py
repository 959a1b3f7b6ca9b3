"""The command line: data on stdout, talk on stderr, codes 0, 1 and 2, and whole files only."""

import subprocess
import sys
from pathlib import Path

import pytest

from bayesnb.cli import main
from bayesnb.datasets import EXAMPLES, path

HEAVY = ("numpy", "pandas", "matplotlib", "sklearn", "numba")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_report_without_a_table_is_about_the_penguins(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["report"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1] == "Wrote report.html"
    assert "accuracy 98.3" in said.err
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "Predicting species" in html
    assert "The column year says when a penguin was measured" in html
    assert "bayesnb report" in html
    assert [file.name for file in folder.iterdir()] == ["report.html"]


@pytest.mark.parametrize(("name", "mark"), [("dogs.csv", ","), ("dogs.tsv", "\t")])
def test_report_reads_the_users_table(name: str, mark: str, folder: Path) -> None:
    write(name, path("dogs").read_text(encoding="utf-8").replace(",", mark))
    assert main(["report", name, "--target", "breed", "-o", "out.html"]) == 0
    html = (folder / "out.html").read_text(encoding="utf-8")
    assert "Predicting breed" in html
    assert name in html
    assert str(folder) not in html


def test_labels_that_are_missing_are_counted(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["report", "--target", "sex"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "'sex': 11 of 344 labels are missing, first at row 3. Drop those rows" in said
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["report", "none.csv", "--target", "a"], "none.csv: No such file"),
        (["report", "one.csv", "--target", "nowhere"], "has no column 'nowhere'; it has 'a', 'b'"),
        (["report", "empty.csv", "--target", "a"], "empty.csv: "),
        (["report", "odd.csv", "--target", "a"], "odd.csv: "),
        (["report", "header.csv", "--target", "a"], "0 sample(s)"),
        (["report", "one.xlsx", "--target", "a"], "only .csv and .tsv"),
        (["report", "real.csv", "--target", "a"], "Unknown label type"),
    ],
)
def test_a_job_that_fails_says_why_in_one_line(
    words: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    write("one.csv", "a,b\nx,1\ny,2\n")
    write("empty.csv", "")
    write("odd.csv", 'a,b\nx,1\ny,2,3\n"')
    write("header.csv", "a,b\n")
    write("real.csv", "a,b\n0.1,1\n0.2,2\n0.7,3\n")
    before = set(folder.iterdir())
    assert main(words) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith("bayesnb: ")
    assert told in said.err
    assert "Traceback" not in said.err
    assert set(folder.iterdir()) == before


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(FileNotFoundError):
        main(["report", "none.csv", "--target", "a", "--debug"])


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["rapport"],
        ["report", "--nonsense"],
        ["report", "table.csv"],
        ["report", "-o", "."],
        ["report", "-o", "no/such/folder/report.html"],
        ["data", "cats"],
    ],
)
def test_bad_usage_is_2(words: list[str], capsys: pytest.CaptureFixture) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err


def test_help_is_0_and_has_examples(capsys: pytest.CaptureFixture) -> None:
    assert main(["--help"]) == 0
    assert "bayesnb report customers.csv --target churned" in capsys.readouterr().out


def test_data_lists_and_writes_the_examples(capsys: pytest.CaptureFixture) -> None:
    assert main(["data"]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == [*EXAMPLES]
    assert main(["data", "penguins"]) == 0
    assert capsys.readouterr().out == path("penguins").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_finished_leaves_the_old_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def full(self: Path, text: str, **how: str) -> int:
        with self.open("w") as file:
            file.write(text[:100])
        raise OSError(28, "No space left on device", str(self))

    write("report.html", "the old one")
    monkeypatch.setattr(Path, "write_text", full)
    assert main(["report"]) == 1
    assert "No space left" in capsys.readouterr().err
    assert [file.name for file in folder.iterdir()] == ["report.html"]
    assert (folder / "report.html").read_text() == "the old one"


def test_help_loads_nothing_heavy() -> None:
    code = (
        f"import sys; from bayesnb.cli import main; main(['--help']); sys.exit(any(m in sys.modules for m in {HEAVY}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_the_package_runs_as_a_module_and_returns_the_code() -> None:
    run = [sys.executable, "-m", "bayesnb"]
    assert subprocess.run([*run, "data"], capture_output=True, check=False).returncode == 0
    assert subprocess.run([*run, "data", "cats"], capture_output=True, check=False).returncode == 2


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m bayesnb data penguins | head -1", shell=True, capture_output=True, check=False, text=True
    )
    assert done.stdout.startswith("species,island")
    assert done.stderr == ""


def test_a_page_may_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "-o", "-"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("<!doctype html>")
    assert "Wrote the page to stdout" in said.err
