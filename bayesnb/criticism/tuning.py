"""Estimators whose priors are best for some rows: by the evidence, or by leave-one-out predictions of the labels."""

import warnings
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bayesnb.classifier import Classifier
from bayesnb.criticism.trial import Trial, trial_of
from bayesnb.criticism.trials import trials_of
from bayesnb.families.family import Family
from bayesnb.priors.ascent import LEAST, MOST
from bayesnb.priors.evidence import PER, End, most_probable
from bayesnb.smoothing import best_by_loo

CRITERIA = ("evidence", "loo")
HERE = str(Path(__file__).parent.parent)
MEANING = {
    ("concentration", True): "levels are as even as chance makes them, and the prior says that they are",
    ("concentration", False): "each die shows one level only, and the prior says that dice do",
    ("count", True): "the classes' means differ no more than chance makes them, and the prior says that they are one",
    ("count", False): "the classes' means lie infinitely far apart for their variances",
    (
        "shape",
        True,
    ): "the classes' variances differ no more than chance makes them, and so the prior says",
    ("shape", False): "the classes' variances differ by orders of magnitude, and the prior says that any is as likely",
    (
        "rate shape",
        True,
    ): "the classes' rates differ no more than chance makes them, and the prior says that they do not",
    ("rate shape", False): "the classes' rates differ by orders of magnitude, and the prior says that any is as likely",
    ("shared shape", True): "a column has one variance for all classes, and the prior says which",
    ("scale", True): "the prior expects larger variances without end",
    ("scale", False): "the prior expects smaller variances without end",
    ("mean", True): "the prior expects more events without end",
    ("mean", False): "the prior expects fewer events without end",
    ("smoothing", True): "labels are predicted best when the columns hardly tell the classes apart",
    ("smoothing", False): "labels are predicted best with hardly any prior",
    ("strength", True): "labels are predicted best when the columns hardly tell the classes apart",
    ("strength", False): "labels are predicted best with hardly any prior",
}


class Bound(NamedTuple):
    """A parameter of the prior of some columns that is better the larger, or the smaller, it is."""

    keys: tuple[Hashable, ...]
    where: str  # the columns, and the class, in words
    kind: str  # of dial: "die", "normal", "block" or "rate"
    dial: str
    infinite: bool
    shared: bool  # whether the classes of these columns have their variances in common
    meaning: str  # of the end, for that parameter

    @property
    def goal(self) -> str:
        return f"{MOST:g}, as good as infinite" if self.infinite else f"{LEAST:g}, as good as 0"


class BoundaryWarning(UserWarning):
    """A dial of a prior is better the further it is turned; it was left at the end of its range."""

    ends: tuple[Bound, ...] = ()


def tune(
    model: Classifier, X: Any, y: Any, criterion: str = "evidence", per: str = "model", *, sample_weight: Any = None
) -> Any:
    """Give an estimator the priors that are best for some rows.

    Parameters
    ----------
    model : estimator of bayesnb, fitted on these rows or not at all
    X, y : rows and their labels
    criterion : {"evidence", "loo"}
        "evidence" makes the cells as probable as they can be, given the labels and before they were seen (type-II
        maximum likelihood). "loo" makes the labels as probable as they can be, each predicted from its row and from
        all other rows, by the estimator's own `estimate` and `temper_`.
    per : {"model", "feature", "class"}
        Whether all columns of a kind share one prior, or each column has its own for all classes, or each class has
        its own for all columns of a kind. "loo" knows "model" only.
    sample_weight : None, or how often each row counts

    Returns
    -------
    estimator
        A new one of the same class, not fitted, which says the priors in its own parameters: `families`, `alpha` or
        `prior`. Nothing else differs.

    Warns
    -----
    BoundaryWarning
        Where a prior is better the stronger it is, or the weaker, without end. It is left at the end of the range
        that is searched, from 1e-8 to 1e8, where it says that the classes do not differ, or that any might.

    Notes
    -----
    Dice (`Categorical`, `Bernoulli`, `Multinomial`) have their concentration tuned, by Newton's method, and keep the
    proportions that a prior said with an array has. Gaussian columns have the `count`, `shape` and `scale` of their
    prior tuned, on the scale of each column's pooled variance, around its pooled mean, or with per="feature" around a
    tuned one: predictions do not change when a column is shifted or rescaled. Poisson columns have the `shape` of
    their Gamma and its mean tuned, relative to each column's pooled rate. For "loo" a prior has a strength only, the
    factor of its parameters, and for Gaussian columns a factor of the `scale`: a coarse search over the whole range,
    and a fine one from its best. The class prior stays as it is, and a prior that was improper is replaced.

    The evidence asks how probable the cells are, not the labels: where columns depend on each other, the prior under
    which the cells are most probable is not the one that predicts labels best, and "loo" is. The evidence knows no
    `temper`; "loo" takes the exponent as it was fitted, and does not search for both. An `estimate="map"` under a
    concentration of 1 or less, which the evidence may well choose, puts levels that are rare at 0. With weights that
    are no whole numbers, the evidence is that of the power likelihood.

    Examples
    --------
    >>> from bayesnb import CategoricalNB, tune
    >>> X, y = [[0, 1], [0, 1], [0, 0], [0, 1], [1, 2], [1, 2], [1, 2], [1, 0]], list("aaaabbbb")
    >>> tuned = tune(CategoricalNB(), X, y)
    >>> round(tuned.alpha, 3)
    0.315
    >>> tuned.fit(X, y).log_evidence_ > CategoricalNB().fit(X, y).log_evidence_
    True
    """
    _check(model, criterion, per)
    trial = trial_of(model, X, y, sample_weight)
    trials = trials_of(trial, "tune")
    if not any(family.dial for family in trials.families):
        raise ValueError("no column has a prior that can be tuned: the families are " + _shown(trials.families) + ".")
    if per == "class" and any(family.shared for family in trials.families):
        raise ValueError(
            "per='class' under shared=True: the variance of a column is that of all classes, and so is its prior. "
            "Use per='model' or 'feature'."
        )
    if criterion == "evidence":
        families, ends = most_probable(trials.families, trial.model.stats.blocks, trials.widths, per)
    else:
        families, ends = best_by_loo(trials, model.estimate)
    _tell(ends, trial)
    return model._fresh(**model._saying(_by_columns(trial, families)))


