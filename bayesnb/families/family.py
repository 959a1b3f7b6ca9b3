"""How a user declares what columns hold: the family, its prior, and how to read the cells.

A family's support is the set of values that its cells can take. It is checked for rows to learn
from and for rows to predict. Missing cells are another matter: see the family's `missing`.

`BestOf` chooses a family for each column by how well that column alone predicts the label:

    S(family) = sum_i log p(y_i | x_ij, all other rows), exact

The evidence would choose badly: it favours the family that fits the bulk of a column, whether or
not that helps to predict the label, and it cannot compare densities with different base measures.
The leave-one-out score of the label can.
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

# The support

ANOTHER = "Declare it gaussian, or drop it."


class Fault(NamedTuple):
    """One way for cells to be outside the support: a test, a message, and advice."""

    invalid: Callable[[Array], Array]  # False for a missing cell
    message: str
    advice: str


MISSING = Fault(
    np.isnan,
    "a cell is missing (NaN)",
    "This family does not accept missing cells: fill it or drop the row.",
)
INFINITE = Fault(np.isinf, "a number is infinite (inf)", "Make it NaN if it is missing.")


class Support(ABC):
    """The values for which a family's densities are defined; `str` describes them."""

    @abstractmethod
    def __str__(self) -> str: ...

    @property
    @abstractmethod
    def faults(self) -> Sequence[Fault]:
        """All ways for a number to be outside."""

    @property
    def nonnegative(self) -> bool:
        """Whether negative numbers are outside."""
        return not self.holds(np.full(1, -np.finfo(float).tiny), True)

    @property
    def has_zero(self) -> bool:
        """Whether 0 is inside: it is the value of cells that a sparse table does not store."""
        return self.holds(np.zeros(1), True)

    def holds(self, x: Array, missing: bool) -> bool:
        """Whether all numbers of an array are inside; `missing` says whether NaN is allowed."""
        faults = self.faults if missing else (MISSING, *self.faults)
        return not any(fault.invalid(x).any() for fault in faults)


@dataclass(frozen=True)
class RealNumbers(Support):
    """Finite numbers between two bounds, inclusive.

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
    """Whole numbers of at least 0, or with `fractional` any numbers of at least 0."""

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
        """Return whether all cells are counts, in one compiled pass over them."""
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
    """Levels. They are learnt from the column, so no value is outside."""

    def __str__(self) -> str:
        return "levels"

    @property
    def faults(self) -> Sequence[Fault]:
        return ()


# Declarations


class Seen(NamedTuple):
    """Counts entry by entry: `k` levels of all columns, or events of each column."""

    counts: Array  # `(c, k)`
    unit: Array  # `(c, k)`, concentrations at a smoothing of 1
    column: Array  # `(k,)`, the column of each entry
    level: Array  # `(k,)`, its level in that column


NO_DIFFERENCE = "labels are predicted best when the columns hardly distinguish the classes"
NO_PRIOR = "labels are predicted best with hardly any prior"
# what it means if the best factor of the pseudo-counts is infinite (True), or 0
EXTREMES = {
    ("smoothing", True): NO_DIFFERENCE,
    ("smoothing", False): NO_PRIOR,
    ("strength", True): NO_DIFFERENCE,
    ("strength", False): NO_PRIOR,
    ("scale", True): "the larger the variances that the prior expects, the better",
    ("scale", False): "the smaller the variances that the prior expects, the better",
}


LEAST, MOST = 1e-8, 1e8  # concentrations or counts beyond count as 0, or as infinite
BOUNDS = float(np.log(LEAST)), float(np.log(MOST))


def positive(logs: Array) -> Array:
    """Exponentiate; the ends of the range are exact."""
    return np.clip(np.exp(logs), LEAST, MOST)


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Parameters of a family's prior that are chosen from data.

    Families that declare the same object share them. All are positive, and searched from 1e-8 to
    1e8. `Family.tuned` makes a prior from the values of `names`, which maximise the evidence;
    `Family.smoothed` from those of `factors`, which maximise the leave-one-out score.
    """

    names: tuple[str, ...]
    weak: tuple[float, ...]  # values if the data are uninformative
    # factors of the declared prior: its strength, and maybe the `scale`
    factors: tuple[str, ...] = ("strength",)
    counts_levels: bool = False  # a strength of l adds l to the count of every level
    note: str = ""  # one sentence on how a smoothing enters the prior
    # (name, whether infinite rather than 0) -> what that means
    extremes: Mapping[tuple[str, bool], str] = field(default_factory=dict)

    def meaning(self, name: str, infinite: bool, shared: bool = False) -> str:
        """Explain a hyperparameter whose best value is infinite, or 0."""
        known = EXTREMES | dict(self.extremes)
        size = "larger" if infinite else "smaller"
        default = f"the {size} the {name} of the prior, the better"
        return (known.get((f"shared {name}", infinite)) if shared else None) or known.get(
            (name, infinite), default
        )


