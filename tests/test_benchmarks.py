"""The benchmarks run, agree with scikit-learn, and notice a missed target. No test here depends on a time."""

import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.benchmarks import __main__ as running
from tests.benchmarks import cold, scaled
from tests.benchmarks.__main__ import main
from tests.benchmarks.calibrated import METHODS, SPLITS, TRUST
from tests.benchmarks.records import Results, Scaling, Start, Timing
from tests.benchmarks.scaling import GROWING
from tests.benchmarks.sureness import AUTO, EXACT, SURENESS, UNCERTAINTY
from tests.benchmarks.workloads import WORKLOADS

NAMES = ["G1", "G1-holes", "C1", "P1", "P1-20"]
SURE = ["U-C8", "U-G16-10"]
TRUSTED = ["Q-iris"]
ALONE = ["--seconds", "0", "--no-slopes", "--no-starts"]
TINY = ["--scale", "0.002", *ALONE, "--only", ",".join(["G1,C1,P1", *SURE, *TRUSTED])]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the figures and the picture of a tiny run."""
    folder = tmp_path_factory.mktemp("benchmarks")
    files = ["--json", str(folder / "run.json"), "--picture", str(folder / "run.svg")]
    assert main([*TINY, *files]) == 0
    return folder


def changed(run: Path, kind: str, **change: Any) -> str:
    """The path of a copy of the figures in which every record of a kind is changed, and no other kind is kept."""
    said = json.loads((run / "run.json").read_text())
    path = run / "changed.json"
    path.write_text(json.dumps({"machine": said["machine"], kind: [{**entry, **change} for entry in said[kind]]}))
    return str(path)


@pytest.mark.slow
def test_a_run_times_both_sides_of_every_workload_asked_for(run: Path) -> None:
    results = Results.from_json((run / "run.json").read_text())
    assert list(dict.fromkeys(t.workload for t in results.timings)) == NAMES
    assert all(t.times == t.theirs / t.ours > 0 and t.spread[0] <= t.spread[1] for t in results.timings)
    assert {"numpy", "scikit-learn", "bayesnb"} <= set(results.machine["versions"])


@pytest.mark.slow
def test_a_run_times_everything_that_says_how_sure_a_prediction_is(run: Path) -> None:
    costs = Results.from_json((run / "run.json").read_text()).costs
    assert list(dict.fromkeys(c.workload for c in costs)) == SURE
    for name in SURE:
        assert {*AUTO, *EXACT, *UNCERTAINTY} <= {c.operation for c in costs if c.workload == name}
    assert all(c.times == c.seconds / c.other > 0 and c.spread[0] <= c.spread[1] for c in costs)


@pytest.mark.slow
def test_a_run_scores_every_method_on_rows_that_it_did_not_learn(run: Path) -> None:
    found = Results.from_json((run / "run.json").read_text()).qualities
    assert [(own.workload, own.size, own.method) for own in found] == list(product(TRUSTED, SPLITS, METHODS))
    assert [own.rows for own in found] == [15] * len(METHODS) + [100] * len(METHODS)
    assert all(0 < own.accuracy <= 1 and 0 < own.brier < 2 and 0 <= own.ece <= 1 for own in found)
    loss = {own.method: own.log_loss for own in found if own.size == "few"}
    assert loss["integrated"] < loss["scikit-learn"] / 2


def test_rows_that_are_learnt_are_not_asked_for() -> None:
    y = np.repeat([0, 1, 2], [5, 20, 11])
    for split in SPLITS.values():
        for known, asked in split(y, 3):
            assert sorted([*known, *asked]) == list(range(36))
            assert set(y[known]) == {0, 1, 2}


@pytest.mark.slow
def test_a_quick_run_times_only_what_has_an_aim(tmp_path: Path) -> None:
    path = tmp_path / "quick.json"
    main([*ALONE, "--only", "U-C8", "--json", str(path)])
    costs = Results.from_json(path.read_text()).costs
    assert [c.operation for c in costs] == [*AUTO, *EXACT]
    assert all(c.most is not None for c in costs)


@pytest.mark.slow
def test_a_run_gives_scikit_learns_numbers(run: Path) -> None:
    agreements = Results.from_json((run / "run.json").read_text()).agreements
    assert [a.workload for a in agreements] == ["G1", "C1"]
    assert all(a.difference < 1e-9 for a in agreements)


@pytest.mark.slow
def test_figures_survive_json(run: Path) -> None:
    text = (run / "run.json").read_text()
    assert json.loads(Results.from_json(text).to_json()) == json.loads(text)


@pytest.mark.slow
def test_the_tables_have_a_line_for_every_figure(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = Results.from_json((run / "run.json").read_text())
    main(["--read", str(run / "run.json")])
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.split()[:1] == ["G1"] for line in lines) == 3 + 1 + len(results.memory[:2])
    assert sum(line.startswith("U-") for line in lines) == len(results.costs)
    assert sum(line.split()[:1] == ["iris"] for line in lines) == len(results.qualities)
    main(["--read", str(run / "run.json"), "--markdown"])
    expected = ((NAMES, 8), (SURE, 10), (2 * TRUSTED, 8))
    for table, (names, bars) in zip(capsys.readouterr().out.split("\n\n"), expected, strict=True):
        lines = table.splitlines()
        assert [line.split(":")[0] for line in lines[2:]] == [f"| {name}" for name in names]
        assert {line.count("|") for line in lines} == {bars}


@pytest.mark.slow
def test_the_picture_names_the_workloads_but_not_those_against_ourselves(run: Path) -> None:
    picture = (run / "run.svg").read_text()
    assert "integer codes" in picture
    assert "ourselves" not in picture


@pytest.mark.slow
@pytest.mark.parametrize(("target", "status"), [(1e9, 1), (1e-9, 0)])
def test_check_fails_where_a_target_is_missed_by_far(run: Path, target: float, status: int) -> None:
    assert main(["--read", changed(run, "timings", target=target, floor=None), "--check"]) == status


@pytest.mark.slow
@pytest.mark.parametrize(("most", "status"), [(1e-9, 1), (1e9, 0)])
def test_check_fails_where_being_sure_takes_far_longer_than_it_may(run: Path, most: float, status: int) -> None:
    assert main(["--read", changed(run, "costs", most=most), "--check"]) == status


@pytest.mark.slow
@pytest.mark.parametrize(("most", "status"), [(1e-9, 1), (1e9, 0)])
def test_check_fails_where_log_loss_exceeds_what_it_may(run: Path, most: float, status: int) -> None:
    assert main(["--read", changed(run, "qualities", most=most, impossible=0.0), "--check"]) == status


@pytest.mark.slow
def test_the_table_says_how_many_labels_were_impossible(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = changed(run, "qualities", impossible=0.0123)
    said = json.loads(Path(path).read_text())
    said["qualities"][0]["impossible"] = 0.0
    Path(path).write_text(json.dumps(said))
    main(["--read", path, "--markdown"])
    first = capsys.readouterr().out.splitlines()[2]
    assert first.count("(1.2 % at 0)") == len(METHODS) - 1


@pytest.mark.slow
def test_check_tells_what_missed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--read", changed(run, "timings", target=1e9), "--check"])
    assert "G1 predict" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("way", [way for way in scaled.WAYS if way != "dask"])
def test_every_way_to_learn_from_files_learns_all_rows(way: str, tmp_path: Path) -> None:
    """Dask's is a `fit` of partitions, which has tests of its own; here it would take processes."""
    scaled.write(tmp_path, 3_001)
    found = scaled.timed(scaled.WAYS[way], tmp_path, 1)
    assert found["rows"] == 3_001
    assert found["seconds"] > 0


