"""What held-out log loss loses without a column, by one table of leave-one-out scores.

    log p(y | x) = log softmax_c( log p(c) + sum_j w_j log p_j(x_j | c, all rows but this one) )

Without column j its term is gone, and so are those of its links with other columns.
"""

from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import FittedRows, fit_rows
from bayesnb.estimators.cross_validation import refuse_stuck, scoring_rule
from bayesnb.estimators.inspection import name_feature
from bayesnb.families.base import Array
from bayesnb.inference.posterior_draws import refuse_large
from bayesnb.model.product import normalise_log
from bayesnb.model.schema import Schema
from bayesnb.selection.leave_one_out import contributions_left_out, find_stuck
from bayesnb.selection.probability_scores import Estimate
from bayesnb.selection.verdict import signed_mean


def importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    ci_prob: float | None = None,
    sample_weight: Any = None,
) -> Any:
    """Compute what held-out log loss loses without each column, in nats a row.

    Every row is predicted by the model of all other rows, once with the column and once without it.
    The importance is the mean of -log p(y | x) without the column, less that with it: above 0 the
    column makes predictions better.

    Parameters
    ----------
    model : estimator
        One that is not fitted is fitted to these rows first; one that is fitted must have learnt
        these rows.
    X : table of rows
        The rows that were learnt.
    y : array-like
        Their labels.
    ci_prob : float, optional
        The probability of the intervals, by default ArviZ's `rcParams["stats.ci_prob"]`.
    sample_weight : array-like, optional
        The weights of the rows, as they were learnt. A row with a weight is left out as a whole.

    Returns
    -------
    xarray.Dataset
        It shows itself as a table, the most important feature first, and its `to_frame` has a row
        for each feature. By feature, in the table's order: `importance`, in nats a row, with its
        interval, `lower` and `upper`; `temper`, the exponent of its evidence. Columns that are
        modelled jointly are one feature, and so is a block of words. In the attributes: `log_loss`,
        that of the whole model; `exponents`, "kept" where they were found from the rows.

    See Also
    --------
    relevance : Evidence that a column depends on the class, whatever the other columns say.
    plot_relevance : Draws the result as bars.
    NaiveBayes.loo : The leave-one-out scores of the whole model.
    NaiveBayes.explain : What each column says of single rows.

    Notes
    -----
    Where all exponents are 1 or given, and there are no links, the numbers are those of a refit
    without the column: its factor is taken out of the product. Exponents that were found from the
    rows (`temper_`), which each row leaves as in `NaiveBayes.loo`, are kept for the other columns,
    though a refit would find others, and so are families that were chosen. A column takes its links
    with it; the other links stay.

    A column can depend strongly on the class and be of no importance: where another column says the
    same, nothing is lost without one of them. A negative importance says that predictions are
    better without the column, as they may be where its evidence is counted twice. Importances do
    not add up to what all columns are worth together.

    The interval is that of the mean of the differences, row by row: Student's t, corrected for
    skewness. It is about other rows of the same population, predicted by this model. Fewer than
    five rows have no interval.

    Examples
    --------
    Two columns that are the same, so that predictions are better without one of them, and one that
    is noise:

    >>> import numpy as np
    >>> from bayesnb import NaiveBayes, importance, relevance
    >>> rng = np.random.default_rng(1)
    >>> y = np.repeat([0, 1], 100)
    >>> x = rng.normal(2 * y)
    >>> X = np.column_stack([x, x, rng.normal(size=200)])
    >>> model = NaiveBayes("gaussian").fit(X, y)
    >>> importance(model, X, y).importance.values.round(3).tolist()
    [-0.038, -0.038, -0.005]
    >>> relevance(model).log_bayes_factor.values.round(1).tolist()
    [71.8, 71.8, -5.2]
    """
    prob = results.datasets.ci_prob(ci_prob)
    fitted = fit_rows(model, X, y, sample_weight)
    estimator = fitted.estimator
    schema = fitted.schema
    weight = fitted.rows.counts
    whole, without = _score_without(fitted)
    estimates = [_average(loss, whole, weight, prob) for loss in without]
    names = [name_feature(schema.blocks[b], key) for key, b, _ in schema.columns_alone.keys]
    temper = np.asarray(estimator.temper_, float)
    attrs = {
        "log_loss": float(np.average(whole, weights=weight)),
        "rows": len(whole),
        "ci_prob": prob,
        "exponents": "kept" if estimator.fitted_.temper.is_found else "given",
        "estimate": estimator.estimate,
    }
    exponents = np.broadcast_to(temper, len(names))
    return results.datasets.important(names, np.array(estimates).T, exponents, attrs)


def _score_without(fitted: FittedRows) -> tuple[Array, list[Array]]:
    """Return -log p(y | x) of each held-out row, `(r,)`, and the same without each feature."""
    estimator = fitted.estimator
    rows = fitted.rows
    schema = fitted.schema
    numbers = len(rows.codes) * len(estimator.classes_) * len(schema.keys)
    refuse_large(
        "the scores of all rows, classes and columns, twice,",
        16.0 * numbers,
        "Give some of the rows that were learnt.",
    )
    rule = scoring_rule(estimator)
    parts = contributions_left_out(fitted.model, rows, rule, rows.counts, estimator.n_jobs)
    _, log_class, by_row = zip(*parts, strict=True)
    scores = np.ascontiguousarray(np.moveaxis(np.concatenate(by_row), 2, 0))  # `(f, r, c)`
    impossible = np.isneginf(scores)
    scores[impossible] = 0.0
    times = impossible.sum(axis=0)
    total = np.concatenate(log_class) + scores.sum(axis=0)

    def compute_loss(left: list[int]) -> Array:
        joint = total - scores[left].sum(axis=0)
        joint[times > impossible[left].sum(axis=0)] = -np.inf
        return -normalise_log(joint)[np.arange(len(rows.codes)), rows.codes]

    whole = compute_loss([])
    refuse_stuck(find_stuck(fitted.model, rows, total))
    fitted.refuse_undefined(whole)
    return whole, [compute_loss(places) for places in _find_places(schema)]


def _find_places(schema: Schema) -> list[list[int]]:
    """Return for each column, in the table's order, its place among all features and its links'."""
    starts = np.cumsum([0, *(len(block.keys) for block in schema.blocks)]).tolist()
    links = () if schema.links is None else schema.links.keys
    places = []
    for key, b, f in schema.columns_alone.keys:
        block = schema.blocks[b]
        columns = set(block.names) if block.family.multivariate else {key}
        link_places = [
            at for at, ends in enumerate(links, starts[-2]) if columns.intersection(ends)
        ]
        places.append([starts[b] + f, *link_places])
    return places


def _average(loss: Array, whole: Array, weight: Array, prob: float) -> Estimate:
    """Return the weighted mean of what is lost row by row, with its interval."""
    with np.errstate(invalid="ignore"):  # nothing, where a row is impossible either way
        terms = np.where(loss == whole, 0.0, loss - whole)
    mean = np.average(terms, weights=weight)
    if np.isfinite(mean):  # each row's part in the error of a weighted mean
        terms = mean + weight / weight.mean() * (terms - mean)
    return signed_mean(terms, prob)
