"""What the capabilities of an estimator share: its parameters, its fitted value, tables to read."""

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesnb.data import Table, open_table
from bayesnb.data.columns import Labels, weights
from bayesnb.data.families import declared_families, near_columns
from bayesnb.estimators.labels import check_labels
from bayesnb.estimators.prediction import PredictionMixin
from bayesnb.families import Multinomial
from bayesnb.families.base import Array, Cells
from bayesnb.formatting import quote
from bayesnb.model.fitted import Fitted
from bayesnb.model.priors import ClassPriorRule
from bayesnb.model.product import Joint, Model
from bayesnb.model.schema import Schema
from bayesnb.selection.link_search import FOREST, PAIRS

ESTIMATES = ("predictive", "mean", "map", "mle")
AUTO, NONE, COLUMNS, LOO = "auto", "none", "columns", "loo"
TEMPERS = (AUTO, COLUMNS, LOO, NONE)
DEPENDENCES = (AUTO, FOREST, PAIRS, NONE)
ADVICE = {
    "predictive": "Use a proper prior.",
    "mle": "Use estimate='predictive', or drop the column.",
}
MAX_SUGGESTED = 5  # columns that a table lacks, for which another name is looked for


class ModelHolder(PredictionMixin):
    """A thin mutable object around one immutable value, `fitted_`.

    Every mixin of this room is a capability over that value: it predicts, and knows no other mixin.
    A concrete estimator says its families and its class prior.
    """

    class_prior: Any
    classes: Any
    temper: Any
    estimate: str

    dependence: Any = None  # presets have no links

    fitted_: Fitted
    schema_: Schema
    model_: Model
    n_features_in_: int

    @abstractmethod
    def _families(self) -> Any:
        """Return a family for all columns, a mapping, or "auto"."""

    @abstractmethod
    def _class_prior_rule(self, classes: Array) -> ClassPriorRule:
        """Return the prior of the class probabilities."""

    @property
    def _temper_rule(self) -> Any:
        """`temper`, where "auto" stands for "columns" if nothing is declared."""
        return self._resolve(self.temper, COLUMNS)

    @property
    def _dependence_rule(self) -> str | None:
        """`dependence`, where "auto" stands for "pairs" if nothing is declared."""
        return self._resolve(self.dependence, PAIRS)

    def _resolve(self, rule: Any, chosen: str) -> Any:
        """Return a rule, where "auto" is what is chosen if nothing is declared, else None."""
        if rule == AUTO:
            return chosen if self._declares_nothing else None
        return None if rule == NONE else rule

    @property
    def _declares_nothing(self) -> bool:
        """Whether no family is declared, and the estimate is predictive; columns may be dropped."""
        families = self._families()
        declared = families.values() if isinstance(families, Mapping) else [families]
        is_auto = all(family is None or family == AUTO for family in declared)
        return self.estimate == "predictive" and is_auto

    def _set_fitted(self, fitted: Fitted) -> Self:
        """Hold what was learnt."""
        self.fitted_ = fitted
        self.classes_ = fitted.classes
        self.schema_ = fitted.schema
        self.model_ = fitted.model
        return self

    @property
    def temper_(self) -> Any:
        """Exponents in use: a number, or a Series by column. Those of links are in ``links_``."""
        fitted = self.fitted_.of_columns
        return fitted.by_name(fitted.temper.value, "temper")

    @property
    def temper_sd_(self) -> Any:
        """Laplace standard deviations of ``temper_``, in the same form.

        0 for a number that was given.
        """
        fitted = self.fitted_.of_columns
        return fitted.by_name(fitted.temper.sd, "temper_sd")

    @property
    def temper_length_(self) -> Any:
        """Number of words n0 in the exponent t / (1 + n / n0) of a text, half of ``temper_`` there.

        A Series by block of words, infinite where the exponent is the same for all texts; None
        where no exponent falls.
        """
        length = self.fitted_.by_name(self.fitted_.temper.length, "temper_length")
        if length is None:
            return None
        words = [key for key, b, _ in self.schema_.keys if self.schema_.blocks[b].family.words]
        return length[[key in words for key in length.index]]

    def _table(self, X: Any, *, reset: bool = False) -> Table:
        """Open a table of any container.

        Lists of texts are documents if the model is one of documents.
        """
        if reset:
            documents = isinstance(self._families(), Multinomial)
        else:
            schema = self.schema_
            documents = len(schema.columns) == 1 and schema.blocks[0].family.listed
        return open_table(X, self.n_jobs, documents=documents)

    def _open(self, X: Any, *, reset: bool) -> Table:
        """Open a table, with scikit-learn's checks of the columns' names and number."""
        table = self._table(X, reset=reset)
        names = self.__dict__.get("feature_names_in_")
        if names is None:
            are_alike = table.unnamed
        else:
            are_alike = not table.unnamed and list(table.columns) == names.tolist()
        if reset or not are_alike or table.width != self.n_features_in_:
            try:
                validate_data(self, table.native, reset=reset, skip_check_array=True)
            except ValueError as error:
                raise ValueError(f"{error}{suggest_names(table, names)}") from None
        return table

    def _predictor(self) -> Joint:
        """Return what predicts, by the estimator's estimate."""
        return predictor(self.fitted_, self.estimate)

    def _joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        """Return log p(x, y) of every row and class, `(r, c)`, and the cells."""
        _, cells = read_rows(self, X)
        return self._predictor().log_joint(cells, self.fitted_.exponents, self.n_jobs), cells

    def _check_arguments(self) -> None:
        if self.estimate not in ESTIMATES:
            raise ValueError(
                f"estimate must be one of {', '.join(ESTIMATES)}, got {self.estimate!r}."
            )
        temper = self.temper
        is_exponent = isinstance(temper, Real) and 0 < float(temper) < np.inf
        if not (temper is None or is_exponent or is_one_of(temper, TEMPERS)):
            raise ValueError(
                "temper must be 'auto', 'columns', 'loo', 'none', None or a positive number, got "
                f"{temper!r}."
            )
        dependence = self.dependence
        if not (dependence is None or is_one_of(dependence, DEPENDENCES)):
            raise ValueError(
                f"dependence must be 'auto', 'forest', 'pairs', 'none' or None, got {dependence!r}."
            )
        if dependence in (FOREST, PAIRS) and self.estimate != "predictive":
            raise ValueError(
                f"dependence={dependence!r} needs estimate='predictive': the tables of links have "
                "no other estimate."
            )
        if not (self.n_jobs is None or (isinstance(self.n_jobs, Integral) and self.n_jobs != 0)):
            raise ValueError(f"n_jobs must be None or a number of threads, got {self.n_jobs!r}.")


