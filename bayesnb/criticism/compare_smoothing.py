"""Settings of the smoothing side by side: their evidence, and their predictions of labels without their rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.learnt_rows import LearntRows, learnt_rows
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.tempering import in_words
from bayesnb.families.base import Array
from bayesnb.families.family import ordered_hyperparameters
from bayesnb.results.progress import bar
from bayesnb.selection.smoothing import (
    ESTIMATES,
    ROUNDING,
    Outcome,
    Place,
    PriorVariants,
    Setting,
    differences_from_best,
    first_unique,
)
from bayesnb.stages import PATIENCE

ALL_BUT_MLE = ("map", "mean", "predictive")
PLOTS = "bayesnb.plots.smoothing_plot"  # by name, as it stands above
SCORES = ("accuracy", "brier", "ece")
WHY_INFINITE = {
    False: "probability 0 once left out, a log score of -inf",
    True: "no score, as what is left of the class leaves no distribution to predict from",
}
DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
DIGITS = dict.fromkeys(("smoothing", "concentration", "scale"), "g") | {
    "accuracy": ".3f",
    "brier": ".4f",
    "ece": ".4f",
}


@dataclass(frozen=True, eq=False, repr=False)
class SmoothingComparison:
    """Settings of the smoothing, the best of them, and notes on the numbers.

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
        The comparison in a sentence.
    notes : tuple of sentences
        What to know about the numbers.

    See Also
    --------
    compare_smoothing : The comparison that returns it.

    Examples
    --------
    >>> from bayesnb import CategoricalNB, compare_smoothing
    >>> X, y = [[0, 1], [0, 1], [0, 0], [0, 1], [1, 2], [1, 2], [1, 2], [1, 0]], list("aaaabbbb")
    >>> result = compare_smoothing(CategoricalNB(), X, y, smoothing=(0.1, 1), estimates=("predictive",))
    >>> result.best["smoothing"]
    0.1
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
        >>> X, y = [[0, 1], [0, 1], [0, 0], [0, 1], [1, 2], [1, 2], [1, 2], [1, 0]], list("aaaabbbb")
        >>> result = compare_smoothing(CategoricalNB(), X, y, smoothing=(0.1, 1), estimates=("predictive",))
        >>> len(result.plot())
        3
        """
        plots = import_module(PLOTS)
        marked = self.best or self.table.to_dict("records")[0]
        table, label = self.table, "smoothing"
        if "scale" in table:
            table, label = (
                table[table.scale == marked["scale"]],
                f"smoothing, at scale {marked['scale']:g}",
            )
        is_best = (table.smoothing == marked["smoothing"]) & (table.estimate == marked["estimate"])
        table = table.assign(best=is_best & (self.best is not None))
        curves = plots.Curves(*(table[field].to_numpy() for field in plots.Curves._fields))
        return plots.plot_smoothing(curves, axes, label)

    def to_frame(self) -> Any:
        """Return a copy of `table`.

        Returns
        -------
        pandas.DataFrame
            A row for each smoothing and estimate.

        See Also
        --------
        compare_smoothing : The comparison, and what the columns mean.

        Examples
        --------
        >>> from bayesnb import CategoricalNB, compare_smoothing
        >>> X, y = [[0, 1], [0, 1], [0, 0], [0, 1], [1, 2], [1, 2], [1, 2], [1, 0]], list("aaaabbbb")
        >>> result = compare_smoothing(CategoricalNB(), X, y, smoothing=(0.1, 1), estimates=("predictive",))
        >>> result.to_frame()[["smoothing", "elpd_loo"]].round(2).values.tolist()
        [[0.1, -0.47], [1.0, -1.17]]
        """
        return self.table.copy()

    def __repr__(self) -> str:
        shown = self.table.to_string(index=False, float_format=lambda value: f"{value:.4g}")
        return "\n".join([self.verdict, "", shown, "", *(f"- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        from bayesnb.results.display import notebook

        settings = ["smoothing", "estimate", *(["scale"] if "scale" in self.table else [])]
        names = [*settings, *(name for name in self.table.columns if name not in settings)]
        rows = []
        for row, worse in zip(self.table.to_dict("records"), self.distinguishable, strict=True):
            is_best = self.best is not None and all(
                row[name] == self.best[name] for name in settings
            )
            rows.append(
                (
                    "best" if is_best else "worse" * bool(worse),
                    [_shown(name, row[name]) for name in names],
                )
            )
        return notebook(
            "comparison.html", verdict=self.verdict, head=names, settings=rows, remarks=self.notes
        )


def _shown(name: str, value: Any) -> str:
    """Format a cell: a number with the digits of its column, a dash for none."""
    if isinstance(value, str):
        return value
    if np.isnan(value):
        return DASH
    return (
        format(value, DIGITS.get(name, ".2f")) if np.isfinite(value) else "-\N{INFINITY}"
    ).replace("-", MINUS)


def compare_smoothing(
    model: NaiveBayes,
    X: Any,
    y: Any,
    smoothing: Sequence[float] = (0, 0.01, 0.1, 0.5, 1, 2, 5, 10),
    estimates: Sequence[str] | None = None,
    *,
    scales: Sequence[float] = (1.0,),
    sample_weight: Any = None,
    ci_prob: float | None = None,
    progress: bool | None = None,
) -> SmoothingComparison:
    """Compare settings of the smoothing by their evidence and by exact leave-one-out, without refits.

    Parameters
    ----------
    model : estimator
        One that is fitted on these rows, or not at all.
    X : table of rows
        The rows to learn from.
    y : array-like
        Their labels.
    smoothing : sequence of float
        Numbers, 0 or more.
        With smoothing l, counts n of K levels and their total N, (n + l) / (N + l K) is the probability of a level
        under "map", whose prior is Dirichlet(1 + l), and under "mean", whose prior is Dirichlet(l). It is so for
        `Categorical`, `Bernoulli` and `Multinomial` columns; a prior declared with an array keeps its proportions, and
        l is its mean. The prior of `Poisson` columns is worth l events, at the pooled rate. That of `Gaussian` columns
        has l times its `count`, `shape` and `scale`. 1 is the default prior of every family.
    estimates : sequence of {"map", "mean", "predictive", "mle"}, optional
        The estimates that predict, as in the parameter `estimate`. By default "map", "mean" and "predictive", and
        "predictive" alone for a model with links between columns, as their tables have no other estimate. No prior
        enters "mle", so it has one row, of smoothing 0.
    scales : sequence of float
        Numbers above 0: factors of the variance that the prior of `Gaussian` columns expects. With more than one, the
        table has a column `scale` at its end.
    sample_weight : array-like, optional
        How often each row counts. Scores are of as many rows of mean weight: a row of any weight is left out as a
        whole.
    ci_prob : float, optional
        The probability of the intervals, by default ArviZ's `rcParams["stats.ci_prob"]`.
    progress : bool, optional
        Whether a progress bar on stderr counts the settings. By default on a terminal, after two seconds.

    Returns
    -------
    SmoothingComparison
        With `table`, `intervals`, `best`, `distinguishable`, `verdict`, `notes` and `plot()`.

    See Also
    --------
    tune : The best priors, found by a search.
    compare : Any models, compared by leave-one-out.

    Notes
    -----
    The data are counted once: a setting changes the prior, and a pass over the rows takes each of them back in turn.
    The class prior, `temper_` and all else are those of the estimator, links between columns among them.
    Priors of the estimator that take their scale from the data take it from all rows, also for the row that is left
    out.

    Log evidence is that of all cells and labels, so it judges the prior of the cells, and the score only what it does
    to the labels; they need not agree. A prior that is improper, as most are at 0, has no evidence: NaN. A row that
    alone of its class has a level is impossible without smoothing, and the sum of log scores is minus infinity.

    Examples
    --------
    >>> from bayesnb import CategoricalNB, compare_smoothing
    >>> X, y = [[0, 1], [0, 1], [0, 0], [0, 1], [1, 2], [1, 2], [1, 2], [1, 0]], list("aaaabbbb")
    >>> result = compare_smoothing(CategoricalNB(), X, y, smoothing=(0, 0.1, 1, 10), estimates=("predictive",))
    >>> result.table[["smoothing", "log_evidence", "elpd_loo"]].round(2).values.tolist()
    [[0.0, nan, -inf], [0.1, -17.87, -0.47], [1.0, -17.85, -1.17], [10.0, -20.1, -4.71]]
    >>> result.best["smoothing"]
    0.1
    """
    settings = _settings(smoothing, ALL_BUT_MLE if estimates is None else estimates, scales)
    prob = results.datasets.ci_prob(ci_prob)
    _refuse_averages(model, settings)
    learnt = learnt_rows(model, X, y, sample_weight, "compare_smoothing")
    if learnt.estimator.schema_.links is not None:
        settings = _of_links(settings, estimates)
    variants = learnt.variants
    outcomes = []
    with bar("compare_smoothing", progress, " settings", PATIENCE) as shown:
        shown.start(len(settings))
        for setting in settings:
            outcomes.append(variants.outcome(setting, prob))
            shown.more(1)
    differences, at = differences_from_best(outcomes, variants.rows.counts)
    table = _table(outcomes, differences, variants, np.size(scales) > 1)
    intervals: dict[str, Any] = {
        f"{name}_{end}": [getattr(each.scores[name], end) for each in outcomes]
        for name in SCORES
        for end in ("lower", "upper")
    }
    best = None if at is None else table.to_dict("records")[at]
    worse = ((table.elpd_diff == -np.inf) | (table.elpd_diff < -2 * table.diff_se)).rename(
        "distinguishable"
    )
    notes = (
        *_notes(learnt, variants, outcomes),
        *_at_the_end(None if at is None else settings[at], settings),
    )
    verdict = _verdict(best, int(worse.sum()), len(outcomes))
    return SmoothingComparison(
        table, results.datasets.frame(intervals), best, worse, verdict, notes
    )


def _settings(smoothing: Any, estimates: Any, scales: Any) -> list[Setting]:
    """Check the arguments and return all settings."""
    sizes, factors = (
        _numbers("smoothing", smoothing, above=False),
        _numbers("scales", scales, above=True),
    )
    estimates = (
        list(estimates)
        if np.iterable(estimates) and not isinstance(estimates, str)
        else [estimates]
    )
    unknown = [each for each in estimates if each not in ESTIMATES]
    if unknown or not estimates or len(set(estimates)) < len(estimates):
        raise ValueError(
            f"estimates must be some of {', '.join(ESTIMATES)}, each once, got {estimates!r}."
        )
    settings = [
        Setting(size, estimate, scale)
        for scale in factors
        for estimate in estimates
        if estimate != "mle"
        for size in sizes
    ]
    return settings + [Setting(0.0, "mle")] * ("mle" in estimates)


def _of_links(settings: Sequence[Setting], estimates: Any) -> list[Setting]:
    """Return the settings that a model with links can have; raise if others were asked for."""
    possible = [setting for setting in settings if setting.estimate == "predictive"]
    if estimates is not None and len(possible) < len(settings):
        raise ValueError(
            f"estimates={estimates!r}: this model has links between columns, whose tables have the predictive estimate "
            "only. Use estimates=('predictive',), or a model with dependence=None."
        )
    return possible


def _numbers(name: str, given: Any, *, above: bool) -> list[float]:
    """Check that these are different finite numbers, 0 or more, or above 0."""
    values = list(given) if np.iterable(given) else [given]
    bound = "above 0" if above else "0 or more"
    if not values:
        raise ValueError(f"{name} is empty: give at least one number, {bound}.")
    for value in values:
        number = float(value) if isinstance(value, Real) else float("nan")
        if not (np.isfinite(number) and (number > 0 if above else number >= 0)):
            raise ValueError(
                f"{name} must be finite numbers, {bound}, got {value!r} in {values!r}."
            )
    if len(set(map(float, values))) < len(values):
        raise ValueError(f"{name} has a number twice: {values!r}.")
    return list(map(float, values))


def _refuse_averages(model: Any, settings: Sequence[Setting]) -> None:
    """Raise if `average_features` cannot be compared: it averages predictives, with weights by their evidence."""
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


def _table(
    outcomes: Sequence[Outcome],
    differences: dict[str, Array],
    variants: PriorVariants,
    scaled: bool,
) -> Any:
    settings = [outcome.setting for outcome in outcomes]
    has_levels = any(family.counts_levels for family in variants.families)
    columns: dict[str, Any] = {
        "smoothing": [setting.smoothing for setting in settings],
        "estimate": np.array([setting.estimate for setting in settings], object),
        "concentration": [setting.concentration if has_levels else np.nan for setting in settings],
        "log_evidence": [outcome.log_evidence for outcome in outcomes],
        **differences,
        **{name: [outcome.scores[name].value for outcome in outcomes] for name in SCORES},
        "scale": [setting.scale for setting in settings],
    }
    table = results.datasets.frame(columns)
    return table if scaled else table.drop(columns="scale")


def _verdict(best: dict[str, Any] | None, worse: int, settings: int) -> str:
    """Compare the settings in a sentence."""
    if best is None:
        return "No setting has a leave-one-out score for every row."
    where = "" if best["estimate"] == "mle" else f", smoothing {best['smoothing']:g}"
    scale = f", scale {best['scale']:g}" if best.get("scale", 1.0) != 1.0 else ""
    winner = f"Best by leave-one-out log score: {best['estimate']}{where}{scale} (elpd {best['elpd_loo']:.1f})"
    if settings == 1:
        return f"{winner}, the only setting."
    if np.isneginf(best["elpd_loo"]):
        return f"{winner}: every setting makes some row impossible."
    if not worse:
        none = f"none of the other {settings - 1} can" if settings > 2 else "the other one cannot"
        return (
            f"{winner}; {none} be distinguished from it, by two standard errors of the difference."
        )
    rest = f"{worse} of the other {settings - 1}" if settings > 2 else "the other one"
    verb = "is" if worse == 1 else "are"
    return f"{winner}; {rest} {verb} worse by more than two standard errors of the difference."


def _notes(learnt: LearntRows, variants: PriorVariants, outcomes: Sequence[Outcome]) -> list[str]:
    """Explain the smoothing, what stays fixed, and numbers that are infinite or undefined."""
    notes = [each.note for each in ordered_hyperparameters(variants.families) if each.note]
    temper = learnt.estimator._known_temper
    prior = "The class prior is that of the estimator throughout"
    same = isinstance(temper.value, float) and temper.value == 1
    exponents = (
        f", and so are the exponents on the features' evidence, temper_ = {in_words(temper, 4)}."
    )
    notes.append(prior + ("." if same else exponents))
    if learnt.estimator.schema_.links is not None:
        notes.append(
            "The links between columns are those of the estimator, whatever the smoothing."
        )
    if any(outcome.setting.estimate == "mle" for outcome in outcomes):
        notes.append("No prior enters mle, so it has one row.")
    improper = [
        each.setting
        for each in outcomes
        if np.isnan(each.log_evidence) and each.setting.estimate != "mle"
    ]
    if improper:
        notes.append(
            f"{_at(improper)}: the prior is improper, so there is no evidence; it would depend on a constant that the "
            "prior does not fix."
        )
    counts = variants.rows.counts
    if (counts != np.floor(counts)).any():
        notes.append(
            "Some weights are not whole numbers: the log evidence is that of the power likelihood, the product of each "
            "row's likelihood to the power of its weight. It compares smoothings, but is not a probability of the data."
        )
    return notes + _undefined_scores(learnt, variants, outcomes)


def _at_the_end(best: Setting | None, settings: Sequence[Setting]) -> list[str]:
    """Warn in a sentence if the best smoothing is the largest or the smallest that was tried."""
    sizes = {setting.smoothing for setting in settings if setting.estimate != "mle"}
    if best is None or best.estimate == "mle" or len(sizes) < 2:
        return []
    ends = {"largest": max(sizes), "smallest": min(sizes) or None}
    return [
        f"The best smoothing, {best.smoothing:g}, is the {side} that was tried: one beyond it may be better."
        for side, end in ends.items()
        if best.smoothing == end
    ]


def _undefined_scores(
    learnt: LearntRows, variants: PriorVariants, outcomes: Sequence[Outcome]
) -> list[str]:
    """Explain why scores are infinite or undefined: a sentence for each set of rows."""
    groups: dict[tuple[Place | None, bool, bytes], list[Setting]] = {}
    for each in outcomes:
        for undefined, rows in (
            (False, np.isneginf(each.log_scores)),
            (True, np.isnan(each.log_scores)),
        ):
            if rows.any():
                groups.setdefault((each.improper, undefined, rows.tobytes()), []).append(
                    each.setting
                )
    notes = []
    for (place, undefined, flags), settings in groups.items():
        rows = np.flatnonzero(np.frombuffer(flags, bool))
        if place:
            notes.append(f"{_at(settings)}: no row has a score, {_why_improper(learnt, place)}.")
        else:
            share = f"{len(rows)} of {len(variants.rows.codes)} rows {'has' if len(rows) == 1 else 'have'}"
            name = learnt.index[learnt.rows.counts > 0].tolist()[rows[0]]
            label = learnt.estimator.classes_.tolist()[variants.rows.codes[rows[0]]]
            which = f"{'it is' if len(rows) == 1 else 'the first is'} row {_cell(name)} of class {_cell(label)}"
            why = _why_impossible(learnt, variants, int(rows[0]))
            notes.append(f"{_at(settings)}: {share} {WHY_INFINITE[undefined]}: {which}, {why}.")
    return notes


def _at(settings: Sequence[Setting]) -> str:
    """Name the smoothings, and their estimates."""
    sizes = sorted({setting.smoothing for setting in settings})
    shown = (
        ", ".join(f"{size:g}" for size in sizes)
        if len(sizes) < 10
        else f"{sizes[0]:g} to {sizes[-1]:g}"
    )
    return (
        f"Smoothing {shown} ({', '.join(dict.fromkeys(setting.estimate for setting in settings))})"
    )


def _why_improper(learnt: LearntRows, place: Place) -> str:
    """Name the column and the class whose rows leave no proper distribution."""
    b, column, code = place
    block, label = learnt.estimator.schema_.blocks[b], learnt.estimator.classes_.tolist()[code]
    name = (
        block.names[0]
        if block.family.multivariate and not block.family.combined
        else block.keys[column]
    )
    return (
        f"as the rows of class {_cell(label)} leave no distribution of column {_cell(name)}: there are none, or they "
        "have no spread, and no prior adds any"
    )


def _why_impossible(learnt: LearntRows, variants: PriorVariants, row: int) -> str:
    """Name what a row holds that no other row of its class does."""
    code, seen = variants.rows.codes[row], variants.learnt.stats.classes.counts
    if seen[code] <= variants.rows.counts[row] * (1 + ROUNDING):
        return "the only row of its class"
    unique = first_unique(variants, row)
    if unique is None:
        return "without which its class has too few rows, or no spread"
    b, column, level = unique
    block, only = learnt.estimator.schema_.blocks[b], "the only one of its class with"
    if not block.family.counts_levels:
        return f"{only} any events in column {_cell(block.names[column])}"
    if block.family.combined:
        return f"{only} its levels of the columns {_cell(block.names)}"
    if block.family.listed:
        return f"{only} the word {_cell(block.words[level])}"
    if block.family.multivariate:
        return f"{only} any count in column {_cell(block.names[level])}"
    levels = block.levels[column] if block.levels else (0, 1)
    held = _cell(levels[level]) if level < len(levels) else "the level that is kept for new ones"
    return f"{only} {held} in column {_cell(block.names[column])}"


def _cell(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:40] + "…" + shown[-19:]