class Family[S: Stats](ABC):
    """Declaration of what columns hold: the prior, and how to read their cells."""

    word: ClassVar[str]  # name on the command line, by default the class's in lower case
    content: ClassVar[str] = ""  # what a column holds, in words; by default `str(support)`
    # how the predictive of a column is plotted
    picture: ClassVar[Literal["density", "mass", "levels"]] = "density"
    stats: ClassVar[type[Stats]]
    # the class of priors that users give, if they can
    conjugate: ClassVar[type[Belief] | None]
    # None for a prior that cannot be tuned
    hyperparameters: ClassVar[Hyperparameters | None] = None
    # cells are codes of levels, whose names are learnt from the table
    has_levels: ClassVar[bool] = False
    # cells are codes of levels, on a grid that is learnt from the first table
    has_grid: ClassVar[bool] = False
    # names of the values 0, 1, ..., if these are the only ones
    outcomes: ClassVar[tuple[str, ...]] = ()
    has_width: ClassVar[bool] = False  # each column has its own standard deviation
    multivariate: ClassVar[bool] = False  # one density over all columns of the block
    # the block's columns are words of one text, each of which is explained
    words: ClassVar[bool] = False
    reads_sparse: ClassVar[bool] = False  # reads CSR as it is
    # cells outside the support make scores and stats NaN, so they need no check
    shows_invalid: ClassVar[bool] = False
    missing: ClassVar[bool] = True  # missing cells are allowed, and skipped
    levels: Any = None  # declared levels, or a rule for learning them
    unseen: str = "ignore"  # what to do with levels not seen in training
    listed: bool = False  # a cell is a list of levels, which are counted
    threshold: float | None = None  # numbers above it are ones
    fractional: bool = False  # numbers that are not counts are accepted
    shared: bool = False  # classes have parameters in common
    repeats: ClassVar[bool] = False  # reads columns of other blocks again
    # exponent in the joint distribution of rows; 0 for what only weights the label
    in_joint: Any = 1.0

    @property
    def option(self) -> str:
        """Name as users write it, with ":shared" appended if classes share parameters."""
        return self.word + (":shared" if self.shared else "")

    @property
    def columnwise(self) -> "Family":
        """The family of single columns, whose beliefs are the `margins` of this family's."""
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "word" not in cls.__dict__:
            cls.word = cls.__name__.lower()
        if cls.hyperparameters is not None and not hasattr(cls, "tuned"):
            raise TypeError(
                f"{cls.__name__} declares hyperparameters, so it must also define `tuned`."
            )

    @classmethod
    def shareable(cls) -> bool:
        """Whether the family has the option `shared`."""
        return any(field.name == "shared" for field in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def number_prior(cls) -> bool:
        """Whether the prior can be a number: it can where the default is one."""
        priors = [field for field in fields(cls) if field.name == "prior"]  # type: ignore[arg-type]
        return any(isinstance(field.default, Real) for field in priors)

    @property
    def combined(self) -> bool:
        """Whether a cell is a combination of levels of several columns."""
        return self.has_levels and self.multivariate

    @property
    def continuous(self) -> bool:
        """Whether cells have a density."""
        return self.picture == "density"

    @property
    def counts_levels(self) -> bool:
        """Whether the prior is a pseudo-count of each level."""
        return self.hyperparameters is not None and self.hyperparameters.counts_levels

    @property
    @abstractmethod
    def support(self) -> Support:
        """The values that cells can take, checked whenever a table is read."""

    @property
    def positive_only(self) -> bool:
        """Whether negative numbers are an error."""
        return self.support.nonnegative

    @property
    def of_lists(self) -> Self:
        """This family for a column whose cells are lists; itself if it cannot read lists."""
        return self

    def of_column(self, belief: Belief, levels: Any = None, unseen: str = "ignore") -> "Family":
        """The family of a single column with this belief, `(c, ...)`, as its prior."""
        return replace(self, prior=belief.map(lambda array: unless_alike(array[:, None])))  # type: ignore[type-var]

    def is_refuted(self, x: Any, codes: Array, weight: Array | None = None) -> bool:
        """Whether numbers, `(r, f)`, fit this family so badly that `BestOf` should not choose
        it.
        """
        return False

    def read(self, x: Any) -> Cells:
        """Convert numbers of a table (an array, a view or CSR) to the cells that stats and
        densities read.
        """
        return x

    def written(self, drawn: Array) -> Array:
        """Numbers that `read` would convert to these cells."""
        return drawn

    def observe(self, x: Cells, weight: Weight, sizes: Any = (), n_jobs: int | None = 1) -> Stats:
        """The stats of one block of cells.

        `sizes` are the numbers of levels, or the grid, for families that have one.
        """
        layout = (sizes,) if self.has_levels or self.has_grid else ()
        return self.stats.of(x, weight, *layout, n_jobs=n_jobs)

    @abstractmethod
    def belief(self, stats: S) -> Belief:
        """The prior, shaped like the stats, and perhaps on their scale."""

    def describe(self, belief: Belief) -> str:
        """The prior in words."""
        return "as declared"

    def smoothed(self, stats: S, smoothing: Any, kind: str, scale: float = 1.0) -> Self:
        """The family with the prior of this smoothing: a number, or numbers that broadcast to `(c,
        f)`.

        A smoothing l adds l to every count: the concentration of a Dirichlet is l if `kind` is
        "mean" or "predictive", and 1 + l if it is "map". `scale` multiplies the variance that a
        prior of variances expects. By default the smoothing multiplies the pseudo-counts of the
        declared prior.
        """
        if self.hyperparameters is None:
            raise TypeError(
                f"{type(self).__name__} has no smoothing to set. Compare other columns."
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
        """Return the counts in the stats."""


# by `word`, in the order of listings
FAMILIES: dict[str, type[Family]] = {}


def register(family: type[Family]) -> type[Family]:
    """Make a family known to files, the command line, the report and `tune`; a class decorator."""
    if FAMILIES.setdefault(family.word, family) is not family:
        raise ValueError(
            f"there is a family {family.word!r} already: {FAMILIES[family.word].__name__}."
        )
    return family


def conjugate_priors() -> dict[str, type[Belief]]:
    """The classes of priors of the registered families, by name."""
    kinds = [family.conjugate for family in FAMILIES.values() if family.conjugate is not None]
    return {kind.__name__: kind for kind in kinds}


def ordered_hyperparameters(families: Iterable[Family]) -> list[Hyperparameters]:
    """The distinct hyperparameters of some families: those of registered ones first, in order."""
    there = [family.hyperparameters for family in families if family.hyperparameters is not None]
    known = [family.hyperparameters for family in FAMILIES.values()]
    return [each for each in dict.fromkeys([*known, *there]) if each in there]


def unless_alike(values: Array) -> Array:
    """Drop the class axis of `(c, ...)` if all classes are equal."""
    return values[0] if (values == values[:1]).all() else values


def proportions(*concentrations: Array) -> tuple[Array, ...]:
    """Concentrations divided by their overall mean; ones if all are 0."""
    mean = np.mean([np.mean(each) for each in concentrations])
    return tuple(np.where(mean > 0, ratio(each, mean), 1.0) for each in concentrations)


def checked_unseen(family: str, unseen: Any) -> None:
    """Raise for an unknown policy for new levels."""
    if unseen not in ("ignore", "error", "reserve"):
        raise ValueError(
            f"{family}: unseen must be 'ignore', 'error' or 'reserve', got {unseen!r}."
        )


def checked_prior(family: str, prior: Any, kind: type[Belief], short: bool = False) -> None:
    """Raise for a prior of another family, or for something that is no prior.

    With `short`, a number is left to the prior's own check.
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
            f"{family}: levels must be one list of levels for all columns, got "
            f"{list(declared)!r:.80}. If columns have different levels, give each a categorical "
            "type."
        ) from None
    if repeated:
        raise ValueError(f"{family}: levels must differ, got {list(declared)}.")
    return declared


def _is_shown(field: Any, value: Any) -> bool:
    plain = type(value) in (str, int, float) and type(value) is type(field.default)
    # arrays compare cell by cell
    same = value == field.default if plain else value is field.default
    return is_dataclass(value) or not same


def shaped(family: str, prior: Belief, shape: tuple[int, ...]) -> Any:
    """Broadcast the prior to the axes of the data, or raise with their names."""
    try:
        # a copy, as the user may change the original
        return prior.map(lambda array: np.broadcast_to(np.array(array), shape))
    except ValueError:
        axes = "(classes, columns)" if len(shape) == 2 else "(classes, 1, levels)"
        raise ValueError(
            f"{family}: the prior {prior} does not broadcast to {axes} = {shape}. "
            "Give a number, or as many as there are columns."
        ) from None


@dataclass(frozen=True, eq=False, init=False)
class BestOf:
    """A choice among families for each column, by how well the column alone predicts the label.

    The first family is chosen unless the exact leave-one-out log score of the label under another
    is better by more than ``margin`` nats.

    Parameters
    ----------
    *families : Family
        Two candidates or more. Candidates that cannot model the cells of a column are skipped. So
        is ``Poisson``, unless it comes first, where the variance within classes exceeds five times
        the mean.
    margin : float, default=2.0
        By how many nats another candidate must beat the first. Where there are more columns than
        rows, this is multiplied by the number of columns per row.

    Attributes
    ----------
    candidates : tuple of Family
        The families to choose from.

    See Also
    --------
    NaiveBayes : Its ``families_`` are those chosen, and its ``choices_`` the scores.

    Notes
    -----
    The choice is made at the first ``fit`` or ``partial_fit``, and then fixed. If a candidate
    models several columns jointly, one choice is made for the block.

    The evidence would choose badly: it favours the family that fits the bulk of a column, whether
    or not that separates the classes, and it cannot compare densities with different base measures.

    Examples
    --------
    >>> from bayesnb import BestOf, Categorical, Gaussian, NaiveBayes
    >>> # one class at 1 and 9, the other at 5: normal distributions do not fit
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
        """Rebuild the choice from its fields."""
        return cls(*candidates, margin=margin)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates: the class name if all options are defaults, else the repr."""
        return tuple(
            type(family).__name__ if repr(family) == repr(type(family)()) else repr(family)
            for family in self.candidates
        )

    @property
    def over_blocks(self) -> bool:
        """Whether a candidate models several columns jointly."""
        return any(family.multivariate or family.words for family in self.candidates)

    def __repr__(self) -> str:
        margin = "" if self.margin == 2.0 else f", margin={self.margin:g}"
        return f"BestOf({', '.join(map(repr, self.candidates))}{margin})"


@dataclass(frozen=True, eq=False)
class Choice:
    """How the family of a column or of a block of columns was chosen."""

    key: Hashable  # name of the column, or names of the block
    candidates: tuple[str, ...]
    # score of the label under each candidate; NaN if it cannot model the cells
    elpd: np.ndarray
    chosen: int  # index of the chosen candidate
