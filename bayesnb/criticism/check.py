"""Has a new table changed: its columns, their levels and missing cells, the shares of the classes?

What the model has learnt is in its stats, so the rows that it learnt are not needed again.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri
from sklearn.utils.validation import check_is_fitted

from bayesnb import results
from bayesnb.criticism.fitted_rows import VerdictTable
from bayesnb.data import Table, refuse_lazy
from bayesnb.data.cells import UnseenLevelWarning
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.base import check_labels, read_rows
from bayesnb.estimators.inspection import name_feature
from bayesnb.families.base import Array
from bayesnb.families.bernoulli import BernoulliStats
from bayesnb.formatting import fixed, list_names, nats, percent, quote, shorten
from bayesnb.inference.prevalence import Prevalence, estimate_prevalence
from bayesnb.model.product import feature_scores, normalise_log
from bayesnb.model.shards import Shard, widen
from bayesnb.results.tables import Formats
from bayesnb.selection.changes import (
    average_classes,
    same_distribution,
    same_share,
    threshold,
)
from bayesnb.selection.feature_evidence import check_comparable, pool

PLOT = "bayesnb.plots.check_plot"  # by name, as it stands above
MAX_UNUSUAL = 5
MAX_CLASSES = 3  # in the verdict
MAX_LETTERS = 30  # of a name there
MAX_COMPARED = 1_000  # rows that say what is usual in a column
MAX_SCORES = 4_000_000  # of rows, classes and columns that are compared for it
AGREEMENT = 0.99  # probability of the interval outside of which an accuracy is not as expected
FORMATS: Formats = {
    "log_bayes_factor": nats,
    "missing_log_bayes_factor": nats,
    **dict.fromkeys(["missing", "missing_learnt", "unseen"], partial(percent, decimals=1)),
}


@dataclass(frozen=True, eq=False, repr=False)
class TableCheck(VerdictTable):
    """A new table beside the rows that a model has learnt.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each column, block of columns or block of words. `log_bayes_factor` that learnt
        and new rows are of one distribution, in nats: below 0 they differ. `missing` and
        `missing_learnt`, the shares of cells that are missing in the new rows and were in those
        learnt, NaN for words; `missing_log_bayes_factor` that these are the same.
        `unseen_levels`, the number of levels that the model does not know, and `unseen`, the share
        of cells that have one. `changed`, whether a factor is below `threshold`.
    prevalence : pandas.DataFrame
        A row for each class: its `share` of the new rows with its interval, `lower` and `upper`,
        and its share of the rows learnt, `learnt`.
    accuracy : dict
        `expected` of the new rows by their probabilities, with `lower` and `upper`. With labels
        `observed`, `agrees`, `log_loss` and `expected_log_loss`.
    rows : pandas.DataFrame
        The rows with the lowest `log_density`, how far that is `below_median` of all new rows, and
        the `feature` that is farthest below its own median there.
    probability : numpy.ndarray of shape (rows, classes)
        Of the classes, if the shares in `prevalence` are those of the new rows.
    threshold : float
        The log Bayes factor below which a column has changed.
    verdict : str
        Two lines: the columns that changed, and the shares of the classes.
    notes : tuple of sentences
        What each number assumes.

    See Also
    --------
    check : The function that returns it.

    Examples
    --------
    >>> from bayesnb import GaussianNB, check
    >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
    >>> check(GaussianNB().fit(x, y), [[1.0], [9.0]]).accuracy["expected"].round(2)
    np.float64(0.99)
    """

    prevalence: Any
    accuracy: dict[str, Any]
    rows: Any
    probability: Array
    threshold: float

    def plot(self, most: int = 30) -> Any:
        """Draw the columns by their log Bayes factors, and the shares of the classes.

        Parameters
        ----------
        most : int, default 30
            How many columns are shown, those that changed most.

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
        if not shown["unseen_levels"].any():
            shown = shown.drop(columns=["unseen_levels", "unseen"])
        if not (shown[["missing", "missing_learnt"]] > 0).any(axis=None):
            shown = shown[[name for name in shown if not name.startswith("missing")]]
        shown["changed"] = np.where(shown["changed"], "changed", "")
        return self.verdict, shown, FORMATS, "\n".join(self.notes)


