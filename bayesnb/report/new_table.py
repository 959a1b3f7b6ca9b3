"""A page about a new table: what `bayesnb.check` found."""

from typing import Any

from bayesnb.criticism.check import REASONS
from bayesnb.formatting import nats, number, percent
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
)

PICTURE = "Evidence that each column changed, and shares of the classes in training and new rows."
COLUMNS = "Below 0 nats, a column differs from the training rows"
CLASSES = "Shares of the classes in the new rows, with intervals, and in the training rows"
ROWS = "New rows with the lowest density under the model, in nats"
TEXTS: dict[str, Any] = {
    "feature": name_column,
    "changed": {True: "changed", False: ""}.get,
    "class": name,
    "row": name,
}
NUMBERS = {
    "unseen_levels": number,
    "log_density": nats,
    "below_median": nats,
    **dict.fromkeys(REASONS, nats),
}


def render_check(result: Any, source: str) -> Page:
    """Return the page about a `TableCheck` of the table `source`."""
    with off_screen():
        picture = draw(plot_check(result)[0], PICTURE)
    first, second = result.verdict.splitlines()
    sections = [
        Section("verdict", "Verdict", [Claim(first), second]),
        Section("picture", "Columns and classes", [Figures([picture])]),
        Section("columns", "Columns", [show_frame(COLUMNS, result.table)]),
        Section("classes", "Classes", [show_frame(CLASSES, result.prevalence)]),
        Section("rows", "Unusual rows", [show_frame(ROWS, result.rows)]),
        Section("assumptions", "Assumptions", [Items(result.notes)]),
    ]
    anchors = [section.anchor for section in sections]
    return render_page(f"Has {source} changed?", "", sections, anchors, "Check of a new table")


def show_frame(caption: str, frame: Any) -> Table:
    """Return a frame as a table of names, nats and shares."""
    columns = {}
    formats = {}
    for key, values in frame.items():
        title = key.replace("_", " ")
        columns[title] = [TEXTS[key](x) for x in values] if key in TEXTS else values.tolist()
        formats[title] = NUMBERS.get(key, percent)
    return Table(caption, columns, formats)
