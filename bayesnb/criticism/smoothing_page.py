"""A comparison of smoothings as HTML for notebooks: no scripts, nothing loaded, readable in light and dark."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

STYLE = (
    "<style scoped>"
    ".bayesnb-smoothing{max-width:60rem;line-height:1.45}"
    ".bayesnb-smoothing .wide{overflow-x:auto}"
    ".bayesnb-smoothing table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92em;margin:.6em 0}"
    ".bayesnb-smoothing :is(th,td){padding:.25em .45em;text-align:right;white-space:nowrap;color:inherit;"
    "background:none;border:0;border-bottom:1px solid rgba(128,128,128,.35)}"
    ".bayesnb-smoothing :is(th,td):nth-child(2){text-align:left}"
    ".bayesnb-smoothing tr.best :is(th,td){font-weight:700;background:rgba(0,114,178,.18)}"
    ".bayesnb-smoothing tr.worse td.diff{opacity:.65}"
    ".bayesnb-smoothing ul{padding-left:1.2em;font-size:.92em}"
    "</style>"
)
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
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    rows = zip(*columns.values(), strict=True)
    top = None if best is None else (best["smoothing"], best["estimate"], best.get("scale"))
    scales = columns.get("scale", [None] * len(worse))
    marks = zip(columns["smoothing"], columns["estimate"], scales, strict=True)
    body = "".join(
        f'<tr class="{"best" if mark == top else "worse" if bad else ""}">{_cells(columns, row)}</tr>'
        for row, mark, bad in zip(rows, marks, worse, strict=True)
    )
    told = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f'<div class="bayesnb-smoothing">{STYLE}<p><b>{escape(verdict)}</b></p><div class="wide"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div><ul>{told}</ul></div>"
    )


def _cells(columns: Mapping[str, Sequence[Any]], row: Sequence[Any]) -> str:
    return "".join(
        f'<td class="{"diff" if name == "elpd_diff" else ""}">{shown(name, value)}</td>'
        for name, value in zip(columns, row, strict=True)
    )


def shown(name: str, value: Any) -> str:
    """A cell: a number with the digits of its column, a dash for none."""
    if isinstance(value, str):
        return escape(value)
    if np.isnan(value):
        return DASH
    return (DIGITS[name].format(value) if np.isfinite(value) else "-\N{INFINITY}").replace("-", MINUS)
