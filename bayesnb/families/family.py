"""How a user says what columns hold: the family's name, its prior, and how to read the cells.

A family's support is what its cells must be. The door through which tables come in asks it of rows
to learn from and of rows to predict. It does not judge missing cells: the family's `missing` tells
whether a cell may be missing.

`BestOf` is chosen for each column by how well the column by itself predicts the label:

    S(family) = sum_i log p(y_i | x_ij, all other rows), exact

Evidences do not choose well: they favour the family that fits the bulk of a column, whether or not
that says something of the label, and families whose densities have different base measures do not
compare by them at all. The label's leave-one-out score always compares.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import inf
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from bayesnb import numerics
from bayesnb.families.base import Array, Belief, Cells, Stats
from bayesnb.families.weight import Weight
from bayesnb.numerics.special import ratio
from bayesnb.numerics.views import COUNTS, readable

# The support: what the cells of a column must be

ANOTHER = "Declare it gaussian, or drop it."


class Fault(NamedTuple):
    """One way in which cells can be outside: which are, what to say of them, and what to do."""

    invalid: Callable[[Array], Array]  # a missing cell is not
    message: str
    advice: str  # in which {name} is the column's


MISSING = Fault(
    np.isnan,
    "a cell is missing (NaN)",
    "This family does not accept missing cells: fill it or drop the row.",
)
INFINITE = Fault(np.isinf, "a number is infinite (inf)", "Make it NaN if it is missing.")


class Support(ABC):
    """Which cells a family's densities are defined for; as text, what they must be."""

    @abstractmethod
    def __str__(self) -> str: ...

    @property
    @abstractmethod
    def faults(self) -> Sequence[Fault]:
        """All ways in which a number can be outside."""

    @property
    def nonnegative(self) -> bool:
        """Whether no number below 0 is inside."""
        return not self.holds(np.full(1, -np.finfo(float).tiny), True)

    @property
    def has_zero(self) -> bool:
        """Whether 0 is inside, as the cells are that a sparse table does not store."""
        return self.holds(np.zeros(1), True)

    def holds(self, x: Array, missing: bool) -> bool:
        """Whether all numbers of an array are inside, or missing where they may be."""
        faults = self.faults if missing else (MISSING, *self.faults)
        return not any(fault.invalid(x).any() for fault in faults)


@dataclass(frozen=True)
class RealNumbers(Support):
    """Finite numbers between two bounds, both of which belong to them.

    >>> print(RealNumbers(at_least=0), RealNumbers(0, 1), sep="; ")
    numbers of at least 0; numbers from 0 to 1
    """

    at_least: float = -inf
    at_most: float = inf

    def __str__(self) -> str:
        if self.at_least > -inf and self.at_most < inf:
            return f"numbers from {self.at_least:g} to {self.at_most:g}"
        least = f" of at least {self.at_least:g}" if self.at_least > -inf else ""
        return f"numbers{least}" + (f" of at most {self.at_most:g}" if self.at_most < inf else "")

    @property
    def faults(self) -> Sequence[Fault]:
        below = Fault(lambda x: x < self.at_least, f"a number is below {self.at_least:g}", ANOTHER)
        above = Fault(lambda x: x > self.at_most, f"a number is above {self.at_most:g}", ANOTHER)
        return (INFINITE, *[below] * (self.at_least > -inf), *[above] * (self.at_most < inf))


@dataclass(frozen=True)
class Counts(Support):
    """Whole numbers of at least 0 that can be added up.

    With `fractional` they are any such numbers.
    """

    fractional: bool = False
    has_zero = True

    def __str__(self) -> str:
        return "numbers of at least 0" if self.fractional else "whole numbers of at least 0"

    @property
    def faults(self) -> Sequence[Fault]:
        advice = f"If it is not a count: {ANOTHER[0].lower()}{ANOTHER[1:]}"
        broken = Fault(
            lambda x: x - np.floor(x) > 0,
            "a count is not a whole number",
            f"{advice} Multinomial takes weights such as tf-idf with fractional=True.",
        )
        return (
            INFINITE,
            Fault(lambda x: x < 0, "Negative values in data passed as counts", advice),
            Fault(
                lambda x: x > numerics.count_kernels.MOST,
                "a count is too large to add up",
                "Rescale it.",
            ),
            *[broken] * (not self.fractional),
        )

    def holds(self, x: Array, missing: bool) -> bool:
        """Return whether all cells are counts, in one compiled pass."""
        return bool(
            numerics.count_kernels.are_counts(
                readable(x.reshape(-1), COUNTS), not self.fractional, missing
            )
        )


