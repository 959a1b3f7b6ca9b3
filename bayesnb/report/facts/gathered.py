"""Everything that the page says, computed once: from here on there is only writing."""

from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.data import open_table
from bayesnb.data.labels import encode
from bayesnb.estimators import Classifier
from bayesnb.families.base import Array, Cells, Stats
from bayesnb.model.product import Model, Rows, normalised, observe
from bayesnb.report.facts.asked import Asked
from bayesnb.report.facts.columns import Columns
from bayesnb.report.facts.judged import Judged
from bayesnb.report.facts.odd import Odd
from bayesnb.report.reading_advice import Advice, InPython
from bayesnb.report.wording import name_of
from bayesnb.selection.leave_one_out import leave_one_out


@dataclass(frozen=True)
class About:
    """What only the caller knows: what the labels are called, where the table is from, how the page was made.

    `advice` says remedies as the caller would type them; by default as Python.
    """

    label: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    command: str = ""
    date: str = ""
    advice: Advice | None = None


@dataclass(frozen=True, eq=False)
class Facts:
    """A fitted model, its rows, and log p(y | x) of each of them, `(r, c)`, three times.

    Every label of a row is minus infinity where the row is impossible under every class.
    """

    model: Classifier
    X: Any  # the table and the labels, as they were given
    y: Any
    about: About
    cells: list[Cells]
    codes: Array
    fitted: Array  # as the model predicts the rows that it learnt from
    left_out: Array  # by the model of all rows but this one; NaN where those leave no distribution
    blind: Array  # by how frequent the classes are, without a look at the columns
    test: tuple[Array, Array] | None  # log p(y | x) and codes of rows that it never saw
    test_X: Any = None  # those rows

    @property
    def advice(self) -> Advice:
        return self.about.advice or InPython(self.model)

    @property
    def title(self) -> str:
        return f"Predicting {self.label}"

    @property
    def label(self) -> str:
        return self.about.label or "the label"

    @property
    def classes(self) -> list[str]:
        return [str(label) for label in self.model.classes_.tolist()]

    @property
    def counts(self) -> Array:
        """Rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def own(self) -> Array:
        """log p(own label) of each row, left out."""
        return self.left_out[np.arange(len(self.codes)), self.codes]

    @cached_property
    def judged(self) -> Judged:
        """How good it is, and where it is unsure."""
        return Judged(self)

    @property
    def dropped(self) -> list[str]:
        """The columns that no family models."""
        known = self.model.schema_.families
        return [name_of(name) for name in self.model.schema_.columns if name not in known]

    @cached_property
    def columns(self) -> Columns:
        """What was modelled, column by column, and how much each says about the class."""
        return Columns(self)

    @cached_property
    def odd(self) -> Odd:
        """What is odd about the table."""
        return Odd(self)

    @cached_property
    def asked(self) -> Asked:
        """What can be doubted about the model."""
        return Asked(self)


def gather(model: Any, X: Any, y: Any, test: tuple[Any, Any] | None = None, about: About | None = None) -> Facts:
    """The facts about a model and its rows. One that is not fitted is fitted, as a copy."""
    if not hasattr(model, "model_"):
        model = copy(model).fit(X, y)
    about = about or About(label=str(getattr(y, "name", None) or ""))
    fitted, codes, own = predicted(model, X, y), labels(model, y), model.model_
    cells = model.schema_.read(open_table(X))
    refuse_other_rows(model, cells, codes)
    blind = np.broadcast_to(own.posterior.classes.level_log_moment(1), fitted.shape)
    left_out = held_out(model, Rows(model.schema_.observers, cells, codes))
    held = None if test is None else (predicted(model, *test), labels(model, test[1]))
    return Facts(model, X, y, about, cells, codes, fitted, left_out, blind, held, test and test[0])


def held_out(model: Classifier, rows: Rows) -> Array:
    """log p(y | x, all rows but this one), as the model predicts, `(r, c)`; NaN where the others say nothing."""
    return normalised(leave_one_out(model.model_, rows, model._way("label"), n_jobs=model.n_jobs))


def labels(model: Classifier, y: Any) -> Array:
    return encode(np.asarray(y).ravel(), model.classes_)


def predicted(model: Classifier, X: Any, y: Any) -> Array:
    """log p(y | x) of labelled rows."""
    found = normalised(model.predict_joint_log_proba(X))
    if len(found) != len(np.asarray(y)):
        raise ValueError(f"the table has {len(found)} rows, and there are {len(np.asarray(y))} labels.")
    return found


def refuse_other_rows(model: Classifier, cells: list[Cells], codes: Array) -> None:
    """Leave-one-out takes a row out of what was learnt, so it must be in there, once."""
    seen = observe(Rows(model.schema_.observers, cells, codes), len(model.classes_))
    learnt: Model = model.model_
    pairs = [(seen.classes, learnt.stats.classes), *zip(seen.blocks, learnt.stats.blocks, strict=True)]
    if not all(same(a, b) for a, b in pairs):
        raise ValueError(
            f"the model was not fitted on these {len(codes)} rows, each of weight 1, so none of them can be left "
            "out of it. Give the rows that it was fitted on, or a model that is not fitted yet."
        )


def same(a: Stats, b: Stats) -> bool:
    """Whether two stats say the same, up to rounding."""
    names = [field.name for field in fields(a) if field.name not in a.layout]  # type: ignore[arg-type]
    pairs = [(np.asarray(getattr(a, name)), np.asarray(getattr(b, name))) for name in names]
    return all(x.shape == z.shape and np.allclose(x, z, rtol=1e-6, atol=1e-9) for x, z in pairs)
