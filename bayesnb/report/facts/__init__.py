"""Facts about a fitted model and its rows, computed once, before or when a section of the page first asks."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any

import numpy as np

from bayesnb.data import open_table
from bayesnb.data.labels import encode
from bayesnb.estimators import NaiveBayes
from bayesnb.families.base import Array, Cells, Stats
from bayesnb.formatting import list_names, shorten
from bayesnb.model.product import Rows, normalised, observe
from bayesnb.report.facts.comparisons import Comparisons
from bayesnb.report.facts.features import Features
from bayesnb.report.facts.held_out import HeldOut
from bayesnb.report.facts.irregularities import Irregularities
from bayesnb.report.facts.left_out_rows import RowLeftOut, left_out_row
from bayesnb.report.wording import INTERVAL, name_of
from bayesnb.selection.leave_one_out import leave_one_out
from bayesnb.stages import Stages


@dataclass(frozen=True)
class About:
    """The caller's knowledge: the name of the label, the source of the table, how the page was made, and for whom.

    Attributes
    ----------
    label : the name of the column of labels
    source : the name of the table
    notes : sentences about the table
    command : the command that made the page, if one did
    date : when it was made
    title : of the page; default: "Predicting" and the label
    author : who answers for the model
    use : what the model is intended for
    ci_prob : probability of the intervals; None: 0.89, the default of ArviZ
    positive : the class of two that ROC, precision-recall and costs are about; None: the rarer one
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


@dataclass(frozen=True, eq=False)
class Facts:
    """A fitted model, its rows, and log p(y | x) of each of them, `(r, c)`: as fitted, and held out.

    Every label of a row is minus infinity where the row is impossible under every class.
    """

    model: NaiveBayes
    X: Any  # the table and the labels, as they were given
    y: Any
    about: About
    cells: Sequence[Cells]
    codes: Array
    fitted: Array  # as the model predicts the rows that it learnt from
    joint_left_out: Array  # log p(x, y), by the model of all rows but this one
    left_out: Array  # log p(y | x) of that; NaN where the others leave no distribution
    test: tuple[Array, Array] | None  # log p(y | x) and codes of rows that it never saw
    test_X: Any = None  # those rows
    memo: dict[str, Any] = field(default_factory=dict)  # what several sections show, computed once

    @property
    def title(self) -> str:
        return self.about.title or f"Predicting {self.label}"

    @property
    def prob(self) -> float:
        """Probability of the intervals."""
        return INTERVAL if self.about.ci_prob is None else self.about.ci_prob

    @property
    def label(self) -> str:
        return self.about.label or "the label"

    @property
    def classes(self) -> list[str]:
        return [str(label) for label in self.model.classes_.tolist()]

    @property
    def short_classes(self) -> list[str]:
        """The classes, on one line each."""
        return [shorten(label, 40) for label in self.classes]

    @property
    def positive(self) -> int:
        """The place of the class of two that ROC, precision-recall and costs are about: by default the rarer one."""
        if self.about.positive is not None:
            return self.classes.index(str(self.about.positive))
        return int(self.counts[1] <= self.counts[0])

    @property
    def counts(self) -> Array:
        """Rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    @property
    def label_log_proba(self) -> Array:
        """log p(true label) of each row, left out, `(r,)`."""
        return self.of_labels(self.left_out)

    def of_labels(self, log_proba: Array) -> Array:
        """The entries of the rows' labels, `(r, c) -> (r,)`."""
        return log_proba[np.arange(len(self.codes)), self.codes]

    @cached_property
    def rows(self) -> Rows:
        """The rows as the rooms below take them."""
        return Rows(self.model.schema_.observers, self.cells, self.codes)

    @cached_property
    def held_out(self) -> HeldOut:
        """How good it is on held-out rows."""
        return HeldOut(self)

    @cached_property
    def row_left_out(self) -> Callable[[int, bool], RowLeftOut]:
        """What the model of all other rows predicts for a row, with intervals or without, and why; computed once."""
        return cache(lambda row, in_brackets: left_out_row(row, self, in_brackets))

    @property
    def dropped(self) -> list[str]:
        """The columns that no family models."""
        known = self.model.schema_.families
        return [name_of(name) for name in self.model.schema_.columns if name not in known]

    @cached_property
    def features(self) -> Features:
        """The features of the model, and how much each says about the class."""
        return Features(self)

    @cached_property
    def irregular(self) -> Irregularities:
        """What may be wrong with the table."""
        return Irregularities(self)

    @cached_property
    def comparisons(self) -> Comparisons:
        """Other priors and dependent columns, against what the model assumes."""
        return Comparisons(self)


