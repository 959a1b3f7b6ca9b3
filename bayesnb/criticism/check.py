"""Has a new table changed: its columns, their levels and missing cells, the shares of the classes?

What the model has learnt is in its stats, so the rows that it learnt are not needed again.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import betaincinv, entr, ndtri
from sklearn.utils.validation import check_is_fitted

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
from bayesnb.inference.prevalence import Prevalence, estimate_prevalence
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
from bayesnb.results.tables import Formats
from bayesnb.selection.changes import average_classes, compare_block, find_limit
from bayesnb.selection.feature_evidence import check_comparable, pool

PLOT = "bayesnb.plots.check_plot"  # by name, as it stands above
MAX_UNUSUAL = 5
MAX_CLASSES = 3  # in the verdict
MAX_LETTERS = 30  # of a name there
MAX_COMPARED = 1_000  # rows that say what is usual in a column
MAX_SCORES = 4_000_000  # of rows, classes and columns that are compared for it
SHARES = ["missing", "missing_learnt", "unseen"]
ADVICE = "Leave such rows out."
IF_SHARES = "Shares of the classes: if columns are distributed as they were within each class."
COUNTED = "Shares of the classes are counted."
AGREEMENT = 0.99  # probability of the interval outside of which an accuracy is not as expected
FORMATS: Formats = {
    "log_bayes_factor": nats,
    **dict.fromkeys(SHARES, percent),
}


@dataclass(frozen=True, eq=False, repr=False)
class TableCheck(VerdictTable):
    """A new table beside the rows that a model has learnt.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each column, block of columns or block of words. `log_bayes_factor` that learnt
        and new rows are of one distribution, in nats: below 0 they differ. `missing`, the share of
        cells that are missing in the new rows, `missing_learnt`, in those learnt, and
        `missing_log_bayes_factor` that these are the same. `unseen`, the share of cells with a
        level that no learnt row has, `unseen_levels`, their number, `unseen_learnt`, the share of
        learnt cells whose level no other has, and `unseen_log_bayes_factor`. NaN where there is no
        such number. `changed`, whether a factor is below `limit`.
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
    limit : float
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
    limit: float

    @property
    def has_labels(self) -> bool:
        """Whether the labels of the new rows are known."""
        return "observed" in self.accuracy

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
        shares = [name for name in SHARES if (shown[name] > 0).any()]
        shown = shown[["log_bayes_factor", *shares, "changed"]]
        shown = shown.assign(changed=np.where(shown["changed"], "changed", ""))
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

    *Missing cells* have a factor of their own, under a Beta(0.5, 0.5) prior. Those of levels that were
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
    No change was found in 2 columns.
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
    codes = None
    if y_new is not None:
        codes = encode(check_labels(y_new, rows.rows), model.classes_, ADVICE)
    learnt = model.fitted_.of_columns.shard
    numbers = _compare_columns(model, learnt, rows, codes)
    factors = [numbers[name] for name in numbers if name.endswith("factor")]
    limit = find_limit(int(np.isfinite(factors).sum()))
    prevalence = _find_prevalence(model, proba, codes, prob)
    shares = {
        "class": model.classes_,
        "share": prevalence.share,
        "lower": prevalence.lower,
        "upper": prevalence.upper,
        "learnt": ratio(learnt.stats.classes.counts, learnt.stats.classes.counts.sum()),
    }
    made = TableCheck(
        table=_tabulate(learnt.schema, numbers, limit),
        verdict="",
        notes=(),
        prevalence=results.datasets.frame(shares),
        accuracy=_expect_accuracy(proba, codes, prob),
        rows=results.datasets.frame(_find_unusual(model, learnt.schema, rows, density)),
        probability=prevalence.probability,
        limit=limit,
    )
    verdict = f"{judge_columns(made)}\n{judge_labels(made)}"
    return replace(made, verdict=verdict, notes=explain(made, prob))


