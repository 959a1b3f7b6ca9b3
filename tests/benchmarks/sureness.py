"""What it costs to know how sure a prediction is.

Ours against ours, call by call in turn, on one thread.

It is the processor's time: what others do meanwhile then stretches a long call no more than a short
one. BLAS has one thread too, as its others would spin for milliseconds after every product,
whatever they had to do.

Two classes: intervals from cumulants ("auto") against `predict_proba`, exact ones against posterior
draws. Ten classes: "auto" against draws and their quantiles. Draws are those of rows that were
fixed; an observed row would need its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from bayesnb import CategoricalNB, GaussianNB

from .data import Array, Table, codes, digits, reals
from .measure import interleaved
from .records import Cost
from .side_by_side import How, Make

TRAINING = 2_000
FEWEST = 20  # rows to predict, and of the first calls
PROB = 0.95
DRAWS = 1_000


def interval(model: Any, x: Array, rows: str, method: str) -> Any:
    return model.predict_interval(x, PROB, rows, method)


def draws(model: Any, x: Array) -> Array:
    """Probabilities, `(s, r, c)`."""
    return model.draw_proba(x, draws=DRAWS, chains=1, rng=0).to_numpy()[0]


def quantiles(model: Any, x: Array) -> Array:
    """The ends of an interval of the drawn probabilities, `(2, r, c)`."""
    return np.quantile(draws(model, x), [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)


OPERATIONS: Mapping[str, Callable[[Any, Array], Any]] = {
    "predict_proba": lambda model, x: model.predict_proba(x),
    "draws": draws,
    "draws, quantiles": quantiles,
    "auto, observed": partial(interval, rows="observed", method="auto"),
    "auto, fixed": partial(interval, rows="fixed", method="auto"),
    "exact, observed": partial(interval, rows="observed", method="exact"),
    "exact, fixed": partial(interval, rows="fixed", method="exact"),
    "uncertainty, observed": lambda model, x: model.uncertainty(x, "observed"),
    "uncertainty, fixed": lambda model, x: model.uncertainty(x, "fixed"),
}


class Turn(NamedTuple):
    """What is called in turn on so many rows, and how many times as long as `against` the `aimed` may take at most."""

    rows: int
    against: str
    most: float
    aimed: tuple[str, ...]
    shown: tuple[str, ...] = ()  # beside them, but not in a quick run


AUTO = ("auto, observed", "auto, fixed")
EXACT = ("exact, observed", "exact, fixed")
UNCERTAINTY = ("uncertainty, observed", "uncertainty, fixed")
TWO = (
    Turn(100_000, "predict_proba", 8, AUTO),
    Turn(500, "draws", 1, EXACT, ("draws, quantiles", *UNCERTAINTY)),
)
MANY = (Turn(500, "draws, quantiles", 1, AUTO, ("predict_proba", "draws", *EXACT, *UNCERTAINTY)),)


@dataclass(frozen=True, kw_only=True)
class Sureness:
    """A model, learnt from the first rows of a table, and the turns in which the others are looked at."""

    name: str
    about: str
    make: Make
    table: Callable[[int], Table]
    turns: Sequence[Turn] = TWO
    training: int = TRAINING

    def measure(self, how: How) -> Iterator[Cost]:
        """One cost for each operation."""
        x, y = self.table(self.training + max(turn.rows for turn in self.turns))
        known = x[: self.training]
        asked = x[self.training :]
        model = self.make(n_jobs=1).fit(known, y[: self.training])
        for turn in self.turns:
            with threadpool_limits(1):
                costs = list(
                    self.costs(
                        model, asked[: max(FEWEST, round(turn.rows * (how.scale or 1)))], turn, how
                    )
                )
            yield from costs

    def costs(self, model: Any, x: Array, turn: Turn, how: How) -> Iterator[Cost]:
        """Of one turn, after a first call of each."""
        operations = turn.aimed + (turn.shown if how.scale else ())
        names = (turn.against, *operations)
        for name in names:
            OPERATIONS[name](model, x[:FEWEST])
        calls = [partial(OPERATIONS[name], model, x) for name in names]
        other, *taken = interleaved(calls, how.seconds, clock=process_time)
        for name, own in zip(operations, taken, strict=True):
            most = turn.most if name in turn.aimed else None
            yield self.cost(name, turn.against, x, (own, other), most)

    def cost(
        self, name: str, against: str, x: Array, rounds: Sequence[list[float]], most: float | None
    ) -> Cost:
        """The record of one operation, from its seconds and those of the other, round by round."""
        pairs = [a / b for a, b in zip(*rounds, strict=True)]
        own, other = (median(taken) / len(x) for taken in rounds)
        spread = min(pairs), max(pairs)
        return Cost(
            self.name,
            self.about,
            x.shape,
            name,
            against,
            own,
            other,
            own / other,
            spread,
            len(pairs),
            most,
        )


def gaussian(columns: int) -> Sureness:
    """Two classes that overlap."""
    table = partial(reals, columns=columns, classes=2)
    return Sureness(
        name=f"U-G{columns}", about=f"Gaussian, {columns} features", make=GaussianNB, table=table
    )


def categorical(columns: int) -> Sureness:
    """Two classes that overlap, four levels."""
    table = partial(codes, columns=columns, classes=2, fewest=4, most=4)
    return Sureness(
        name=f"U-C{columns}",
        about=f"categorical, {columns} features",
        make=CategoricalNB,
        table=table,
    )


SURENESS = [
    *map(gaussian, (4, 16, 64)),
    *map(categorical, (8, 50)),
    Sureness(
        name="U-G16-10",
        about="Gaussian, 16 features, 10 classes",
        make=GaussianNB,
        table=partial(reals, columns=16, classes=10),
        turns=MANY,
    ),
    Sureness(
        name="U-digits",
        about="digits, 64 pixels, 10 classes",
        make=GaussianNB,
        table=digits,
        turns=MANY,
        training=1_297,
    ),
]
