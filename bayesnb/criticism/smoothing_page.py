"""What a notebook shows of a comparison of smoothings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
DIGITS = {
    "smoothing": "{:g}",
    "concentration": "{:g}",
    "scale": "{:g}",
    "log_evidence": "{:.2f}",
    "elpd_loo": "{:.2f}",
    "se": "{:.2f}",
    "elpd_diff": "{:.2f}",
    "diff_se": "{:.2f}",
    "accuracy": "{:.3f}",
    "brier": "{:.4f}",
    "ece": "{:.4f}",
}


def page(
    columns: Mapping[str, Sequence[Any]],
    worse: Sequence[bool],
    best: Mapping[str, Any] | None,
    verdict: str,
    notes: Sequence[str],
) -> str:
    """The verdict, the table and the notes."""
    from bayesnb.results.display import notebook

    top = None if best is None else (best["smoothing"], best["estimate"], best.get("scale"))
    scales = columns.get("scale", [None] * len(worse))
    marks = zip(columns["smoothing"], columns["estimate"], scales, strict=True)
    kinds = ["best" if mark == top else "worse" if bad else "" for mark, bad in zip(marks, worse, strict=True)]
    rows = zip(*columns.values(), strict=True)
    cells = [[shown(name, value) for name, value in zip(columns, row, strict=True)] for row in rows]
    settings = list(zip(kinds, cells, strict=True))
    return notebook("comparison.html", verdict=verdict, head=list(columns), settings=settings, remarks=notes)


def shown(name: str, value: Any) -> str:
    """A cell: a number with the digits of its column, a dash for none."""
    if isinstance(value, str):
        return value
    if np.isnan(value):
        return DASH
    return (DIGITS[name].format(value) if np.isfinite(value) else "-\N{INFINITY}").replace("-", MINUS)