def test_files_of_a_benchmark_hold_the_same_table_however_often_they_are_written(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
        scaled.write(folder, 3_001)
    files = [sorted(folder.iterdir()) for folder in folders]
    assert [[file.name for file in own] for own in files] == [["0000.parquet", "0001.parquet"]] * 2
    assert [file.read_bytes() for file in files[0]] == [file.read_bytes() for file in files[1]]
    assert {str(column.type) for column in scaled.table(0, 5).columns} == {"double", "string"}
    assert set(scaled.table(0, 500)[scaled.LABEL].to_pylist()) == {f"class {c}" for c in range(5)}


@pytest.mark.parametrize(
    ("change", "ok", "failed"),
    [
        ({}, True, False),
        ({"slope": 1.2}, False, False),
        ({"slope": 1.3}, False, True),
        ({"most": 350}, False, False),
        ({"most": 150}, False, True),
    ],
    ids=str,
)
def test_learning_more_rows_may_take_more_time_in_proportion_and_no_more_memory(
    change: dict[str, Any], ok: bool, failed: bool
) -> None:
    own = Scaling(**{**SCALED, **change})
    assert (own.ok, own.failed) == (ok, failed)
    assert own.rates == [50.0, 100.0]


@pytest.mark.slow
def test_the_table_of_scaling_has_a_line_for_every_way_and_number(
    capsys: pytest.CaptureFixture[str], run: Path
) -> None:
    path = run / "scaled.json"
    every = [SCALED, SCALED | {"workers": 2}, SCALED | {"way": "another", "unit": "process", "workers": 2}]
    path.write_text(json.dumps({"machine": json.loads((run / "run.json").read_text())["machine"], "scalings": every}))
    main(["--read", str(path), "--markdown"])
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[0].startswith("| rows a second | on | 100 rows | 1,000 rows |")
    assert [line.split(" | ")[1] for line in lines[2:]] == ["1 thread", "2 threads", "2 processes"]
    assert len({line.count("|") for line in lines}) == 1


SCALED: dict[str, Any] = {
    "workload": "N",
    "way": "`fit`",
    "unit": "thread",
    "workers": 1,
    "rows": [100, 1_000],
    "seconds": [2.0, 10.0],
    "bytes": [300, 400],
    "slope": 0.7,
    "most": 400,
}


def test_an_unknown_workload_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "G1,Z9"])
    assert "no workload Z9; there are G1, G2" in capsys.readouterr().err


