"""What the capabilities of an estimator share: tables read at the door, and what predicts."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesnb.data import Table, open_table
from bayesnb.data.families import declared_families, near_columns
from bayesnb.data.labels import Labels, weights
from bayesnb.estimators.labels import check_labels
from bayesnb.estimators.tempering import AUTO, COLUMNS, NONE, check_temper
from bayesnb.families import Multinomial
from bayesnb.families.base import Array, Cells
from bayesnb.formatting import quote
from bayesnb.model.fitted import Fitted
from bayesnb.model.priors import ClassPriorRule
from bayesnb.model.product import Joint, Model
from bayesnb.model.schema import Schema
from bayesnb.selection.link_search import FOREST, PAIRS

MAX_MISSPELT = 5  # columns that a table lacks, for which another name is looked for
ESTIMATES = ("predictive", "mean", "map", "mle")
ADVICE = {
    "predictive": "Use a proper prior.",
    "mle": "Use estimate='predictive', or drop the column.",
}


class ModelHolder(ABC):
    """A thin mutable object around one immutable value, `model_`.

    Every mixin of this room is a capability over that value, and knows no other mixin. A concrete
    estimator says its families and its class prior.
    """

    class_prior: Any
    classes: Any
    temper: Any
    n_jobs: int | None
    estimate: str

    dependence: Any = None  # presets have no links

    fitted_: Fitted
    schema_: Schema
    model_: Model
    classes_: Array
    n_features_in_: int

    @abstractmethod
    def _families(self) -> Any:
        """Return a family for all columns, a mapping, or "auto"."""

    @abstractmethod
    def _params_declaring(self, families: dict[Hashable, Any]) -> dict[str, Any]:
        """Return the parameters that declare families of columns, the inverse of `_families`."""

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
        if isinstance(families, Mapping):
            families = AUTO if all(family is None for family in families.values()) else families
        return self.estimate == "predictive" and isinstance(families, str) and families == AUTO

    def _set_fitted(self, fitted: Fitted) -> Self:
        """Hold what was learnt."""
        self.__dict__.update(
            fitted_=fitted,
            classes_=fitted.classes,
            schema_=fitted.schema,
            model_=fitted.model,
        )
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

    def _with_fitted(self, fitted: Fitted, **changes: Any) -> Self:
        """Return a copy that has learnt something else, with some parameters changed."""
        copy = clone_with(self, **changes)
        copy.__dict__.update({name: each for name, each in vars(self).items() if name[-1] == "_"})
        return copy._set_fitted(fitted)

    def _table(self, X: Any, *, reset: bool = False) -> Table:
        """Open a table of any container.

        Lists of texts are documents if the model is one of documents.
        """
        schema = None if reset else getattr(self, "schema_", None)
        if schema is None:
            documents = isinstance(self._families(), Multinomial)
        else:
            documents = len(schema.columns) == 1 and schema.blocks[0].family.listed
        return open_table(X, self.n_jobs, documents=documents)

    def _open(self, X: Any, *, reset: bool) -> Table:
        """Open a table, with scikit-learn's checks of the columns' names and number."""
        table = self._table(X, reset=reset)
        names = self.__dict__.get("feature_names_in_")
        alike = (
            table.unnamed
            if names is None
            else not table.unnamed and list(table.columns) == names.tolist()
        )
        if reset or not alike or table.width != self.n_features_in_:
            try:
                validate_data(self, table.native, reset=reset, skip_check_array=True)
            except ValueError as error:
                raise ValueError(f"{error}{misspelt(table, names)}") from None
        return table

    def _cells(self, X: Any) -> tuple[Table, list[Cells]]:
        """Return a table, and its cells as the model's blocks have them.

        No warning names unknown levels.
        """
        if not hasattr(self, "fitted_"):  # quicker, for single rows, than `check_is_fitted`
            check_is_fitted(self)
        self._check_arguments()
        table = self._open(X, reset=False)
        return table, self.schema_.read(table)

    def _read(self, X: Any) -> tuple[Table, list[Cells]]:
        """Return a table and its cells.

        One warning names all levels that the model does not know.
        """
        table, cells = self._cells(X)
        self.schema_.warn_unseen(cells, self.n_jobs)
        return table, cells

    def _labelled(self, table: Table, y: Any, sample_weight: Any) -> tuple[Labels, Array | None]:
        """Return one label and weight for each row of a table.

        None for the weights where all rows count alike.
        """
        labels = check_labels(self, y, table.rows)
        return labels, None if sample_weight is None else weights(sample_weight, table.rows)

    def _predictor(self, estimate: str | None = None) -> Joint:
        """Return what predicts, by the given estimate or the estimator's.

        Raise where it is not a distribution.
        """
        estimate = estimate or self.estimate
        model = self.model_
        if estimate in model.readers:
            return model.readers[estimate]
        reader = model.read(estimate)
        for block, part in zip(self.schema_.blocks, reader.blocks, strict=True):
            improper = ~part.proper & reader.live[:, None]
            if improper.any():
                c, f = np.argwhere(improper)[0]
                raise ValueError(
                    f"column {quote(block.keys[f])}, class {self.classes_.tolist()[c]!r}: the data "
                    f"do not determine a distribution for estimate={estimate!r} (no rows, or no "
                    "spread, and a prior that adds none). "
                    + ADVICE.get(estimate, "Use a proper prior, or estimate='predictive'.")
                )
        model.readers[estimate] = reader  # only now, as other threads take what is there
        return reader

    def _joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        """Return log p(x, y) of every row and class, `(r, c)`, and the cells."""
        _, cells = self._read(X)
        return self._predictor().log_joint(cells, self.fitted_.exponents, self.n_jobs), cells

    def _refuse_row(self, row: int, cells: Sequence[Cells]) -> NoReturn:
        """Raise for a row without an answer: for a bad cell, or because no class can have it."""
        self.schema_.check_cells(cells)
        parts = zip(self.schema_.blocks, self._predictor().blocks, cells, strict=True)
        never = [
            quote(block.keys[0])
            for block, part, x in parts
            if block.family.combined and np.isneginf(part.score(x[[row]])).all()
        ]
        why = f" No training row is like it in the columns {', '.join(never)}." if never else ""
        raise ValueError(
            f"row {row} is impossible under every class: its probabilities are 0/0.{why} That "
            "happens without smoothing, as in the MLE, or in the MAP under Dirichlet(1). Use "
            "smoothing, or estimate='predictive'."
        )

    def _check_arguments(self) -> None:
        if self.estimate not in ESTIMATES:
            raise ValueError(
                f"estimate must be one of {', '.join(ESTIMATES)}, got {self.estimate!r}."
            )
        if self.temper is not None:
            check_temper(self.temper)
        self._check_dependence(self.dependence)
        if not (self.n_jobs is None or (isinstance(self.n_jobs, Integral) and self.n_jobs != 0)):
            raise ValueError(f"n_jobs must be None or a number of threads, got {self.n_jobs!r}.")

    def _check_dependence(self, kind: Any) -> None:
        if kind is None or (isinstance(kind, str) and kind in (AUTO, NONE)):
            return
        if not (isinstance(kind, str) and kind in (FOREST, PAIRS)):
            raise ValueError(
                f"dependence must be 'auto', 'forest', 'pairs', 'none' or None, got {kind!r}."
            )
        if self.estimate != "predictive":
            raise ValueError(
                f"dependence={kind!r} needs estimate='predictive': the tables of links have no "
                "other estimate."
            )


def misspelt(table: Table, names: Any) -> str:
    """Return which columns of a table may be meant by those that it lacks.

    Nothing where no name is near.
    """
    if names is None or table.unnamed:
        return ""
    lacking = [name for name in names.tolist() if name not in set(table.columns)]
    new = [name for name in table.columns if name not in set(names.tolist())]
    pairs = [(name, near_columns(name, new)) for name in lacking[:MAX_MISSPELT]]
    renamed = {near[0]: name for name, near in pairs if near}
    return f"Are these the same columns? X.rename(columns={renamed}).\n" if renamed else ""


def check_parameters(estimator: Any) -> None:
    """Raise for parameters with which no table can be learnt."""
    estimator._check_arguments()


def list_families(estimator: Any, columns: Sequence[Hashable]) -> dict[Hashable, Any]:
    """Return the families that an estimator declares, of those columns that have one."""
    return declared_families(estimator._families(), columns)


def looks_for_links(estimator: Any) -> bool:
    """Return whether an estimator looks for links between columns when it is fitted."""
    return estimator._dependence_rule is not None


def clone_with(estimator: Any, **changes: Any) -> Any:
    """Return an unfitted copy with some parameters changed."""
    return clone(estimator).set_params(**changes)


def clone_without_links(estimator: Any) -> Any:
    """Return an unfitted copy that looks for no links between columns."""
    changes = {} if estimator.dependence is None else {"dependence": None}
    return clone_with(estimator, **changes)


def without_links(estimator: Any) -> Any:
    """Return a fitted estimator without its links between columns."""
    if estimator.schema_.links is None:
        return estimator
    return estimator._with_fitted(estimator.fitted_.of_columns, dependence=None)


def check_estimator(estimator: Any, prefix: str = "") -> None:
    """Raise for anything but an estimator in closed form, and say where there is one."""
    if isinstance(estimator, ModelHolder):
        return
    advice = ""
    steps = getattr(estimator, "steps", None)
    if isinstance(estimator, type) and issubclass(estimator, ModelHolder):
        advice = " That is the class: create an estimator, such as NaiveBayes()."
    elif steps and isinstance(steps[-1][-1], ModelHolder):
        advice = (
            " Use the last step of the pipeline, pipeline[-1], and the transformed rows, "
            "pipeline[:-1].transform(X)."
        )
    elif isinstance(getattr(estimator, "best_estimator_", None), ModelHolder):
        advice = " Use its best_estimator_."
    elif isinstance(getattr(estimator, "estimator_", None), ModelHolder):
        advice = " A closed form is needed: use its estimator_."
    raise TypeError(
        f"{prefix}expected an estimator of bayesnb such as NaiveBayes(), got {estimator!r}.{advice}"
    )


def refuse_weightless(weight: Array | None) -> None:
    """Raise where all rows have the weight zero."""
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is zero for all rows: nothing is left to learn from.")


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was where the block fails."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.update(before)
        for name in set(estimator.__dict__) - set(before):
            del estimator.__dict__[name]
        raise