def check(
    model: NaiveBayes, X_new: Any, y_new: Any = None, *, ci_prob: float | None = None
) -> TableCheck:
    """Check whether a new table has changed since a model was learnt.

    Parameters
    ----------
    model : estimator
        A fitted model. The rows that it learnt are not needed.
    X_new : table of rows
        New rows, with the columns that were fitted.
    y_new : array-like, optional
        Their labels. With them columns are compared within the classes, and the shares of the
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
        For a label that was never learnt, and where there is no Bayes factor: the prior of a column
        is improper, or weights or counts were not whole numbers.

    See Also
    --------
    plot_check : The result as a picture.
    NaiveBayes.log_density : How usual each row is.
    calibration : Whether probabilities can be trusted, by the rows learnt.

    Notes
    -----
    *Columns.* The log Bayes factor is log evidence(learnt + new) - log evidence(learnt) - log
    evidence(new), under the model's prior and of the column's family: whether both tables have the
    same parameters. It is summed over the classes if there are labels. Without, it is that of all
    classes together, under the mean of their priors: then a column also changes where only the
    shares of the classes do. Levels that are new are part of it; of levels the factor is the one
    nearer to no change of two, under the prior and under a concentration that is learnt, as in
    `relevance`. Evidence of a histogram is relative to both tables together, on the levels of those
    learnt. Columns are compared alone: links, the covariance and flags of missing cells are not.

    A column has changed where a factor is below -log(d / 0.05), d the number of factors. If nothing
    has changed and the families have the right shape, that happens in at most 5 % of tables. With
    many rows small differences that are real are found too: a factor is evidence for a difference,
    not its size. A family of the wrong shape finds too many, as a Gaussian does for amounts of
    money.

    *Missing cells* have a factor of their own, under a Beta(1, 1) prior. Those of levels that were
    not declared count as missing, in both tables.

    *Shares of the classes* are those under which the new rows are most probable (Saerens et al.
    2002), if the distribution of the columns within each class has not changed, and the model knows
    it: look at `calibration`. Intervals count the new rows as a sample, and the model as known.

    *Accuracy* is expected to be the mean of the largest probability; its interval is that of as
    many independent rows, and promises what the probabilities promise. With labels, it agrees if it
    is within that of 99 %.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, check
    >>> from bayesnb.datasets import penguins
    >>> table = penguins().dropna()
    >>> X, y = table[["bill_depth_mm", "island"]], table["species"]
    >>> early = table["year"] < 2009
    >>> result = check(NaiveBayes().fit(X[early], y[early]), X[~early], y[~early])
    >>> print(result.verdict.splitlines()[0])
    No change was found in any of 2 columns.
    """
    prob = results.datasets.ci_prob(ci_prob)
    check_estimator(model)
    check_is_fitted(model)
    refuse_lazy(X_new, "X_new")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)  # the table counts them
        rows, _ = read_rows(model, X_new)
        proba = model.predict_proba(X_new)
        density = model.log_density(X_new)
    codes = None if y_new is None else _encode_labels(model.classes_, check_labels(y_new, rows.rows))
    learnt = model.fitted_.of_columns.shard
    table, limit = _compare_columns(model, learnt, rows, codes)
    table |= _count_unseen(learnt, rows)
    prevalence = _find_prevalence(model, proba, codes, prob)
    accuracy = _expect_accuracy(proba, codes, prob)
    shares = {
        "class": model.classes_,
        "share": prevalence.share,
        "lower": prevalence.lower,
        "upper": prevalence.upper,
        "learnt": learnt.stats.classes.counts / learnt.stats.classes.counts.sum(),
    }
    made = TableCheck(
        table=results.datasets.frame(table),
        verdict="",
        notes=(),
        prevalence=results.datasets.frame(shares),
        accuracy=accuracy,
        rows=results.datasets.frame(_find_unusual(model, learnt, rows, density)),
        probability=prevalence.probability,
        threshold=limit,
    )
    verdict = f"{judge_columns(made)}\n{judge_labels(made)}"
    return replace(made, verdict=verdict, notes=explain(made, codes is not None, prob))


