"""Check whether a new table has changed: its columns, levels, missing cells and class shares.

The model keeps its sufficient statistics, so the training rows are not needed.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import entr, ndtri

from bayesnb import results
from bayesnb.criticism.fitted_rows import VerdictTable
from bayesnb.data import Table, refuse_lazy
from bayesnb.data.cells import UnseenLevelWarning
from bayesnb.data.columns import encode
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.base import check_labels, read_rows
from bayesnb.estimators.inspection import name_feature
from bayesnb.families.base import Array, Cells
from bayesnb.formatting import count, fixed, list_names, nats, percent, quote, shorten
from bayesnb.inference.prevalence import estimate_prevalence
from bayesnb.model.product import (
    ProductStats,
    combine,
    feature_scores,
    features_of,
    normalise_log,
)
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard, widen
from bayesnb.numerics.special import ratio
from bayesnb.results.tables import Formats, describe_intervals
from bayesnb.selection.changes import compare_block, find_limit
from bayesnb.selection.feature_evidence import check_comparable, pool

PLOT = "bayesnb.plots.check_plot"  # imported by name, because it depends on this module
MAX_UNUSUAL = 5
MAX_CLASSES = 3  # in the verdict
MAX_LETTERS = 30  # of a name there
MAX_COMPARED = 100  # rows whose median density is usual in a column
SHARES = ["missing", "missing_learnt", "unseen"]
PREVALENCE = "share", "lower", "upper", "learnt"
ADVICE = "Leave such rows out."
REASONS = {
    "log_bayes_factor": "{nats} nats",
    "unseen_log_bayes_factor": "new levels in {unseen} of the cells, {unseen_learnt} expected",
    "missing_log_bayes_factor": "missing in {missing} of the rows, {missing_learnt} in training",
}
LABEL = "{label} {share} ({lower} to {upper}), {learnt} in training"
CHANGED = (
    "have the same distribution as in training. Changed: a factor below {limit} nats, by chance in "
    "at most 5 % of tables if the families fit."
)
EXPECTED = "Expected accuracy: {expected} ({lower} to {upper}), if the model is calibrated."
UNUSUAL = "Most unusual rows, and the least usual column of each: {rows}."
UNLABELLED = (
    f"log_bayes_factor: whether cells of all classes together {CHANGED}",
    "Class shares assume that columns are distributed as in training within each class. {prob}.",
    EXPECTED,
)
LABELLED = (
    f"log_bayes_factor: whether cells within the classes {CHANGED}",
    "Class shares are those of the labels. {prob}.",
    f"{EXPECTED} Observed: {{observed}}; log loss {{log_loss}} per row, {{expected_log_loss}} "
    "expected.",
)
AGREEMENT = 0.99  # probability of the interval that an accuracy as expected falls into
FORMATS: Formats = {
    "log_bayes_factor": nats,
    **dict.fromkeys(SHARES, percent),
}


@dataclass(frozen=True, eq=False, repr=False)
class TableCheck(VerdictTable):
    """A new table compared with the training rows of a model.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each column, block of columns or block of words. `log_bayes_factor`, in nats, for
        training and new rows having the same distribution: below 0 they differ. `missing`, the
        share of missing cells in the new rows, `missing_learnt`, in the training rows, and
        `missing_log_bayes_factor` for these being the same. `unseen`, the share of cells with a
        level that no training row has, `unseen_levels`, the number of such levels, `unseen_learnt`,
        the share of training cells whose level occurs once, and `unseen_log_bayes_factor`. NaN if a
        number is not defined. `changed`, whether a factor is below `limit`.
    prevalence : pandas.DataFrame
        A row for each class: its `share` of the new rows with its interval, `lower` and `upper`,
        and its share of the training rows, `learnt`.
    accuracy : dict
        `expected`, from the probabilities of the new rows, with `lower` and `upper`. With labels
        also `observed`, `agrees`, `log_loss` and `expected_log_loss`.
    rows : pandas.DataFrame
        The rows with the lowest `log_density`; `below_median`, the median of all new rows less
        this; and the `feature` that is farthest below its own median.
    probability : numpy.ndarray of shape (rows, classes)
        Class probabilities, if the shares in `prevalence` are those of the new rows.
    limit : float
        The log Bayes factor below which a column has changed.
    verdict : str
        Two lines: the columns that changed, and the shares of the classes.
    notes : tuple of sentences
        The assumptions behind the numbers.

    See Also
    --------
    check : The function that returns it.

    Examples
    --------
    >>> from bayesnb import GaussianNB, check
    >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
    >>> round(check(GaussianNB().fit(x, y), [[1.0], [9.0]]).accuracy["expected"], 2)
    0.89
    """

    prevalence: "results.DataFrame"
    accuracy: dict[str, float]
    rows: "results.DataFrame"
    probability: Array
    limit: float

    def plot(self, most: int = 30) -> Array:
        """Plot the log Bayes factors of the columns, and the shares of the classes.

        Parameters
        ----------
        most : int, default 30
            The largest number of columns to show: those that changed most.

        Returns
        -------
        numpy.ndarray of matplotlib.axes.Axes
            The two panels.

        See Also
        --------
        plot_check : The same, as a function.

        Examples
        --------
        >>> from bayesnb import GaussianNB, check
        >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
        >>> len(check(GaussianNB().fit(x, y), [[1.0], [9.0]]).plot())
        2
        """
        return import_module(PLOT).plot_check(self, most)

    def _parts(self) -> tuple[str, Any, Formats, str]:
        shown = self.table.set_index("feature").sort_values("log_bayes_factor", kind="stable")
        shares = [name for name in SHARES if (shown[name] > 0).any()]
        shown = shown[["log_bayes_factor", *shares, "changed"]]
        shown = shown.assign(changed=np.where(shown["changed"], "changed", ""))
        return self.verdict, shown, FORMATS, "\n".join(self.notes)


def check(
    model: NaiveBayes, X_new: Any, y_new: Any = None, *, ci_prob: float | None = None
) -> TableCheck:
    """Check whether the distribution of a new table differs from that of the training rows.

    Parameters
    ----------
    model : estimator
        A fitted model. Its training rows are not needed.
    X_new : table of rows
        New rows, with the columns seen in `fit`.
    y_new : array-like, optional
        Their labels. With labels, columns are compared within the classes, and the shares of the
        classes are counted.
    ci_prob : float, optional
        The probability of the intervals, by default ArviZ's `rcParams["stats.ci_prob"]`.

    Returns
    -------
    TableCheck
        With `verdict`, `table`, `prevalence`, `accuracy`, `rows`, `probability`, `notes` and
        `plot()`.

    Raises
    ------
    ValueError
        For a label that did not occur in training, and if no Bayes factor is defined: the prior of
        a column is improper, or weights or counts are not whole numbers.

    See Also
    --------
    plot_check : A plot of the result.
    NaiveBayes.log_density : How usual each row is.
    calibration : Whether probabilities can be trusted, from the training rows.

    Notes
    -----
    *Columns.* The log Bayes factor is log evidence(old + new) - log evidence(old) - log
    evidence(new), under the column's family and the model's prior: whether training and new rows
    have the same parameters. With labels, it is summed over the classes. Without, it is that of all
    classes together, under the mean of their priors: a column then also changes if only the shares
    of the classes do. New levels enter it; for levels there are two factors, one under the prior
    and one under an estimated concentration, as in `relevance`, and the one that is more favourable
    to no change is used. The evidence of a histogram is relative to both tables together, on the
    cuts of the training rows. Columns are compared one by one: links, the covariance and flags of
    missing cells are not compared.

    A column has changed if a factor is below -log(d / 0.05), with d the number of factors. If
    nothing has changed and the families are correct, this happens in at most 5 % of tables. With
    many rows, small real differences are found too: a factor is evidence for a difference, not its
    size. A misspecified family, such as a Gaussian for amounts of money, finds too many changes.

    *Missing cells* have a separate factor, under a Beta(0.5, 0.5) prior. Levels that were not
    declared count as missing, in both tables. *Levels that no training row has* also have one:
    their share is compared with the share of training cells whose level occurs once, because that
    level would be new without the cell. A block of words has no such factors.

    *Shares of the classes* are their maximum likelihood estimates from the new rows (Saerens et al.
    2002). They assume that the distribution of the columns within each class has not changed, and
    that the model describes it: see `calibration`. Intervals treat the new rows as a sample, and
    the model as known.

    *Accuracy* is expected to be the mean of the largest probability; its interval is that of as
    many independent rows, and assumes calibrated probabilities. With labels, `agrees` is whether
    the observed accuracy is within the 99 % interval.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, check
    >>> from bayesnb.datasets import penguins
    >>> table = penguins().dropna()
    >>> X, y = table[["bill_depth_mm", "island"]], table["species"]
    >>> early = table["year"] < 2009
    >>> result = check(NaiveBayes().fit(X[early], y[early]), X[~early], y[~early])
    >>> print(result.verdict.splitlines()[0])
    No change was found in 2 columns.
    """
    prob = results.datasets.ci_prob(ci_prob)
    check_estimator(model)
    refuse_lazy(X_new, "X_new")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)  # the table counts them
        rows, _ = read_rows(model, X_new)
        proba = model.predict_proba(X_new)
        density = model.log_density(X_new)
    codes = None
    if y_new is not None:
        codes = encode(check_labels(y_new, rows.rows), model.classes_, ADVICE)
    learnt = model.fitted_.of_columns.shard
    table, limit = _compare_columns(model, learnt, rows, codes)
    prevalence, probability = _find_prevalence(model, proba, codes, prob)
    accuracy = _expect_accuracy(proba, codes, prob)
    unusual = _find_unusual(model, learnt.schema, rows, density)
    return TableCheck(
        table=table,
        verdict=f"{judge_columns(table, limit)}\n{judge_labels(prevalence, accuracy)}",
        notes=explain(limit, prob, accuracy, unusual),
        prevalence=prevalence,
        accuracy=accuracy,
        rows=unusual,
        probability=probability,
        limit=limit,
    )


# Columns


def _compare_columns(
    model: NaiveBayes, learnt: Shard, rows: Table, codes: Array | None
) -> tuple[Any, float]:
    """Return the table of features, and the limit below which a factor means a change."""
    every = np.zeros(rows.rows, int) if codes is None else codes
    shard, _ = Shard.of(learnt.schema.of_part(rows), learnt.classes, rows, every, None)
    both = learnt + shard
    if not both.integer_weights:
        raise ValueError(
            "a Bayes factor is not defined if weights or counts are not whole numbers: fit and "
            "check with whole weights and counts."
        )
    tables = [each.laid_out(both.classes, both.schema).stats for each in (learnt, shard)]
    if codes is None:
        tables = [combine(ProductStats, pool, stats) for stats in tables]
    counts = [stats.classes.counts for stats in tables]
    parts = []
    for b, block in enumerate(both.schema.blocks):
        known = learnt.schema.blocks[b], model.model_.prior.blocks[b]
        prior = widen(*known, block, both.stats.blocks[b], len(both.classes))
        check_comparable(prior, block.keys, alike=False)
        if codes is None:
            prior = prior.map(lambda array: array.mean(axis=0, keepdims=True))
        old, new = (each.blocks[b] for each in tables)
        part = {"feature": [name_feature(block, key) for key in block.keys]}
        parts.append(part | compare_block(block.family, prior, old, new, counts))
    keys = both.schema.keys
    table = results.datasets.frame(
        {name: [parts[b][name][f] for _, b, f in keys] for name in parts[0]}
    )
    factors = table.filter(like="factor")
    limit = find_limit(int(factors.count().sum()))
    return table.assign(changed=(factors < limit).any(axis=1)), limit


# Classes


def _find_prevalence(
    model: NaiveBayes, proba: Array, codes: Array | None, prob: float
) -> tuple[Any, Array]:
    """Return the shares of the classes, and the probabilities of rows under these shares."""
    learnt = np.exp(normalise_log(model.model_.read(model.estimate).log_class[None])[0])
    if codes is None:
        found = estimate_prevalence(proba, learnt, prob)
    else:
        even = np.full(len(learnt), 1 / len(learnt))
        found = estimate_prevalence(np.eye(len(learnt))[codes], even, prob)
    probability = proba * ratio(found[0], learnt)
    probability /= probability.sum(axis=1, keepdims=True)
    rows = model.model_.stats.classes.counts
    shares = dict(zip(PREVALENCE, [*found, rows / rows.sum()], strict=True))
    return results.datasets.frame({"class": model.classes_} | shares), probability


def _expect_accuracy(proba: Array, codes: Array | None, prob: float) -> dict[str, float]:
    """Return the expected accuracy with its interval and, given labels, the observed one."""
    best = proba.max(axis=1)
    expected = best.mean()
    sd = np.sqrt((best * (1 - best)).sum()) / len(best)
    width = ndtri((1 + prob) / 2) * sd
    lower, upper = np.clip([expected - width, expected + width], 0, 1)
    accuracy = {"expected": float(expected), "lower": float(lower), "upper": float(upper)}
    if codes is None:
        return accuracy
    observed = (proba.argmax(axis=1) == codes).mean()
    bound = ndtri((1 + AGREEMENT) / 2) * sd + 0.5 / len(best)  # one row is 1 / n
    with np.errstate(divide="ignore"):
        log_loss = -np.log(proba[np.arange(len(codes)), codes]).mean()
    return accuracy | {
        "observed": float(observed),
        "agrees": bool(abs(observed - expected) <= bound),
        "log_loss": float(log_loss),
        "expected_log_loss": float(entr(proba).sum(axis=1).mean()),
    }


# Rows


def _find_unusual(model: NaiveBayes, schema: Schema, rows: Table, density: Array) -> Any:
    """Return the rows with the lowest density, and the least usual feature of each."""
    names = [name_feature(block, key) for block in schema.blocks for key in block.keys]
    order = np.argsort(density, kind="stable")[:MAX_UNUSUAL]
    others = np.linspace(0, rows.rows - 1, MAX_COMPARED).astype(int)
    places = np.concatenate([order, others])
    scores = _score_features(model, [x[places] for x in schema.read(rows)])
    scores = np.ma.masked_invalid(scores)
    below = scores[: len(order)] - np.ma.median(scores, axis=0)
    least = below.filled(0.0).argmin(axis=1)
    columns = {
        "row": rows.index[order],
        "log_density": density[order],
        "below_median": np.median(density) - density[order],
        "feature": [names[place] for place in least],
    }
    return results.datasets.frame(columns)


def _score_features(model: NaiveBayes, cells: Sequence[Cells]) -> Array:
    """Return the log density of features over all classes, `(r, f)`; NaN for missing cells."""
    posterior = model.model_.posterior.of_first_blocks(len(cells))
    scores = feature_scores(posterior.blocks, cells)
    start = 0
    for block, x in zip(posterior.blocks, cells, strict=True):
        base = block.cell_log_base(x)
        end = start + features_of(block)
        scores[:, :, start:end] += 0.0 if base is None else base[:, None]
        start = end
    log_class = normalise_log(posterior.log_class[None])[0]
    by_feature = np.logaddexp.reduce(scores + log_class[:, None], axis=1)
    return np.where((scores == 0).all(axis=1), np.nan, by_feature)


# Words


def judge_columns(table: Any, limit: float) -> str:
    """Return which columns changed, and the evidence for it."""
    columns = count(len(table), "column")
    changed = table[table["changed"]].sort_values("log_bayes_factor", kind="stable")
    if changed.empty:
        return f"No change was found in {columns}."
    texts = [describe_change(row, limit) for row in changed.to_dict("records")]
    return f"{len(changed)} of {columns} changed: {list_names(texts)}."


def describe_change(row: dict[str, Any], limit: float) -> str:
    """Return the name of a column, and the evidence that it changed."""
    texts = {name: percent(row[name], 0) for name in (*SHARES, "unseen_learnt")}
    texts["nats"] = nats(row["log_bayes_factor"])
    reasons = [text.format(**texts) for name, text in REASONS.items() if row[name] < limit]
    return f"{shorten(row['feature'], MAX_LETTERS)} ({', '.join(reasons)})"


def judge_labels(table: Any, accuracy: dict[str, float]) -> str:
    """Return the class shares that changed most, and the accuracy if it is not as expected."""
    moved = (table["learnt"] - table["share"]).abs().sort_values(ascending=False, kind="stable")
    places = moved.index[:MAX_CLASSES]
    if len(table) == 2:  # the shares of two classes add up to 1
        places = [table["learnt"].argmin()]
    head = "Class shares" if "observed" in accuracy else "Estimated class shares"
    parts = []
    for row in table.loc[places].to_dict("records"):
        label = shorten(row.pop("class"), MAX_LETTERS)
        texts = {name: percent(share, 0) for name, share in row.items()}
        parts.append(LABEL.format(label=label, **texts))
    verdict = f"{head}: {'; '.join(parts)}."
    if accuracy.get("agrees", True):
        return verdict
    observed, expected = percent(accuracy["observed"]), percent(accuracy["expected"])
    return f"{verdict} Accuracy is {observed}; the probabilities imply {expected}."


def explain(limit: float, prob: float, accuracy: dict[str, float], rows: Any) -> tuple[str, ...]:
    """Return the assumptions behind the numbers."""
    names = []
    for row, feature in rows[["row", "feature"]].itertuples(index=False):
        names.append(f"{quote(row)} ({shorten(feature, MAX_LETTERS)})")
    notes = LABELLED if "observed" in accuracy else UNLABELLED
    texts = {name: percent(accuracy[name]) for name in accuracy if "loss" not in name}
    texts |= {name: fixed(accuracy[name], 3) for name in accuracy if "loss" in name}
    texts |= {"limit": fixed(limit, 1), "prob": describe_intervals(prob), "rows": ", ".join(names)}
    return tuple(note.format(**texts) for note in (*notes, UNUSUAL))
