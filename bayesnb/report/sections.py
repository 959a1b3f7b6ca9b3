"""The sections of the page, one pure function each, one file each: facts in, HTML out."""

from collections.abc import Callable

from bayesnb.report.facts import Facts
from bayesnb.report.headline import headline
from bayesnb.report.learnt import learnt
from bayesnb.report.made import made
from bayesnb.report.modelled import modelled
from bayesnb.report.rows import unsure
from bayesnb.report.scores import scores

__all__ = ["SECTIONS", "headline"]

SECTIONS: tuple[tuple[str, str, Callable[[Facts], str]], ...] = (
    ("modelled", "What was modelled", modelled),
    ("scores", "How good it is", scores),
    ("learnt", "What it learnt", learnt),
    ("rows", "Where it is unsure", unsure),
    ("made", "How this page was made", made),
)
