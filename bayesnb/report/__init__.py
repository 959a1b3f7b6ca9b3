"""One HTML page about a fitted model: how good it is, what it learnt, where it is uncertain.

Most users need only `from bayesnb.report import report`. `facts` collects results of public
functions. A section is a function of the facts that returns a title, text, figures and tables. One
template renders all sections.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bayesnb.plots.style import off_screen
from bayesnb.report.checks import list_checks
from bayesnb.report.columns import contributions, dependence, modelled, overview, smoothing
from bayesnb.report.explorer import explore, try_rows
from bayesnb.report.facts import About, Facts, gather
from bayesnb.report.page import Page, Section, render_page, render_section
from bayesnb.report.performance import confusion, has_two_classes, reliability, scores, thresholds
from bayesnb.report.rows import rows_to_look_at, uncertainty
from bayesnb.report.verdict import card, headline, made
from bayesnb.results.datasets import ci_prob as checked_ci_prob
from bayesnb.stages import Stages

__all__ = ["About", "Facts", "Page", "explore", "gather", "render", "report", "section"]

SECTIONS: dict[str, Callable[[Facts], Section]] = {
    "headline": headline,
    "scores": scores,
    "reliability": reliability,
    "confusion": confusion,
    "checks": list_checks,
    "thresholds": thresholds,
    "modelled": modelled,
    "columns": overview,
    "learnt": contributions,
    "uncertainty": uncertainty,
    "explorer": try_rows,
    "rows": rows_to_look_at,
    "smoothing": smoothing,
    "dependence": dependence,
    "card": card,
    "made": made,
}
BRIEF = ("headline", "scores", "reliability", "confusion", "checks", "modelled", "made")
OPEN = ("scores", "reliability", "confusion", "checks")  # the others start closed


def report(
    model: Any,
    X: Any,
    y: Any,
    test: tuple[Any, Any] | None = None,
    *,
    about: About | None = None,
    brief: bool = False,
    progress: bool | None = None,
    title: str = "",
    author: str = "",
    use: str = "",
    ci_prob: float | None = None,
    positive: Any = None,
) -> Page:
    """Return a self-contained HTML page about an estimator and its training rows.

    Parameters
    ----------
    model : NaiveBayes or a preset
        An estimator. If it is not fitted, a copy is fitted on X and y.
    X : table of rows
        The training rows.
    y : sequence of labels
        Their labels.
    test : tuple or None, default=None
        A test table and its labels, which are scored as well.
    about : About or None, default=None
        What the model does not know, such as the name of the table.
    brief : bool, default=False
        Whether to include only the fast sections: scores, checks, the model.
    progress : bool or None, default=None
        Whether to show the progress on stderr. None: on a terminal, after two seconds.
    title : str, default=""
        Title of the page. Empty: "Predicting" and the name of the labels.
    author : str, default=""
        Who is responsible for the model.
    use : str, default=""
        The intended use, for the model card.
    ci_prob : float or None, default=None
        Probability of the intervals. None: 0.89, the default of ArviZ.
    positive : label or None, default=None
        The positive class of two, for the ROC curve, precision, recall and costs of errors. None:
        the rarer one.

    Returns
    -------
    Page
        The document, as text: ``page.save("report.html")`` writes it, and a notebook shows it.

    See Also
    --------
    bayesnb.calibration : Whether the probabilities can be trusted.
    bayesnb.plot_confusion : Draw the confusion matrix.

    Examples
    --------
    >>> from bayesnb import NaiveBayes
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> page = report(NaiveBayes(), table.drop(columns="breed"), table["breed"])
    >>> page[:15]
    '<!doctype html>'
    """
    if ci_prob is not None:
        checked_ci_prob(ci_prob)
    about = about or About(label=str(getattr(y, "name", None) or ""))
    given = {"title": title, "author": author, "use": use, "ci_prob": ci_prob, "positive": positive}
    about = replace(
        about, **{key: value for key, value in given.items() if value not in ("", None)}
    )
    with Stages(progress) as stages:
        return render(gather(model, X, y, test, about, stages), brief=brief, stages=stages)


def render(facts: Facts, *, brief: bool = False, stages: Stages | None = None) -> Page:
    """Render the page, completely or only its fast sections."""
    sections = []
    with off_screen(), stages or Stages() as stages:
        for anchor, write in SECTIONS.items():
            if brief and anchor not in BRIEF:
                continue
            if anchor == "thresholds" and not has_two_classes(facts):
                continue
            stages.begin(f"report: {anchor}")
            sections.append(write(facts))
    return render_page(facts.title, facts.about.author, sections, OPEN)


def section(anchor: str, facts: Facts) -> str:
    """Return one section as HTML, by its anchor."""
    with off_screen():
        return render_section(SECTIONS[anchor](facts))
