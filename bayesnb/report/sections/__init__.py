"""The sections of the page: functions from facts to the numbers and sentences that a template lays out."""

from collections.abc import Callable
from typing import Any

from bayesnb.families.number_format import NOTHING, fixed
from bayesnb.report.facts import Facts
from bayesnb.report.sections.assumptions import dependence, sensitivity, smoothing
from bayesnb.report.sections.checks import checks
from bayesnb.report.sections.learnt_columns import learnt
from bayesnb.report.sections.modelled import made, modelled
from bayesnb.report.sections.performance import confusion, reliability, scores
from bayesnb.report.sections.shown_rows import unsure
from bayesnb.report.sections.uncertainty_parts import uncertainty
from bayesnb.report.sections.verdict_parts import headline
from bayesnb.report.wording import as_name, count, in_percent, percent
from bayesnb.results import display

Values = dict[str, Any]
SECTIONS: tuple[tuple[str, str, Callable[[Facts], Values]], ...] = (
    ("scores", "How good it is", scores),
    ("reliability", "Whether its probabilities can be trusted", reliability),
    ("confusion", "What it confuses", confusion),
    ("checks", "What to check", checks),
    ("modelled", "What was modelled", modelled),
    ("learnt", "What each column says", learnt),
    ("uncertainty", "Where the uncertainty comes from", uncertainty),
    ("rows", "Rows to look at", unsure),
    ("smoothing", "What smoothing does", smoothing),
    ("dependence", "Where independence fails", dependence),
    ("sensitivity", "What the priors decide", sensitivity),
    ("made", "How this page was made", made),
)
BRIEF = ("scores", "reliability", "confusion", "checks", "modelled", "made")  # what takes little time on any table
display.environment().filters["short"] = as_name
WRITERS = {name: write for name, _, write in SECTIONS} | {"headline": headline}


def section(name: str, facts: Facts) -> str:
    """One section, by its anchor, or the headline: what its template makes of the facts."""
    values = {"facts": facts, "count": count, "percent": percent, "fixed": fixed, "interval": in_percent(facts.prob)}
    return str(display.render(f"{name}.html", nothing=NOTHING, **values, **WRITERS[name](facts)))
