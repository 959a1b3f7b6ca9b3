"""A run's results as Markdown tables, aligned so that a terminal shows them too."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from .records import Cost, Memory, Results, Scaling, Timing


def report(results: Results) -> str:
    """Where it was measured, all tables that have rows, and what missed its goal."""
    where = results.machine
    versions = ", ".join(f"{name} {number}" for name, number in where["versions"].items())
    instructions = where.get("instructions", "?")
    about = f"rows: {where['scale']}; {where['cores']} cores; {instructions}; {versions}"
    tables = (times, agreement, costs, scalings, starts)
    shown = [table(results) for table in tables]
    missed = "\n".join(["missed its goal:", *results.misses]) if results.misses else ""
    return "\n\n".join(part for part in (about, *shown, missed) if part)


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with columns of equal width; nothing if there are no rows."""
    if not rows:
        return ""
    lines = [head, *rows]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * width for width in widths]
    padded = []
    for line in (head, rule, *rows):
        cells = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        padded.append(f"| {' | '.join(cells)} |")
    return "\n".join(padded)


def group[R](records: Iterable[R], key: Callable[[R], Hashable]) -> Mapping[Any, list[R]]:
    """Return the records by key, in the order in which keys first occur."""
    groups: dict[Any, list[R]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def table_of(timing: Timing) -> tuple[str, str]:
    """Return a workload's name and its shape."""
    return f"{timing.workload}: {timing.about}", " x ".join(f"{side:,}" for side in timing.shape)


def times(results: Results) -> str:
    """A line for each workload: both sides' times, how many times faster, memory at the peak."""
    head = [
        "",
        "rows x columns",
        "`fit`, ms",
        "times faster, aim",
        "`predict_proba`, ms",
        "times faster, aim",
        "memory, MB",
    ]
    rows = []
    for names, of in group(results.timings, table_of).items():
        by = {timing.operation: timing for timing in of}
        fit = by.get("fit") or by.get("partial_fit")
        predict = by.get("predict")
        faster = faster_than(predict)
        if "plug-in" in by:
            faster += f" ({number(by['plug-in'].times)} plugged in)"
        memory = [peaks(m) for m in results.memory if m.workload == of[0].workload]
        cells = [milliseconds(fit), faster_than(fit), milliseconds(predict), faster]
        rows.append([*names, *cells, ", ".join(memory)])
    return grid(head, rows)


def milliseconds(timing: Timing | None) -> str:
    """Theirs → ours."""
    return "" if timing is None else f"{number(1e3 * timing.theirs)} → {number(1e3 * timing.ours)}"


def faster_than(timing: Timing | None) -> str:
    """How many times faster, and the aim."""
    if timing is None:
        return ""
    aim = "" if timing.target is None else f", {timing.target:g}"
    return f"**{number(timing.times)}**{aim}"


def peaks(record: Memory) -> str:
    return f"{megabytes(record.theirs)} → {megabytes(record.ours)}"


def agreement(results: Results) -> str:
    """How far our probabilities, plugged in as scikit-learn's, are from scikit-learn's."""
    head = ["same numbers", "rows", "largest difference", "tolerance"]
    rows = [
        [a.workload, f"{a.rows:,}", f"{a.difference:.1e}", f"{a.tolerance:.0e}"]
        for a in results.agreements
    ]
    return grid(head, rows)


def costs(results: Results) -> str:
    """A line for each workload: microseconds a row, and multiples of what it is compared with."""
    head = [
        "µs a row, observed / fixed",
        "`predict_proba`",
        '`"auto"`',
        "times, at most",
        "1,000 draws",
        "and quantiles",
        '`"exact"`',
        "times, at most",
        "`uncertainty`",
    ]
    rows = []
    for name, of in group(results.costs, lambda cost: f"{cost.workload}: {cost.about}").items():
        by = {cost.operation: cost for cost in of}
        seconds = {cost.against: cost.other for cost in of}
        seconds |= {operation: cost.seconds for operation, cost in by.items()}
        cells = [
            micros(seconds, "predict_proba"),
            *of_both(by, "auto"),
            micros(seconds, "draws"),
            micros(seconds, "draws, quantiles"),
            *of_both(by, "exact"),
            of_both(by, "uncertainty")[0],
        ]
        rows.append([name, *cells])
    return grid(head, rows)


def micros(seconds: Mapping[str, float], operation: str) -> str:
    return number(1e6 * seconds[operation]) if operation in seconds else ""


def of_both(by: Mapping[str, Cost], method: str) -> tuple[str, str]:
    """Of rows observed / fixed: microseconds, and the multiples of what they are compared with."""
    names = (f"{method}, {rows}" for rows in ("observed", "fixed"))
    of = [by[name] for name in names if name in by]
    taken = " / ".join(number(1e6 * cost.seconds) for cost in of)
    most = {cost.most for cost in of} - {None}
    times = " / ".join(f"**{number(cost.times)}**" for cost in of)
    return taken, f"{times}, {most.pop():g}" if most else ""


def scalings(results: Results) -> str:
    """A line for each way to learn, and number of threads or processes."""
    if not results.scalings:
        return ""
    sizes = [f"{rows:,} rows" for rows in results.scalings[0].rows]
    head = ["rows a second", "on", *sizes, "slope of time", "memory at the peak, MB", "at most"]
    rows = []
    for scaling in results.scalings:
        rates = [f"{rate:,.0f}" for rate in scaling.rates]
        memory = ", ".join(map(megabytes, scaling.bytes))
        most = "" if scaling.most is None else megabytes(scaling.most)
        rows.append([scaling.way, on(scaling), *rates, f"{scaling.slope:.2f}", memory, most])
    return grid(head, rows)


def on(scaling: Scaling) -> str:
    """So many threads or processes."""
    plural = {"thread": "threads", "process": "processes"}
    unit = scaling.unit if scaling.workers == 1 else plural[scaling.unit]
    return f"{scaling.workers} {unit}"


def starts(results: Results) -> str:
    """Processor seconds of new processes, and of their first calls."""
    calls = ["import", "name", "fit", "predict", "interval", "loo", "all"]
    head = ["new process, cpu s", "cache", "import bayesnb", "an estimator", *calls[2:], "stderr"]
    rows = []
    for start in results.starts:
        seconds = [f"{start.seconds[c]:.2f}" if c in start.seconds else "" for c in calls]
        rows.append([start.family, start.cache, *seconds, start.said])
    return grid(head, rows)


def number(value: float) -> str:
    """Some three digits, never an exponent."""
    for digits, bound in ((3, 1), (2, 10), (1, 100)):
        if value < bound:
            return f"{value:,.{digits}f}"
    return f"{value:,.0f}"


def megabytes(amount: int | None) -> str:
    return "n/a" if amount is None else f"{amount / 1e6:,.0f}"
