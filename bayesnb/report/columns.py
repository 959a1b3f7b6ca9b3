"""The model, the contributions of the columns, and the effect of smoothing and dependence."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.formatting import SPACE, count, fixed, list_names, nats, number, percent, plus_minus
from bayesnb.model.linked import ARROW
from bayesnb.plots.column_data import read_column
from bayesnb.plots.shape_plot import Shape, read_shape
from bayesnb.report.checks import STRONG, count_columns, find_dependence
from bayesnb.report.facts import MAX_PAIRED, Column, Facts, attempt
from bayesnb.report.page import (
    Claim,
    Figures,
    Fold,
    Heading,
    Items,
    Section,
    Table,
    draw,
    name,
    name_column,
    show_interval,
    show_loss,
    show_percent,
)

MAX_PICTURED = 6  # columns, the most important
MAX_SHAPES = 12
LEAST_PICTURED = 1e-3  # nats between two classes, in some row
MAX_LISTED, MAX_OPEN = 1000, 12  # rows of a table at most; rows of a table that is not folded
MAX_NAMED = 12
MAX_LEVELS = 4  # of a column, in a table
MAX_WORDS = 10  # of a class
WIDE = 5.0  # inches, the width of a figure that fits on a phone
MAX_PAIRS = MAX_LINKS = 12
MAX_NOTE = 400  # characters
PANELS = ("log score", "evidence", "calibration error")


def modelled(facts: Facts) -> Section:
    """Rows, classes, families, priors and evidence: `model.summary()`."""
    frame = facts.summary.to_frame()[:MAX_LISTED]
    schema = facts.model.schema_
    families = {}
    for family in schema.families.values():
        content = family.content or str(family.support)
        content += ", with a shared variance" * bool(family.shared)
        families[type(family).__name__] = content
    columns = {
        "Column": [name_column(key) for key in frame.index],
    }
    for title in ("Family", "Missing", "Prior", "Log evidence", "Chosen over"):
        columns[title] = frame[title.lower().replace(" ", "_")]
    dropped = [name_column(key) for key in schema.columns if key not in schema.families]
    content = [
        "For each class, the model learns the distribution of every column, or the joint "
        "distribution of a block of columns, and multiplies the evidence of columns and blocks. A "
        "missing cell is ignored; the rest of the row still counts. The prior is what is assumed "
        "about every class before seeing the data; data soon outweigh a prior worth a few rows. "
        "The log evidence (log marginal likelihood) compares models of the same column: higher is "
        "better.",
        *(name(note, 4000) for note in facts.about.notes),
        Items([*facts.summary.lines, f"Not used: {list_names(dropped, MAX_NAMED) or 'none'}"]),
        Items(list(families.items())),
        fold_long(Table("Columns and their priors", columns, SHOWN, "cards sortable")),
    ]
    return Section("modelled", "Model and priors", content)


def fold_long(table: Table) -> Table | Fold:
    """Fold a long table."""
    rows = len(next(iter(table.columns.values())))
    if rows <= MAX_OPEN:
        return table
    return Fold(f"{table.caption}: {rows:,} rows", [table])


def overview(facts: Facts) -> Section:
    """Missing cells, distinct values, and the range or most frequent levels of columns."""
    counted = count_columns(facts)
    columns = {
        "Column": [name_column(one.key) for one, _ in counted],
        "Missing cells": [1 - counts.known / len(facts.codes) for _, counts in counted],
        "Distinct values": [counts.distinct for _, counts in counted],
        "Range or levels": [describe_cells(one) for one, _ in counted],
    }
    content = [
        "All columns of the model, as they are in the table, except words of texts.",
        fold_long(Table("Column overview", columns, SHOWN, "cards sortable")),
    ]
    return Section("columns", "Column overview", content)


def describe_cells(one: Column) -> str:
    """Return the most frequent levels with their shares, or the range and median of numbers."""
    known = one.cells[one.known]
    if not len(known):
        return ""
    if not one.levels:
        ends = np.quantile(known, [0, 0.5, 1])
        low, middle, high = (number(x, 5) for x in ends)
        return f"{low} to {high}, median{SPACE}{middle}"
    levels, times = np.unique(known.astype(int), return_counts=True)
    shown = []
    for k in np.argsort(-times, kind="stable"):
        level = one.levels[levels[k]] if levels[k] < len(one.levels) else "new"
        shown.append(f"{name(level, 30)} {percent(times[k] / len(known))}")
    return list_names(shown, MAX_LEVELS)


def contributions(facts: Facts) -> Section:
    """The importance of each column, and pictures of the most important ones."""
    features = facts.features[:MAX_LISTED]
    result = facts.importance
    content: list = [f"The importance of the columns is not known: {result}"]
    columns: dict[str, Any] = {"Column": [name_column(key) for key in features.index]}
    order = "those with the most evidence first"
    if not isinstance(result, str):
        order = "the most important first"
        columns["Importance, nats per row"] = features[["importance", "lower", "upper"]].values
        about = "Increase of the held-out log loss without each column, as bars."
        content = [
            "How much worse are the predictions without a column? Each row is predicted by the "
            "model of all other rows, once with the column and once without it and its links. The "
            "importance of the column is the increase of the log loss without it; the log loss of "
            f"the whole model is {fixed(result.attrs['log_loss'], 3)} nats per row. A redundant "
            "column has no importance, however strongly it depends on the class.",
            Figures([draw(plots.plot_relevance(result), about, wide=WIDE)]),
        ]
    columns["Exponent"] = features[["temper", "temper_sd"]].values
    factors = features["log_bayes_factor"]
    columns["Evidence that it depends on the class"] = factors
    strong = (factors > STRONG).sum()
    against = (factors < 0).sum()
    content += [
        fold_long(Table(f"Columns, {order}", columns, SHOWN, "sortable")),
        "The exponent is the weight of the column's evidence. The evidence that a column depends "
        "on the class is a log Bayes factor, in nats: above 0 it favours dependence, and above 3 "
        "strongly; hundreds of nats mean that the dependence is certain, not that the column is "
        "important. Columns whose family does not fit can have large factors, too. The evidence "
        f"for dependence is strong for {strong:,} of {count(len(factors), 'column')}; "
        f"{against:,} have evidence against it.",
        *picture_columns(facts),
        *compare_words(facts),
    ]
    return Section("learnt", "What does each column contribute?", content)


def show_exponent(value: float, sd: float) -> str:
    """Format an exponent, with its standard deviation if it was estimated."""
    return plus_minus(value, sd, 2) if sd > 0 else fixed(value, 2)


def show_evidence(value: float) -> str:
    """Format log evidence."""
    return fixed(value, 1)


SHOWN = {
    "Missing cells": show_percent,
    "Log evidence": show_evidence,
    "Importance, nats per row": show_loss,
    "Exponent": show_exponent,
    "Evidence that it depends on the class": nats,
}


# Pictures


def picture_columns(facts: Facts) -> list:
    """Draw what the most important columns add to the log-odds, and their distributions."""
    keys = [key for key in facts.features["key"] if tells_classes_apart(key, facts)]
    content: list = []
    shapes = draw_shapes(keys, facts)
    if shapes is not None:
        pair = "each class against the average of all"
        if len(facts.classes) == 2:
            pair = f"{name(facts.classes[1], 40)} against {name(facts.classes[0], 40)}"
        content += [
            Heading("What each value adds"),
            f"What each column by itself adds to the log-odds of {pair}, with "
            f"{show_interval(facts.prob)} intervals, the most important column first. Grey bars "
            "show the distribution of the rows. The log-odds of a row are the sum over its "
            "columns, and over links and the covariance if there are any.",
            Figures([shapes]),
        ]
    pictures = [draw_distribution(key, facts) for key in keys[:MAX_PICTURED]]
    shown = [picture for picture in pictures if picture is not None]
    if shown:
        content += [
            Heading("The columns that matter most"),
            "The predictive distribution of the column in a new row of each class. Where classes "
            "overlap, the column cannot separate them. `plot_column` draws any column.",
            Figures(shown),
        ]
    return content


def draw_shapes(keys: list[Hashable], facts: Facts) -> Any:
    """Draw what columns add to the log-odds, side by side; None where no column has a shape."""

    def read(key: Hashable) -> Shape:
        return read_shape(facts.model, read_column(facts.model, key, facts.X, facts.y))

    shapes = [attempt(read, key) for key in keys[:MAX_SHAPES]]
    shown = [shape for shape in shapes if not isinstance(shape, str)]
    if not shown:
        return None
    names = [name_column(shape.data.name, 30) for shape in shown]
    about = f"What columns add to the log-odds: {', '.join(names)}."
    return draw(plots.shape_plot.draw_shapes(shown, facts.prob), about)


def evidence_of(key: Hashable, facts: Facts) -> Any:
    """Return what a feature adds to the scores of explained rows, `(r, c)`; None if unknown."""
    explained = facts.explained
    if isinstance(explained, str):
        return None
    features = [str(feature) for feature in explained["feature"].values.tolist()]
    if str(key) not in features:
        return None
    return explained["predictive"].values[..., features.index(str(key))]


def tells_classes_apart(key: Hashable, facts: Facts) -> bool:
    """Whether a feature adds more to the score of one class than of another, in some row."""
    evidence = evidence_of(key, facts)
    return evidence is None or bool((np.ptp(evidence, axis=1) > LEAST_PICTURED).any())


def draw_distribution(key: Hashable, facts: Facts) -> Any:
    """Draw the predictive distribution of a column, or of two of a block; None if there is none."""
    for columns in (key, key[:2] if isinstance(key, tuple) else key):
        given = facts.model, columns, facts.X, facts.y
        ax = attempt(plots.plot_column, *given, ci_prob=facts.prob)
        if not isinstance(ax, str):
            about = f"Predictive distribution of {name_column(columns)} in each class."
            return draw(ax, about, key)
    return None


# Words


def compare_words(facts: Facts) -> list:
    """Draw the words that favour each class, with intervals."""
    if not facts.has_words or len(facts.classes) < 2:
        return []
    axes = np.asarray(plots.plot_words(facts.model, most=MAX_WORDS, ci_prob=facts.prob))
    about = "Words that favour each class, as dots with intervals."
    return [
        Heading("Words that favour each class"),
        "For each class, the words that it uses more often than all other classes together: how "
        "many times as often, with an interval. Words are sorted by the lower end of the interval, "
        "so that a word seen only a few times does not come first by chance. A dot is hollow where "
        "the interval spans more than a factor of ten. `relevance(model)` has all words.",
        Figures([draw(axes.flat[0], about)]),
    ]


SETTINGS = {
    "Log score": ("elpd_loo", show_evidence),
    "Log evidence": ("log_evidence", show_evidence),
    "Accuracy": ("accuracy", show_percent),
    "Brier": ("brier", show_loss),
    "Calibration error": ("ece", show_loss),
}


def smoothing(facts: Facts) -> Section:
    """Values of the smoothing compared: `compare_smoothing`."""
    title = "Effect of smoothing"
    result = facts.smoothing
    if isinstance(result, str):
        text = f"Values of the smoothing cannot be compared here: {name(result, MAX_NOTE)}"
        return Section("smoothing", title, [text])
    # one figure each, so that they wrap on any screen
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
        "A level or word that was not seen in a class is not impossible, only rare; smoothing sets "
        "how rare. A smoothing of l adds l to every count. That is the posterior mean under a "
        "Dirichlet(l) prior, or the mode (MAP) under Dirichlet(1 + l); predictive integrates over "
        "the posterior under Dirichlet(l) instead of plugging in an estimate. For numbers, l "
        "scales how many rows the default prior is worth. Every setting is scored on the same "
        "held-out rows, without a refit. The log score is the sum of the log probabilities of "
        "their labels: 0 is perfect.",
        Claim(
            result.verdict.replace("(elpd", "(log score"), f"The log score of this model is {elpd}."
        ),
        Figures(pictures),
        Fold(f"All {count(len(table), 'setting')} in numbers", [settings]),
        Items([name(note, MAX_NOTE) for note in result.notes]),
    ]
    return Section("smoothing", title, content)


def dependence(facts: Facts) -> Section:
    """Links, and pairs of columns that depend on each other within the classes."""
    title = "Dependence between columns"
    result = facts.dependence
    together = [*list_links(facts), *describe_covariance(facts)]
    _, what, *advice = find_dependence(facts)
    claim = Claim(f"{what[0].upper()}{what[1:].rstrip('.')}.", " ".join(advice))
    if isinstance(result, str):
        return Section("dependence", title, [*together, claim])
    positive = [pair for pair in facts.pairs[:MAX_PAIRS] if pair[2] > 0]
    columns = {
        "Column": [name_column(first, 40) for first, *_ in positive],
        "and": [name_column(second, 40) for _, second, *_ in positive],
        "Log Bayes factor": [factor for *_, factor, _ in positive],
    }
    caption = "Pairs that depend on each other within the classes"
    about = "Log Bayes factors of dependence for all pairs of columns."
    content = [
        *together,
        "Naive Bayes assumes that the columns are independent given the class, except for links "
        "and blocks. For every pair, the log Bayes factor compares that with a joint distribution "
        "of the two columns: above 0, it favours dependence within the classes. Columns whose "
        "family does not fit can have large factors, too. At most the "
        f"{MAX_PAIRED} most important columns are compared.",
        claim,
        Figures([draw(plots.plot_dependence(result), about)]),
        Table(caption, columns, {"Log Bayes factor": nats}, "sortable"),
    ]
    return Section("dependence", title, content)


def describe_covariance(facts: Facts) -> list:
    """Describe `model.covariance_` in words."""
    covariance = facts.model.covariance_
    if covariance is None:
        return []
    columns = [name_column(name, 40) for name in covariance["feature"].values.tolist()]
    exponent = show_exponent(float(covariance.temper), float(covariance.temper_sd))
    finds = "columns"
    if facts.model.schema_.covariance.indicators is not None:
        finds = "columns and levels"
    return [
        f"{list_names(columns)} are also modelled together, as one Gaussian with a full covariance "
        f"for each class: this finds combinations of {finds} that separate the classes. It "
        f"improves the log score of held-out rows by {fixed(float(covariance.gain), 1)} nats; its "
        f"exponent is {exponent}."
    ]


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
        "A link between two columns models how one depends on the other within a class. This model "
        f"has {count(links.sizes['link'], 'link')}; those outside its forest are pale, and add "
        "evidence about the class. The exponent is the weight of a link's evidence.",
        Figures([draw(plots.plot_dependence(links.isel(link=slice(MAX_LINKS))), about)]),
        Table("The strongest links", columns, formats, "sortable"),
    ]
