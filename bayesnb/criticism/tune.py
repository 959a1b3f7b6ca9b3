"""Priors that maximise the evidence of given rows, or the leave-one-out score of their labels."""

import warnings
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import FittedRows, declare_families, fit_rows
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.base import clone_declaring, clone_with, without_links
from bayesnb.estimators.cross_validation import score_left_out
from bayesnb.families.family import LEAST, MOST
from bayesnb.formatting import list_names, quote
from bayesnb.model.schema import Schema
from bayesnb.selection.hyperparameters import PER, End, best_by_evidence
from bayesnb.selection.leave_one_out import PACKAGE, Pointwise
from bayesnb.selection.smoothing import best_by_loo
from bayesnb.stages import Stages

CRITERIA = ("evidence", "loo")
# standard errors of smaller differences are unreliable (Sivula et al. 2020, section 4)
SMALL_DIFFERENCE = 4.0  # nats


class BoundaryWarning(UserWarning):
    """The optimum of a prior's parameter is at a boundary of its search range.

    The parameter is left there. The message names the column and the parameter, and explains it.

    See Also
    --------
    tune : Priors that maximise the evidence, or the leave-one-out score.
    """


class RefusedWarning(UserWarning):
    """Tuned priors predict labels worse than the estimator's own priors, which are kept.

    See Also
    --------
    tune : Priors that maximise the evidence, or the leave-one-out score.
    """


def tune[Estimator: NaiveBayes](
    model: Estimator,
    X: Any,
    y: Any,
    criterion: str = "evidence",
    per: str = "model",
    *,
    sample_weight: Any = None,
    force: bool = False,
    progress: bool | None = None,
) -> Estimator:
    """Choose the priors of an estimator by the evidence of given rows, or by leave-one-out.

    Parameters
    ----------
    model : estimator
        An estimator that is fitted to these rows, or not fitted.
    X : table of rows
        The training rows.
    y : array-like
        Their labels.
    criterion : {"evidence", "loo"}, default "evidence"
        "evidence" maximises the marginal likelihood of the cells given the labels (type-II maximum
        likelihood, empirical Bayes). "loo" maximises the leave-one-out log score of the labels,
        with the estimator's `estimate` and `temper_`.
    per : {"model", "feature", "class"}, default "model"
        One prior for all columns of a kind, or one for each column and all classes, or one for each
        class and all columns of a kind. "loo" allows only "model".
    sample_weight : array-like, optional
        The weights of the rows.
    force : bool, default False
        Whether to accept priors that predict the labels worse than before: by more than two
        standard errors of the difference, and by more than 4 nats, as standard errors of smaller
        differences are unreliable.
    progress : bool, optional
        Whether stderr names the current step. By default on a terminal, after two seconds.

    Returns
    -------
    estimator
        A new unfitted estimator of the same class, with the tuned priors as parameters: `families`,
        `alpha` or `prior`. Nothing else differs. Its attribute `tuning` is a pandas.DataFrame with
        the rows "before" and "after": `elpd_loo`, the leave-one-out score of the labels, as in
        `loo`, under the priors of `model` and under the tuned ones, its standard error `se`, the
        difference to "before", `elpd_diff`, and the standard error of that, `diff_se`. A clone of
        the estimator does not have this attribute.

    Warns
    -----
    RefusedWarning
        If the tuned priors predict the labels worse, and `force` is False. The returned estimator
        keeps the priors of `model`; `tuning` has both scores.
    BoundaryWarning
        If the criterion increases without bound as a prior gets stronger, or weaker. The prior
        stays at the boundary of the search range, 1e-8 to 1e8, which means that classes do not
        differ, or may differ arbitrarily.

    See Also
    --------
    compare_smoothing : Compare smoothings by their scores.
    NaiveBayes.log_evidence_ : The criterion "evidence".
    NaiveBayes.loo : The criterion "loo".

    Notes
    -----
    For `Categorical`, `Bernoulli` and `Multinomial` columns the concentration is tuned, by Newton's
    method; a prior that is declared with an array keeps its proportions. For Gaussian columns the
    `count`, `shape` and `scale` of the prior are tuned, on the scale of each column's pooled
    variance, around its pooled mean, or with per="feature" around a tuned one: predictions do not
    change when a column is shifted or rescaled. For Poisson columns the `shape` of the Gamma and
    its mean are tuned, relative to each column's pooled rate. "loo" tunes only a factor of all
    parameters, and for Gaussian columns a factor of the `scale`, by a coarse search over the whole
    range, then a fine one around the best. The class prior is unchanged, and an improper prior is
    replaced.

    Links between columns, as in `NaiveBayes()`, have no prior to tune: "evidence" is that of the
    columns alone, and "loo" includes the links of `model`. `tuning` has the scores of both models
    with their links.

    The evidence is about the cells, not the labels: if columns depend on each other, the prior with
    the highest evidence does not predict labels best; that of "loo" does. This is why the result is
    checked by predicting the labels. A class in which a Gaussian column is constant, or a block of
    them has a singular covariance, is left out of the evidence: the density of equal rows grows
    without bound as the variance goes to 0, and would pull the prior of all other columns there.
    `temper` does not enter the evidence; "loo" uses the fitted exponents and does not tune them: in
    `tuning` they are estimated again. With `estimate="map"` and a concentration of 1 or less, which
    may maximise the evidence, rare levels have probability 0. With weights that are not whole
    numbers, the evidence is that of the power likelihood.

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
    _check_arguments(model, criterion, per)
    with Stages(progress) as stages:
        stages.begin("tune: counting rows")
        before = fit_rows(model, X, y, sample_weight, needed_by="tune")
        schema = before.schema
        _check_tunable(schema, per)
        stages.begin("tune: searching priors")
        if criterion == "loo":
            families, ends = best_by_loo(before.prior_variants(), model.estimate)
        else:
            families, ends = best_by_evidence(schema.blocks, before.model.stats.blocks, per)
        names = [tuple(block.names) for block in schema.columns_alone.blocks]
        declared = declare_families(schema, dict(zip(names, families, strict=False)))
        tuned = clone_declaring(model, declared)
        stages.begin("tune: scoring labels")
        tuning = _score_labels(before, fit_rows(tuned, X, y, sample_weight))
    diff = tuning.elpd_diff["after"]
    se = tuning.diff_se["after"]
    is_worse = diff == -np.inf or diff < -max(2 * se, SMALL_DIFFERENCE)
    if is_worse and not force:
        warning: Warning = RefusedWarning(explain_refusal(tuning, criterion))
        warnings.warn(warning, skip_file_prefixes=(PACKAGE,))
        tuned = clone_with(model)
    elif ends:
        places = " ".join(describe_end(end, before.estimator) for end in ends)
        warning = BoundaryWarning(f"priors at the boundary of their search range: {places}")
        warnings.warn(warning, skip_file_prefixes=(PACKAGE,))
    tuned.tuning = tuning
    return tuned


def describe_boundaries(model: NaiveBayes) -> list[str]:
    """Return sentences about priors of a fitted estimator that `tune` would warn about."""
    columns = without_links(model)
    _check_tunable(columns.schema_, "model")
    stats = columns.model_.stats.blocks
    _, ends = best_by_evidence(columns.schema_.blocks, stats, "model")
    return [describe_end(end, columns) for end in ends]


def _check_arguments(model: Any, criterion: str, per: str) -> None:
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}, got {criterion!r}.")
    if per not in PER:
        raise ValueError(f"per must be one of {', '.join(PER)}, got {per!r}.")
    if criterion == "loo" and per != "model":
        raise ValueError(
            f"criterion='loo' allows only per='model', got per={per!r}: a label's score depends on "
            "all columns and classes at once, so their priors cannot be tuned separately. Use "
            "criterion='evidence'."
        )
    if criterion == "loo" and getattr(model, "estimate", None) == "mle":
        raise ValueError(
            "criterion='loo' with estimate='mle': there is no prior, so there is nothing to tune."
        )


def _check_tunable(schema: Schema, per: str) -> None:
    """Raise if no prior can be tuned, or not for each class."""
    families = [block.family for block in schema.blocks]
    if not any(family.hyperparameters for family in families):
        shown = ", ".join(map(repr, families))
        raise ValueError(f"no column has a prior that can be tuned: the families are {shown}.")
    if per == "class" and any(family.shared for family in families):
        raise ValueError(
            "per='class' with shared=True: all classes share the variance of a column, and so its "
            "prior. Use per='model' or 'feature'."
        )


def _score_labels(before: FittedRows, after: FittedRows) -> "results.TitledFrame":
    """Return a table of the labels' leave-one-out scores, as in `loo`, for two models."""
    old = score_left_out(before.estimator, before.rows)
    new = score_left_out(after.estimator, after.rows)
    with np.errstate(invalid="ignore"):  # a row that is impossible before and after
        gap = np.where(old.score == new.score, 0.0, new.score - old.score)
    gaps = Pointwise(gap, gap, old.counts)
    scores = {
        "elpd_loo": [old.total, new.total],
        "se": [old.se, new.se],
        "elpd_diff": [0.0, gaps.total],
        "diff_se": [0.0, gaps.se],
    }
    return results.datasets.tuning(scores)


