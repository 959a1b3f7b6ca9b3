"""What a setting of the smoothing costs to judge: ours by exact leave-one-out, without a refit.

Scikit-learn's by

ten-fold cross-validation, with ten of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from sklearn import naive_bayes
from sklearn.model_selection import cross_val_predict

from bayesnb import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, compare_smoothing

from .data import Table, bits, codes, head, reals, words
from .measure import gain, interleaved
from .records import Timing
from .side_by_side import How, Make

FEWEST = 2_000
QUICK = 0.05
SETTINGS = np.geomspace(0.01, 100, 50)
LIMIT = 10.0  # seconds for all settings
AGAINST = "scikit-learn, ten-fold"


@dataclass(frozen=True, kw_only=True)
class Refits:
    """A table, and what learns it on both sides."""

    name: str
    about: str
    table: Callable[[int], Table]
    theirs: Make
    ours: Make
    rows: int = 100_000

    def measure(self, how: How) -> Iterator[Timing]:
        """All settings, and one of them."""
        x, y = self.table(max(FEWEST, round(self.rows * (how.scale or QUICK))))
        model = self.ours(n_jobs=how.threads)
        small = head(x, FEWEST), y[:FEWEST]
        compare_smoothing(model, *small, SETTINGS[:2], "predictive")
        calls: list[Callable[[], Any]] = [
            partial(cross_val_predict, self.theirs(), x, y, cv=10, method="predict_log_proba"),
            partial(compare_smoothing, model, x, y, SETTINGS, "predictive"),
        ]
        their, our = interleaved(calls, how.seconds)
        each = [seconds / len(SETTINGS) for seconds in our]
        pairs = [a / b for a, b in zip(their, each, strict=True)]
        for operation, theirs, ours, goal in (
            ("setting", median(their), median(each), {}),
            (
                "all settings",
                median(their),
                median(our),
                {"limit": LIMIT} if how.scale == 1 else {},
            ),
        ):
            yield Timing(
                workload=self.name,
                about=self.about,
                shape=x.shape,
                operation=operation,
                theirs=theirs,
                ours=ours,
                times=theirs / ours,
                spread=(min(pairs), max(pairs))
                if operation == "setting"
                else (theirs / ours, theirs / ours),
                rounds=len(pairs),
                against=AGAINST,
                gain=gain(),
                **goal,
            )


REFITS = [
    Refits(
        name="L-C50",
        about="categorical",
        table=partial(codes, columns=50, classes=5, fewest=2, most=10),
        theirs=naive_bayes.CategoricalNB,
        ours=CategoricalNB,
    ),
    Refits(
        name="L-B50",
        about="zeros and ones",
        table=partial(bits, columns=50, classes=5),
        theirs=naive_bayes.BernoulliNB,
        ours=BernoulliNB,
    ),
    Refits(
        name="L-G50",
        about="Gaussian",
        table=partial(reals, columns=50, classes=5),
        theirs=naive_bayes.GaussianNB,
        ours=GaussianNB,
    ),
    Refits(
        name="L-M",
        about="word counts (CSR), 20 classes",
        table=partial(words, columns=20_000, classes=20, length=80),
        theirs=naive_bayes.MultinomialNB,
        ours=MultinomialNB,
        rows=20_000,
    ),
]