# Columns


def _compare_columns(
    model: NaiveBayes, learnt: Shard, rows: Table, codes: Array | None
) -> dict[str, Array]:
    """Return numbers of features, those of all blocks end to end."""
    every = np.zeros(rows.rows, int) if codes is None else codes
    new, _ = Shard.of(learnt.schema.of_part(rows), learnt.classes, rows, every, None)
    both = learnt + new
    if not both.integer_weights:
        raise ValueError(
            "a Bayes factor compares probabilities of rows, and here weights or counts are not "
            "whole numbers: fit and check with whole weights and counts."
        )
    tables = [each.laid_out(both.classes, both.schema).stats for each in (learnt, new)]
    if codes is None:
        tables = [combine(ProductStats, pool, stats) for stats in tables]
    counts = tables[0].classes.counts, tables[1].classes.counts
    parts = []
    for b, block in enumerate(both.schema.blocks):
        old = learnt.schema.blocks[b], model.model_.prior.blocks[b]
        prior = widen(*old, block, both.stats.blocks[b], len(both.classes))
        check_comparable(prior, block.keys, alike=False)
        if codes is None:
            prior = average_classes(prior)
        stats = tables[0].blocks[b], tables[1].blocks[b]
        parts.append(compare_block(block.family, prior, *stats, counts))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _tabulate(schema: Schema, numbers: dict[str, Array], limit: float) -> Any:
    """Return the table of features in the table's order."""
    starts = np.cumsum([0, *(len(block.keys) for block in schema.blocks)])
    places = [starts[b] + f for _, b, f in schema.keys]
    table: dict[str, Any] = {"feature": [_name_features(schema)[place] for place in places]}
    table |= {name: array[places] for name, array in numbers.items()}
    factors = [table[name] for name in table if name.endswith("factor")]
    table["changed"] = (np.array(factors) < limit).any(axis=0)
    return results.datasets.frame(table)


def _name_features(schema: Schema) -> list[Any]:
    """Return the names of features, those of all blocks end to end."""
    return [name_feature(block, key) for block in schema.blocks for key in block.keys]


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
    return accuracy | {
        "observed": observed,
        "agrees": bool(abs(observed - expected) <= bound),
        "log_loss": log_loss,
        "expected_log_loss": entr(proba).sum(axis=1).mean(),
    }


# Rows


def _find_unusual(model: NaiveBayes, schema: Schema, rows: Table, density: Array) -> dict[str, Any]:
    """Return the rows of the lowest density, and the feature that is least usual in each."""
    order = np.argsort(density, kind="stable")[:MAX_UNUSUAL]
    names = _name_features(schema)
    most = MAX_SCORES // (len(model.classes_) * len(names))
    others = np.linspace(0, rows.rows - 1, min(max(most, 2), MAX_COMPARED)).astype(int)
    places = np.concatenate([order, others])
    scores = _score_features(model, [x[places] for x in schema.read(rows)])
    below = scores[: len(order)] - np.nanmedian(scores, axis=0)
    least = np.where(np.isnan(below), 0.0, below).argmin(axis=1)
    return {
        "row": rows.index[order],
        "log_density": density[order],
        "below_median": np.median(density) - density[order],
        "feature": [names[place] for place in least],
    }


def _score_features(model: NaiveBayes, cells: Sequence[Cells]) -> Array:
    """Return the log density of features, whatever the class, `(r, f)`; NaN of missing cells."""
    posterior = model.model_.posterior.of_first_blocks(len(cells))
    scores = feature_scores(posterior.blocks, cells)
    bases = []
    for block, x in zip(posterior.blocks, cells, strict=True):
        base = block.cell_log_base(x)
        bases.append(np.zeros((len(scores), features_of(block))) if base is None else base)
    scores += np.concatenate(bases, axis=1)[:, None]
    log_class = normalise_log(posterior.log_class[None])[0]
    by_feature = np.logaddexp.reduce(scores + log_class[:, None], axis=1)
    return np.where((scores == 0).all(axis=1), np.nan, by_feature)


