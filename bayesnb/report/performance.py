"""How good the predictions are: scores, baselines, calibration, confusion matrix, thresholds."""

from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.estimators.cross_validation import (
    FOLDS,
    describe_selection,
    predict_by_logistic_regression,
)
from bayesnb.families.base import Array
from bayesnb.formatting import count, fixed, percent
from bayesnb.plots.performance_plots import plot_precision_recall, plot_roc, plot_thresholds
from bayesnb.report.checks import TEMPER, WARNING, advise_temper, find_impossible_labels
from bayesnb.report.facts import Facts, attempt
from bayesnb.report.page import (
    Claim,
    Code,
    Figures,
    Fold,
    Items,
    Section,
    Table,
    draw,
    name,
    show_interval,
    show_loss,
    show_percent,
    write_code,
)
from bayesnb.selection import verdict
from bayesnb.selection.probability_scores import (
    Estimate,
    RankingCurves,
    mean_interval,
    right,
    share_interval,
)

MAX_BRIER = 2.0
MAX_PANELS = 8
RATIOS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # cost of a missed positive, in false alarms
SCORES = {"Accuracy": show_percent, "Log loss": show_loss, "Brier score": show_loss}
TERMS = (
    ("Accuracy", "the share of rows whose most probable label is the true one."),
    (
        "Log loss",
        "minus the natural logarithm of the probability of the true label, averaged over the rows, "
        "in nats (0.7 for 50 %, 2.3 for 10 %). 0 is perfect; confident mistakes cost the most.",
    ),
    (
        "Brier score",
        "the mean squared distance between the probabilities and the true label, from 0 to 2.",
    ),
    (
        "Intervals",
        "the plausible range of the score on many rows of the same kind. 89 % is ArviZ's default; "
        "any other would do: `ci_prob=0.95`. For the accuracy, the posterior under Jeffreys' prior "
        "Beta(1/2, 1/2); for the losses, Student's t, corrected for skewness by Hall's "
        "transformation.",
    ),
)
CONCLUSIONS = {
    verdict.UNEVEN: (
        "Judging by {rows}, the probabilities are not well calibrated: some are too high or too "
        "low."
    ),
    verdict.TOO_SURE: "The model is overconfident: its probabilities are too close to 0 or 1.",
    verdict.TOO_CAUTIOUS: (
        "The model is underconfident: it is right more often than its probabilities say."
    ),
    verdict.UNSETTLED: (
        "No miscalibration was found, but with {rows} the probabilities may still be off by "
        "{points} percentage points on average."
    ),
    verdict.USABLE: "Judging by {rows}, the probabilities can be trusted.",
}


def scores(facts: Facts) -> Section:
    """Scores by leave-one-out, on the test table and on the training rows; simpler models."""
    lines = list_predictions(facts)
    columns: dict[str, list] = {"Rows": list(lines)}
    for log_proba, codes in lines.values():
        for title, estimate in score(log_proba, codes, facts.prob).items():
            columns.setdefault(title, []).append(estimate)
    content: list = [
        "Leave-one-out is the fair test: each row is predicted by the model of all other rows, in "
        f"closed form. {describe_selection(facts.model)} On its training rows, every model looks "
        "too good.",
        Table(f"Scores, with {show_interval(facts.prob)} intervals", columns, SCORES, "cards"),
        Fold("What the scores mean", [Items(TERMS)]),
    ]
    state, *impossible = find_impossible_labels(facts)
    if state == WARNING:
        content.append(" ".join(impossible))
    return Section("scores", "How good are the predictions?", content)


def list_predictions(facts: Facts) -> dict[str, tuple[Array, Array]]:
    """Return log p(y | x) and labels for each line of the table of scores."""
    codes = facts.codes
    defined = ~np.isnan(facts.left_out).any(axis=1)
    lines: dict[str, tuple[Array, Array]] = {}
    if facts.test is not None:
        _, tested, labels = facts.test
        lines[f"Test table, {len(labels):,} rows"] = tested, labels
    if defined.any():
        lines["Leave-one-out"] = facts.left_out[defined], codes[defined]
    lines["Training rows"] = facts.fitted, codes
    if facts.tempered is not None:
        power = fixed(facts.tempered.power, 2)
        lines[f"Leave-one-out, with {TEMPER} ({power})"] = facts.tempered.log_proba, codes
    table = facts.model.schema_, facts.rows, len(facts.counts)
    regression = attempt(predict_by_logistic_regression, *table)
    if isinstance(regression, np.ndarray):
        lines[f"Logistic regression, {FOLDS}-fold cross-validation"] = regression, codes
    with np.errstate(divide="ignore"):
        shares = np.log(facts.counts / facts.counts.sum())
    lines["Constant prediction (class shares in these rows)"] = (
        np.tile(shares, (len(codes), 1)),
        codes,
    )
    return lines


