"""The facts for the page, each computed once: held-out predictions and results of functions."""

import copy
import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from bayesnb.criticism.calibration import calibration
from bayesnb.criticism.compare import compare_smoothing
from bayesnb.criticism.dependence import dependence
from bayesnb.criticism.fitted_rows import fit_rows
from bayesnb.criticism.relevance import importance
from bayesnb.data import open_table
from bayesnb.data.columns import encode
from bayesnb.estimators.cross_validation import leave_rows_out
from bayesnb.families.base import Array
from bayesnb.formatting import list_names, shorten
from bayesnb.model.linked import Linked
from bayesnb.model.product import Rows, normalise_log
from bayesnb.model.schema import Block
from bayesnb.numerics.views import column, pieces_of
from bayesnb.selection.column_exponents import find_one_exponent
from bayesnb.selection.leave_one_out import PredictiveRule, leave_one_out
from bayesnb.selection.probability_scores import tie_rows
from bayesnb.selection.verdict import Observed, Verdict, judge, signed_mean
from bayesnb.stages import Stages

MIXER = 0x9E3779B97F4A7C15  # an odd number whose multiples spread over 64 bits
INTERVAL = 0.89  # the probability of intervals, ArviZ's default
MAX_SCORES = 2e7  # rows x classes x columns; in larger tables, importance uses fewer rows
MAX_TEMPERED = 3e7  # the same, to find a single exponent
MAX_SETTINGS = 1e6  # the same, to compare many values of the smoothing
MAX_EXPLAINED, MAX_UNCERTAIN = 200, 60  # evenly spaced rows
GROUPS = 10  # groups in which rows are held out for their uncertainty
MAX_PAIRED = 40  # columns whose pairs are compared
SMOOTHINGS: tuple[float, ...] = (0, 0.01, 0.1, 0.5, 1, 2, 10)
FEW_SMOOTHINGS: tuple[float, ...] = (0.01, 0.1, 1, 10)
ESTIMATES: tuple[str, ...] = ("predictive", "mean", "map")
UNCERTAINTY = ("entropy", "aleatoric", "epistemic")


@dataclass(frozen=True)
class About:
    """What the model does not know: the name of the label, the source of the table, the author.

    Attributes
    ----------
    label : the name of the column of labels
    source : the name of the table
    notes : sentences about the table
    command : the command that made the page, if any
    date : the date of the page
    title : the title of the page; default: "Predicting" and the label
    author : who is responsible for the model
    use : the intended use of the model
    ci_prob : probability of the intervals; None: 0.89, the default of ArviZ
    positive : the positive class of two, for ROC, precision and costs; None: the rarer one
    """

    label: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    command: str = ""
    date: str = ""
    title: str = ""
    author: str = ""
    use: str = ""
    ci_prob: float | None = None
    positive: Any = None


class Column(NamedTuple):
    """A column that does not count words, modelled alone or in a block."""

    key: Hashable
    block: Block
    place: int  # in the block
    cells: Array  # `(r,)`; a missing level is negative, a missing number NaN

    @property
    def family(self) -> Any:
        return self.block.family

    @property
    def known(self) -> Array:
        """Which cells are not missing."""
        return self.cells >= 0 if self.family.has_levels else np.isfinite(self.cells)

    @property
    def levels(self) -> Any:
        """The names of levels, or of the values of a flag; empty for numbers."""
        return self.block.levels[self.place] if self.family.has_levels else self.family.outcomes


class OneExponent(NamedTuple):
    """The exponent of temper="loo", and log p(y | x) with it by leave-one-out, `(r, c)`."""

    power: float
    log_proba: Array


