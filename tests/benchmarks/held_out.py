"""What `NaiveBayes()` says of held-out rows, beside what holds: by refits, or where it is known.

python -m tests.benchmarks.held_out loo
    the log loss that leave-one-out reports, over that of ten refits
python -m tests.benchmarks.held_out loo wine iris
    of these tables of the contest
python -m tests.benchmarks.held_out loo vowel --folds 40
    over that of forty refits
python -m tests.benchmarks.held_out intervals
    the share of 89 % intervals that hold the known p(y | x)
python -m tests.benchmarks.held_out intervals --rows 300 --refits 25
    beside those of refits on bootstrap samples
python -m tests.benchmarks.held_out sets
    how often sets of labels hold the label, and how large they are
"""

import argparse
import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
from crepes import ConformalClassifier
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold, train_test_split

from bayesnb import NaiveBayes, prediction_sets

from .contest_tables import KNOWN, load
from .data import Array

TABLES = (
    "bands", "breast cancer", "digits", "ecoli1", "german", "glass1", "hayes-roth", "heart", "housevotes", "ionosphere",
    "mammographic", "penguins", "saheart", "sonar", "tic-tac-toe", "vehicle", "vowel", "wine", "wisconsin",
)  # fmt: skip
SHIFT = np.array([0.9, 0.7, 0.5, 0.4, 0.3, 0.2])  # between the classes' means of six columns
COVERAGE, SETS = 0.9, 30  # of sets, and of how many tables
PROB, ASKED = 0.89, 40  # of intervals; rows that they are asked for, in each replication

Known = tuple[pd.DataFrame, Array, Array]  # rows, labels, and the known p(y = 1 | x)


def frame(x: Array) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


def draw_labels(rows: int, rng: np.random.Generator) -> Array:
    return rng.integers(0, 2, rows)


def independent(rows: int, rng: np.random.Generator) -> Known:
    """Six numbers and a column of levels, independent given the class."""
    y = draw_labels(rows, rng)
    x = rng.normal(size=(rows, 6)) + np.outer(2 * y - 1, SHIFT / 2)
    shares = np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])
    level = np.array([rng.choice(3, p=shares[label]) for label in y])
    log_odds = x @ SHIFT + np.log(shares[1, level] / shares[0, level])
    return frame(x).assign(level=np.array(list("abc"))[level]), y, expit(log_odds)


def correlated(rows: int, rng: np.random.Generator) -> Known:
    """Six numbers with correlations of one half given the class."""
    covariance = 0.5 * np.eye(6) + 0.5
    y = draw_labels(rows, rng)
    noise = rng.normal(size=(rows, 6)) @ np.linalg.cholesky(covariance).T
    x = noise + np.outer(2 * y - 1, SHIFT / 2)
    return frame(x), y, expit(x @ np.linalg.solve(covariance, SHIFT))


def latent(rows: int, rng: np.random.Generator) -> Known:
    """Six numbers that show one hidden factor, which alone depends on the class."""
    weight = np.array([1, 0.9, 0.8, 0.7, 0.6, 0.5])
    y = draw_labels(rows, rng)
    factor = rng.normal(size=rows) + 0.7 * (2 * y - 1)
    x = np.outer(factor, weight) + 0.7 * rng.normal(size=(rows, 6))
    covariance = np.outer(weight, weight) + 0.49 * np.eye(6)
    return frame(x), y, expit(x @ np.linalg.solve(covariance, 1.4 * weight))


def copies(rows: int, rng: np.random.Generator) -> Known:
    """Three independent numbers, of which the first is there ten times."""
    y = draw_labels(rows, rng)
    x = rng.normal(size=(rows, 3)) + np.outer(2 * y - 1, [0.5, 0.4, 0.3])
    return frame(np.column_stack([x, *[x[:, 0]] * 9])), y, expit(x @ np.array([1, 0.8, 0.6]))


def logit(rows: int, rng: np.random.Generator) -> Known:
    """Log-odds with a square and a product of columns, which no naive Bayes has."""
    x = rng.normal(size=(rows, 5))
    log_odds = (
        -0.3 + 0.8 * x[:, 0] - 0.6 * x[:, 1] + 0.5 * (x[:, 2] ** 2 - 1) + 0.5 * x[:, 3] * x[:, 4]
    )
    return frame(x), (rng.random(rows) < expit(log_odds)).astype(int), expit(log_odds)


PROCESSES: Mapping[str, Callable[[int, np.random.Generator], Known]] = {
    each.__name__: each for each in (independent, correlated, latent, copies, logit)
}


def refitted(x: pd.DataFrame, y: Array, folds: int) -> float:
    """Return the log loss of rows whose fold was left out of everything."""
    score = np.empty(len(y))
    for learnt, asked in StratifiedKFold(folds, shuffle=True, random_state=0).split(x, y):
        model = NaiveBayes(classes=np.unique(y)).fit(x.iloc[learnt], y[learnt])
        score[asked] = model.predict_log_proba(x.iloc[asked])[np.arange(len(asked)), y[asked]]
    return float(-score.mean())


