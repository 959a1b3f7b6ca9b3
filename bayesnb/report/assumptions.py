"""What the assumptions decide: the smoothing, and that columns are independent."""

import numpy as np

from bayesnb import plots
from bayesnb.formatting import count, fixed, nats, plus_minus
from bayesnb.model.linked import ARROW
from bayesnb.report.checks import find_dependence
from bayesnb.report.columns import show_evidence, show_exponent
from bayesnb.report.facts import MAX_PAIRED, Facts
from bayesnb.report.page import (
    Claim,
    Figures,
    Fold,
    Items,
    Section,
    Table,
    draw,
    name,
    name_column,
    show_loss,
    show_percent,
)

MAX_PAIRS = MAX_LINKS = 12
MAX_NOTE = 400  # letters
PANELS = ("log score", "evidence", "calibration error")


def smoothing(facts: Facts) -> Section:
    """Settings of the smoothing side by side: `compare_smoothing`."""
    title, result = "Effect of smoothing", facts.smoothing
    if isinstance(result, str):
        text = f"Settings of the priors cannot be compared here: {name(result, MAX_NOTE)}"
        return Section("smoothing", title, [text])
    axes = [plots.new_axes(2.9, 3.65) for _ in PANELS]  # apart, so that they wrap on any screen
    result.plot(np.array(axes))
    pictures = []
    for ax, panel in zip(axes, PANELS, strict=True):
        pictures.append(draw(ax, f"The {panel} of each setting against the smoothing."))
    table = result.table
    columns = {
        "Smoothing": table["smoothing"].map("{:g}".format).tolist(),
        "Estimate": table["estimate"].tolist(),
        "Log score": table["elpd_loo"].tolist(),
        "Difference": list(zip(table["elpd_diff"], table["diff_se"], strict=True)),
        "Log evidence": table["log_evidence"].tolist(),
        "Accuracy": table["accuracy"].tolist(),
        "Brier": table["brier"].tolist(),
        "Calibration error": table["ece"].tolist(),
    }
    formats = {
        "Log score": show_evidence,
        "Difference": plus_minus,
        "Log evidence": show_evidence,
        "Accuracy": show_percent,
        "Brier": show_loss,
        "Calibration error": show_loss,
    }
    settings = Table("Settings of the smoothing, held out", columns, formats, "sortable")
    elpd = fixed(float(facts.label_log_proba.sum()), 1)
    content = [
        "A level or word that a class has not shown yet is not impossible, only rare; smoothing "
        "sets how rare. A smoothing of l adds l to every count. That is the posterior mean under a "
        "Dirichlet(l) prior, or the mode (MAP) under Dirichlet(1 + l); predictive integrates over "
        "the posterior under Dirichlet(l) instead of plugging in an estimate. For numbers, l "
        "scales how many rows the default prior is worth. Every setting is scored on the same "
        "held-out rows, without a refit. The log score is the sum of the log probabilities of "
        "their labels: 0 is perfect.",
        Claim(result.verdict.replace("(elpd", "(log score"), f"This model has {elpd}."),
        Figures(pictures),
        Fold(f"All {count(len(table), 'setting')} in numbers", [settings]),
        Items([name(note, MAX_NOTE) for note in result.notes]),
    ]
    return Section("smoothing", title, content)


def dependence(facts: Facts) -> Section:
    """Links, and pairs of columns that depend on each other within the classes."""
    title, result = "Dependence between columns", facts.dependence
    links = list_links(facts)
    _, what, *advice = find_dependence(facts)
    claim = Claim(f"{what[0].upper()}{what[1:].rstrip('.')}.", " ".join(advice))
    if isinstance(result, str):
        return Section("dependence", title, [*links, "No pair was compared here:", claim])
    positive = [pair for pair in facts.pairs[:MAX_PAIRS] if pair[2] > 0]
    columns = {
        "Column": [name_column(first, 40) for first, *_ in positive],
        "and": [name_column(second, 40) for _, second, *_ in positive],
        "Log Bayes factor": [factor for *_, factor, _ in positive],
    }
    caption = "Pairs that depend on each other within the classes"
    about = "A map of all pairs of columns: the log Bayes factors of a dependence."
    content = [
        *links,
        "Naive Bayes assumes that the columns are independent given the class, except for links "
        "and blocks. For every pair, the log Bayes factor compares that with a joint distribution "
        "of the two columns: above 0, the data speak for a dependence within the classes. A wrong "
        "shape of a column's distribution makes large factors too. At most the "
        f"{MAX_PAIRED} most important columns are compared.",
        claim,
        Figures([draw(plots.plot_dependence(result), about)]),
        Table(caption, columns, {"Log Bayes factor": nats}, "sortable"),
    ]
    return Section("dependence", title, content)


def list_links(facts: Facts) -> list:
    """Return the links of a model: a picture and a table of the strongest, `model.links_`."""
    if facts.model.schema_.links is None:
        return []
    links = facts.model.links_
    order = np.argsort(-links["log_bayes_factor"].values, kind="stable")[:MAX_LINKS]
    shown = links.isel(link=order)
    firsts, seconds, factors, tempers, sds = (
        shown[key].values.tolist()
        for key in ("first", "second", "log_bayes_factor", "temper", "temper_sd")
    )
    ends = zip(firsts, seconds, strict=True)
    columns = {
        "Link": [ARROW.join(name_column(end, 40) for end in pair) for pair in ends],
        "Log Bayes factor": factors,
        "Exponent": list(zip(tempers, sds, strict=True)),
    }
    about = "The strongest links between columns and their log Bayes factors."
    formats = {"Log Bayes factor": nats, "Exponent": show_exponent}
    forest = int(links["in_forest"].sum())
    return [
        "A link between two columns models how the cell of one depends on the cell of the other "
        f"within a class. This model has {count(links.sizes['link'], 'link')}, {forest:,} of them "
        "in a forest; the others add evidence about the class. The exponent is the weight of the "
        "evidence of a link.",
        Figures([draw(plots.plot_dependence(shown), about)]),
        Table("The strongest links", columns, formats, "sortable"),
    ]
