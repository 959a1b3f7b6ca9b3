"""Has a new table changed: its columns, their levels and missing cells, the shares of the classes?

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

PLOT = "bayesnb.plots.check_plot"  # by name, as it stands above
MAX_UNUSUAL = 5
MAX_CLASSES = 3  # in the verdict
MAX_LETTERS = 30  # of a name there
MAX_COMPARED = 100  # rows that say what is usual in a column
SHARES = ["missing", "missing_learnt", "unseen"]
PREVALENCE = "share", "lower", "upper", "learnt"
ADVICE = "Leave such rows out."
REASONS = {
    "log_bayes_factor": "{nats} nats",
    "unseen_log_bayes_factor": "new levels in {unseen} of the cells, {unseen_learnt} expected",
    "missing_log_bayes_factor": "missing in {missing} of the rows, {missing_learnt} before",
}
LABEL = "{share} of the rows are {label} {now} ({lower} to {upper}), {learnt} when it was learnt"
CHANGED = (
    "are distributed as they were. Changed: a factor is below {limit} nats, by chance in 5 % of "
    "tables at most if families fit."
)
EXPECTED = "Expected accuracy: {expected} ({lower} to {upper}), if the probabilities hold."
UNUSUAL = "Most unusual rows, and the column that is least usual there: {rows}."
UNLABELLED = (
    f"log_bayes_factor: cells of all classes together {CHANGED}",
    "Shares of the classes: if columns are distributed as they were within each class. {prob}.",
    EXPECTED,
)
LABELLED = (
    f"log_bayes_factor: cells within the classes {CHANGED}",
    "Shares of the classes are counted. {prob}.",
    f"{EXPECTED} Observed: {{observed}}; log loss {{log_loss}} a row, {{expected_log_loss}} "
    "expected.",
)
AGREEMENT = 0.99  # probability of the interval outside of which an accuracy is not as expected
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
    >>> round(check(GaussianNB().fit(x, y), [[1.0], [9.0]]).accuracy["expected"], 2)
    0.89
    """

    prevalence: "results.DataFrame"
    accuracy: dict[str, float]
    rows: "results.DataFrame"
    probability: Array
    limit: float

    def plot(self, most: int = 30) -> Array:
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
    """Check whether the distribution of a new table differs from that of the training rows.

    Parameters
    ----------
    model : estimator
        A fitted model. Its training rows are not needed.
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
        For a label that did not occur in training, and where no Bayes factor is defined: the prior
        of a column is improper, or weights or counts are not whole numbers.

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

    *Missing cells* have a factor of their own, under a Beta(0.5, 0.5) prior. Those of levels that
    were not declared count as missing, in both tables. So have *levels that no learnt row has*:
    their share is compared with the share of learnt cells whose level no other cell has, as that
    would be new without the cell. A block of words has no such factors.

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
    """Return the table of features, and the limit below which a factor is a change."""
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
    """Return the shares of the classes, and the probabilities of rows under them."""
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
    """Return the expected accuracy with its interval and, by labels, the one observed."""
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
    """Return the rows of the lowest density, and the feature that is least usual in each."""
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
    """Return the log density of features, whatever the class, `(r, f)`; NaN of missing cells."""
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
    """Return which columns changed, and what tells that."""
    columns = count(len(table), "column")
    changed = table[table["changed"]].sort_values("log_bayes_factor", kind="stable")
    if changed.empty:
        return f"No change was found in {columns}."
    texts = [describe_change(row, limit) for row in changed.to_dict("records")]
    return f"{len(changed)} of {columns} changed: {list_names(texts)}."


def describe_change(row: dict[str, Any], limit: float) -> str:
    """Return the name of a column, and what says that it changed."""
    texts = {name: percent(row[name], 0) for name in (*SHARES, "unseen_learnt")}
    texts["nats"] = nats(row["log_bayes_factor"])
    reasons = [text.format(**texts) for name, text in REASONS.items() if row[name] < limit]
    return f"{shorten(row['feature'], MAX_LETTERS)} ({', '.join(reasons)})"


def judge_labels(table: Any, accuracy: dict[str, float]) -> str:
    """Return the shares of the classes that moved most, and an accuracy that is not as expected."""
    moved = (table["learnt"] - table["share"]).abs().sort_values(ascending=False, kind="stable")
    places = moved.index[:MAX_CLASSES]
    if len(table) == 2:  # one says what the other is
        places = [table["learnt"].argmin()]
    now = "now" if "observed" in accuracy else "now by the model"
    parts = []
    for row in table.loc[places].to_dict("records"):
        label = shorten(row.pop("class"), MAX_LETTERS)
        texts = {name: percent(share, 0) for name, share in row.items()}
        parts.append(LABEL.format(label=label, now=now, **texts))
    verdict = f"Labels: {'; '.join(parts)}."
    if accuracy.get("agrees", True):
        return verdict
    observed, expected = percent(accuracy["observed"]), percent(accuracy["expected"])
    return f"{verdict} Accuracy is {observed}; the probabilities imply {expected}."


def explain(limit: float, prob: float, accuracy: dict[str, float], rows: Any) -> tuple[str, ...]:
    """Return what each number assumes."""
    names = []
    for row, feature in rows[["row", "feature"]].itertuples(index=False):
        names.append(f"{quote(row)} ({shorten(feature, MAX_LETTERS)})")
    notes = LABELLED if "observed" in accuracy else UNLABELLED
    texts = {name: percent(accuracy[name]) for name in accuracy if "loss" not in name}
    texts |= {name: fixed(accuracy[name], 3) for name in accuracy if "loss" in name}
    texts |= {"limit": fixed(limit, 1), "prob": describe_intervals(prob), "rows": ", ".join(names)}
    return tuple(note.format(**texts) for note in (*notes, UNUSUAL))