def is_one_of(value: Any, choices: Sequence[Any]) -> bool:
    """Return whether a value is one of some names; any other object, such as an array, is not."""
    return isinstance(value, str) and value in choices


# Rows that are read


def suggest_names(table: Table, names: Any) -> str:
    """Return how to rename the columns of a table that are near those that it lacks, if any are."""
    if names is None or table.unnamed:
        return ""
    new = [name for name in table.columns if name not in names]
    lacking = [name for name in names.tolist() if name not in table.columns]
    renamed = {}
    for name in lacking[:MAX_SUGGESTED]:
        near = near_columns(name, new)
        if near:
            renamed[near[0]] = name
    return f"Are these the same columns? X.rename(columns={renamed}).\n" if renamed else ""


def read_rows(estimator: Any, X: Any) -> tuple[Table, list[Cells]]:
    """Return a table, and its cells as the model's blocks have them.

    One warning names all levels that the model does not know.
    """
    if not hasattr(estimator, "fitted_"):  # quicker, for single rows, than `check_is_fitted`
        check_is_fitted(estimator)
    estimator._check_arguments()
    table = estimator._open(X, reset=False)
    cells = estimator.schema_.read(table)
    estimator.schema_.warn_unseen(cells, estimator.n_jobs)
    return table, cells


def read_labels(
    estimator: Any, table: Table, y: Any, sample_weight: Any
) -> tuple[Labels, Array | None]:
    """Return one label and weight for each row of a table.

    None for the weights where all rows count alike.
    """
    labels = check_labels(estimator, y, table.rows)
    if sample_weight is None:
        return labels, None
    weight = weights(sample_weight, table.rows)
    if not weight.any():
        raise ValueError("sample_weight is zero for all rows: nothing is left to learn from.")
    return labels, weight


# What a fitted value predicts


def predictor(fitted: Fitted, estimate: str = "predictive") -> Joint:
    """Return what predicts by an estimate; raise where it is not a distribution."""
    model = fitted.model
    if estimate in model.readers:
        return model.readers[estimate]
    reader = model.read(estimate)
    for block, part in zip(fitted.schema.blocks, reader.blocks, strict=True):
        improper = ~part.proper & reader.live[:, None]
        if improper.any():
            c, f = np.argwhere(improper)[0]
            raise ValueError(
                f"column {quote(block.keys[f])}, class {fitted.classes.tolist()[c]!r}: the data do "
                f"not determine a distribution for estimate={estimate!r} (no rows, or no spread, "
                "and a prior that adds none). "
                + ADVICE.get(estimate, "Use a proper prior, or estimate='predictive'.")
            )
    model.readers[estimate] = reader  # only now, as other threads take what is there
    return reader


# Copies


def clone_with(estimator: Any, **changes: Any) -> Any:
    """Return an unfitted copy with some parameters changed."""
    return clone(estimator).set_params(**changes)


def clone_declaring(estimator: Any, families: dict[Hashable, Any]) -> Any:
    """Return an unfitted copy that declares these families of columns."""
    return clone_with(estimator, **estimator._params_declaring(families))


def clone_without_links(estimator: Any) -> Any:
    """Return an unfitted copy that looks for no links between columns."""
    changes = {} if estimator.dependence is None else {"dependence": None}
    return clone_with(estimator, **changes)


def without_links(estimator: Any) -> Any:
    """Return a fitted estimator without its links between columns."""
    if estimator.schema_.links is None:
        return estimator
    alone = copy(estimator)
    alone.dependence = None
    return alone._set_fitted(estimator.fitted_.of_columns)


def list_families(estimator: Any, columns: Sequence[Hashable]) -> dict[Hashable, Any]:
    """Return the families that an estimator declares, of those columns that have one."""
    return declared_families(estimator._families(), columns)


def looks_for_links(estimator: Any) -> bool:
    """Return whether an estimator looks for links between columns when it is fitted."""
    return estimator._dependence_rule is not None


def check_estimator(estimator: Any, prefix: str = "") -> None:
    """Raise for anything but an estimator in closed form, and say where there may be one."""
    if not isinstance(estimator, ModelHolder):
        raise TypeError(
            f"{prefix}expected an estimator of bayesnb such as NaiveBayes(), got {estimator!r}. Of "
            "a pipeline take the last step, pipeline[-1], and rows pipeline[:-1].transform(X); of "
            "a search best_estimator_; of a sampled or calibrated model estimator_."
        )


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was where the block fails."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
