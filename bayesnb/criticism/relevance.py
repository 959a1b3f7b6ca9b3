"""Relevance and importance of columns: evidence of dependence on the class, and loss without them.

The loss is that of held-out labels, from one table of leave-one-out scores:

    log p(y | x) = log softmax_c( log p(c) + sum_j w_j log p_j(x_j | c, all rows but this one) )

Without column j, its term and those of its links with other columns are removed.
"""

from collections.abc import Hashable
from numbers import Real
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import expit, logit

from bayesnb import results
from bayesnb.criticism.fitted_rows import FittedRows, fit_rows
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.base import check_is_fitted, without_links
from bayesnb.estimators.cross_validation import refuse_stuck, scoring_rule
from bayesnb.estimators.inspection import name_feature
from bayesnb.families.base import Array
from bayesnb.families.record import difference
from bayesnb.formatting import qualified_names
from bayesnb.inference.posterior_draws import refuse_large
from bayesnb.model.covariance import Covariance
from bayesnb.model.powers import of_blocks
from bayesnb.model.product import normalise_log
from bayesnb.model.schema import Schema
from bayesnb.selection.covariance import score_columns
from bayesnb.selection.feature_evidence import cautious, check_comparable, word_bayes_factors
from bayesnb.selection.leave_one_out import contributions_left_out, find_stuck
from bayesnb.selection.probability_scores import Estimate
from bayesnb.selection.verdict import signed_mean

NUMBERS = ("log_bayes_factor", "temper", "temper_sd")  # of a feature


def relevance(model: NaiveBayes, prior: float = 0.5) -> "results.Result":
    """Compute the Bayes factor for a dependence of each feature on the class.

    The log Bayes factor compares two hypotheses about a column: that each class has a separate
    parameter, and that all classes share one, both under the model's prior. It is the log evidence
    of the first less that of the second. Above 0 the data favour dependence: 3 nats are strong, 5
    very strong evidence (Kass and Raftery 1995). Hundreds of nats mean that dependence is certain,
    or that the family is misspecified, not that the feature is important: see `importance`.

    Parameters
    ----------
    model : estimator
        A fitted model.
    prior : float, default 0.5
        The prior probability that a feature depends on the class.

    Returns
    -------
    xarray.Dataset
        It is displayed as a table, the largest factor first, and its `to_frame` has a row for each
        feature. By feature, in the table's order: `log_bayes_factor`, in nats, and `inclusion`, the
        posterior probability that the feature depends on the class; `temper` and `temper_sd`, the
        weight of its evidence in predictions.

    See Also
    --------
    importance : The increase in held-out log loss without a column.
    plot_relevance : A bar chart of the factors.
    dependence : Whether columns depend on each other within the classes.
    NaiveBayes.summary : Each feature's factor, family and prior.

    Notes
    -----
    In a block of counts each word is compared with all others together, with a Beta(a_j, A - a_j)
    prior, a margin of the block's Dirichlet; words of one block are not independent. The factor of
    the whole block is in the attributes `block` and `block_log_bayes_factor`. For a Gaussian column
    with `shared=True`, both hypotheses have one variance for all classes, and differ only in the
    means.

    A Bayes factor depends on the prior, most strongly if that is vague: a prior much wider than the
    data penalises a parameter for each class more, so small differences are not detected (Lindley's
    paradox). Weights and counts must be whole numbers, and the prior proper and the same for all
    classes.

    With a fixed concentration, noise in a column of many levels would be strong evidence: a
    Dirichlet(1) fits many rare levels poorly, and those of a class worse than those of all rows. So
    a factor above 0 of a column of levels, a flag or a whole block of counts is compared with a
    second one, with an estimated concentration: under each hypothesis the prior keeps its
    proportions, and has the concentration, one number for all classes, that maximises the evidence.
    The smaller of the two is shown, and 0 if the second favours independence. A factor below 0 is
    that of the model's priors, as are those of numbers, counts and single words. A column with a
    different level in every row is not informative: its factor is 0.

    Both hypotheses assume the column's family. If it is misspecified, as for amounts of money under
    a Gaussian or overdispersed counts under a Poisson, separate parameters for each class also
    improve the fit, and noise may have a large factor: plot the column, take logarithms, or declare
    it `Categorical`.

    Every feature is assessed by itself; links between columns are not features.

    Examples
    --------
    >>> import bayesnb
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> model = bayesnb.NaiveBayes({"height": "gaussian", "weight": "gaussian"})
    >>> model = model.fit(table.drop(columns="breed"), table["breed"])
    >>> bayesnb.relevance(model).log_bayes_factor.round(1).to_series().to_dict()
    {'height': 0.3, 'weight': 0.5, 'curled_tail': -0.3}
    """
    if not (isinstance(prior, Real) and 0 < float(prior) < 1):
        raise ValueError(f"prior must be a probability between 0 and 1, got {prior!r}.")
    check_estimator(model)
    check_is_fitted(model)
    if not model.model_.integer_weights:
        raise ValueError(
            "the model was fitted with weights or counts that are not whole numbers, so no Bayes "
            "factor is defined: fit with whole weights and counts."
        )
    names, numbers, blocks = _compare_features(without_links(model))
    numbers["inclusion"] = expit(numbers["log_bayes_factor"] + logit(float(prior)))
    return results.datasets.relevant(names, numbers, float(prior), blocks)


