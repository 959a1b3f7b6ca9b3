"""The contest's summary: log loss relative to tuned logistic regression, as text, Markdown tables and one picture.

A table's figure is its mean log loss over splits, divided by that of logistic regression whose
penalty was chosen by cross-validation. Over tables: the geometric mean and the median, and on how
many tables it is below 1 and above. Beside it stand the means over tables of the Brier score and of
its root (RMSE). The tables that no constant was chosen on (FRESH) are shown by themselves.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from .contest import REGIMES, ContestResults
from .contest_methods import BASE, MAIN, OURS, title
from .contest_tables import FRESH, KNOWN
from .data import Array
from .picture import INK, PALE, STYLE
from .tables import grid

COLOURS = {"full": "#0072B2", "20 a class": "#D55E00", "5 a class": "#009E73"}  # Okabe and Ito's
MARKERS = {"full": "o", "20 a class": "D", "5 a class": "s"}
LIFT = {"full": -0.22, "20 a class": 0.0, "5 a class": 0.22}
SETS = {
    "Tables that were looked at while constants were chosen:": KNOWN,
    "Fresh tables, on which no constant was chosen, but for letter and diamonds:": FRESH,
}
TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 8, 12, 20, 40)


@dataclass(frozen=True)
class Relative:
    """A method's log loss relative to another's, over the tables that both have."""

    mean: float  # geometric
    se: float  # of the log of the mean, over tables
    median: float
    wins: int
    losses: int
    tables: int


def relative(results: ContestResults, method: str, regime: str, base: str = BASE) -> Relative:
    """Compare two methods' log losses in a regime, on the tables and splits that both have."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for (name, of_regime, table, split), record in results.records.items():
        theirs = results.records.get((base, regime, table, split))
        if (name, of_regime) == (method, regime) and theirs is not None:
            pairs.setdefault(table, []).append((record.log_loss, theirs.log_loss))
    ratios = np.array([np.log(np.divide(*np.mean(of, axis=0))) for of in pairs.values()])
    if not len(ratios):
        nothing = float("nan")
        return Relative(nothing, nothing, nothing, 0, 0, 0)
    spread = float(ratios.std(ddof=1)) if len(ratios) > 1 else float("nan")
    return Relative(
        float(np.exp(ratios.mean())),
        spread / float(np.sqrt(len(ratios))),
        float(np.exp(np.median(ratios))),
        int((ratios < 0).sum()),
        int((ratios > 0).sum()),
        len(ratios),
    )


def average(results: ContestResults, method: str, regime: str, measure: str) -> float:
    """Mean of a measure over tables; of those that have it."""
    values = np.array(list(results.of_tables(method, regime, measure).values()))
    return float(values[~np.isnan(values)].mean()) if (~np.isnan(values)).any() else float("nan")


def mean_root_brier(results: ContestResults, method: str, regime: str) -> float:
    """Mean over tables of the root of the Brier score: the root mean square of a row's error.

    A row's error is the distance of its probabilities from its label's zeros and one.
    """
    briers = np.array(list(results.of_tables(method, regime, "brier").values()))
    return float(np.sqrt(briers).mean()) if len(briers) else float("nan")


def measured(results: ContestResults) -> list[str]:
    """Regimes that have results."""
    present = {regime for _, regime, _, _ in results.records}
    return [regime for regime in REGIMES if regime in present]


def ordered(results: ContestResults) -> list[str]:
    """Methods from the best to the worst in all measured regimes together."""
    regimes = measured(results)
    total = {
        name: sum(np.log(relative(results, name, regime).mean) for regime in regimes)
        for name in results.methods
    }
    return sorted(results.methods, key=lambda name: (np.isnan(total[name]), total[name]))


def summary(results: ContestResults) -> str:
    """A line for each method: relative log loss by regime, Brier score and its root."""
    regimes = measured(results)
    head = [
        "log loss relative to tuned logistic regression",
        *(f"{regime}: mean, median, won-lost" for regime in regimes),
        "full: Brier",
        "full: RMSE",
    ]
    rows = []
    for method in ordered(results):
        cells = [against(relative(results, method, regime)) for regime in regimes]
        brier = average(results, method, "full", "brier")
        root = mean_root_brier(results, method, "full")
        rows.append([emphasis(method), *cells, f"{brier:.3f}", f"{root:.3f}"])
    return grid(head, rows)


def against(of: Relative) -> str:
    """Geometric mean and its standard error over tables, median, and tables won and lost."""
    return f"{of.mean:.2f} ± {of.mean * of.se:.2f}, {of.median:.2f}, {of.wins}-{of.losses}"


def emphasis(method: str) -> str:
    """Our methods in bold."""
    return f"**{title(method)}**" if method in OURS else title(method)


