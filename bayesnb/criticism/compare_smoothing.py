"""Settings of the smoothing side by side: their evidence, and held-out predictions of labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import FittedRows, fit_rows
from bayesnb.criticism.wording import VerdictTable, explain_settings, judge_settings
from bayesnb.estimators import NaiveBayes
from bayesnb.families.base import Array
from bayesnb.progress import bar
from bayesnb.selection.smoothing import ESTIMATES, Outcome, Setting, differences_from_best
from bayesnb.stages import PATIENCE

PLOTS = "bayesnb.plots.smoothing_plot"  # by name, as it stands above


@dataclass(frozen=True, eq=False, repr=False)
class SmoothingComparison(VerdictTable):
    """Settings of the smoothing, the best of them, and notes on the numbers.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each smoothing and estimate. `concentration`, of a symmetric Dirichlet prior.
        `log_evidence`, log p(X, y | prior). `elpd_loo` and `se`, the sum over rows of log p(y | x,
        all other rows). `elpd_diff` and `diff_se`, the same less that of the best setting.
        `accuracy`, `brier` and `ece` of those predictions.
    best : dict, or None
        The row of the largest `elpd_loo`; None if no setting has one.
    verdict : str
        The comparison in words.
    notes : tuple of sentences
        What to know about the numbers.

    See Also
    --------
    compare_smoothing : The comparison that returns it.

    Examples
    --------
    >>> from bayesnb import CategoricalNB, compare_smoothing
    >>> X, y = [[0, 1], [0, 1], [0, 0], [0, 1], [1, 2], [1, 2], [1, 2], [1, 0]], list("aaaabbbb")
    >>> result = compare_smoothing(CategoricalNB(), X, y, (0.1, 1), ("predictive",))
    >>> result.best["smoothing"]
    0.1
    """

    best: dict[str, Any] | None

    def plot(self, axes: Any = None) -> Any:
        """Draw the log scores, the evidence and the calibration against the smoothing.

        Parameters
        ----------
        axes : sequence of three matplotlib.axes.Axes, optional
            By default new ones in a new figure.

        Returns
        -------
        numpy.ndarray of matplotlib.axes.Axes
            The three panels.

        See Also
        --------
        compare_smoothing : The numbers that are drawn.

        Examples
        --------
        >>> from bayesnb import CategoricalNB, compare_smoothing
        >>> X, y = [[0, 1], [0, 1], [0, 0], [1, 2], [1, 2], [1, 0]], list("aaabbb")
        >>> len(compare_smoothing(CategoricalNB(), X, y, (0.1, 1), ("predictive",)).plot())
        3
        """
        table = self.table.assign(best=self.table.elpd_diff == 0)
        return import_module(PLOTS).plot_smoothing(table, axes)


def compare_smoothing(
    model: NaiveBayes,
    X: Any,
    y: Any,
    smoothing: Sequence[float] = (0, 0.01, 0.1, 0.5, 1, 2, 5, 10),
    estimates: Sequence[str] | None = None,
    *,
    sample_weight: Any = None,
    progress: bool | None = None,
) -> SmoothingComparison:
    """Compare settings of the smoothing by their evidence and by leave-one-out, without refits.

    Parameters
    ----------
    model : estimator
        One that is fitted on these rows, or not at all.
    X : table of rows
        The rows to learn from.
    y : array-like
        Their labels.
    smoothing : sequence of float
        Numbers, 0 or more. With smoothing l, counts n of K levels and their total N, (n + l) / (N +
        l K) is the probability of a level under "map", whose prior is Dirichlet(1 + l), and under
        "mean", whose prior is Dirichlet(l). It is so for `Categorical`, `Bernoulli` and
        `Multinomial` columns; a prior declared with an array keeps its proportions, and l is its
        mean. The prior of `Poisson` columns is worth l events, at the pooled rate. That of
        `Gaussian` columns has l times its `count`, `shape` and `scale`. 1 is the default prior of
        every family.
    estimates : sequence of {"map", "mean", "predictive", "mle"}, optional
        The estimates that predict, as in the parameter `estimate`. By default "map", "mean" and
        "predictive", and "predictive" alone for a model with links between columns, as their tables
        have no other estimate. No prior enters "mle", so it has one row, of smoothing 0.
    sample_weight : array-like, optional
        How often each row counts. Scores are of as many rows of mean weight: a row of any weight is
        left out as a whole.
    progress : bool, optional
        Whether a progress bar on stderr counts the settings. By default on a terminal, after two
        seconds.

    Returns
    -------
    SmoothingComparison
        With `table`, `best`, `verdict`, `notes` and `plot()`.

    See Also
    --------
    tune : The best priors, found by a search.
    compare : Any models, compared by leave-one-out.

    Notes
    -----
    The data are counted once: a setting changes the prior, and a pass over the rows takes each of
    them back in turn. The class prior, `temper_` and all else are those of the estimator, links
    between columns among them. Priors of the estimator that take their scale from the data take it
    from all rows, also for the row that is left out.

    Log evidence is that of all cells and labels, so it judges the prior of the cells, and the score
    only what it does to the labels; they need not agree. A prior that is improper, as most are at
    0, has no evidence: NaN. A row that alone of its class has a level is impossible without
    smoothing, and the sum of log scores is minus infinity.

    Examples
    --------
    >>> from bayesnb import CategoricalNB, compare_smoothing
    >>> X, y = [[0, 1], [0, 1], [0, 0], [0, 1], [1, 2], [1, 2], [1, 2], [1, 0]], list("aaaabbbb")
    >>> result = compare_smoothing(CategoricalNB(), X, y, (0, 0.1, 1, 10), ("predictive",))
    >>> result.table[["smoothing", "log_evidence", "elpd_loo"]].round(2).values.tolist()
    [[0.0, nan, -inf], [0.1, -17.87, -0.47], [1.0, -17.85, -1.17], [10.0, -20.1, -4.71]]
    >>> result.best["smoothing"]
    0.1
    """
    sizes = _check_smoothing(smoothing)
    fitted = fit_rows(model, X, y, sample_weight, needed_by="compare_smoothing")
    pairs = product(_check_estimates(estimates, fitted), sizes)
    settings = dict.fromkeys(Setting(0.0 if kind == "mle" else size, kind) for kind, size in pairs)
    variants = fitted.prior_variants()
    outcomes = []
    with bar("compare_smoothing", progress, " settings", PATIENCE) as shown:
        shown.start(len(settings))
        for setting in settings:
            outcomes.append(variants.outcome(setting))
            shown.more(1)
    differences, at = differences_from_best(outcomes, variants.rows.counts)
    table = _tabulate(outcomes, differences)
    if not any(family.counts_levels for family in variants.families):
        table["concentration"] = np.nan
    is_worse = (table.elpd_diff < -2 * table.diff_se) | np.isneginf(table.elpd_diff)
    best = None if at is None else table.to_dict("records")[at]
    return SmoothingComparison(
        table=table,
        verdict=judge_settings(best, int(is_worse.sum()), len(outcomes) - 1),
        notes=explain_settings(fitted, outcomes, best),
        best=best,
    )


def _check_smoothing(smoothing: Any) -> list[float]:
    sizes: list[Any] = list(smoothing) if np.iterable(smoothing) else [smoothing]
    are_numbers = all(isinstance(size, Real) and 0 <= float(size) < np.inf for size in sizes)
    if not sizes or not are_numbers or len(set(sizes)) < len(sizes):
        raise ValueError(
            f"smoothing must be different finite numbers, 0 or more, got {smoothing!r}."
        )
    return list(map(float, sizes))


def _check_estimates(estimates: Any, fitted: FittedRows) -> list[str]:
    possible = ESTIMATES if fitted.schema.links is None else ("predictive",)
    if estimates is None:
        return [kind for kind in possible if kind != "mle"]
    kinds = [estimates] if isinstance(estimates, str) else list(estimates)
    if not 0 < len(kinds) == len(set(kinds).intersection(possible)):
        raise ValueError(
            f"estimates must be some of {', '.join(possible)}, each once, got {estimates!r}. A "
            "model with links between columns has 'predictive' only."
        )
    return kinds


def _tabulate(outcomes: Sequence[Outcome], differences: dict[str, Array]) -> Any:
    settings = [outcome.setting for outcome in outcomes]
    columns: dict[str, Any] = {
        "smoothing": [setting.smoothing for setting in settings],
        "estimate": [setting.estimate for setting in settings],
        "concentration": [setting.concentration for setting in settings],
        "log_evidence": [outcome.log_evidence for outcome in outcomes],
        **differences,
    }
    for name in outcomes[0].scores:
        columns[name] = [outcome.scores[name] for outcome in outcomes]
    return results.datasets.frame(columns)
