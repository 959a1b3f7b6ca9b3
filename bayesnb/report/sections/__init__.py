"""The sections of the page, one pure function each, one file each: facts in, HTML out."""

from collections.abc import Callable

from bayesnb.report.facts import Facts
from bayesnb.report.sections.checked import checked
from bayesnb.report.sections.confusion import confusion
from bayesnb.report.sections.dependence import dependence
from bayesnb.report.sections.doubt import doubt
from bayesnb.report.sections.headline import headline
from bayesnb.report.sections.learnt import learnt
from bayesnb.report.sections.made import made
from bayesnb.report.sections.modelled import modelled
from bayesnb.report.sections.reliability import reliability
from bayesnb.report.sections.rows import unsure
from bayesnb.report.sections.scores import scores
from bayesnb.report.sections.sensitivity import sensitivity
from bayesnb.report.sections.smoothing import smoothing

__all__ = ["SECTIONS", "headline"]

SECTIONS: tuple[tuple[str, str, Callable[[Facts], str]], ...] = (
    ("scores", "How good it is", scores),
    ("reliability", "Whether its probabilities can be trusted", reliability),
    ("confusion", "What it confuses", confusion),
    ("checks", "What to check", checked),
    ("modelled", "What was modelled", modelled),
    ("learnt", "What each column says", learnt),
    ("doubt", "Where its doubt comes from", doubt),
    ("rows", "Rows to look at", unsure),
    ("smoothing", "What smoothing does", smoothing),
    ("dependence", "Where independence fails", dependence),
    ("sensitivity", "What the priors decide", sensitivity),
    ("made", "How this page was made", made),
)
