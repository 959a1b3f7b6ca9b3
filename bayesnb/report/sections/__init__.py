"""The sections of the page: functions from facts to the numbers and sentences that a template lays out."""

from collections.abc import Callable
from typing import Any

from bayesnb.formatting import NOTHING, count, fixed, percent
from bayesnb.report import html
from bayesnb.report.facts import Facts
from bayesnb.report.sections.assumptions import dependence, sensitivity, smoothing
from bayesnb.report.sections.checks import checks
from bayesnb.report.sections.column_overview import overview
from bayesnb.report.sections.learnt_columns import learnt
from bayesnb.report.sections.model_card import card
from bayesnb.report.sections.modelled import made, modelled
from bayesnb.report.sections.performance import confusion, reliability, scores
from bayesnb.report.sections.shown_rows import unsure
from bayesnb.report.sections.thresholds import has_two_classes, thresholds
from bayesnb.report.sections.uncertainty_parts import uncertainty
from bayesnb.report.sections.verdict_parts import headline
from bayesnb.report.wording import as_name, in_percent

Values = dict[str, Any]
SECTIONS: tuple[tuple[str, str, Callable[[Facts], Values]], ...] = (
    ("scores", "How good are the predictions?", scores),
    ("reliability", "Can the probabilities be trusted?", reliability),
    ("confusion", "Confusion matrix", confusion),
    ("checks", "Warnings and checks", checks),
    ("thresholds", "ROC, precision-recall and threshold", thresholds),
    ("modelled", "Model and priors", modelled),
    ("columns", "Column overview", overview),
    ("learnt", "What does each column contribute?", learnt),
    ("uncertainty", "Where does the uncertainty come from?", uncertainty),
    ("rows", "Rows to look at", unsure),
    ("smoothing", "Effect of smoothing", smoothing),
    ("dependence", "Dependence between columns", dependence),
    ("sensitivity", "Sensitivity to priors", sensitivity),
    ("card", "Model card", card),
    ("made", "How this page was made", made),
)
BRIEF = ("scores", "reliability", "confusion", "checks", "modelled", "made")  # what takes little time on any table
OPEN = ("scores", "reliability", "confusion", "checks")  # the others start closed
FOLDED = tuple(name for name, *_ in SECTIONS if name not in OPEN)
html.environment().filters["short"] = as_name
WRITERS = {name: write for name, _, write in SECTIONS} | {"headline": headline}


def sections_of(facts: Facts, brief: bool = False) -> list[tuple[str, str]]:
    """Anchors and titles of the sections of a page; thresholds are a matter of two classes."""
    left_out = () if has_two_classes(facts) else ("thresholds",)
    return [(name, title) for name, title, _ in SECTIONS if name not in left_out and (name in BRIEF or not brief)]


def section(name: str, facts: Facts) -> str:
    """One section, by its anchor, or the headline: what its template makes of the facts."""
    values = {"facts": facts, "count": count, "percent": percent, "fixed": fixed, "interval": in_percent(facts.prob)}
    return str(html.render(f"{name}.html", nothing=NOTHING, **values, **WRITERS[name](facts)))