def test_a_workload_has_its_own_name() -> None:
    names = [work.name for work in (*WORKLOADS, *SURENESS, *TRUST, *GROWING)]
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_a_smaller_processor_is_measured_in_a_process_that_compiles_for_it(tmp_path: Path) -> None:
    path = tmp_path / "smaller.json"
    assert main(["--instructions", "avx2", *ALONE, "--no-memory", "--only", "S1-small", "--json", str(path)]) == 0
    assert Results.from_json(path.read_text()).machine["instructions"] == "avx2"


def test_goals_that_differ_without_long_vectors_are_asked_for_there(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = next(work for work in WORKLOADS if work.name == "M1")
    asked = {}
    for name in ("avx512f", "avx2"):
        monkeypatch.setattr("tests.benchmarks.side_by_side.instructions", lambda name=name: name)
        asked[name] = [texts.goal(operation) for operation in ("fit", "predict")]
    assert asked == {"avx512f": [3.5, 2], "avx2": [3.5, 1.5]}


@pytest.mark.parametrize(("seconds", "ok", "failed"), [(2.9, True, False), (3.1, False, False), (6.1, False, True)])
def test_a_first_call_is_compared_with_what_it_may_take(seconds: float, ok: bool, failed: bool) -> None:
    start = Start("Gaussian", "empty", {"fit": seconds, "predict": 0.1})
    assert (start.ok, start.failed) == (ok, failed)
    assert Start("Gaussian", "empty", {"predict": 0.1}).failed  # it ended before it fitted


def test_a_command_takes_the_processors_time_that_it_takes_and_its_failure_is_told(tmp_path: Path) -> None:
    missing, failing = (cold.run(f"fit {name} --target y", "empty", str(tmp_path), str(tmp_path), 60.0)
                        for name in ("missing.csv", "gone.csv"))  # fmt: skip
    assert missing.ok
    assert 0.01 < missing.seconds["all"] < 60
    assert failing.failed
    assert "gone.csv" in failing.said


@pytest.mark.parametrize(
    ("fit", "predict", "status"),
    [((1, 4, 1), (4, 1, 1), 0), ((1, 1, 4), (4, 4, 4), 0), ((1, 1, 1), (4, 4, 4), 1), ((4, 1, 1), (1, 1, 1), 1)],
)
def test_check_fails_where_a_target_is_missed_by_far_each_time(
    fit: tuple[float, ...], predict: tuple[float, ...], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timing(operation: str, times: float) -> Timing:
        return Timing("A", "", (1, 1), operation, times, 1.0, times, (times, times), 3, target=4.0)

    tries = iter([[timing("fit", a), timing("predict", b)] for a, b in zip(fit, predict, strict=True)])
    work = SimpleNamespace(name="A", about="", measure=lambda how: iter(next(tries)))
    monkeypatch.setattr(running, "chosen", lambda names: [work])
    assert main(["--check", "--only", "A", "--no-slopes", "--no-starts"]) == status
