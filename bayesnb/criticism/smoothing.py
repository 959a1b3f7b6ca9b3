"""Settings of the smoothing side by side: their evidence, and how well they predict labels without their own rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.smoothing_notes import at_the_end, best_of, notes_of, verdict
from bayesnb.criticism.smoothing_page import page
from bayesnb.criticism.trial import trial_of
from bayesnb.criticism.trials import trials_of
from bayesnb.estimators import Classifier
from bayesnb.selection.compared import Compared, compared
from bayesnb.selection.settings import ESTIMATES, Outcome, Setting

SCORES = ("accuracy", "brier", "ece")


@dataclass(frozen=True, eq=False, repr=False)
class SmoothingComparison:
    """Settings of the smoothing, the best of them, and what is to be known about the numbers.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each smoothing and estimate. `concentration`, of a symmetric Dirichlet prior. `log_evidence`, log
        p(X, y | prior). `elpd_loo` and `se`, the sum over rows of log p(y | x, all other rows). `elpd_diff` and
        `diff_se`, the same less that of the best setting. `accuracy`, `brier` and `ece` of those predictions.
    intervals : pandas.DataFrame
        For each row of the table the ends of intervals: `accuracy_lower`, `accuracy_upper`, and so on.
    best : dict, or None
        The row of the largest `elpd_loo`; None if no setting has one.
    distinguishable : pandas.Series
        For each row of the table, whether its `elpd_diff` is below minus twice its `diff_se`.
    verdict : str
        The same in a sentence.
    notes : tuple of sentences
    """

    table: Any
    intervals: Any
    best: dict[str, Any] | None
    distinguishable: Any
    verdict: str
    notes: tuple[str, ...]

    def plot(self, axes: Any = None) -> Any:
        """Draw the log scores, the evidence and the calibration against the smoothing.

        Parameters
        ----------
        axes : None, or three matplotlib axes

        Returns
        -------
        array of matplotlib.axes.Axes
        """
        from bayesnb.plots.smoothing_plot import Curves, plot_smoothing

        said = self.best or self.table.to_dict("records")[0]
        table, named = self.table, "smoothing"
        if "scale" in table:
            table, named = table[table.scale == said["scale"]], f"smoothing, at scale {said['scale']:g}"
        mine = (table.smoothing == said["smoothing"]) & (table.estimate == said["estimate"])
        table = table.assign(best=mine & (self.best is not None))
        return plot_smoothing(Curves(*(table[field].to_numpy() for field in Curves._fields)), axes, named)

    def __repr__(self) -> str:
        shown = self.table.to_string(index=False, float_format=lambda value: f"{value:.4g}")
        return "\n".join([self.verdict, "", shown, "", *(f"- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        names = sorted(self.table.columns, key=lambda name: name not in ("smoothing", "estimate", "scale"))
        columns = {name: self.table[name].to_list() for name in names}  # first what was set, then what came of it
        return page(columns, self.distinguishable.to_list(), self.best, self.verdict, self.notes)


def compare_smoothing(
    model: Classifier,
    X: Any,
    y: Any,
    smoothing: Sequence[float] = (0, 0.01, 0.1, 0.5, 1, 2, 5, 10),
    estimates: Sequence[str] = ("map", "mean", "predictive"),
    *,
    scales: Sequence[float] = (1.0,),
    sample_weight: Any = None,
    ci_prob: float | None = None,
) -> SmoothingComparison:
    """Compare settings of the smoothing by evidence and by exact leave-one-out, without a refit.

    Parameters
    ----------
    model : estimator of bayesnb, fitted on these rows or not at all
    X, y : rows and their labels
    smoothing : numbers, 0 or more
        With smoothing l, counts n of K levels and their total N, (n + l) / (N + l K) is the probability of a level
        under "map", whose prior is Dirichlet(1 + l), and under "mean", whose prior is Dirichlet(l). It is so for
        `Categorical`, `Bernoulli` and `Multinomial` columns; a prior said with an array keeps its proportions, and l
        is its mean. The prior of `Poisson` columns is worth l events, at the pooled rate. That of `Gaussian` columns
        has l times its `count`, `shape` and `scale`. 1 is the default prior of every family.
    estimates : some of "map", "mean", "predictive" and "mle"
        What predicts, as in the estimator's `estimate`. No prior enters "mle", which has one row, of smoothing 0.
    scales : numbers above 0
        What the variance that the prior of `Gaussian` columns expects is multiplied by. With more than one, the table
        has a column `scale` at its end.
    sample_weight : None, or how often each row counts
        Scores are of as many rows of mean weight: a row of any weight is left out as a whole.
    ci_prob : probability of the intervals, default ArviZ's `rcParams["stats.ci_prob"]`

    Returns
    -------
    SmoothingComparison
        With `table`, `intervals`, `best`, `distinguishable`, `verdict`, `notes` and `plot()`.

    Notes
    -----
    The data are counted once: a setting changes the prior, and a pass over the rows takes each of them back in turn.
    The class prior, `temper_` and all else are the estimator's own. Its priors that take their scale from the data
    take it from all rows, also for the row that is left out.

    Log evidence is that of all cells and labels, so it judges the prior of the cells, and the score only what it does
    to the labels; they need not agree. A prior that is improper, as most are at 0, has no evidence: NaN. A row whose
    class shows some level nowhere else is impossible without smoothing, and the sum of log scores is minus infinity.

    Examples
    --------
    >>> from bayesnb import CategoricalNB, compare_smoothing
    >>> X, y = [[0, 1], [0, 1], [0, 0], [0, 1], [1, 2], [1, 2], [1, 2], [1, 0]], list("aaaabbbb")
    >>> found = compare_smoothing(CategoricalNB(), X, y, smoothing=(0, 0.1, 1, 10), estimates=("predictive",))
    >>> found.table[["smoothing", "log_evidence", "elpd_loo"]].round(2).values.tolist()
    [[0.0, nan, -inf], [0.1, -17.87, -0.47], [1.0, -17.85, -1.17], [10.0, -20.1, -4.71]]
    >>> found.best["smoothing"]
    0.1
    """
    settings = _settings(smoothing, estimates, scales)
    prob = results.datasets.ci_prob(ci_prob)
    _refuse_averages(model, settings)
    trial = trial_of(model, X, y, sample_weight, "compare_smoothing")
    trials = trials_of(trial)
    outcomes = [trials.outcome(setting, prob) for setting in settings]
    found = compared(outcomes, trials.rows.counts)
    with_dice = any(family.counts_levels for family in trials.families)
    table = results.datasets.frame(_columns(outcomes, found, with_dice, np.size(scales) > 1))
    best = None if found.best is None else best_of(table, found.best)
    said = verdict(best, int(found.distinguishable.sum()), len(outcomes))
    rest = results.datasets.frame(_intervals(outcomes) | {"distinguishable": found.distinguishable})
    worse = rest.pop("distinguishable")
    end = at_the_end(None if found.best is None else settings[found.best], settings)
    return SmoothingComparison(table, rest, best, worse, said, (*notes_of(trial, trials, outcomes), *end))


def _settings(smoothing: Any, estimates: Any, scales: Any) -> list[Setting]:
    """All that is asked for, checked."""
    sizes, factors = _numbers("smoothing", smoothing, above=False), _numbers("scales", scales, above=True)
    estimates = list(estimates) if np.iterable(estimates) and not isinstance(estimates, str) else [estimates]
    unknown = [each for each in estimates if each not in ESTIMATES]
    if unknown or not estimates or len(set(estimates)) < len(estimates):
        raise ValueError(f"estimates must be some of {', '.join(ESTIMATES)}, each once, got {estimates!r}.")
    every = [
        Setting(size, estimate, scale)
        for scale in factors
        for estimate in estimates
        if estimate != "mle"
        for size in sizes
    ]
    return every + [Setting(0.0, "mle")] * ("mle" in estimates)


def _numbers(name: str, said: Any, *, above: bool) -> list[float]:
    """Different finite numbers, 0 or more, or above 0."""
    values = list(said) if np.iterable(said) else [said]
    bound = "above 0" if above else "0 or more"
    if not values:
        raise ValueError(f"{name} is empty: give at least one number, {bound}.")
    for value in values:
        number = float(value) if isinstance(value, Real) else float("nan")
        if not (np.isfinite(number) and (number > 0 if above else number >= 0)):
            raise ValueError(f"{name} must be finite numbers, {bound}, got {value!r} in {values!r}.")
    if len(set(map(float, values))) < len(values):
        raise ValueError(f"{name} has a number twice: {values!r}.")
    return list(map(float, values))


def _refuse_averages(model: Any, settings: Sequence[Setting]) -> None:
    """An average over subsets of features is of predictives, and weighs them by their evidence."""
    if getattr(model, "average_features", None) is None:
        return
    if any(setting.estimate != "predictive" for setting in settings):
        raise ValueError(
            "average_features averages predictives, and has no point estimates: compare with estimates=('predictive',)."
        )
    if any(setting.smoothing == 0 for setting in settings):
        raise ValueError(
            "average_features weighs by the evidence, and a smoothing of 0 has none: compare smoothings above 0."
        )


def _columns(outcomes: Sequence[Outcome], found: Compared, with_dice: bool, with_scale: bool) -> dict[str, Any]:
    settings = [outcome.setting for outcome in outcomes]
    columns: dict[str, Any] = {
        "smoothing": [setting.smoothing for setting in settings],
        "estimate": np.array([setting.estimate for setting in settings], object),
        "concentration": [setting.concentration if with_dice else np.nan for setting in settings],
        "log_evidence": [outcome.log_evidence for outcome in outcomes],
        "elpd_loo": found.elpd,
        "se": found.se,
        "elpd_diff": found.elpd_diff,
        "diff_se": found.diff_se,
    }
    columns |= {name: [getattr(outcome.worth, name).value for outcome in outcomes] for name in SCORES}
    return columns | ({"scale": [setting.scale for setting in settings]} if with_scale else {})


def _intervals(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        f"{name}_{end}": [getattr(getattr(outcome.worth, name), end) for outcome in outcomes]
        for name in SCORES
        for end in ("lower", "upper")
    }
