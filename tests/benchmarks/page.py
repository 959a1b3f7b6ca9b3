"""A run's results as Markdown tables for a page."""

from collections.abc import Mapping
from itertools import groupby

from .records import Cost, Memory, Quality, Results, Timing
from .refits import AGAINST, SETTINGS
from .show import megabytes, number, on, shape


def markdown(results: Results) -> str:
    """The tables that have rows, one below the other."""
    tables = (contests, sureness, trust, settings, scalings)
    return "\n\n".join(filter(None, (table(results) for table in tables)))


def contests(results: Results) -> str:
    """A line for each workload: both sides' times, how many times faster, memory at the peak."""
    head = (
        "| | rows x columns | `fit`, ms | times faster, aim | `predict_proba`, ms | times faster, aim | memory, MB |",
        "|---|---|---|---|---|---|---|",
    )
    lines = []
    others = [timing for timing in results.timings if timing.against != AGAINST]
    for (name, about, sides), of in groupby(others, lambda t: (t.workload, t.about, shape(t))):
        by = {timing.operation: timing for timing in of}
        fit, predict, plugged = (
            by.get("fit") or by.get("partial_fit"),
            by.get("predict"),
            by.get("plug-in"),
        )
        faster = cell(predict)[1] + (f" ({number(plugged.times)} plugged in)" if plugged else "")
        peaks = ", ".join(pair(m) for m in results.memory if m.workload == name)
        lines.append(
            f"| {name}: {about} | {sides} | {' | '.join(cell(fit))} | {cell(predict)[0]} | {faster} | {peaks} |"
        )
    return "\n".join((*head, *lines)) if lines else ""


def cell(timing: Timing | None) -> tuple[str, str]:
    """Milliseconds, theirs → ours, and how many times faster."""
    if timing is None:
        return "", ""
    aim = "" if timing.target is None else f", {timing.target:g}"
    return (
        f"{number(1e3 * timing.theirs)} → {number(1e3 * timing.ours)}",
        f"**{number(timing.times)}**{aim}",
    )


def pair(record: Memory) -> str:
    return f"{megabytes(record.theirs)} → {megabytes(record.ours)}"


def sureness(results: Results) -> str:
    """A line for each workload: microseconds a row, and how many times as long as what it is compared with."""
    head = (
        '| µs a row, observed / fixed | `predict_proba` | `"auto"` | times, at most '
        '| 1,000 draws | and quantiles | `"exact"` | times, at most | `uncertainty` |',
        "|---|---|---|---|---|---|---|---|---|",
    )
    lines = []
    for (name, about), of in groupby(results.costs, lambda cost: (cost.workload, cost.about)):
        by = {cost.operation: cost for cost in of}
        seconds = {cost.against: cost.other for cost in by.values()} | {
            each: by[each].seconds for each in by
        }
        cells = (
            micros(seconds, "predict_proba"),
            *both(by, "auto"),
            micros(seconds, "draws"),
            micros(seconds, "draws, quantiles"),
            *both(by, "exact"),
            both(by, "uncertainty")[0],
        )
        lines.append(f"| {name}: {about} | {' | '.join(cells)} |")
    return "\n".join((*head, *lines)) if lines else ""


def micros(seconds: Mapping[str, float], operation: str) -> str:
    return number(1e6 * seconds[operation]) if operation in seconds else ""


def both(by: Mapping[str, Cost], method: str) -> tuple[str, str]:
    """Of rows observed / fixed: microseconds, and how many times as long as something that they are to stay below."""
    of = [by[name] for rows in ("observed", "fixed") if (name := f"{method}, {rows}") in by]
    most = {cost.most for cost in of} - {None}
    times = " / ".join(f"**{number(cost.times)}**" for cost in of)
    return " / ".join(
        number(1e6 * cost.seconds) for cost in of
    ), f"{times}, {most.pop():g}" if most else ""


def settings(results: Results) -> str:
    """A line for each table: seconds that one setting of the smoothing takes to judge, and all of them."""
    head = (
        f"| | rows x columns | {AGAINST}, one setting, s | ours, one of {len(SETTINGS)}, s | times faster "
        "| all, s, at most |",
        "|---|---|---|---|---|---|",
    )
    lines = []
    judged = [timing for timing in results.timings if timing.against == AGAINST]
    for (name, about, sides), of in groupby(judged, lambda t: (t.workload, t.about, shape(t))):
        one, every = of
        limit = "" if every.limit is None else f", {every.limit:g}"
        seconds = f"{number(one.theirs)} | {number(one.ours)} | **{number(one.times)}**"
        lines.append(f"| {name}: {about} | {sides} | {seconds} | {number(every.ours)}{limit} |")
    return "\n".join((*head, *lines)) if lines else ""


def trust(results: Results) -> str:
    """A line for each table and number of rows learnt: the log loss of every method, the least in bold."""
    head = (
        '| test log loss | rows learnt | scikit-learn | + sigmoid | + isotonic | `GaussianNB()` | `temper="loo"` |',
        "|---|---|---|---|---|---|---|",
    )
    lines = []
    for (name, about, rows), of in groupby(
        results.qualities, lambda own: (own.workload, own.about, own.rows)
    ):
        each = list(of)
        least = min(own.log_loss for own in each)
        lines.append(
            f"| {name}: {about} | {rows:,} | {' | '.join(loss(own, least) for own in each)} |"
        )
    return "\n".join((*head, *lines)) if lines else ""


def scalings(results: Results) -> str:
    """A line for each way to learn, and number of threads or processes: rows a second, their slope, memory."""
    if not results.scalings:
        return ""
    sizes = [f"{rows:,} rows" for rows in results.scalings[0].rows]
    head = ("rows a second", "on", *sizes, "slope of time", "memory at the peak, MB", "at most")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for own in results.scalings:
        rates = (f"{rate:,.0f}" for rate in own.rates)
        most = "" if own.most is None else megabytes(own.most)
        cells = (
            own.way,
            on(own),
            *rates,
            f"{own.slope:.2f}",
            ", ".join(map(megabytes, own.bytes)),
            most,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def loss(own: Quality, least: float) -> str:
    """Log loss to three digits, the least in bold, and how many rows had a label of probability 0."""
    shown = number(float(f"{own.log_loss:.3g}"))
    shown = f"**{shown}**" if own.log_loss == least else shown
    return f"{shown} ({100 * own.impossible:.2g} % at 0)" if own.impossible else shown