def _encode_labels(classes: Array, labels: Array) -> Array:
    places = {label: code for code, label in enumerate(classes.tolist())}
    unknown = [label for label in labels.tolist() if label not in places]
    if unknown:
        raise ValueError(
            f"y_new: the label {quote(unknown[0])} was never learnt, nor were those of "
            f"{len(unknown) - 1} further rows. Leave such rows out: new[new['label'].isin("
            "model.classes_)]."
        )
    return np.array([places[label] for label in labels.tolist()])


# Columns


def _compare_columns(
    model: NaiveBayes, learnt: Shard, rows: Table, codes: Array | None
) -> tuple[dict[str, Any], float]:
    """Return names, factors and missing shares of features in the table's order, and the limit."""
    every = np.zeros(rows.rows, int) if codes is None else codes
    new, _ = Shard.of(learnt.schema.of_part(rows), learnt.classes, rows, every, None)
    both = learnt + new
    if not both.integer_weights:
        raise ValueError(
            "a Bayes factor compares probabilities of rows, and here weights or counts are not "
            "whole numbers: fit and check with whole weights and counts."
        )
    before, after = (each.laid_out(both.classes, both.schema) for each in (learnt, new))
    sizes = [before.stats.classes.counts, after.stats.classes.counts]
    by_block = []
    for b, block in enumerate(both.schema.blocks):
        stats = [before.stats.blocks[b], after.stats.blocks[b]]
        prior = widen(
            learnt.schema.blocks[b],
            model.model_.prior.blocks[b],
            block,
            both.stats.blocks[b],
            len(both.classes),
        )
        check_comparable(prior, block.keys, alike=False)
        flags = [_count_missing(*pair) for pair in zip(stats, sizes, strict=True)]
        if codes is None:
            prior = average_classes(prior)
            stats = [pool(each) for each in stats]
            flags = [each and pool(each) for each in flags]
        factors = {"log_bayes_factor": same_distribution(block.family, prior, *stats)}
        for name, each in zip(("missing_learnt", "missing"), flags, strict=True):
            factors[name] = np.full(len(block.keys), np.nan)
            if each is not None:
                ones = each.ones.sum(axis=0)
                factors[name] = ones / np.maximum(ones + each.zeros.sum(axis=0), 1)
        has_flags = flags[0] is not None
        nothing = factors["missing"]
        factors["missing_log_bayes_factor"] = same_share(*flags) if has_flags else nothing
        by_block.append(factors)
    return _order_features(both, by_block)


def _count_missing(stats: Any, rows: Array) -> BernoulliStats | None:
    """Return how many cells of features are missing, and are not, `(c, f)`; None for words."""
    cells = stats.cells
    return None if cells is None else BernoulliStats(rows[:, None] - cells, cells)


def _order_features(
    both: Shard, by_block: Sequence[dict[str, Array]]
) -> tuple[dict[str, Any], float]:
    """Return numbers by name for the features in the table's order, and the limit of a change."""
    keys = both.schema.keys
    table: dict[str, Any] = {
        "feature": [name_feature(both.schema.blocks[b], key) for key, b, _ in keys]
    }
    for name in by_block[0]:
        table[name] = np.array([by_block[b][name][f] for _, b, f in keys])
    factors = np.array([table["log_bayes_factor"], table["missing_log_bayes_factor"]])
    limit = threshold(int(np.isfinite(factors).sum()))
    table["changed"] = (factors < limit).any(axis=0)
    return table, limit


