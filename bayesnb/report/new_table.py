"""A page about a new table: what `bayesnb.check` found."""

from typing import Any

from bayesnb.formatting import fixed, nats, percent
from bayesnb.plots.check_plot import plot_check
from bayesnb.plots.style import off_screen
from bayesnb.report.page import (
    Claim,
    Figures,
    Items,
    Page,
    Section,
    Table,
    draw,
    name,
    name_column,
    render_page,
    show_percent,
)

PICTURE = "The evidence that each column changed, and the shares of the classes, learnt and new."


def render_check(result: Any, source: str) -> Page:
    """Return the page about a `TableCheck` of the table of this name."""
    with off_screen():
        columns, _ = plot_check(result)
        picture = draw(columns, PICTURE)
    first, second = result.verdict.splitlines()
    sections = [
        Section("verdict", "Verdict", [Claim(first), second]),
        Section("picture", "Columns and classes", [Figures([picture])]),
        Section("columns", "Columns", [_list_columns(result.table)]),
        Section("classes", "Classes", [_list_classes(result.prevalence)]),
        Section("rows", "Unusual rows", [_list_rows(result.rows)]),
        Section("assumptions", "What the numbers assume", [Items(result.notes)]),
    ]
    is_open = [section.anchor for section in sections]
    return render_page(f"Has {source} changed?", "", sections, is_open, "Check of a new table")


def _list_columns(table: Any) -> Table:
    factors = {
        "log Bayes factor": "log_bayes_factor",
        "of missing cells": "missing_log_bayes_factor",
        "of unknown levels": "unseen_log_bayes_factor",
    }
    shares = {"missing": "missing", "when learnt": "missing_learnt", "unknown levels": "unseen"}
    columns: dict[str, Any] = {"column": [name_column(key) for key in table["feature"]]}
    columns["changed"] = ["changed" if changed else "" for changed in table["changed"]]
    columns |= {title: table[key].tolist() for title, key in (factors | shares).items()}
    formats = dict.fromkeys(factors, nats) | dict.fromkeys(shares, percent)
    return Table("Below 0 nats a column differs from the rows learnt", columns, formats)


def _list_classes(prevalence: Any) -> Table:
    columns = {
        "class": [name(label) for label in prevalence["class"]],
        "share of the new rows": prevalence[["share", "lower", "upper"]].to_numpy(),
        "when learnt": prevalence["learnt"].tolist(),
    }
    formats = dict.fromkeys(list(columns)[1:], show_percent)
    return Table("Shares of the classes, with intervals", columns, formats)


def _list_rows(rows: Any) -> Table:
    columns = {
        "row": [name(row) for row in rows["row"]],
        "log density": rows["log_density"].tolist(),
        "below the median": rows["below_median"].tolist(),
        "least usual column": [name_column(key) for key in rows["feature"]],
    }
    formats = dict.fromkeys(["log density", "below the median"], _show_nats)
    return Table("New rows with the lowest density under the model, in nats", columns, formats)


def _show_nats(value: float) -> str:
    return fixed(value, 1)