def gather(
    model: Any,
    X: Any,
    y: Any,
    test: tuple[Any, Any] | None = None,
    about: About | None = None,
    stages: Stages | None = None,
) -> Facts:
    """The facts about a model and its rows. One that is not fitted is fitted, as a copy."""
    stages = stages or Stages(False)
    about = about or About(label=str(getattr(y, "name", None) or ""))
    if about.positive is not None:
        check_positive(about.positive, y)
    if not hasattr(model, "model_"):
        stages.begin("report: learning from the rows")
        model = copy(model).fit(X, y)
    stages.begin("report: predicting each row by the model of all others")
    fitted, codes = predicted(model, X, y)
    rows = Rows(model.schema_.observers, model.schema_.read(open_table(X)), codes)
    refuse_other_rows(model, rows)
    joint = leave_one_out(model.model_, rows, model._way("label"), n_jobs=model.n_jobs)
    held = None if test is None else predicted(model, *test)
    return Facts(model, X, y, about, rows.cells, codes, fitted, joint, normalised(joint), held, test and test[0])


def check_positive(positive: Any, y: Any) -> None:
    """Raise for a positive class that is not one of two labels."""
    labels = sorted(set(map(str, np.asarray(y).ravel().tolist())))
    if len(labels) != 2:
        raise ValueError(
            f"positive={positive!r} is for two classes, and there are {len(labels)}. Leave it out: the "
            "confusion matrix has the recall of each class."
        )
    if str(positive) not in labels:
        raise ValueError(
            f"positive={positive!r} is none of the classes: {list_names([shorten(each, 80) for each in labels], 2)}."
        )


def predicted(model: NaiveBayes, X: Any, y: Any) -> tuple[Array, Array]:
    """log p(y | x) of labelled rows, and the codes of their labels, `(r, c), (r,)`."""
    log_proba = normalised(model.predict_joint_log_proba(X))
    if len(log_proba) != len(np.asarray(y)):
        raise ValueError(f"the table has {len(log_proba)} rows, and there are {len(np.asarray(y))} labels.")
    return log_proba, encode(np.asarray(y).ravel(), model.classes_)


def refuse_other_rows(model: NaiveBayes, rows: Rows) -> None:
    """Raise unless each row was learnt once: leave-one-out takes it out of what was learnt."""
    given, learnt = observe(rows, len(model.classes_)), model.model_.stats
    pairs = [(given.classes, learnt.classes), *zip(given.blocks, learnt.blocks, strict=True)]
    if not all(same(a, b) for a, b in pairs):
        raise ValueError(
            f"the model was not fitted on these {len(rows.codes)} rows, each of weight 1, so none of them can be left "
            "out of it. Give the rows that it was fitted on, or a model that is not fitted yet."
        )


def same(a: Stats, b: Stats) -> bool:
    """Whether two stats are equal, up to rounding."""
    names = [field.name for field in fields(a) if field.name not in a.layout]  # type: ignore[arg-type]
    pairs = [(np.asarray(getattr(a, name)), np.asarray(getattr(b, name))) for name in names]
    return all(x.shape == z.shape and np.allclose(x, z, rtol=1e-6, atol=1e-9) for x, z in pairs)