def qualities(results: ContestResults) -> str:
    """A line for each method, learnt from two thirds.

    Means over tables of what log loss does not show.
    """
    head = [
        "two thirds learnt, mean over tables",
        "log loss",
        "Brier",
        "RMSE",
        "accuracy",
        "ece",
        "over 99 %",
        "of these right",
        "seconds",
    ]
    rows = []
    for method in ordered(results):
        loss, brier, accuracy, ece, sure, right, seconds = (
            average(results, method, "full", measure)
            for measure in ("log_loss", "brier", "accuracy", "ece", "sure", "sure_right", "seconds")
        )
        cells = [
            f"{loss:.3f}",
            f"{brier:.3f}",
            f"{mean_root_brier(results, method, 'full'):.3f}",
            f"{accuracy:.3f}",
            f"{ece:.3f}",
            f"{100 * sure:.0f} %",
            f"{100 * right:.1f} %",
        ]
        rows.append([emphasis(method), *cells, f"{seconds:.2g}"])
    return grid(head, rows)


def duels(results: ContestResults) -> str:
    """A line for each rival: tables on which ours as it comes has the smaller log loss, and the greater."""
    regimes = measured(results)
    rows = []
    for method in ordered(results):
        if method not in OURS and MAIN in results.methods:
            pairs = (relative(results, MAIN, regime, method) for regime in regimes)
            rows.append([title(method), *(f"{of.mean:.2f}, {of.wins}-{of.losses}" for of in pairs)])
    return grid(
        [f"{title(MAIN)} against", *(f"{regime}: mean ratio, won-lost" for regime in regimes)], rows
    )


def by_table(results: ContestResults, regime: str = "full") -> str:
    """A line for each table: every method's log loss, the least in bold."""
    methods = ordered(results)
    losses = {method: results.of_tables(method, regime) for method in methods}
    rows = []
    for table in sorted({table for of in losses.values() for table in of}):
        line = {method: losses[method].get(table, float("nan")) for method in methods}
        least = min(value for value in line.values() if not np.isnan(value))
        rows.append([table, *(shown(value, least) for value in line.values())])
    return grid([f"log loss, {learnt(regime)}", *map(title, methods)], rows)


def shown(value: float, least: float) -> str:
    if np.isnan(value):
        return ""
    return f"**{value:.3f}**" if value == least else f"{value:.3f}"


def report(results: ContestResults) -> str:
    """All tables, one below the other; those of FRESH by themselves."""
    parts = []
    for heading, tables in SETS.items():
        these = results.of_these(tables)
        if these.records:
            parts.append(heading)
            parts += [part(these) for part in (summary, duels, qualities, by_table)]
    return "\n\n".join(parts)


def draw(results: ContestResults, path: str | Path) -> None:
    """A line for each method, a point and its standard error for each regime, over KNOWN."""
    results = results.of_these(KNOWN)
    methods = [method for method in ordered(results) if method != BASE]
    with rc_context(STYLE):
        figure = Figure(figsize=(8.6, 1.3 + 0.42 * len(methods)), layout="constrained")
        ax = figure.subplots()
        for y, method in enumerate(methods):
            for regime in measured(results):
                point(ax, y + LIFT[regime], relative(results, method, regime), regime)
        dress(ax, methods)
        figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def point(ax: Axes, y: float, of: Relative, regime: str) -> None:
    """A geometric mean, and one standard error to either side."""
    ends = of.mean * np.exp(np.array([-1.0, 1.0]) * of.se)
    ax.plot(
        ends,
        [y, y],
        color=COLOURS[regime],
        linewidth=3,
        alpha=0.35,
        solid_capstyle="butt",
        zorder=1,
    )
    ax.plot(of.mean, y, MARKERS[regime], color=COLOURS[regime], markersize=5, zorder=3)


def dress(ax: Axes, methods: list[str]) -> None:
    """Axes, names and the legend."""
    ax.set_xscale("log")
    ax.set_yticks(range(len(methods)), [title(method) for method in methods])
    for label, method in zip(ax.get_yticklabels(), methods, strict=True):
        label.set_fontweight("bold" if method in OURS else "normal")
    ax.set_ylim(len(methods) - 0.4, -0.6)
    low, high = ax.get_xlim()
    ax.set_xticks(inside(np.array(TICKS), low, high))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("log loss relative to tuned logistic regression (left is better)")
    ax.axvline(1, color=INK, linewidth=0.8)
    ax.grid(axis="x", color=PALE, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(length=0)
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
    points = [
        Line2D([], [], color=COLOURS[r], marker=MARKERS[r], linestyle="", label=learnt(r))
        for r in REGIMES
    ]
    ax.legend(handles=points, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)


def inside(ticks: Array, low: float, high: float) -> Array:
    return ticks[(ticks >= low) & (ticks <= high)]


def learnt(regime: str) -> str:
    """A regime in words."""
    each = REGIMES[regime]
    return "two thirds learnt" if each is None else f"{each} rows a class"
