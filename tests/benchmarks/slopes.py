"""How our time grows with rows, features and classes.

The slope of log time in log size, 1 if in proportion.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bayesnb import CategoricalNB, GaussianNB, MultinomialNB

from .data import Table, codes, reals, words
from .measure import interleaved
from .records import Slope
from .side_by_side import FEWEST, How

QUICK = 0.1
STEPS = (1, 2, 4)
AXES = ("rows", "features", "classes")


@dataclass(frozen=True)
class Growth:
    """An estimator, its table `(rows, features, classes) -> x, y`, and the smallest shape, at scale 1."""

    family: str
    make: Callable[..., Any]
    table: Callable[[int, int, int], Table]
    shape: tuple[int, int, int]


GROWTHS = [
    Growth("Gaussian", GaussianNB, reals, (400_000, 20, 8)),
    Growth(
        "Multinomial",
        MultinomialNB,
        lambda r, f, c: words(r, f, c, length=f // 250),
        (400_000, 5_000, 8),
    ),
    Growth("Categorical", CategoricalNB, lambda r, f, c: codes(r, f, c, 10, 10), (400_000, 20, 8)),
]


def slopes(how: How) -> Iterator[Slope]:
    """One for each family, axis and operation."""
    for growth in GROWTHS:
        for axis in range(len(AXES)):
            yield from along(growth, axis, how)


def along(growth: Growth, axis: int, how: How) -> Iterator[Slope]:
    """The slopes of `fit` and `predict_proba` along one axis; the least time of each size counts."""
    rows = max(FEWEST, round(growth.shape[0] * (how.scale or QUICK)))
    smallest = np.array([rows, *growth.shape[1:]])
    shapes = [smallest * np.where(np.arange(3) == axis, step, 1) for step in STEPS]
    tables = [growth.table(*shape.tolist()) for shape in shapes]
    models = [growth.make(n_jobs=how.threads).fit(x, y) for x, y in tables]
    fits = [partial(model.fit, x, y) for model, (x, y) in zip(models, tables, strict=True)]
    predicts = [
        partial(model.predict_proba, x) for model, (x, _) in zip(models, tables, strict=True)
    ]
    sizes = [int(shape[axis]) for shape in shapes]
    for operation, calls in (("fit", fits), ("predict", predicts)):
        seconds = [min(taken) for taken in interleaved(calls, how.seconds)]
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        yield Slope(growth.family, operation, AXES[axis], sizes, seconds, float(slope))
