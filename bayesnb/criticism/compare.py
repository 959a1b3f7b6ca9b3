"""Compare models, or smoothings of one model, by leave-one-out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import FittedRows, VerdictTable, fit_rows
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.cross_validation import score_left_out
from bayesnb.estimators.prediction import PredictionMixin
from bayesnb.families.base import Array
from bayesnb.families.family import ordered_hyperparameters
from bayesnb.formatting import count, fixed, list_names, quote
from bayesnb.progress import bar
from bayesnb.selection.leave_one_out import Pointwise
from bayesnb.selection.smoothing import ESTIMATES, Outcome, Setting, differences_from_best
from bayesnb.stages import PATIENCE

PLOTS = "bayesnb.plots.performance_plots"  # imported by name, because it depends on this module
FIXED = (
    "The class prior, the exponents (temper_) and links between columns are those of the "
    "estimator, for every smoothing."
)
POWER_LIKELIHOOD = (
    "Some weights are not whole numbers: the log evidence is that of the power likelihood, the "
    "product of each row's likelihood to the power of its weight. It can be used to compare "
    "smoothings, but is not a probability of the data."
)
NO_EVIDENCE = (
    "The log evidence is undefined if the prior is improper, or if there is none, as for mle."
)
IMPOSSIBLE = (
    "have no finite leave-one-out log score, because no other row of their class has one of "
    "their cells, or too few rows are left"
)


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    target: str = "label",
    *,
    method: str | None = None,
    reference: str | None = None,
    sample_weight: Any = None,
) -> "results.TitledFrame":
    """Compare models by how well each predicts every row from all other rows.

    Parameters
    ----------
    models : mapping from names to estimators
        If one is not fitted, it is fitted to these rows first; if it is, it must have been fitted
        to them. A model of `bayesnb.mcmc` must be fitted.
    X : table of rows
        The training rows.
    y : array-like
        Their labels.
    target : {"label", "joint"}, default "label"
        What is scored, as in `NaiveBayes.loo`. Only scores of the same quantity can be compared:
        "joint" needs the same columns in every model.
    method : str, optional
        How the models are weighted, as in `arviz.compare`; stacking by default.
    reference : str, optional
        The model that the others are compared with, as in `arviz.compare`; the best by default.
    sample_weight : array-like, optional
        The weights of the rows, as in `fit`.

    Returns
    -------
    pandas.DataFrame
        The table of `arviz.compare`, not rounded, for `arviz.plot_compare`: by model `rank`,
        `elpd`, the difference to the best one, its standard error `dse`, and the weight of the
        model in a mixture of all. It is displayed with rounded numbers; `to_frame` returns a plain
        copy.

    See Also
    --------
    NaiveBayes.loo : The leave-one-out scores of one model.
    compare_smoothing : One model under several smoothings.
    calibration : Whether the probabilities can be trusted.

    Notes
    -----
    A score of minus infinity or NaN raises an error that names the model and the row: ArviZ would
    omit such rows from the differences, and the worst model would look best.

    Examples
    --------
    >>> from bayesnb import NaiveBayes, compare
    >>> x, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], list("aaabbb")
    >>> one, other = NaiveBayes("gaussian"), NaiveBayes("gaussian", estimate="mean")
    >>> table = compare({"predictive": one, "plugged in": other}, x, y)
    >>> table["elpd"].round(3).to_dict()
    {'plugged in': -0.626, 'predictive': -0.709}
    """
    _check_arguments(models, method)
    scores: dict[str, Pointwise] = {}
    for name, model in models.items():
        read = FittedRows.of if _is_sampled(model) else fit_rows
        fitted = read(model, X, y, sample_weight)
        scores[name] = score_left_out(fitted.estimator, fitted.rows, target)
        _check_finite(name, scores[name].score, fitted)
    return results.elpd.compared(scores, fitted.index, method, reference)


def _check_arguments(models: Any, method: Any) -> None:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError(
            f"models must be a mapping from names to at least two estimators, got {models!r}."
        )
    for name, model in models.items():
        if isinstance(name, tuple):  # ArviZ's table would make a MultiIndex of it
            raise ValueError(f"models: a name must be text or a number, got {name!r}.")
        if not _is_sampled(model):
            check_estimator(model, f"model {name!r}: ")
        elif not hasattr(model, "classes_"):
            raise ValueError(
                f"model {name!r} is not fitted yet, and is not sampled here: call fit first."
            )
    if not (method is None or isinstance(method, str)):
        raise ValueError(
            f"method must be None or the name of one of arviz.compare's methods, got {method!r}."
        )


def _is_sampled(model: Any) -> bool:
    """Return whether a model is one of `mcmc`, which has no leave-one-out in closed form."""
    return isinstance(model, PredictionMixin) and not isinstance(model, NaiveBayes)


def _check_finite(name: str, score: Array, fitted: FittedRows) -> None:
    invalid = ~np.isfinite(score)
    if invalid.any():
        row = int(invalid.argmax())
        why = "its class has no distribution" if np.isnan(score[row]) else "it has probability 0"
        raise ValueError(
            f"model {name!r}: {invalid.sum()} rows have no finite score; given all rows but row "
            f"{fitted.row_name(row)}, {why}. Such a model cannot be compared. Use more smoothing, "
            "or a proper prior."
        )


# Settings of the smoothing


@dataclass(frozen=True, eq=False, repr=False)
class SmoothingComparison(VerdictTable):
    """Settings of the smoothing, the best of them, and notes on the numbers.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each smoothing and estimate. `concentration`, of a symmetric Dirichlet prior.
        `log_evidence`, log p(X, y | prior). `elpd_loo` and `se`, the sum over rows of log p(y | x,
        all other rows) and its standard error. `elpd_diff` and `diff_se`, the difference to the
        best setting. `accuracy`, `brier` and `ece` of these leave-one-out predictions.
    best : dict, or None
        The row with the largest `elpd_loo`; None if no setting has one.
    verdict : str
        The comparison in words.
    notes : tuple of sentences
        Notes on the numbers.

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

    def plot(self, axes: Any = None) -> Array:
        """Plot the log scores, the evidence and the calibration against the smoothing.

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
        compare_smoothing : The plotted numbers.

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
        An estimator that is fitted to these rows, or not fitted.
    X : table of rows
        The training rows.
    y : array-like
        Their labels.
    smoothing : sequence of float
        Numbers, 0 or more. With smoothing l, counts n of K levels and their total N, (n + l) / (N +
        l K) is the probability of a level under "map", whose prior is Dirichlet(1 + l), and under
        "mean", whose prior is Dirichlet(l). This holds for `Categorical`, `Bernoulli` and
        `Multinomial` columns; a prior declared with an array keeps its proportions, and l is its
        mean. The prior of `Poisson` columns is worth l events, at the pooled rate. That of
        `Gaussian` columns has l times its `count`, `shape` and `scale`. 1 is the default prior of
        every family.
    estimates : sequence of {"map", "mean", "predictive", "mle"}, optional
        The estimates used for predictions, as in the parameter `estimate`. By default "map", "mean"
        and "predictive"; only "predictive" for a model with links between columns, because their
        tables have no other estimate. "mle" has no prior, so it has one row, with smoothing 0.
    sample_weight : array-like, optional
        Weights of the rows. Scores are scaled to the number of rows: a row of any weight is left
        out as a whole.
    progress : bool, optional
        Whether a progress bar on stderr counts the settings. By default on a terminal, after two
        seconds.

    Returns
    -------
    SmoothingComparison
        With `table`, `best`, `verdict`, `notes` and `plot()`.

    See Also
    --------
    tune : A search for the best priors.
    compare : Compare any models by leave-one-out.

    Notes
    -----
    The sufficient statistics are computed once: a setting changes only the prior, and a pass over
    the rows subtracts each in turn. The class prior, `temper_`, links between columns and
    everything else are those of the estimator. A prior whose scale is estimated from the data keeps
    the scale of all rows when a row is left out.

    The log evidence is that of all cells and labels, whereas the score is about labels only; they
    need not agree. An improper prior, as most are with smoothing 0, has no evidence: NaN. If a
    level occurs in a single row of its class, that row has probability 0 without smoothing, and the
    sum of log scores is minus infinity.

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
    best = None if at is None else table.to_dict("records")[at]
    return SmoothingComparison(
        table=table,
        verdict=judge_settings(table, at),
        notes=explain_settings(fitted, outcomes),
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
    possible = ESTIMATES if fitted.schema.columns_alone is fitted.schema else ("predictive",)
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


def judge_settings(table: Any, at: int | None) -> str:
    """Return the verdict: the best setting, at row `at`, the next, and how many are worse."""
    if at is None:
        return "No setting has a leave-one-out score for every row."
    best = table.iloc[at]
    others = table.drop(index=at)
    elpd = fixed(best.elpd_loo, 1)
    edge = _describe_edge(best.smoothing, table.smoothing)
    verdict = f"Best by leave-one-out log score: {_describe(best)} (elpd {elpd}){edge}."
    if others.empty:
        return verdict
    second = others.loc[others.elpd_diff.fillna(-np.inf).idxmax()]
    if np.isfinite([second.elpd_diff, second.diff_se]).all():
        gap = f"{fixed(-second.elpd_diff, 1)} ± {fixed(second.diff_se, 1)}"
        verdict = f"{verdict} Next: {_describe(second)} ({gap} worse)."
    worse = (others.elpd_diff < -2 * others.diff_se) | np.isneginf(others.elpd_diff)
    return (
        f"{verdict} Clearly worse, by more than two standard errors of the difference: "
        f"{worse.sum() or 'none'} of {len(others)} other{'s' * (len(others) > 1)}."
    )


def _describe(setting: Any) -> str:
    size = "" if setting.estimate == "mle" else f", smoothing {setting.smoothing:g}"
    return f"{setting.estimate}{size}"


def _describe_edge(smoothing: float, tried: Any) -> str:
    """Return that a smoothing is the largest or the smallest tried; empty if neither."""
    if smoothing == 0 or tried.nunique() == 1:
        return ""
    edges = {
        tried.max(): ", the largest tried: a larger one may be better",
        tried.min(): ", the smallest tried: a smaller one may be better",
    }
    return edges.get(smoothing, "")


def explain_settings(fitted: FittedRows, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Return the meaning of the smoothing, what is fixed, and why numbers are not defined."""
    families = [block.family for block in fitted.schema.blocks]
    notes = [kind.note for kind in ordered_hyperparameters(families) if kind.note]
    notes.append(FIXED)
    if (fitted.rows.counts % 1 > 0).any():
        notes.append(POWER_LIKELIHOOD)
    if any(np.isnan(outcome.log_evidence) for outcome in outcomes):
        notes.append(NO_EVIDENCE)
    settings: dict[str, list[str]] = {}
    for outcome in outcomes:
        if not np.isfinite(outcome.log_scores).all():
            smoothing, estimate = outcome.setting
            reason = _explain_scores(fitted, outcome)
            settings.setdefault(reason, []).append(f"{smoothing:g} ({estimate})")
    for reason, names in settings.items():
        notes.append(f"Under smoothing {list_names(names)}: {reason}.")
    return tuple(notes)


def _explain_scores(fitted: FittedRows, outcome: Outcome) -> str:
    """Return why rows have no finite score."""
    labels = fitted.estimator.classes_.tolist()
    if outcome.improper is not None:
        b, column, code = outcome.improper
        key = fitted.schema.blocks[b].keys[column]
        where = f"class {quote(labels[code])} determine no distribution of column {quote(key)}"
        return f"no row has a score, because the rows of {where}"
    rows = np.flatnonzero(~np.isfinite(outcome.log_scores))
    label = quote(labels[fitted.rows.codes[rows[0]]])
    first = f"first row {fitted.row_name(rows[0])} of class {label}"
    return f"{len(rows)} of {count(len(outcome.log_scores), 'row')} {IMPOSSIBLE}, {first}"