def compare_loo(names: list[str], folds: int) -> None:
    ratios = []
    for name in names:
        table = load(name)
        model = NaiveBayes().fit(table.x, table.y)
        truth = refitted(table.x, table.y, folds)
        losses = [
            -model.loo(table.x, table.y, exponents=how).elpd / len(table.y)
            for how in ("left", "kept")
        ]
        ratios.append(np.array(losses) / truth)
        print(
            f"{name:14} refits {truth:.4f}   left {ratios[-1][0]:.2f}   kept {ratios[-1][1]:.2f}",
            flush=True,
        )
    print("mean           left {:.2f}   kept {:.2f}".format(*np.mean(ratios, axis=0)))


def covers(name: str, rows: int, seed: int, refits: int) -> list[float]:
    """Return shares of known probabilities within intervals.

    Exponents unknown, known, and quantiles of refits.
    """
    rng = np.random.default_rng([seed, rows, len(name)])
    (x, y, _), (asked, _, truth) = (PROCESSES[name](n, rng) for n in (rows, ASKED))
    found = NaiveBayes().fit(x, y)
    known = copy(found)  # as if its exponents had been declared
    temper = replace(found.fitted_.temper, covariance=None)
    known.fitted_ = replace(found.fitted_, temper=temper)
    ends = [model.predict_interval(asked, PROB) for model in (found, known)]
    shares = [np.mean((each.lower[:, 1] <= truth) & (truth <= each.upper[:, 1])) for each in ends]
    if refits:
        drawn = []
        for _ in range(refits):
            at = rng.integers(0, rows, rows)
            drawn.append(
                NaiveBayes(classes=[0, 1]).fit(x.iloc[at], y[at]).predict_proba(asked)[:, 1]
            )
        lower, upper = np.quantile(drawn, [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
        shares.append(np.mean((lower <= truth) & (truth <= upper)))
    return [float(share) for share in shares]


def measure_intervals(rows: list[int], times: int, refits: int) -> None:
    for name in PROCESSES:
        for n in rows:
            shares = np.array([covers(name, n, seed, refits) for seed in range(times)])
            error = shares[:, 0].std(ddof=1) / np.sqrt(times)
            print(
                f"{name:12} {n:5} rows   " + "   ".join(f"{x:.2f}" for x in shares.mean(axis=0)),
                f"  se {error:.2f}",
            )


def hold_labels(name: str, seed: int) -> Array:
    """Return how often sets hold the label, that of the worst class, and sizes of sets.

    By all rows, by the rows of each class, and by a third of the rows that is set aside (crepes).
    """
    table = load(name)
    parts = train_test_split(table.x, table.y, test_size=1 / 3, stratify=table.y, random_state=seed)
    x, asked, y, truth = parts
    each = np.arange(len(truth)), truth
    model = NaiveBayes(classes=np.unique(table.y)).fit(x, y)
    found = []
    for class_conditional in (False, True):
        sets = prediction_sets(model, x, y, class_conditional)
        found.append(sets.predict(asked, coverage=COVERAGE)["member"].values)
    learnt, aside, y_learnt, y_aside = train_test_split(
        x, y, test_size=1 / 3, stratify=y, random_state=seed
    )
    model.fit(learnt, y_learnt)
    strangeness = 1 - model.predict_proba(aside)[np.arange(len(aside)), y_aside]
    split = ConformalClassifier().fit(strangeness)
    new = 1 - model.predict_proba(asked)
    found.append(split.predict_set(new, confidence=COVERAGE, smoothing=False))
    numbers = []
    for members in found:
        right = members[each]
        by_class = [right[truth == c].mean() for c in np.unique(truth)]
        numbers.append([right.mean(), min(by_class), np.mean(by_class), members.sum(axis=1).mean()])
    return np.array(numbers)


def measure_sets(names: list[str], times: int) -> None:
    print(
        f"coverage (asked: {COVERAGE}), that of the worst class, mean over classes, size of a set"
    )
    means = []
    for name in names:
        every = np.array([hold_labels(name, seed) for seed in range(times)])
        means.append(every.mean(axis=0))
        error = every[:, :, 0].std(axis=0, ddof=1) / np.sqrt(times)
        texts = [" ".join(f"{x:.3f}" for x in numbers) for numbers in means[-1]]
        print(f"{name:14} " + "   ".join(texts) + f"   se {error[0]:.3f}", flush=True)
    texts = [" ".join(f"{x:.3f}" for x in numbers) for numbers in np.mean(means, axis=0)]
    print(f"{'mean':14} " + "   ".join(texts))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("loo", "intervals", "sets"))
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--rows", type=int, nargs="+", default=[60, 300, 2000])
    parser.add_argument("--times", type=int, default=16)
    parser.add_argument("--refits", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "loo":
        compare_loo(args.tables or list(TABLES), args.folds)
    elif args.what == "sets":
        measure_sets(args.tables or list(KNOWN)[:SETS], args.times)
    else:
        measure_intervals(args.rows, args.times, args.refits)


if __name__ == "__main__":
    main()
