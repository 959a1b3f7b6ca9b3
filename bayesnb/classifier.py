"""The scikit-learn shell: checks what comes in, holds one value, `model_`, and calls the rooms below.

The only module that knows scikit-learn. Frames whose columns are reordered raise scikit-learn's error.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesnb.evaluate import temper_by_loo
from bayesnb.families.base import Array, Belief, Cells, Family
from bayesnb.labels import distinct, encode, weights
from bayesnb.model import Joint, Model, ProductStats, Rows, normalise, observe
from bayesnb.priors import ClassDie, class_die
from bayesnb.schema import Schema
from bayesnb.summary import state_html
from bayesnb.table import Table, is_missing, open_table

ESTIMATES = ("predictive", "mean", "map", "mle")


class Classifier(ClassifierMixin, BaseEstimator):
    """What every estimator shares; a subclass says its families and its class prior."""

    _doc_link_module, _doc_link_template = "bayesnb", ""
    classes_: Array
    schema_: Schema
    model_: Model
    temper_: float

    def __init__(self, class_prior: Any, classes: Any, temper: Any, n_jobs: int | None, estimate: str) -> None:
        self.class_prior = class_prior
        self.classes = classes
        self.temper = temper
        self.n_jobs = n_jobs
        self.estimate = estimate

    def _families(self) -> Any:
        """A family for all columns, a mapping, or "auto"."""
        raise AssertionError("a subclass says its families")

    def _class_die(self, classes: Array) -> ClassDie:
        return class_die(self.class_prior, classes, self.classes)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its labels; what was learnt before is forgotten."""
        with unchanged_on_error(self):
            for name in ("model_", "schema_", "classes_"):
                self.__dict__.pop(name, None)
            return self._learn(X, y, self.classes, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows. The first call needs all `classes`, here or in the constructor."""
        with unchanged_on_error(self):
            declared = self.classes if classes is None else classes
            if not hasattr(self, "model_") and declared is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            if (
                hasattr(self, "model_")
                and classes is not None
                and not np.array_equal(np.unique(classes), self.classes_)
            ):
                raise ValueError(
                    f"`classes={classes}` is not the same as on the last call to partial_fit: {self.classes_.tolist()}."
                )
            return self._learn(X, y, declared, sample_weight)

    def _learn(self, X: Any, y: Any, declared: Any, sample_weight: Any) -> Self:
        self._check_arguments()
        first = not hasattr(self, "model_")
        table = self._open(X, reset=first)
        y, weight = _labels(self, y, table.rows), weights(sample_weight, table.rows)
        if weight is not None and not weight.all():  # a row of weight zero is no row
            keep = weight > 0
            table, y, weight = table.take(keep), y[keep], weight[keep]
        classes = self.classes_ if not first else distinct(y if declared is None else declared)
        codes = encode(y, classes)
        schema = Schema.learn(table, self._families()) if first else self.schema_.grown(table)
        rows = Rows(schema.observers, schema.read(table), codes, weight)
        new = observe(rows, len(classes), self.n_jobs)
        schema.check_stats(rows.cells, new)
        schema.tell_unseen(rows.cells)
        die = self._class_die(classes)
        model = schema.start(die, new) if first else schema.extend(self.model_, die, new)
        self.temper_ = self._temper(model, rows)
        self.classes_, self.schema_, self.model_ = classes, schema, model
        return self

    def _temper(self, model: Model, rows: Rows) -> float:
        if self.temper == "loo":
            return temper_by_loo(model, rows, self.n_jobs)
        return 1.0 if self.temper is None else float(self.temper)

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(x, y), one column a class: every parameter integrated out, or plugged in as `estimate` says."""
        joint, cells = self._joint(X)
        if not np.isfinite(joint).all():
            self.schema_.check_cells(cells)
        return joint

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y | x)."""
        return self._normalised(X, proba=False)

    def predict_proba(self, X: Any) -> Array:
        """p(y | x, D), the exact posterior predictive: every parameter is integrated out, jointly with x."""
        return self._normalised(X, proba=True)

    def predict(self, X: Any) -> Array:
        """The most probable label of each row."""
        joint, cells = self._joint(X)
        best = joint.argmax(axis=1)
        odd = ~np.isfinite(joint[np.arange(len(best)), best])
        if odd.any():
            self._refuse_row(int(odd.argmax()), cells)
        return self.classes_[best]

    def _joint(self, X: Any) -> tuple[Array, list[Cells]]:
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        self._check_arguments()
        cells = self.schema_.read(self._open(X, reset=False))
        joint = self._reader().log_joint(cells, self.temper_, self.n_jobs)
        self.schema_.tell_unseen(cells)
        return joint, cells

    def _normalised(self, X: Any, *, proba: bool) -> Array:
        joint, cells = self._joint(X)
        odd = normalise(joint, proba, self.n_jobs)
        if odd >= 0:
            self._refuse_row(odd, cells)
        return joint

    def _refuse_row(self, row: int, cells: list[Cells]) -> None:
        """Say why a row has no answer: a bad cell, or no class under which it is possible."""
        self.schema_.check_cells(cells)
        raise ValueError(
            f"row {row} is impossible under every class: 0/0 has no answer. A smoothing of 0 does that, as in the MLE, "
            "and in the MAP under Dirichlet(1); use a larger one, or estimate='predictive'."
        )

    def _reader(self) -> Joint:
        if self.estimate in self.model_.readers:
            return self.model_.readers[self.estimate]
        reader = self.model_.read(self.estimate)
        for block, own in zip(self.schema_.blocks, reader.blocks, strict=True):
            bad = ~own.proper & reader.live[:, None]
            if bad.any():
                del self.model_.readers[self.estimate]
                c, f = np.argwhere(bad)[0]
                raise ValueError(
                    f"column {_short(block.keys[f])}, class {self.classes_.tolist()[c]!r}: the data do not settle a "
                    f"distribution for estimate={self.estimate!r} (no rows, or no spread, and a prior that adds none). "
                    "Use a proper prior" + ("." if self.estimate == "predictive" else ", or estimate='predictive'.")
                )
        return reader

    def _open(self, X: Any, *, reset: bool) -> Table:
        """The table, with scikit-learn's checks of names and number of columns."""
        table = open_table(X, self.n_jobs)
        known = self.__dict__
        plain = table.unnamed and "feature_names_in_" not in known
        if reset or not plain or table.width != known.get("n_features_in_"):
            validate_data(self, table.native, reset=reset, skip_check_array=True)
        return table

    def _check_arguments(self) -> None:
        if self.estimate not in ESTIMATES:
            raise ValueError(f"estimate must be one of {', '.join(ESTIMATES)}, got {self.estimate!r}.")
        if not (
            self.temper is None
            or self.temper == "loo"
            or (isinstance(self.temper, Real) and 0 < float(self.temper) < np.inf)
        ):
            raise ValueError(f"temper must be None, 'loo' or a positive number, got {self.temper!r}.")
        if not (self.n_jobs is None or (isinstance(self.n_jobs, Integral) and self.n_jobs != 0)):
            raise ValueError(f"n_jobs must be None or a number of threads, got {self.n_jobs!r}.")

    # What was learnt, in the columns' own names.

    @property
    def prior_(self) -> dict[Hashable, Belief]:
        """Column -> what was believed about it before the data; the class is the first axis."""
        return {key: self.model_.prior.blocks[b].column(f) for key, b, f in self.schema_.keys}

    @property
    def posterior_(self) -> dict[Hashable, Belief]:
        """Column -> what is believed about it now; the class is the first axis."""
        return {key: self.model_.posterior.blocks[b].column(f) for key, b, f in self.schema_.keys}

    @property
    def class_prior_(self) -> Belief:
        """The die of the classes before the data."""
        return self.model_.prior.classes

    @property
    def class_posterior_(self) -> Belief:
        """The die of the classes now."""
        return self.model_.posterior.classes

    @property
    def stats_(self) -> ProductStats:
        """What the data said."""
        return self.model_.stats

    @property
    def families_(self) -> dict[Hashable, Family]:
        """Column -> family, as declared or inferred."""
        return self.schema_.families

    @property
    def log_evidence_(self) -> float:
        """log p(X, y | prior)."""
        labels, blocks = self._evidence()
        return labels + float(sum(block.sum() for block in blocks))

    def log_evidence_by_feature(self) -> dict[Hashable, float]:
        """The terms of `log_evidence_`: of every column given the labels. The rest is the labels' own."""
        check_is_fitted(self)
        _, blocks = self._evidence()
        return {key: float(blocks[b][f]) for key, b, f in self.schema_.keys}

    def _evidence(self) -> tuple[float, tuple[Array, ...]]:
        if not self.class_prior_.strictly_proper:
            raise ValueError(
                "class_prior: a concentration of 0 is improper, so the evidence is undefined. Give another."
            )
        for block, belief in zip(self.schema_.blocks, self.model_.prior.blocks, strict=True):
            proper = belief.strictly_proper.all(axis=0)
            if not proper.all():
                name = _short(block.keys[int(proper.argmin())])
                raise ValueError(f"column {name}: its prior is improper, so the evidence is undefined. Give another.")
        return self.model_.prior.log_evidence(self.model_.stats)

    def _html_repr(self) -> str:
        """What scikit-learn's `_repr_html_` shows, and below it what was learnt."""
        shown = super()._html_repr()
        if not hasattr(self, "model_"):
            return shown
        said = f"Predicts by {self.estimate}; temper {self.temper_:.3g}."
        return shown + state_html(self.classes_, self.stats_.classes.counts, self.families_, said)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        said, inputs = self._families(), tags.input_tags
        if isinstance(said, Family):
            inputs.allow_nan, inputs.sparse = said.missing, said.cells != "level"
            inputs.categorical = inputs.string = said.cells == "level"
            inputs.positive_only = said.positive_only
            tags.classifier_tags.poor_score = said.cells != "real"
        else:  # sparse tables are refused unless they hold counts, so that is not promised
            inputs.allow_nan = inputs.string = True
        return tags


@contextmanager
def unchanged_on_error(estimator: Classifier) -> Iterator[None]:
    """A call that fails leaves the estimator as it was."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def _labels(estimator: Classifier, y: Any, rows: int) -> Array:
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    if np.ma.is_masked(y):
        raise ValueError("Input y contains NaN: some labels are masked, missing. Drop those rows.")
    y = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(np.asarray(y), warn=True)
    if len(y) != rows:
        check_consistent_length(range(rows), y)
    if y.dtype.kind in "iub":
        return y
    missing = is_missing(y)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {missing.sum()} labels are missing, first at row {missing.argmax()}. "
            "Drop those rows."
        )
    assert_all_finite(y, input_name="y")
    if y.dtype.kind == "O":
        distinct(y)
    check_classification_targets(y)
    return y


def _short(key: Hashable) -> str:
    return f"{key!r}" if not isinstance(key, tuple) or len(key) < 8 else f"block of {len(key)} columns from {key[0]!r}"
