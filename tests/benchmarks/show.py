"""A run's results as plain tables for a terminal."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from .records import SLOPE, Cost, Results, Scaling, Slope, Timing

Rows = Sequence[Sequence[str]]


def report(results: Results) -> str:
    """All tables that have rows, one below the other."""
    where = results.machine
    versions = ", ".join(f"{name} {number}" for name, number in where["versions"].items())
    tables = (times, agreement, memory, costs, slopes, starts, qualities, scalings)
    about = f"rows: {where['scale']}; {where['cores']} cores; {where.get('instructions', '?')}; {versions}"
    return "\n\n".join([about, *filter(None, (table(results) for table in tables))])


def times(results: Results) -> str:
    """Both sides' time of every workload and operation."""
    header = (
        "workload",
        "operation",
        "scikit-learn ms",
        "ours ms",
        "times faster",
        "range",
        "target",
        "ok",
        "table",
        "rows x columns",
    )
    rows = [
        (
            t.workload,
            t.operation,
            number(1e3 * t.theirs),
            number(1e3 * t.ours),
            number(t.times),
            f"{number(t.spread[0])}..{number(t.spread[1])}",
            goal(t),
            mark(t.ok),
            t.about,
            shape(t),
        )
        for t in results.timings
    ]
    return aligned(header, rows, left=(0, 1, 7, 8))


def agreement(results: Results) -> str:
    """How far our probabilities, plugged in as scikit-learn's, are from scikit-learn's."""
    header = ("same numbers", "rows", "largest difference", "tolerance", "ok")
    rows = [
        (a.workload, f"{a.rows:,}", f"{a.difference:.1e}", f"{a.tolerance:.0e}", mark(a.ok))
        for a in results.agreements
    ]
    return aligned(header, rows, left=(0, 4))


def memory(results: Results) -> str:
    """Extra memory at the peak."""
    header = ("extra memory, MB", "operation", "table", "scikit-learn", "ours", "allowed", "ok")
    rows = [
        (
            m.workload,
            m.operation,
            *map(megabytes, (m.table, m.theirs, m.ours, m.allowed)),
            mark(m.ok),
        )
        for m in results.memory
    ]
    return aligned(header, rows, left=(0, 1, 6))


def costs(results: Results) -> str:
    """What it takes to know how sure a prediction is, beside something else of ours."""
    header = (
        "microseconds a row",
        "operation",
        "",
        "against",
        "",
        "times",
        "range",
        "most",
        "ok",
        "table",
        "shape",
    )
    rows = [
        (
            c.workload,
            c.operation,
            number(1e6 * c.seconds),
            c.against,
            number(1e6 * c.other),
            number(c.times),
            f"{number(c.spread[0])}..{number(c.spread[1])}",
            "-" if c.most is None else f"{c.most:g}",
            mark(c.ok),
            c.about,
            shape(c),
        )
        for c in results.costs
    ]
    return aligned(header, rows, left=(0, 1, 3, 8, 9))


def slopes(results: Results) -> str:
    """One line for each family and operation."""
    header = (f"slope, at most {SLOPE}", "operation", "rows", "features", "classes", "ok")
    rows = [
        (*key, *(f"{s.slope:.2f}" for s in line), mark(all(s.ok for s in line)))
        for key, line in lines_of(results.slopes)
    ]
    return aligned(header, rows, left=(0, 1, 5))


def lines_of(records: list[Slope]) -> Iterator[tuple[tuple[str, str], list[Slope]]]:
    """The slopes along all axes, for each family and operation."""

    def key(slope: Slope) -> tuple[str, str]:
        return slope.family, slope.operation

    return ((which, list(line)) for which, line in groupby(sorted(records, key=key), key))


def starts(results: Results) -> str:
    """Processor seconds of new processes, and of their first calls."""
    calls = ("import", "name", "fit", "predict", "interval", "loo", "all")
    header = ("new process, cpu s", "cache", "import bayesnb", "an estimator", *calls[2:], "ok", "")
    rows = [
        (
            s.family,
            s.cache,
            *(f"{s.seconds[c]:.2f}" if c in s.seconds else "-" for c in calls),
            mark(s.ok),
            s.said,
        )
        for s in results.starts
    ]
    return aligned(header, rows, left=(0, 1, 9, 10))


def qualities(results: Results) -> str:
    """What the probabilities are worth."""
    header = (
        "on rows not learnt",
        "method",
        "learnt",
        "log loss",
        "worst 1 %",
        "impossible",
        "brier",
        "ece",
        "accuracy",
        "ok",
    )
    rows = [
        (
            q.about,
            q.method,
            f"{q.rows:,}",
            *map(number, (q.log_loss, q.worst, q.impossible, q.brier, q.ece, q.accuracy)),
            mark(q.ok),
        )
        for q in results.qualities
    ]
    return aligned(header, rows, left=(0, 1, 9))


def scalings(results: Results) -> str:
    """How time and memory grow with rows, in every way to learn them; a line for each number of rows."""
    header = (
        "learning",
        "on",
        "rows",
        "seconds",
        "rows/s",
        "MB at the peak",
        f"slope, at most {SLOPE}",
        "ok",
    )
    rows = [
        (
            s.way,
            on(s),
            f"{n:,}",
            number(took),
            f"{rate:,.0f}",
            megabytes(peak),
            f"{s.slope:.2f}",
            mark(s.ok),
        )
        for s in results.scalings
        for n, took, rate, peak in zip(s.rows, s.seconds, s.rates, s.bytes, strict=True)
    ]
    return aligned(header, rows, left=(0, 1, 7))


def on(record: Scaling) -> str:
    """So many threads or processes."""
    return f"{record.workers} {record.unit}{'' if record.workers == 1 else 'es' if record.unit[-1] == 's' else 's'}"


def aligned(header: Sequence[str], rows: Rows, left: Sequence[int]) -> str:
    """Columns of equal width, to the right but for those named; nothing if there are no rows."""
    if not rows:
        return ""
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rule = ["-" * width for width in widths]
    lines = (
        [f"{cell:{'<' if j in left else '>'}{widths[j]}}" for j, cell in enumerate(row)]
        for row in table
    )
    top, *rest = ("  ".join(line).rstrip() for line in lines)
    return "\n".join((top, "  ".join(rule), *rest))


def number(value: float) -> str:
    """Some three digits, never an exponent."""
    digits = next((digits for bound, digits in ((1, 3), (10, 2), (100, 1)) if value < bound), 0)
    return f"{value:,.{digits}f}"


def shape(record: Timing | Cost) -> str:
    return " x ".join(f"{side:,}" for side in record.shape)


def goal(timing: Timing) -> str:
    if timing.limit is not None:
        return f"{1e6 * timing.limit:.0f} µs"
    return "-" if timing.target is None else f"{timing.target:g}"


def megabytes(amount: int | None) -> str:
    return "n/a" if amount is None else f"{amount / 1e6:,.0f}"


def mark(ok: bool | None) -> str:
    return {True: "yes", False: "NO", None: "-"}[ok]
