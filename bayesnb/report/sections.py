"""The sections of the page, one pure function each, one file each: facts in, HTML out."""

from collections.abc import Callable

from bayesnb.report.confusion import confusion
from bayesnb.report.doubt import doubt
from bayesnb.report.facts import Facts
from bayesnb.report.headline import headline
from bayesnb.report.learnt import learnt
from bayesnb.report.made import made
from bayesnb.report.modelled import modelled
from bayesnb.report.reliability import reliability
from bayesnb.report.rows import unsure
from bayesnb.report.scores import scores

__all__ = ["SECTIONS", "headline"]

SECTIONS: tuple[tuple[str, str, Callable[[Facts], str]], ...] = (
    ("modelled", "What was modelled", modelled),
    ("scores", "How good it is", scores),
    ("reliability", "Whether its probabilities can be trusted", reliability),
    ("confusion", "What it confuses", confusion),
    ("doubt", "Where its doubt comes from", doubt),
    ("rows", "Rows to look at", unsure),
    ("learnt", "What it learnt", learnt),
    ("made", "How this page was made", made),
)