@dataclass(frozen=True, eq=False)
class Facts:
    """A fitted model, its rows, and their log p(y | x), `(r, c)`.

    Where a row is impossible under every class, all of its labels have minus infinity. A result
    that is undefined is replaced by the reason, a text.
    """

    model: Any
    X: Any  # the table and the labels, as they were given
    y: Any
    about: About
    rows: Rows
    fitted: Array  # by the model that has seen the row
    left_out: Array  # by the model of all other rows; NaN where its posterior is improper
    test: tuple[Any, Array, Array] | None  # test table, its log p(y | x), codes
    memo: dict[Any, Any] = field(default_factory=dict)  # results of checks

    @property
    def title(self) -> str:
        return self.about.title or f"Predicting {self.about.label or 'the label'}"

    @property
    def prob(self) -> float:
        """Probability of the intervals."""
        return INTERVAL if self.about.ci_prob is None else self.about.ci_prob

    @property
    def codes(self) -> Array:
        return self.rows.codes

    @property
    def classes(self) -> list[str]:
        return [str(label) for label in self.model.classes_.tolist()]

    @cached_property
    def counts(self) -> Array:
        """Rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def positive(self) -> int:
        """The position of the positive class of two, for ROC, precision and costs."""
        if self.about.positive is not None:
            return self.classes.index(str(self.about.positive))
        return int(self.counts[1] <= self.counts[0])

    # Held-out rows

    @property
    def label_log_proba(self) -> Array:
        """log p(true label) of each held-out row, `(r,)`."""
        return self.of_labels(self.left_out)

    def of_labels(self, log_proba: Array) -> Array:
        return log_proba[np.arange(len(self.codes)), self.codes]

    @property
    def answered(self) -> Array:
        """The rows that are possible under some class when they are held out."""
        return np.isfinite(self.left_out.max(axis=1))

    @cached_property
    def tempered(self) -> OneExponent | None:
        """The result of temper="loo", if the model has no exponents, all scores are finite, and it
        is cheap.
        """
        model = self.model
        is_cheap = len(self.codes) * self.row_size < MAX_TEMPERED
        if model.fitted_.temper.rule is not None or len(self.classes) < 2 or not is_cheap:
            return None
        if not np.isfinite(self.label_log_proba).all():
            return None
        found = find_one_exponent(model.model_, self.rows, model.n_jobs)
        power = float(found.value)
        rule = PredictiveRule(model.estimate, power, found.covariance)
        joint = leave_one_out(model.model_, self.rows, rule, n_jobs=model.n_jobs)
        return OneExponent(power, normalise_log(joint))

    @cached_property
    def observed(self) -> Any:
        """The numbers behind the verdict; None if no row can be held out."""
        defined = ~np.isnan(self.left_out).any(axis=1)
        if not defined.any():
            return None
        power = 1.0
        gain = None
        choices = 0.0
        if self.tempered is not None:
            power = self.tempered.power
            gain = signed_mean(self.of_labels(self.tempered.log_proba) - self.label_log_proba)
        temper = self.model.fitted_.temper
        if temper.by_feature:  # an exponent shrunk to 0 was hardly free
            choices = float(np.sum(temper.value))
        elif temper.is_found:
            choices = 1.0
        # rows with the same prediction by the fitted model
        tied = tie_rows(self.fitted[defined])
        left_out = self.left_out[defined]
        codes = self.codes[defined]
        return Observed.of(left_out, codes, tied, choices, power, gain)

    @property
    def verdict(self) -> Verdict | None:
        """Words for labels and probabilities; None if no row can be held out."""
        names = [shorten(label, 40) for label in self.classes]
        return None if self.observed is None else judge(self.observed, names)

    @cached_property
    def log_density(self) -> Array:
        """log p(x | all other rows) of each row, whatever its class; NaN where it is undefined."""
        with np.errstate(invalid="ignore"):
            joint = leave_rows_out(self.model, self.rows, "joint")
            posterior = self.model.model_.posterior
            return np.logaddexp.reduce(posterior.with_base(joint, self.rows.cells), axis=1)

    # Results of functions

    @cached_property
    def calibration(self) -> Any:
        options = {"ci_prob": self.prob, "progress": False}
        return attempt(calibration, self.model, self.X, self.y, **options)

    @cached_property
    def importance(self) -> Any:
        places = self.spaced(int(MAX_SCORES / self.row_size))
        return attempt(importance, self.model, *self.take(places), ci_prob=self.prob)

    @cached_property
    def summary(self) -> Any:
        return self.model.summary()

    @cached_property
    def features(self) -> Any:
        """`summary` and `importance` as one frame, the most important feature first."""
        frame = self.summary.to_frame()
        order = "log_bayes_factor"
        frame["key"] = [key for key, *_ in self.model.schema_.columns_alone.keys]
        if not isinstance(self.importance, str):
            frame = frame.join(self.importance.to_frame()[["importance", "lower", "upper"]])
            order = "importance"
        return frame.sort_values(order, ascending=False, kind="stable")

    @cached_property
    def explained(self) -> Any:
        """`model.explain` of evenly spaced rows, with links folded into their columns."""
        return self.explain(self.model, self.spaced(MAX_EXPLAINED))

    def explain(self, model: Any, places: Any) -> Any:
        """Explain rows by a model, with links folded into their columns."""
        explained = attempt(model.explain, self.take(places)[0])
        return explained if isinstance(explained, str) else fold_links(explained, model)

    @cached_property
    def smoothing(self) -> Any:
        is_large = len(self.codes) * self.row_size > MAX_SETTINGS
        sizes = FEW_SMOOTHINGS if is_large else SMOOTHINGS
        estimates = ESTIMATES
        if is_large or self.model.schema_.columns_alone is not self.model.schema_:
            estimates = ("predictive",)
        given = self.model, self.X, self.y, sizes, estimates
        return attempt(compare_smoothing, *given, progress=False)

    @cached_property
    def dependence(self) -> Any:
        """`dependence` of the most important columns."""
        ranks = {str(feature): rank for rank, feature in enumerate(self.features.index)}
        keys = [one.key for one in self.columns]
        keys.sort(key=lambda key: ranks.get(str(key), 0))  # a column of a block is important
        given = self.model, self.X, self.y, keys[:MAX_PAIRED]
        return attempt(dependence, *given, progress=False)

    @cached_property
    def pairs(self) -> list[tuple[str, str, float, bool]]:
        """Pairs of columns, the log Bayes factor of their dependence, and whether the model has it:
        a block or links connect the pair. The strongest is first.
        """
        if isinstance(self.dependence, str):
            return []
        factors = self.dependence.to_frame()["log_bayes_factor"].dropna()
        groups = self.connected_columns
        pairs = []
        for ends, factor in factors.sort_values(ascending=False).items():
            first, second = map(str, ends)
            pairs.append((first, second, float(factor), second in groups.get(first, ())))
        return pairs

    @property
    def connected_columns(self) -> dict[str, set[str]]:
        """Column -> all columns to which blocks and links connect it."""
        joined: list[Any] = []
        for block in self.model.schema_.blocks:
            if isinstance(block.family, Linked):
                joined += block.keys
            elif block.family.multivariate and not (block.family.words or block.repeats):
                joined.append(block.names)
        groups: dict[str, set[str]] = {}
        for names in joined:
            group = {str(name) for name in names}
            group = group.union(*(groups.get(name, ()) for name in group))
            groups |= dict.fromkeys(group, group)
        return groups

    @cached_property
    def uncertainty(self) -> Any:
        """Parts of `model.uncertainty` of evenly spaced rows: entropy, aleatoric, epistemic.

        Each tenth of these rows is predicted by a model without it.
        """
        places = self.spaced(MAX_UNCERTAIN)
        parts = []
        for start in range(min(GROUPS, len(places))):
            group = places[start::GROUPS]
            other = self.hold_out(group)
            if not isinstance(other, str):
                other = attempt(other.uncertainty, self.take(group)[0])
            if isinstance(other, str):
                return other
            parts.append([other[name].values for name in UNCERTAINTY])
        return dict(zip(UNCERTAINTY, np.concatenate(parts, axis=1), strict=True))

    # Rows and columns

    @cached_property
    def columns(self) -> list[Column]:
        """Columns in the table's order, except words."""
        columns = []
        for b, block in enumerate(self.model.schema_.columns_alone.blocks):
            if not block.family.words:
                for place, key in enumerate(block.names):
                    cells = column(self.rows.cells[b], place)
                    columns.append(Column(key, block, place, cells))
        order = {key: place for place, key in enumerate(self.model.schema_.columns)}
        return sorted(columns, key=lambda one: order[one.key])

    @property
    def has_words(self) -> bool:
        """Whether some columns are counts of words."""
        return any(block.family.words for block in self.model.schema_.blocks)

    @property
    def row_size(self) -> float:
        """Classes x columns; for texts, the average number of different words in a row."""
        width = 0.0
        for block, x in zip(self.model.schema_.blocks, self.rows.cells, strict=True):
            is_text = block.family.words and sparse.issparse(x)
            width += x.nnz / len(self.codes) if is_text else x.shape[1]
        return len(self.classes) * max(width, 1.0)

    @cached_property
    def row_keys(self) -> Array:
        """64-bit keys that are equal for rows with the same cells and label.

        A key is a sum of hashed cells times odd numbers, modulo 2**64, in any order.
        """
        keys = self.codes.astype(np.uint64)
        rng = np.random.default_rng(0)
        for x in self.rows.cells:
            factors = 2 * rng.integers(1 << 63, size=x.shape[1], dtype=np.uint64) + 1
            for rows in pieces_of(x):
                part = sparse.csr_array(x[rows], dtype=float)
                part.sum_duplicates()
                part.eliminate_zeros()
                part.data[np.isnan(part.data)] = np.nan  # NaN has many bit patterns
                bits = MIXER * part.data.view(np.uint64)
                hashes = bits ^ (bits >> 32)
                part = sparse.csr_array((hashes, part.indices, part.indptr), part.shape)
                keys[rows] = MIXER * keys[rows] + part @ factors
        return keys

    def spaced(self, most: int) -> Array:
        """Places of evenly spaced rows, at most `most`."""
        rows = len(self.codes)
        return np.unique(np.linspace(0, rows - 1, min(most, rows)).round().astype(int))

    def take(self, places: Any) -> tuple[Any, Array]:
        """The rows at some places, in the table's order, and their labels."""
        keep = np.zeros(len(self.codes), bool)
        keep[places] = True
        return open_table(self.X).take(keep), self.model.classes_[self.codes[keep]]

    def hold_out(self, places: Any) -> Any:
        """The model of all other rows, or the reason why there is none."""
        return attempt(copy.deepcopy(self.model).forget, *self.take(places))


