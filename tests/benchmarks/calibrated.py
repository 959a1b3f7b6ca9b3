"""What the probabilities are worth on rows that were not learnt.

Ours, scikit-learn's, and those recalibrated by it.

Learnt from few rows, five of each class, and from many, two thirds of the table; again and again,
with other rows.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB as Theirs

from bayesnb import GaussianNB
from bayesnb.selection.probability_scores import brier_of_rows, ece, right

from .data import SEED, Array
from .records import Quality
from .side_by_side import How

FEW = 5  # rows of each class
QUICK, FULL = {"few": 4, "many": 2}, {"few": 100, "many": 30}  # repeats

METHODS: Mapping[str, Callable[[], Any]] = {
    "scikit-learn": Theirs,
    "sigmoid": lambda: CalibratedClassifierCV(Theirs(), method="sigmoid"),
    "isotonic": lambda: CalibratedClassifierCV(Theirs(), method="isotonic"),
    "integrated": lambda: GaussianNB(n_jobs=1),
    "tempered": lambda: GaussianNB(temper="loo", n_jobs=1),
}
SCORES = {"brier": brier_of_rows, "accuracy": right}


def log_proba(model: Any, x: Array) -> Array:
    """log p(y | x); some of scikit-learn's models have no logs to give."""
    if hasattr(model, "predict_log_proba"):
        return model.predict_log_proba(x)
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(x))


def few(y: Array, repeats: int) -> Iterator[tuple[Array, Array]]:
    """Rows to learn from, the same number of each class, and all others."""
    rng = np.random.default_rng(SEED)
    for _ in range(repeats):
        order = rng.permutation(len(y))
        known = np.concatenate([order[y[order] == c][:FEW] for c in np.unique(y)])
        yield known, np.setdiff1d(order, known)


def many(y: Array, repeats: int) -> Iterator[tuple[Array, Array]]:
    yield from StratifiedShuffleSplit(repeats, test_size=1 / 3, random_state=SEED).split(y, y)


SPLITS = {"few": few, "many": many}


@dataclass(frozen=True, kw_only=True)
class Trust:
    """A table, and the log loss that tempering should not exceed by far when many rows were learnt."""

    name: str
    about: str
    load: Callable[..., tuple[Array, Array]]
    most: float

    def measure(self, how: How) -> Iterator[Quality]:
        """One record for each number of rows and method; a scale below 1 is for tests."""
        x, y = self.load(return_X_y=True)
        for size, split in SPLITS.items():
            repeats = (FULL if how.scale == 1 else QUICK)[size]
            found: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
            for known, asked in split(y, repeats):
                for method, make in METHODS.items():
                    model = make().fit(x[known], y[known])
                    found[method].append(scores(log_proba(model, x[asked]), y[asked]))
            for method, each in found.items():
                mean = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
                most = self.most if (size, method) == ("many", "tempered") else None
                yield Quality(
                    self.name, self.about, size, len(known), repeats, method, **mean, most=most
                )


def scores(log_p: Array, y: Array) -> dict[str, float]:
    """Of test rows; log loss is scikit-learn's, to which no probability is smaller than its dtype's eps."""
    possible = log_p[np.arange(len(y)), y] > -np.inf
    found = {name: float(score(log_p, y).mean()) for name, score in SCORES.items()}
    found["log_loss"] = float(log_loss(y, np.exp(log_p), labels=np.arange(log_p.shape[1])))
    least = np.sort(log_p[possible, y[possible]])
    worst = float(least[: len(least) // 100].sum() / least.sum())
    return found | {"worst": worst, "ece": ece(log_p, y), "impossible": 1 - float(possible.mean())}


TRUST = [
    Trust(name="Q-iris", about="iris", load=load_iris, most=0.25),
    Trust(name="Q-wine", about="wine", load=load_wine, most=0.3),
    Trust(name="Q-cancer", about="breast cancer", load=load_breast_cancer, most=0.25),
    Trust(name="Q-digits", about="digits", load=load_digits, most=1.5),
]