def _compare_features(
    fitted: NaiveBayes,
) -> tuple[list[Hashable], dict[str, Array], dict[str, float]]:
    """Return features in the table's order, their numbers, and the factors of blocks of words."""
    rows: list[Any] = []
    blocks: dict[str, float] = {}
    model = fitted.model_
    schema = fitted.schema_
    numbers_of = fitted.fitted_.tempers
    tempers, sds = (of_blocks(numbers_of[name], len(schema.blocks)) for name in NUMBERS[1:])
    for b, block in enumerate(schema.blocks):
        prior = model.prior.blocks[b]
        stats = model.stats.blocks[b]
        check_comparable(prior, block.keys)
        factors = cautious(block.family, prior, stats)
        names = list(block.words)
        all_names = ", ".join(map(str, block.names))
        if block.family.words:
            blocks[all_names] = float(factors[0])
            factors = word_bayes_factors(prior, stats)  # type: ignore[arg-type]
        elif block.family.multivariate:
            names = [all_names]
        columns = [block.names[0]] * len(names) if block.family.listed else names
        numbers = np.broadcast_arrays(factors, tempers[b], sds[b])
        rows += zip(block.word_places, names, columns, *numbers, strict=False)
    rows.sort(key=itemgetter(0))
    _, features, owners, *values = zip(*rows, strict=True)
    by_name = dict(zip(NUMBERS, map(np.array, values), strict=True))
    return qualified_names(features, owners), by_name, blocks


# Loss without a column


def importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    ci_prob: float | None = None,
    sample_weight: Any = None,
) -> "results.Result":
    """Compute the increase in held-out log loss without each column, in nats per row.

    Every row is predicted from all other rows, once with the column and once without it. The
    importance is the mean of -log p(y | x) without the column, less that with it: above 0 the
    column improves predictions.

    Parameters
    ----------
    model : estimator
        If it is not fitted, it is fitted to these rows first; if it is, it must have been fitted to
        them.
    X : table of rows
        The training rows.
    y : array-like
        Their labels.
    ci_prob : float, optional
        The probability of the intervals, by default ArviZ's `rcParams["stats.ci_prob"]`.
    sample_weight : array-like, optional
        The weights of the rows, as in `fit`. A weighted row is left out as a whole.

    Returns
    -------
    xarray.Dataset
        It is displayed as a table, the most important feature first, and its `to_frame` has a row
        for each feature. By feature, in the table's order: `importance`, in nats per row, with its
        interval, `lower` and `upper`; `temper`, the exponent of its evidence. Columns that are
        modelled jointly are one feature, and so is a block of words. In the attributes: `log_loss`,
        that of the whole model; `exponents`, "kept" if they were estimated from the rows.

    See Also
    --------
    relevance : Evidence that a column depends on the class, ignoring all other columns.
    plot_relevance : A bar chart of the result.
    NaiveBayes.loo : The leave-one-out scores of the whole model.
    NaiveBayes.explain : The contribution of each column to single predictions.

    Notes
    -----
    If all exponents are 1 or given, and there are no links, the result equals a refit without the
    column: its factor is removed from the product. Estimated exponents (`temper_`) are corrected
    for each left-out row as in `NaiveBayes.loo`, but those of the other columns are kept, although
    a refit would change them, as are families that were chosen. The links of a column are removed
    with it, and it is removed from the covariance; dependence between other columns is kept.

    A column can depend strongly on the class and have no importance: if it is redundant with
    another, nothing is lost without one of them. A negative importance means that predictions are
    better without the column, as they may be if its evidence is counted twice. Importances are not
    additive.

    The interval is for the mean of the row-wise differences: Student's t, corrected for skewness.
    It is about other rows of the same population, predicted by this model. With fewer than five
    rows there is no interval.

    Examples
    --------
    Two columns are identical, so predictions are better without one of them; the third is noise:

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
        "Give only some of the training rows.",
    )
    rule = scoring_rule(estimator)
    parts = contributions_left_out(fitted.model, rows, rule, rows.counts, estimator.n_jobs)
    _, log_class, by_row = zip(*parts, strict=True)
    scores = np.ascontiguousarray(np.moveaxis(np.concatenate(by_row), 2, 0))  # `(f, r, c)`
    impossible = np.isneginf(scores)
    scores[impossible] = 0.0
    times = impossible.sum(axis=0)
    total = np.concatenate(log_class) + scores.sum(axis=0)

    def compute_loss(left: list[int], change: Array | float = 0.0) -> Array:
        joint = total - scores[left].sum(axis=0) + change
        joint[times > impossible[left].sum(axis=0)] = -np.inf
        return -normalise_log(joint)[np.arange(len(rows.codes)), rows.codes]

    whole = compute_loss([])
    refuse_stuck(find_stuck(fitted.model, rows, total))
    fitted.refuse_undefined(whole)
    if schema.covariance is not None:
        (exponent,), _ = estimator.fitted_.of_block(Covariance)
        every = np.arange(len(schema.covariance.scale.sd))
        together = score_columns(fitted.model, rows, every)
    losses = []
    for places, lost in _find_places(schema):
        change: Array | float = 0.0
        if lost.any():  # the covariance of the other columns stays
            others = score_columns(fitted.model, rows, every[~lost])
            change = exponent * difference(others, together)
        losses.append(compute_loss(places, change))
    return whole, losses


def _find_places(schema: Schema) -> list[tuple[list[int], Array]]:
    """Return for each column, in the table's order, the places of it, its links and its flag.

    The array says which numbers of the covariance depend on it.
    """
    starts = np.cumsum([0, *(len(block.keys) for block in schema.blocks)]).tolist()
    links = () if schema.links is None else schema.links.keys
    first_link = starts[len(schema.columns_alone.blocks)]
    covariance = schema.covariance
    flags = () if schema.missing is None else schema.missing.places
    first_flag = first_link + len(links)
    places = []
    for key, b, f in schema.columns_alone.keys:
        block = schema.blocks[b]
        columns = set(block.names) if block.family.multivariate else {key}
        link_places = [
            at for at, ends in enumerate(links, first_link) if columns.intersection(ends)
        ]
        own = {block.places[f]} if not block.family.multivariate else set(block.places)
        link_places += [at for at, place in enumerate(flags, first_flag) if place in own]
        lost = np.zeros(0, bool) if covariance is None else covariance.using(block.places[f])
        places.append(([starts[b] + f, *link_places], lost))
    return places


def _average(loss: Array, whole: Array, weight: Array, prob: float) -> Estimate:
    """Return the weighted mean of the loss differences of the rows, with its interval."""
    with np.errstate(invalid="ignore"):  # 0 if a row is impossible with and without the column
        terms = np.where(loss == whole, 0.0, loss - whole)
    mean = np.average(terms, weights=weight)
    if np.isfinite(mean):  # the contribution of each row to the error of a weighted mean
        terms = mean + weight / weight.mean() * (terms - mean)
    return signed_mean(terms, prob)