@dataclass(frozen=True)
class ZeroOrOne(Support):
    """Zeros and ones."""

    def __str__(self) -> str:
        return "0 and 1"

    @property
    def faults(self) -> Sequence[Fault]:
        other = Fault(
            lambda x: ~((x == 0) | (x == 1) | np.isnan(x)),
            "a cell is not 0 or 1",
            f"{ANOTHER} Bernoulli takes other numbers with a threshold.",
        )
        return (INFINITE, other)


@dataclass(frozen=True)
class AnyLevel(Support):
    """Values that are levels: those of a column say which there are, so none is outside."""

    def __str__(self) -> str:
        return "levels"

    @property
    def faults(self) -> Sequence[Fault]:
        return ()


# Declarations


class Seen(NamedTuple):
    """What was counted, entry by entry: `k` levels of all columns, or events of each."""

    counts: Array  # `(c, k)`
    unit: Array  # `(c, k)`, their concentrations at a smoothing of 1
    column: Array  # `(k,)`, whose entry it is
    level: Array  # `(k,)`, which of the column's it is


NO_DIFFERENCE = "labels are predicted best when the columns hardly tell the classes apart"
NO_PRIOR = "labels are predicted best with hardly any prior"
# the meaning of a factor of all pseudo-counts that is best at infinity (True), or at 0
EXTREMES = {
    ("smoothing", True): NO_DIFFERENCE,
    ("smoothing", False): NO_PRIOR,
    ("strength", True): NO_DIFFERENCE,
    ("strength", False): NO_PRIOR,
    ("scale", True): "the prior expects larger variances without end",
    ("scale", False): "the prior expects smaller variances without end",
}


LEAST, MOST = 1e-8, 1e8  # where a concentration or a count is as good as 0, or as infinite
BOUNDS = float(np.log(LEAST)), float(np.log(MOST))


def positive(logs: Array) -> Array:
    """Return the numbers whose logs are given; an end of the range is exactly that."""
    return np.clip(np.exp(logs), LEAST, MOST)


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """The numbers of a family's prior that are chosen from data.

    Families that declare the same object share them.

    All are positive and searched from 1e-8 to 1e8. `Family.tuned` makes a prior of the values of
    `names`, under which the evidence is to be largest; `Family.smoothed` one of those of `factors`,
    for the leave-one-out score.
    """

    names: tuple[str, ...]
    weak: tuple[float, ...]  # values where the data say nothing
    # of the prior as declared: its strength, and maybe the `scale`
    factors: tuple[str, ...] = ("strength",)
    counts_levels: bool = False  # a strength of l adds l to the count of every level
    note: str = ""  # how a smoothing enters the prior, in a sentence
    # name, infinite or 0 -> its meaning
    extremes: Mapping[tuple[str, bool], str] = field(default_factory=dict)

    def meaning(self, name: str, infinite: bool, shared: bool = False) -> str:
        """Words for a hyperparameter whose best value is infinite, or 0."""
        known = EXTREMES | dict(self.extremes)
        size = "large" if infinite else "small"
        default = f"the data ask for a prior whose {name} is as {size} as can be"
        return (known.get((f"shared {name}", infinite)) if shared else None) or known.get(
            (name, infinite), default
        )