def attempt(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the result of a function, without its warnings; if it raises, the message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **options)
        except (TypeError, ValueError) as error:
            return str(error)


def fold_links(explained: Any, model: Any) -> Any:
    """Return an explanation in which half of each link is added to each of its two columns."""
    links = model.schema_.links
    if links is None:
        return explained
    features = explained.sizes["feature"]
    width = features - len(links.keys) - (model.schema_.covariance is not None)
    others = [*range(width), *range(width + len(links.keys), features)]
    columns = explained.isel(feature=others)
    predictive = explained["predictive"].values
    folded = predictive[..., others]
    places = {str(key): place for place, key in enumerate(columns["feature"].values[:width])}
    for place, ends in enumerate(links.keys, width):
        for end in ends:
            folded[..., places[str(end)]] += predictive[..., place] / 2
    return columns.assign(predictive=(columns["predictive"].dims, folded))


def gather(
    model: Any,
    X: Any,
    y: Any,
    test: tuple[Any, Any] | None = None,
    about: About | None = None,
    stages: Stages | None = None,
) -> Facts:
    """Return the facts about a model and its rows. If it is not fitted, a copy is fitted."""
    about = about or About(label=str(getattr(y, "name", None) or ""))
    if about.positive is not None:
        check_positive(about.positive, y)
    (stages or Stages(False)).begin("report: predicting each row by the model of all others")
    fitted = fit_rows(model, X, y, needed_by="the report")
    model = fitted.estimator
    left_out = normalise_log(leave_rows_out(model, fitted.rows))
    seen = normalise_log(model.predict_joint_log_proba(X))
    tested = None
    if test is not None:
        log_proba = normalise_log(model.predict_joint_log_proba(test[0]))
        tested = test[0], log_proba, encode(np.asarray(test[1]).ravel(), model.classes_)
    return Facts(model, X, y, about, fitted.rows, seen, left_out, tested)


def check_positive(positive: Any, y: Any) -> None:
    """Raise if the positive class is not one of two labels."""
    labels = sorted(set(map(str, np.asarray(y).ravel().tolist())))
    if len(labels) != 2 or str(positive) not in labels:
        names = list_names([shorten(label, 80) for label in labels])
        raise ValueError(
            f"positive={positive!r} is not one of two classes. The classes are {names}. With more "
            "than two classes, leave it out."
        )
