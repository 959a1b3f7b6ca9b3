"""Evidence that each feature depends on the class."""

from collections.abc import Hashable
from numbers import Real
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import expit, logit

from bayesnb import results
from bayesnb.data.cells import qualified_names
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.base import check_is_fitted, without_links
from bayesnb.families.base import Array
from bayesnb.model.powers import of_blocks
from bayesnb.selection.feature_evidence import (
    cautious,
    check_comparable,
    word_bayes_factors,
)

NUMBERS = ("log_bayes_factor", "temper", "temper_sd")  # of a feature


def relevance(model: NaiveBayes, prior: float = 0.5) -> Any:
    """Compute the Bayes factor for a dependence of each feature on the class.

    The log Bayes factor compares two hypotheses about a column: that each class has a separate
    parameter, and that all classes share one, both under the model's prior. It is the log evidence
    of the first less that of the second. Above 0 the data speak for a dependence: 3 nats are
    strong, 5 very strong (Kass and Raftery 1995). Hundreds of nats say that a dependence is
    certain, or that the family has the wrong shape; not that the feature is important, which
    `importance` computes.

    Parameters
    ----------
    model : estimator
        A fitted model.
    prior : float, default 0.5
        The probability, before the data, that a feature depends on the class.

    Returns
    -------
    xarray.Dataset
        It shows itself as a table, the largest factor first, and its `to_frame` has a row for each
        feature. By feature, in the table's order: `log_bayes_factor`, in nats, and `inclusion`, the
        posterior probability that the feature depends on the class; `temper` and `temper_sd`, how
        much its evidence counts in predictions.

    See Also
    --------
    importance : What held-out log loss loses without a column.
    plot_relevance : The factors as bars.
    dependence : Whether columns depend on each other within the classes.
    NaiveBayes.summary : Each feature's factor beside its family and prior.

    Notes
    -----
    In a block of counts each word is compared with all others together, with a Beta(a_j, A - a_j)
    prior, a margin of the block's Dirichlet; words of one block are not independent. The factor of
    the whole block is in the attributes `block` and `block_log_bayes_factor`. For a Gaussian column
    with `shared=True` both hypotheses have one variance for all classes: they differ in the means
    alone.

    A Bayes factor depends on the prior, and most where that is vague: under a prior that spreads
    far beyond the data a parameter for each class costs more, and small differences do not pay for
    it. It is defined for rows only: weights and counts must have been whole numbers, and the prior
    proper and the same for all classes.

    Under one concentration for all, noise in a column of many levels would be strong evidence: a
    Dirichlet(1) explains many rare levels badly, and those of a class worse than those of all rows.
    So the factor of a column of levels, of a flag or of a whole block of counts, where it is above
    0, is compared with a second one, for which the concentration is learnt: it keeps the
    proportions of the declared prior, and is as large as makes the data most probable, one number
    for all classes under one hypothesis, and one under the other. The smaller of the two is shown,
    and 0 if the second speaks against a dependence. A factor below 0 is that of the model's priors,
    as is that of numbers, of counts and of single words. A column with a level for each row says
    nothing: its factor is 0.

    Both hypotheses are of the column's family, and so is the factor. Where its shape is wrong, as
    for amounts of money under a Gaussian or counts that vary more than a Poisson allows, a
    parameter for each class also serves to fit that shape, and noise may have a large factor: look
    at the column, take a logarithm, or declare it `Categorical`.

    Every feature is judged by itself; links between columns are not features.

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
            "the model has learnt weights or counts that are not whole numbers. A Bayes factor "
            "compares probabilities of rows, and such rows have none: fit with whole weights and "
            "counts."
        )
    names, numbers, blocks = _compare_features(without_links(model))
    numbers["inclusion"] = expit(numbers["log_bayes_factor"] + logit(float(prior)))
    return results.datasets.relevant(names, numbers, float(prior), blocks)


def _compare_features(
    fitted: NaiveBayes,
) -> tuple[list[Hashable], dict[str, Array], dict[str, float]]:
    """Return features in the table's order, by name and number, and factors of blocks of words."""
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