def score(log_proba: Array, codes: Array, prob: float) -> dict[str, Estimate]:
    """Return the scores of log p(y | x) and labels, `(r, c), (r,)`, with their intervals."""
    label = log_proba[np.arange(len(codes)), codes]
    gaps = np.exp(log_proba) - np.eye(log_proba.shape[1])[codes]
    return {
        "Accuracy": estimate_share(right(log_proba, codes).sum(), len(codes), prob),
        "Log loss": mean_interval(-label, prob),
        "Brier score": mean_interval((gaps**2).sum(axis=1), prob, MAX_BRIER),
    }


def estimate_share(hits: int, rows: int, prob: float) -> Estimate:
    """Return a share with its interval under Jeffreys' prior, Beta(1/2, 1/2)."""
    low, high = share_interval(np.asarray(hits), np.asarray(rows - hits), prob)
    share = float(hits / rows) if rows else np.nan
    return Estimate(share, float(low), float(high))


def reliability(facts: Facts) -> Section:
    """Calibration: of the labels predicted with probability 80 %, are four in five right?"""
    title = "Can the probabilities be trusted?"
    result = facts.calibration
    if isinstance(result, str):
        return Section("reliability", title, [f"Not known: {result}"])
    prob = show_interval(facts.prob)
    mean = float(result["top_probability"].mean())
    accuracy = float(result["accuracy"])
    ece, low, high, chance = (
        fixed(100 * float(result[f"ece{end}"]), 1)
        for end in ("", "_lower", "_upper", "_if_calibrated")
    )
    state = verdict.calibration_state(facts.observed)
    claim = CONCLUSIONS[state].format(rows=count(facts.observed.rows, "row"), points=high)
    advice = advise_temper(facts) if state == verdict.TOO_SURE else ""
    text = (
        f"On average, the predicted label had a probability of {percent(mean)} and was right "
        f"{percent(accuracy)} of the time. The calibration error, the mean gap between the two "
        f"over bins, is {ece} percentage points ({prob} interval: {low} to {high}). A perfect "
        f"model would show about {chance} by chance alone. {advice}"
    )
    bins = result.isel(bin=result["top_count"].values > 0)
    columns = {
        "Predicted": bins["top_predicted"].values,
        "Observed": bins[["top_observed", "top_lower", "top_upper"]].to_array().values.T,
        "Rows": bins["top_count"].values,
    }
    caption = f"Predicted probability and observed share of correct labels ({prob} intervals)"
    formats = {"Predicted": show_percent, "Observed": show_percent}
    ax = zoom_to_rows(plots.plot_calibration(result, by="predicted"), bins)
    about = "Observed share of correct labels against their predicted probability, held out."
    content = [
        Claim(claim, text),
        "With perfect calibration, points and curve would lie within the grey band around the "
        "diagonal. Below the diagonal, labels were right less often than their probabilities say. "
        "The bars count rows, on a logarithmic scale.",
        Figures([draw(ax, about)]),
        Table(caption, columns, formats),
    ]
    if len(facts.classes) > 1:
        axes = np.asarray(plots.plot_calibration(result, most=MAX_PANELS))
        about = "Observed share of each class against its predicted probability."
        content.append(Fold("Calibration of each class", [Figures([draw(axes.flat[0], about)])]))
    return Section("reliability", title, content)


def zoom_to_rows(ax: Any, bins: Any) -> Any:
    """Zoom a reliability diagram to the range of the rows."""
    lowest = min(float(bins["top_predicted"].min()), float(bins["top_lower"].min()))
    low = np.floor(10 * lowest) / 10
    ticks = np.linspace(low, 1, 3)
    room = 1 - low
    x, y = ax.get_xlim(), ax.get_ylim()  # for probabilities from 0 to 1
    ax.set(xlim=low + room * np.array(x), ylim=low + room * np.array(y))
    ax.set(xticks=ticks, yticks=ticks)
    plots.style.clip_artists(ax, ax.get_xlim()[0], low)  # the histogram is below
    return ax


def confusion(facts: Facts) -> Section:
    """Predicted labels by true class, held out and on the test table."""
    title = "Confusion matrix"
    result = facts.calibration
    if isinstance(result, str):
        return Section("confusion", title, [f"Not known: {result}"])
    counts = count_labels(facts.left_out, facts.codes)
    ax = plots.plot_confusion(result)
    for text in ax.texts:  # add counts to the shares
        predicted, true = (round(place) for place in text.get_position())
        text.set_text(f"{counts[true, predicted]:,}\n{text.get_text()}")
    about = "Confusion matrix of the held-out rows: predicted labels by true class."
    content = [
        "For each true class, the number and share of its rows with each predicted label. Shares "
        f"have {show_interval(facts.prob)} intervals, which are wide for classes with few rows.",
        Figures([draw(ax, about)]),
        tabulate_recall("held out", counts, facts),
    ]
    if facts.test is not None:
        _, log_proba, codes = facts.test
        content.append(tabulate_recall("test table", count_labels(log_proba, codes), facts))
    return Section("confusion", title, content)