# Words


def judge_columns(result: TableCheck) -> str:
    """Return which columns changed, and what tells that."""
    columns = count(len(result.table), "column")
    changed = result.table[result.table["changed"]].sort_values("log_bayes_factor", kind="stable")
    if changed.empty:
        return f"No change was found in {columns}."
    reasons = [describe_change(row, result.limit) for row in changed.to_dict("records")]
    return f"{len(changed)} of {columns} changed: {list_names(reasons)}."


def describe_change(row: dict[str, Any], limit: float) -> str:
    """Return the name of a column, and what says that it changed."""
    reasons = []
    if row["log_bayes_factor"] < limit:
        reasons.append(f"{nats(row['log_bayes_factor'])} nats")
    if row["unseen_log_bayes_factor"] < limit:
        levels = count(row["unseen_levels"], "new level")
        reasons.append(f"{levels} in {percent(row['unseen'], 0)} of the cells")
    if row["missing_log_bayes_factor"] < limit:
        share = f"missing in {percent(row['missing'], 0)} of the rows"
        reasons.append(f"{share}, {percent(row['missing_learnt'], 0)} when it was learnt")
    return f"{shorten(row['feature'], MAX_LETTERS)} ({', '.join(reasons)})"


def judge_labels(result: TableCheck) -> str:
    """Return the shares of the classes that moved most, and whether probabilities hold."""
    table = result.prevalence
    moved = (table["share"] - table["learnt"]).abs().sort_values(ascending=False, kind="stable")
    places = moved.index[:MAX_CLASSES]
    if len(table) == 2:  # one says what the other is
        places = [table["learnt"].argmin()]
    now = "now" if result.has_labels else "now by the model"
    parts = []
    for row in table.loc[places].to_dict("records"):
        parts.append(
            f"{percent(row['share'], 0)} of the rows are {shorten(row['class'], MAX_LETTERS)} "
            f"{now} ({fixed(100 * row['lower'], 0)} to {percent(row['upper'], 0)}), "
            f"{percent(row['learnt'], 0)} when it was learnt"
        )
    verdict = f"Labels: {'; '.join(parts)}."
    accuracy = result.accuracy
    if accuracy.get("agrees", True):
        return verdict
    side = "less" if accuracy["observed"] < accuracy["expected"] else "more"
    promised = percent(accuracy["expected"])
    return (
        f"{verdict} Accuracy is {percent(accuracy['observed'])}, {side} than expected: {promised}."
    )


def explain(result: TableCheck, prob: float) -> tuple[str, ...]:
    """Return what each number assumes."""
    accuracy = result.accuracy
    within, shares, observed = "of all classes together", IF_SHARES, ""
    if result.has_labels:
        within, shares = "within the classes", COUNTED
        observed = (
            f" Observed: {percent(accuracy['observed'])}; log loss {fixed(accuracy['log_loss'], 3)}"
            f" a row, expected {fixed(accuracy['expected_log_loss'], 3)}."
        )
    rows = []
    for row, feature in result.rows[["row", "feature"]].itertuples(index=False):
        rows.append(f"{quote(row)} ({shorten(feature, MAX_LETTERS)})")
    return (
        f"log_bayes_factor: cells {within} are distributed as they were. Changed: a factor is "
        f"below {fixed(result.limit, 1)} nats, by chance in 5 % of tables at most if families fit.",
        f"{shares} {100 * prob:.3g} % intervals.",
        f"Expected accuracy: {percent(accuracy['expected'])} ({fixed(100 * accuracy['lower'], 1)} "
        f"to {percent(accuracy['upper'])}), if the probabilities hold.{observed}",
        f"Most unusual rows, and the column that is least usual there: {', '.join(rows)}.",
    )
