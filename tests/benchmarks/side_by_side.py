"""What a workload is, and the three ways to run one.

A whole table, a stream of batches, a single row.

Both sides first see a small table of the same kind, so that nothing is compiled or imported under
the clock.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from statistics import median
from typing import Any

import numpy as np

from bayesnb import scale

from .data import Array, Table, head
from .measure import gain, held, instructions, interleaved, peak, size
from .records import Agreement, Memory, Timing

# rows of a table, and of the first calls: enough to leave the paths that are meant for tiny ones
FEWEST = 2_000
SHOWN = 2_000  # rows whose probabilities are compared
ROW_LOOPS = 200
GRAIN = 2_000_000  # bytes to which a peak of memory is known
SPARE = 64_000_000  # bytes that predicting may take beside its answer
MEAN = {"estimate": "mean", "class_prior": "empirical"}
MLE = {"estimate": "mle", "class_prior": "empirical"}

Found = Timing | Agreement | Memory
Make = Callable[..., Any]


@dataclass(frozen=True)
class How:
    """How thoroughly to measure."""

    scale: float | None  # of the numbers of rows; None: each workload's own for a quick run
    seconds: float  # for each operation
    threads: int | None = None
    memory: bool = True


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A table, the two sides, and what we must reach.

    Operation -> times faster, None if that is only shown.
    """

    name: str
    about: str
    rows: int  # at scale 1
    table: Callable[[int], Table]
    theirs: Make | None  # None: ourselves, on what `given` makes of the table
    ours: Make
    goals: Mapping[str, float | None]
    smaller: Mapping[str, float | None] = field(
        default_factory=dict
    )  # goals that differ without AVX-512
    given: Callable[[Any], Any] = field(default=lambda x: x)
    against: Make | None = None  # of ours, where `theirs` is None and it is not the same estimator
    as_theirs: Mapping[str, Any] | None = field(
        default_factory=MEAN.copy
    )  # what gives us scikit-learn's numbers
    tolerance: float = 1e-9
    quick: float = (
        0.1  # of the rows: enough that what a call costs whatever the table does not decide
    )
    floor: Mapping[str, float] = field(
        default_factory=dict
    )  # what has failed, where half a goal is out of reach
    run: Callable[["Workload", How], Iterator[Found]] = field(
        default=lambda work, how: whole_table(work, how)
    )

    def measure(self, how: How) -> Iterator[Found]:
        """Measure it."""
        return self.run(self, how)

    def make_table(self, how: How) -> Table:
        """The table at the scale that is asked for."""
        return self.table(max(FEWEST, round(self.rows * (how.scale or self.quick))))

    def sides(self, how: How) -> tuple[Make, Make]:
        """Scikit-learn's estimator and ours."""
        ours = partial(self.ours, n_jobs=how.threads)
        against = ours if self.against is None else partial(self.against, n_jobs=how.threads)
        return self.theirs or against, ours

    def goal(self, operation: str) -> float | None:
        """How many times faster an operation is to be, with the instructions that kernels are compiled for."""
        goals = self.goals if instructions() == "avx512f" else {**self.goals, **self.smaller}
        return goals[operation]

    def timing(self, operation: str, x: Any, rounds: Sequence[list[float]]) -> Timing:
        """The record of one operation on a table, from their seconds and ours, round by round."""
        pairs = [a / b for a, b in zip(*rounds, strict=True)]
        theirs, ours = map(median, rounds)
        return Timing(
            self.name,
            self.about,
            np.shape(x),
            operation,
            theirs,
            ours,
            theirs / ours,
            (min(pairs), max(pairs)),
            len(pairs),
            self.goal(operation),
            against="scikit-learn" if self.theirs else "ourselves",
            gain=gain(),
            floor=self.floor.get(operation),
        )


def whole_table(work: Workload, how: How) -> Iterator[Found]:
    """Fit a table, then predict its rows."""
    x, y = work.make_table(how)
    clean, (theirs, ours) = work.given(x), work.sides(how)
    for make, known in ((theirs, clean), (ours, x)):
        make().fit(head(known, FEWEST), y[:FEWEST]).predict_proba(head(known, FEWEST))
    (their_model, their_peak), (our_model, our_peak) = (
        peak(theirs().fit, clean, y),
        peak(ours().fit, x, y),
    )
    if how.memory:
        yield Memory(
            work.name, "fit", size(x), their_peak, our_peak, size(x) // 20 + held(our_model) + GRAIN
        )
        (_, their_peak), (answer, our_peak) = (
            peak(their_model.predict_proba, clean),
            peak(our_model.predict_proba, x),
        )
        yield Memory(work.name, "predict", size(x), their_peak, our_peak, answer.nbytes + SPARE)
    if work.theirs and work.as_theirs is not None:
        yield agreement(work, their_model, ours(**work.as_theirs).fit(x, y), x)

    yield work.timing(
        "fit",
        x,
        interleaved([partial(theirs().fit, clean, y), partial(ours().fit, x, y)], how.seconds),
    )
    calls = {"predict": partial(our_model.predict_proba, x)}
    if "plug-in" in work.goals:
        calls["plug-in"] = partial(ours(estimate="mean").fit(x, y).predict_proba, x)
    yardstick, *taken = interleaved(
        [partial(their_model.predict_proba, clean), *calls.values()], how.seconds
    )
    for operation, own in zip(calls, taken, strict=True):
        yield work.timing(operation, x, (yardstick, own))


def agreement(work: Workload, theirs: Any, ours: Any, x: Any) -> Agreement:
    """How far the two sides' probabilities of the first rows are apart."""
    some = head(x, SHOWN)
    shown = theirs.predict_proba(some)
    gap = np.abs(shown - ours.predict_proba(some)).max()
    return Agreement(work.name, len(shown), float(gap), work.tolerance)


def stream(work: Workload, how: How, batch: int) -> Iterator[Timing]:
    """One `partial_fit` after another; the time is that of a batch."""
    x, y = work.make_table(how)
    batches = [
        (x[start : start + batch], y[start : start + batch]) for start in range(0, len(y), batch)
    ]
    with compiling(True):
        learners = [learner(make(), batches, np.unique(y)) for make in work.sides(how)]
        yield work.timing(
            "partial_fit", batches[0][0], interleaved(learners, how.seconds, loops=len(batches))
        )


def learner(model: Any, batches: list[Table], classes: Array) -> Callable[[], Any]:
    """A call that learns the next batch, over and over.

    The first is learnt already, with the `classes`.
    """
    model.partial_fit(*batches[0], classes=classes)
    following = cycle(batches)
    return lambda: model.partial_fit(*next(following))


def one_row(work: Workload, how: How, compiled: bool = True) -> Iterator[Timing]:
    """`predict_proba` of one row, many times, as in a service."""
    x, y = work.make_table(how)
    row = head(x, 1)
    calls = [partial(make().fit(x, y).predict_proba, row) for make in work.sides(how)]
    with compiling(compiled):
        for call in calls:
            call()
        yield work.timing("predict", row, interleaved(calls, how.seconds, ROW_LOOPS))


@contextmanager
def compiling(always: bool) -> Iterator[None]:
    """Let compiled code do small work too, as in a service."""
    scale.always_compile(always)
    try:
        yield
    finally:
        scale.always_compile(False)
