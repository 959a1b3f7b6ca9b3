"""What the assumptions decide: the smoothing, and that columns are independent."""

from typing import Any

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
SETTINGS = {
    "Log score": ("elpd_loo", show_evidence),
    "Log evidence": ("log_evidence", show_evidence),
    "Accuracy": ("accuracy", show_percent),
    "Brier": ("brier", show_loss),
    "Calibration error": ("ece", show_loss),
}
PANELS = ("log score", "evidence", "calibration error")


def smoothing(facts: Facts) -> Section:
    """Settings of the smoothing side by side: `compare_smoothing`."""
    title = "Effect of smoothing"
    result = facts.smoothing
    if isinstance(result, str):
        text = f"Settings of the priors cannot be compared here: {name(result, MAX_NOTE)}"
        return Section("smoothing", title, [text])
    # each in a figure of its own, so that they wrap on any screen
    axes = [plots.style.new_axes(2.9, 3.65) for _ in PANELS]
    result.plot(np.array(axes))
    pictures = []
    for ax, panel in zip(axes, PANELS, strict=True):
        pictures.append(draw(ax, f"The {panel} of each setting against the smoothing."))
    table = result.table
    columns = {
        "Smoothing": table["smoothing"].map("{:g}".format),
        "Estimate": table["estimate"],
        "Difference": table[["elpd_diff", "diff_se"]].values,
    }
    formats: dict[str, Any] = {"Difference": plus_minus}
    for heading, (key, show) in SETTINGS.items():
        columns[heading], formats[heading] = table[key], show
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
    title = "Dependence between columns"
    result = facts.dependence
    links = list_links(facts)
    _, what, *advice = find_dependence(facts)
    claim = Claim(f"{what[0].upper()}{what[1:].rstrip('.')}.", " ".join(advice))
    if isinstance(result, str):
        return Section("dependence", title, [*links, claim])
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
    frame = links.to_frame()[:MAX_LINKS]
    columns = {
        "Link": [ARROW.join(map(name_column, pair)) for pair in frame[["first", "second"]].values],
        "Log Bayes factor": frame["log_bayes_factor"],
        "Exponent": frame[["temper", "temper_sd"]].values,
    }
    about = "The strongest links between columns and their log Bayes factors."
    formats = {"Log Bayes factor": nats, "Exponent": show_exponent}
    return [
        "A link between two columns models how the cell of one depends on the cell of the other "
        f"within a class. This model has {count(links.sizes['link'], 'link')}; those that do not "
        "belong to its forest are pale, and add evidence about the class. The exponent is the "
        "weight of the evidence of a link.",
        Figures([draw(plots.plot_dependence(links.isel(link=slice(MAX_LINKS))), about)]),
        Table("The strongest links", columns, formats, "sortable"),
    ]