def _count_unseen(learnt: Shard, rows: Table) -> dict[str, Array]:
    """Return the number of unknown levels of each feature, and the share of cells with one."""
    by_key = {}
    for b, block in enumerate(learnt.schema.blocks):
        counts = dict.fromkeys(block.names, (0, 0.0))
        if block.levels:
            plain = replace(block, family=replace(block.family, unseen="ignore"))
            x = plain.read(rows)
            cells = max(x.sum() if block.family.listed else rows.rows, 1)
            for name, times in plain.unseen(x, rows.n_jobs).items():
                counts[name] = len(times), sum(times.values()) / cells
        for f, key in enumerate(block.keys):
            own = counts.values() if block.family.multivariate else [counts[block.names[f]]]
            by_key[key] = [sum(part) for part in zip(*own, strict=True)]
    numbers = np.array([by_key[key] for key, *_ in learnt.schema.keys]).T
    return {"unseen_levels": numbers[0].astype(int), "unseen": numbers[1]}


# Classes


def _find_prevalence(
    model: NaiveBayes, proba: Array, codes: Array | None, prob: float
) -> Prevalence:
    """Return the shares of the classes, counted by labels or else estimated."""
    log_class = model.model_.read(model.estimate).log_class
    learnt = np.exp(log_class - np.logaddexp.reduce(log_class))
    found = estimate_prevalence(proba, learnt, prob)
    if codes is None:
        return found
    counts = np.bincount(codes, minlength=len(learnt))
    rest = len(codes) - counts
    lower, upper = (betaincinv(counts + 1, rest + 1, (1 + sign * prob) / 2) for sign in (-1, 1))
    share = counts / len(codes)
    return Prevalence(share, np.minimum(lower, share), np.maximum(upper, share), found.probability)


def _expect_accuracy(proba: Array, codes: Array | None, prob: float) -> dict[str, Any]:
    """Return the expected accuracy with its interval and, by labels, the one observed."""
    best = proba.max(axis=1)
    expected = best.mean()
    sd = np.sqrt((best * (1 - best)).sum()) / len(best)
    width = ndtri((1 + prob) / 2) * sd
    lower, upper = np.clip([expected - width, expected + width], 0, 1)
    accuracy = {"expected": expected, "lower": lower, "upper": upper}
    if codes is None:
        return accuracy
    observed = (proba.argmax(axis=1) == codes).mean()
    bound = ndtri((1 + AGREEMENT) / 2) * sd + 0.5 / len(best)  # one row is 1 / n
    with np.errstate(divide="ignore"):
        log_loss = -np.log(proba[np.arange(len(codes)), codes]).mean()
        entropy = -np.where(proba > 0, proba * np.log(proba, where=proba > 0), 0.0).sum(axis=1)
    return accuracy | {
        "observed": observed,
        "agrees": bool(abs(observed - expected) <= bound),
        "log_loss": log_loss,
        "expected_log_loss": entropy.mean(),
    }


# Rows


