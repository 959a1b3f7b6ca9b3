"""The sections of the page, one pure function each, one file each: facts in, HTML out."""

from collections.abc import Callable

from bayesnb.report.checked import checked
from bayesnb.report.confusion import confusion
from bayesnb.report.dependence import dependence
from bayesnb.report.doubt import doubt
from bayesnb.report.facts import Facts
from bayesnb.report.headline import headline
from bayesnb.report.learnt import learnt
from bayesnb.report.made import made
from bayesnb.report.modelled import modelled
from bayesnb.report.reliability import reliability
from bayesnb.report.rows import unsure
from bayesnb.report.scores import scores
from bayesnb.report.sensitivity import sensitivity
from bayesnb.report.smoothing import smoothing

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