def count_labels(log_proba: Array, codes: Array) -> Array:
    """Count rows by class and predicted label, `(c, c)`; rows without a prediction are left out."""
    answered = np.isfinite(log_proba.max(axis=1))
    counts = np.zeros((log_proba.shape[1], log_proba.shape[1]), int)
    np.add.at(counts, (codes[answered], log_proba[answered].argmax(axis=1)), 1)
    return counts


def tabulate_recall(where: str, counts: Array, facts: Facts) -> Table:
    """Return the recall of each class, and the most frequent wrong label of its rows."""
    columns: dict[str, list] = {"Class": [], "Rows": [], "Recall": [], "Most often missed as": []}
    for c, row in enumerate(counts):
        wrong = row.copy()
        wrong[c] = 0
        other = name(facts.classes[int(wrong.argmax())], 40)
        columns["Class"].append(name(facts.classes[c], 40))
        columns["Rows"].append(int(row.sum()))
        columns["Recall"].append(estimate_share(row[c], row.sum(), facts.prob))
        columns["Most often missed as"].append(f"{other} ({wrong.max():,})" if wrong.any() else "")
    caption = f"Recall of each class, {where}"
    return Table(caption, columns, {"Recall": show_percent}, "sortable")


def has_two_classes(facts: Facts) -> bool:
    """Return whether there are two classes, each with rows that can be held out."""
    return len(facts.classes) == 2 == len(np.unique(facts.codes[facts.answered]))


def thresholds(facts: Facts) -> Section:
    """How well the probabilities rank rows, and the best threshold for each ratio of costs."""
    proba = np.exp(facts.left_out[facts.answered][:, facts.positive])
    is_positive = facts.codes[facts.answered] == facts.positive
    curves = RankingCurves.of(proba, is_positive)
    labels = facts.model.classes_.tolist()
    if not facts.positive:
        labels.reverse()
    no, yes = (name(label, 40) for label in labels)
    pictures = []
    for plot in (plot_roc, plot_precision_recall, plot_thresholds):
        kind = plot.__name__.removeprefix("plot_").replace("_", " and ")
        pictures.append(draw(plot(curves), f"Curve of {kind} of class {yes}."))
    loss = {
        labels[0]: {labels[0]: 0, labels[1]: 5},
        labels[1]: {labels[0]: 1, labels[1]: 0},
    }
    content = [
        f"How well do the held-out probabilities of {yes} rank the rows? A row of class {yes} "
        f"ranks above a row of class {no} with probability {fixed(curves.area, 3)} (the area under "
        "the ROC curve; a random ranking has 0.5). The average precision is "
        f"{fixed(curves.average_precision, 3)}; a random ranking has "
        f"{fixed(curves.total / curves.rows, 3)}, the share of class {yes}. "
        f"positive={labels[0]!r} shows the other class.",
        Figures(pictures),
        f"Which threshold is best depends on what errors cost. If a missed row of class {yes} "
        f"costs as much as k false alarms, predict {yes} where its probability is at least "
        "1 / (1 + k). The last two columns compare the mean cost of a held-out row, in false "
        "alarms, with the best that is possible without the columns.",
        tabulate_thresholds(proba, is_positive, yes),
        "In Python, to decide by costs if a missed row costs 5 false alarms:",
        Code([write_code(f"model.decide(X, loss={loss!r})", 600)]),
    ]
    return Section("thresholds", "ROC, precision-recall and thresholds", content)


def tabulate_thresholds(proba: Array, is_positive: Array, positive: str) -> Table:
    """Return the threshold for each ratio of costs, and its errors and costs."""
    costs = np.array(RATIOS)
    called = proba >= 1 / (1 + costs[:, None])
    missed = (~called & is_positive).sum(axis=1)
    alarms = (called & ~is_positive).sum(axis=1)
    share = is_positive.mean()
    total = called.sum(axis=1)
    with np.errstate(invalid="ignore"):
        precision = (total - alarms) / total
    columns = {
        "A miss costs": costs,
        "Threshold": 1 / (1 + costs),
        f"Predicted {positive}": total,
        "Missed": missed,
        "False alarms": alarms,
        "Recall": 1 - missed / is_positive.sum(),
        "Precision": precision,
        "Cost per row": (costs * missed + alarms) / len(proba),
        "Without columns": np.minimum(costs * share, 1 - share),
    }
    formats: dict[str, Any] = {"A miss costs": "{:g}".format}
    formats |= dict.fromkeys(("Threshold", "Recall", "Precision"), show_percent)
    formats |= dict.fromkeys(("Cost per row", "Without columns"), show_loss)
    return Table("Thresholds for costs of errors, held out", columns, formats)