def _find_unusual(
    model: NaiveBayes, learnt: Shard, rows: Table, density: Array
) -> dict[str, Any]:
    """Return the rows of the lowest density, and the feature that is least usual in each."""
    blocks = model.model_.posterior.blocks[: len(learnt.schema.blocks)]
    log_class = model.model_.posterior.log_class
    names = []
    for block in learnt.schema.blocks:
        names += [name_feature(block, key) for key in block.keys]
    most = min(MAX_COMPARED, max(MAX_SCORES // (len(log_class) * len(names)), 2))
    order = np.argsort(density, kind="stable")[:MAX_UNUSUAL]
    some = np.unique(np.linspace(0, rows.rows - 1, most).astype(int))
    cells = [x[np.concatenate([order, some])] for x in learnt.schema.read(rows)]
    scores = feature_scores(blocks, cells)
    start = 0
    for block, x in zip(blocks, cells, strict=True):
        base = block.cell_log_base(x)
        width = block.proper.shape[-1]
        if base is not None:
            scores[:, :, start : start + width] += base[:, None]
        start += width
    silent = (scores == 0).all(axis=1)  # missing cells
    by_feature = np.logaddexp.reduce(scores + normalise_log(log_class[None])[0][:, None], axis=1)
    by_feature[silent] = np.nan
    usual = np.nanmedian(by_feature, axis=0)
    least = np.nan_to_num(by_feature[: len(order)] - usual, nan=0.0, neginf=-np.inf).argmin(axis=1)
    return {
        "row": rows.index[order],
        "log_density": density[order],
        "below_median": np.median(density) - density[order],
        "feature": [names[place] for place in least],
    }


# Words


def judge_columns(result: TableCheck) -> str:
    """Return which columns changed, and what tells that."""
    table = result.table
    columns = f"{len(table)} column{'s' * (len(table) != 1)}"
    changed = table[table["changed"]].sort_values("log_bayes_factor", kind="stable")
    if changed.empty:
        return f"No change was found in any of {columns}."
    reasons = [describe_change(row, result.threshold) for row in changed.to_dict("records")]
    return f"{len(changed)} of {columns} changed: {list_names(reasons)}."


def describe_change(row: dict[str, Any], limit: float) -> str:
    """Return the name of a column, and what says that it changed."""
    reasons = []
    if row["log_bayes_factor"] < limit:
        reasons.append(f"{nats(row['log_bayes_factor'])} nats")
        if row["unseen_levels"]:
            levels = "a new level" if row["unseen_levels"] == 1 else f"{row['unseen_levels']} new levels"
            reasons.append(f"{levels} in {percent(row['unseen'], 0)} of the cells")
    if row["missing_log_bayes_factor"] < limit:
        shares = [percent(row[name], 0) for name in ("missing", "missing_learnt")]
        reasons.append("missing in {} of the rows, {} when it was learnt".format(*shares))
    return f"{shorten(row['feature'], MAX_LETTERS)} ({', '.join(reasons)})"


def judge_labels(result: TableCheck) -> str:
    """Return the shares of the classes whose share moved most, and how good predictions are."""
    table = result.prevalence
    moved = (table["share"] - table["learnt"]).abs().sort_values(ascending=False, kind="stable")
    places = moved.index[:MAX_CLASSES]
    if len(table) == 2:  # one says what the other is
        places = [table["learnt"].argmin()]
    parts = []
    for row in table.loc[places].to_dict("records"):
        parts.append(
            f"{percent(row['share'], 0)} of the rows are {shorten(row['class'], MAX_LETTERS)} now "
            f"({fixed(100 * row['lower'], 0)} to {percent(row['upper'], 0)}), "
            f"{percent(row['learnt'], 0)} when it was learnt"
        )
    accuracy = result.accuracy
    if accuracy.get("agrees", True):
        return f"Labels: {'; '.join(parts)}."
    side = "less" if accuracy["observed"] < accuracy["expected"] else "more"
    return (
        f"Labels: {'; '.join(parts)}. Accuracy is {percent(accuracy['observed'])}, {side} than the "
        f"{percent(accuracy['expected'])} that the probabilities promise."
    )


def explain(result: TableCheck, has_labels: bool, prob: float) -> tuple[str, ...]:
    """Return what each number assumes."""
    within = "within the classes" if has_labels else "of all classes together"
    accuracy = result.accuracy
    observed = f" Observed: {percent(accuracy['observed'])}." if has_labels else ""
    shares = (
        "Shares of the classes are counted"
        if has_labels
        else "Shares of the classes are right if columns within each class are as they were"
    )
    rows = [f"{quote(row)} ({shorten(name, MAX_LETTERS)})" for row, name in zip(
        result.rows["row"].tolist(), result.rows["feature"], strict=True
    )]
    return (
        f"log_bayes_factor: that the cells {within} are distributed as they were, in nats; changed "
        f"below {fixed(result.threshold, 1)}, by chance in at most 5 % of tables if families have "
        "the right shape.",
        f"{shares}; {100 * prob:.3g} % intervals.",
        f"Expected accuracy: {percent(accuracy['expected'])} ({fixed(100 * accuracy['lower'], 1)} "
        f"to {percent(accuracy['upper'])}), if the probabilities hold.{observed}",
        f"Most unusual rows, and the column farthest below its usual density: {', '.join(rows)}.",
    )