def _check(model: Any, criterion: str, per: str) -> None:
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}, got {criterion!r}.")
    if per not in PER:
        raise ValueError(f"per must be one of {', '.join(PER)}, got {per!r}.")
    if criterion == "loo" and per != "model":
        raise ValueError(
            f"criterion='loo' has per='model' only, got per={per!r}: a label's score depends on all columns and "
            "classes at once, so their priors cannot be tuned apart. Use criterion='evidence'."
        )
    if per == "class" and getattr(model, "average_features", None) is not None:
        raise ValueError(
            "average_features compares a theta for each class with one for all of them, which needs one prior for all "
            "classes: per='class' has no place there. Use per='model' or 'feature'."
        )
    if criterion == "loo" and getattr(model, "estimate", None) == "mle":
        raise ValueError("criterion='loo' under estimate='mle': no prior enters it, so there is nothing to tune.")


def _by_columns(trial: Trial, families: Sequence[Family]) -> dict[tuple[Hashable, ...], Any]:
    """A family for every column that has one, and None for the others."""
    schema = trial.estimator.schema_
    said: dict[tuple[Hashable, ...], Any] = {
        block.names: family for block, family in zip(schema.blocks, families, strict=True)
    }
    known = {name for block in schema.blocks for name in block.names}
    dropped = tuple(name for name in schema.columns if name not in known)
    return said | ({dropped: None} if dropped else {})


def _tell(ends: Sequence[End], trial: Trial) -> None:
    """One warning that names every dial at its end."""
    if ends:
        bounds = tuple(_bound(end, trial) for end in ends)
        said = " ".join(f"{each.where}: {each.dial} {each.goal}: {each.meaning}." for each in bounds)
        warning = BoundaryWarning(f"priors at the end of their range: {said}")
        warning.ends = bounds
        warnings.warn(warning, skip_file_prefixes=(HERE,))


def _bound(end: End, trial: Trial) -> Bound:
    """What is known of one end, in words."""
    schema = trial.estimator.schema_
    names = [schema.blocks[b].keys[f] for b, f in end.columns]
    shown = ", ".join(_short(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    whose = "" if end.code is None else f" in class {trial.estimator.classes_.tolist()[end.code]!r}"
    noun = "column" if len(names) == 1 and not isinstance(names[0], tuple) else "columns"
    shared = all(schema.blocks[b].family.shared for b, _ in end.columns)
    special = f"{'shared' if shared else end.kind} {end.dial}"
    meaning = MEANING.get((special, end.infinite)) or MEANING[end.dial, end.infinite]
    return Bound(tuple(names), f"{noun} {shown}{whose}", end.kind, end.dial, end.infinite, shared, meaning)


def _short(name: Hashable) -> str:
    return repr(name) if not isinstance(name, tuple) or len(name) < 8 else f"the block of {len(name)} from {name[0]!r}"


def _shown(families: Sequence[Family]) -> str:
    return ", ".join(map(repr, families))