def explain_refusal(tuning: Any, criterion: str) -> str:
    """Return why tuned priors are rejected: the scores before and after."""
    before = tuning.loc["before"]
    after = tuning.loc["after"]
    other = "criterion='loo' for the priors that predict labels best, or "
    return (
        "tune: the best priors by this criterion predict the labels worse than those of the "
        "estimator, which are kept: the leave-one-out score is "
        f"{after.elpd_loo:.1f} with them and {before.elpd_loo:.1f} without, a difference of "
        f"{after.elpd_diff:.1f} with a standard error of {after.diff_se:.1f}. Use "
        f"{'' if criterion == 'loo' else other}force=True to use them anyway."
    )


def describe_end(end: End, estimator: Any) -> str:
    """Explain that a prior's parameter is at the boundary of its search range."""
    blocks = estimator.schema_.blocks
    keys = tuple(blocks[b].keys[f] for b, f in end.columns)
    noun = "column" if len(keys) == 1 and not isinstance(keys[0], tuple) else "columns"
    where = f"{noun} {list_names(keys, to_text=quote)}"
    if end.code is not None:
        where += f" in class {quote(estimator.classes_.tolist()[end.code])}"
    value = f"{MOST:g}, practically infinite" if end.infinite else f"{LEAST:g}, practically 0"
    is_shared = blocks[end.columns[0][0]].family.shared
    return f"{where}: {end.name} {value}: {end.kind.meaning(end.name, end.infinite, is_shared)}."