class Family[S: Stats](ABC):
    """Declaration of what columns hold: the prior, and how to read their cells."""

    word: ClassVar[str]  # its name on the command line, by default that of the class in lower case
    content: ClassVar[str] = ""  # what a column holds, in words; by default what the support says
    # of a column, drawn from the predictive
    picture: ClassVar[Literal["density", "mass", "levels"]] = "density"
    stats: ClassVar[type[Stats]]
    # the type of the priors that users give; None if they give none
    conjugate: ClassVar[type[Belief] | None]
    # None for a prior that cannot be tuned
    hyperparameters: ClassVar[Hyperparameters | None] = None
    # cells are codes of levels, whose names are learnt from the table
    has_levels: ClassVar[bool] = False
    # cells are codes of levels, on a grid that is learnt from the first table
    has_grid: ClassVar[bool] = False
    # names of the cells 0, 1, ..., where there are no others
    outcomes: ClassVar[tuple[str, ...]] = ()
    has_width: ClassVar[bool] = False  # each column has a standard deviation by itself
    multivariate: ClassVar[bool] = False  # one density over all columns of the block
    # the block's columns are words of one text, each of which is explained
    words: ClassVar[bool] = False
    reads_sparse: ClassVar[bool] = False  # reads CSR as it is
    # a cell outside the support makes NaN of scores and stats: no need to look
    shows_invalid: ClassVar[bool] = False
    missing: ClassVar[bool] = True  # a missing cell is silent
    levels: Any = None  # declared levels, or how to find them
    unseen: str = "ignore"  # what a level does that training never saw
    listed: bool = False  # a cell is a list of the column's levels, which are counted
    threshold: float | None = None  # a one is above it
    fractional: bool = False  # numbers that are not counts are taken too
    shared: bool = False  # classes have parameters in common
    repeats: ClassVar[bool] = False  # reads columns of other blocks again
    # exponents in the joint distribution of rows: 0 of what only weighs the label
    in_joint: Any = 1.0

    @property
    def option(self) -> str:
        """Its name as a user gives it, with ":shared" behind it where classes have parameters in
        common.
        """
        return self.word + (":shared" if self.shared else "")

    @property
    def columnwise(self) -> "Family":
        """The family of one of its columns by itself, whose beliefs are the `margins` of this
        one's.
        """
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "word" not in cls.__dict__:
            cls.word = cls.__name__.lower()
        if cls.hyperparameters is not None and not hasattr(cls, "tuned"):
            raise TypeError(
                f"{cls.__name__} declares hyperparameters, and not how they make a prior: define "
                "`tuned`."
            )

    @classmethod
    def shareable(cls) -> bool:
        """Whether classes may have a parameter in common, `shared=True`."""
        return any(field.name == "shared" for field in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def number_prior(cls) -> bool:
        """Whether a number is a prior too: families whose default prior is one take any."""
        priors = [field for field in fields(cls) if field.name == "prior"]  # type: ignore[arg-type]
        return any(isinstance(field.default, Real) for field in priors)

    @property
    def combined(self) -> bool:
        """Whether a cell is a combination of its columns' levels."""
        return self.has_levels and self.multivariate

    @property
    def continuous(self) -> bool:
        """Whether cells have a density."""
        return self.picture == "density"

    @property
    def counts_levels(self) -> bool:
        """Whether its prior is a number of times that each level was seen."""
        return self.hyperparameters is not None and self.hyperparameters.counts_levels

    @property
    @abstractmethod
    def support(self) -> Support:
        """What its cells must be.

        Tables are checked by it whenever they are read, to learn and to predict.
        """

    @property
    def positive_only(self) -> bool:
        """Whether a negative number is an error."""
        return self.support.nonnegative

    @property
    def of_lists(self) -> Self:
        """This family for a column whose cells are lists; itself, if it reads none."""
        return self

    def of_column(self, belief: Belief, levels: Any = None, unseen: str = "ignore") -> "Family":
        """The family of a single column whose prior is this belief, `(c, ...)`, and whose levels
        are read so.
        """
        return replace(self, prior=belief.map(lambda array: unless_alike(array[:, None])))  # type: ignore[type-var]

    def is_refuted(self, x: Any, codes: Array, weight: Array | None = None) -> bool:
        """Whether numbers of a table, `(r, f)`, can hardly be of this family: it is then not chosen
        among others.
        """
        return False

    def read(self, x: Any) -> Cells:
        """Numbers of a table, an array, a view or CSR, as the cells that its stats and densities
        take.
        """
        return x

    def written(self, drawn: Array) -> Array:
        """Numbers that `read` would read as these cells."""
        return drawn

    def observe(self, x: Cells, weight: Weight, sizes: Any = (), n_jobs: int | None = 1) -> Stats:
        """The stats of one block of cells.

        `sizes` are the levels of each column, or the grid, where there are such.
        """
        layout = (sizes,) if self.has_levels or self.has_grid else ()
        return self.stats.of(x, weight, *layout, n_jobs=n_jobs)

    @abstractmethod
    def belief(self, stats: S) -> Belief:
        """The prior, shaped like the stats, which it may take its scale from."""

    def describe(self, belief: Belief) -> str:
        """The prior in words."""
        return "as declared"

    def smoothed(self, stats: S, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        """The family with the prior of this smoothing: a number, or numbers that broadcast to `(c,
        f)`.

        A smoothing l adds l to every count: it is the concentration of a Dirichlet where `kind` is
        "mean" or "predictive", and 1 + l is where it is "map". `scale` multiplies the variance that
        a prior of variances expects. A family that does not say so has a prior that is worth as
        many times the rows.
        """
        if self.hyperparameters is None:
            raise TypeError(
                f"{type(self).__name__} has no smoothing that could be set. Compare other columns."
            )
        declared = getattr(self, "prior", None)
        prior = self.belief(stats) if declared is None else declared
        return replace(self, prior=prior.strengthened(smoothing))  # type: ignore[type-var]

    def __repr__(self) -> str:
        shown = (
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)  # type: ignore[arg-type]
            if _is_shown(f, getattr(self, f.name))
        )
        return f"{type(self).__name__}({', '.join(shown)})"


@runtime_checkable
class HasCounts(Protocol):
    """A family that counts levels or events."""

    def seen(self, stats: Any) -> Seen:
        """Return what the stats have counted."""


# by the word on the command line, in the order in which they are listed
FAMILIES: dict[str, type[Family]] = {}


def register(family: type[Family]) -> type[Family]:
    """Make a family known to files, the command line, the report and `tune`; a class decorator."""
    if FAMILIES.setdefault(family.word, family) is not family:
        raise ValueError(
            f"there is a family {family.word!r} already: {FAMILIES[family.word].__name__}."
        )
    return family


def conjugate_priors() -> dict[str, type[Belief]]:
    """The types of the priors that users give to the registered families, by name."""
    kinds = [family.conjugate for family in FAMILIES.values() if family.conjugate is not None]
    return {kind.__name__: kind for kind in kinds}


def ordered_hyperparameters(families: Iterable[Family]) -> list[Hyperparameters]:
    """The hyperparameters of some families, each once: first those of registered ones, in their
    order.
    """
    there = [family.hyperparameters for family in families if family.hyperparameters is not None]
    known = [family.hyperparameters for family in FAMILIES.values()]
    return [each for each in dict.fromkeys([*known, *there]) if each in there]


def unless_alike(values: Array) -> Array:
    """Drop the class axis of `(c, ...)` where all classes are alike."""
    return values[0] if (values == values[:1]).all() else values


def proportions(*concentrations: Array) -> tuple[Array, ...]:
    """Concentrations divided by their mean over all of them; ones, if they are all 0."""
    mean = np.mean([np.mean(each) for each in concentrations])
    return tuple(np.where(mean > 0, ratio(each, mean), 1.0) for each in concentrations)


def checked_unseen(family: str, unseen: Any) -> None:
    """Raise for what no policy for new levels is."""
    if unseen not in ("ignore", "error", "reserve"):
        raise ValueError(
            f"{family}: unseen must be 'ignore', 'error' or 'reserve', got {unseen!r}."
        )


def checked_prior(family: str, prior: Any, kind: type[Belief], short: bool = False) -> None:
    """Raise for a prior that is another family's, or none at all.

    The `short` form of one is left to the prior.
    """
    given = isinstance(prior, Belief | str) if short else prior is not None
    if given and not isinstance(prior, kind):
        expected = f"{kind.__name__}(...){' or a number' if short else ''}"
        raise TypeError(f"{family}: the prior must be {expected}, got {prior!r:.80}.")


def declared_levels(family: str, levels: Any) -> tuple[Any, ...]:
    """Levels as a user declares them, each once."""
    if isinstance(levels, str):
        raise ValueError(f"{family}: levels must be a list of levels, got {levels!r}.")
    declared = tuple(levels.tolist() if isinstance(levels, np.ndarray) else levels)
    try:
        repeated = len(set(declared)) < len(declared)
    except TypeError:
        raise ValueError(
            f"{family}: levels is one list of levels, the same for all columns, got "
            f"{list(declared)!r:.80}. Where "
            "columns have different levels, give them a categorical type that has its own."
        ) from None
    if repeated:
        raise ValueError(f"{family}: levels has one twice: {list(declared)}.")
    return declared


def _is_shown(field: Any, value: Any) -> bool:
    plain = type(value) in (str, int, float) and type(value) is type(field.default)
    # arrays compare cell by cell
    same = value == field.default if plain else value is field.default
    return is_dataclass(value) or not same


def shaped(family: str, prior: Belief, shape: tuple[int, ...]) -> Any:
    """The prior with the axes of the data, or an error that says which it lacks."""
    try:
        # a copy: the user's may change
        return prior.map(lambda array: np.broadcast_to(np.array(array), shape))
    except ValueError:
        axes = "(classes, columns)" if len(shape) == 2 else "(classes, 1, levels)"
        raise ValueError(
            f"{family}: the prior {prior} does not broadcast to {axes} = {shape}. "
            "Give a number, or as many as there are columns."
        ) from None


@dataclass(frozen=True, eq=False, init=False)
class BestOf:
    """Choice among families, made for each column by how well the column alone predicts the label.

    The first family is taken, unless another one's exact leave-one-out log score of the label is
    better by more than ``margin`` nats.

    Parameters
    ----------
    *families : Family
        Two candidates or more. One that cannot model a column's cells is passed over, and so is one
        after the first that they refute: ``Poisson``, where the variance within classes is more
        than five times the mean.
    margin : float, default=2.0
        By how many nats another candidate must be better than the first; where columns are more
        than rows, as many times that as there are columns for each row.

    Attributes
    ----------
    candidates : tuple of Family
        The families to choose from.

    See Also
    --------
    NaiveBayes : What was chosen is in its ``families_``, and by how much in ``choices_``.

    Notes
    -----
    The choice is made at the first ``fit`` or ``partial_fit``, and then fixed. Where a
    candidate is a family over several columns at once, a block of columns is decided as a whole.

    Evidences would not choose well: they favour the family that fits the bulk of a column, whether
    or not that tells the classes apart, and densities relative to different base measures cannot be
    compared by them at all.

    Examples
    --------
    >>> from bayesnb import BestOf, Categorical, Gaussian, NaiveBayes
    >>> # one class outside, the other inside: no two bell curves
    >>> x = [[1.0], [9.0], [1.0], [9.0], [5.0], [5.0], [5.0], [5.0]] * 5
    >>> best = BestOf(Gaussian(shared=True), Categorical())
    >>> model = NaiveBayes(best).fit(x, list("aaaabbbb") * 5)
    >>> model.families_
    {0: Categorical(prior=Dirichlet(concentration=1.0))}
    """

    candidates: tuple[Family, ...]
    margin: float

    def __init__(self, *families: Family, margin: float = 2.0) -> None:
        if len(families) < 2 or not all(isinstance(family, Family) for family in families):
            raise TypeError(
                "BestOf takes two families or more, such as BestOf(Histogram(), Gaussian()), got "
                f"{families!r}."
            )
        if isinstance(margin, bool) or not (isinstance(margin, Real) and 0 <= float(margin) < inf):
            raise ValueError(
                f"BestOf: margin must be a number of nats, at least 0, got {margin!r}."
            )
        object.__setattr__(self, "candidates", families)
        object.__setattr__(self, "margin", float(margin))

    @classmethod
    def of_fields(cls, candidates: tuple[Family, ...], margin: float = 2.0) -> Self:
        """Return the choice among these candidates."""
        return cls(*candidates, margin=margin)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates: the class of one that is declared with its defaults, else all of
        its declaration.
        """
        return tuple(
            type(family).__name__ if repr(family) == repr(type(family)()) else repr(family)
            for family in self.candidates
        )

    @property
    def over_blocks(self) -> bool:
        """Whether a candidate is a family over several columns at once."""
        return any(family.multivariate or family.words for family in self.candidates)

    def __repr__(self) -> str:
        margin = "" if self.margin == 2.0 else f", margin={self.margin:g}"
        return f"BestOf({', '.join(map(repr, self.candidates))}{margin})"


@dataclass(frozen=True, eq=False)
class Choice:
    """How the family of a column, or of a block of columns, was chosen among candidates."""

    key: Hashable  # the column's name, or those of a block
    candidates: tuple[str, ...]
    # the label's score by each candidate, `(candidates,)`; NaN for one that cannot have the cells
    elpd: np.ndarray
    chosen: int  # the place of the one that was chosen
