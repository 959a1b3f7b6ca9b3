"""Arrays as labelled Datasets, and ArviZ's defaults for intervals."""

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from bayesnb.families import Choice
from bayesnb.families.base import Array
from bayesnb.inference.decision import Decision
from bayesnb.results.display import shortened
from bayesnb.results.parameter_names import coordinate, row_names
from bayesnb.results.result_tables import (
    ResultDataset,
    ShownFrame,
    by_label,
    number,
    plus_minus,
    probability,
    sentence,
    shown_name,
    small,
    text_frame,
)


def ci_prob(value: float | None) -> float:
    """Return the probability of an interval: the value given, or that of ArviZ's current settings."""
    prob = _usual_prob() if value is None else value
    if not isinstance(prob, Real) or not 0 < float(prob) < 1:
        raise ValueError(f"ci_prob must be a number between 0 and 1, got {prob!r}.")
    return float(prob)


def _usual_prob() -> Any:
    from arviz_base import (
        rcParams,
    )  # a second of imports, which a page with intervals does not need

    return rcParams["stats.ci_prob"]


class PredictionIntervals(ResultDataset):
    """Class probabilities of rows with intervals, by (obs_id, class); `to_frame` has a row for each pair of them."""

    __slots__ = ()
    _form: ClassVar = dict.fromkeys(
        ("probability", "median", "lower", "upper"), ("obs_id", "class")
    )
    _formats: ClassVar = dict.fromkeys(_form, probability)

    def _title(self, whole: xr.Dataset) -> str:
        return (
            f"Class probabilities with {sentence(whole.attrs.get('ci_prob'))}{_kind_of_rows(whole)}"
        )


CANDIDATE = 30  # letters of a family
PARTS = ("entropy", "aleatoric", "epistemic")


class LabelUncertainty(ResultDataset):
    """Entropy of each row's label in its two parts; `to_frame` has a row for each row of the table.

    The probabilities of the classes are columns there, `probability_<label>`.
    """

    __slots__ = ()
    _form: ClassVar = {**dict.fromkeys(PARTS, ("obs_id",)), "probability": ("obs_id", "class")}

    def _title(self, whole: xr.Dataset) -> str:
        return f"Uncertainty of the labels, entropies in nats{_kind_of_rows(whole)}"

    def _frame(self, whole: xr.Dataset) -> Any:
        density = {"log_density": whole["log_density"]} if "log_density" in whole else {}
        parts = {name: whole[name] for name in PARTS}
        table = xr.Dataset(parts | density | by_label(whole["probability"], "class"))
        return table.reset_coords(drop=True).to_dataframe()

    @property
    def _formats(self) -> dict[str, Any]:  # type: ignore[override]
        labels = np.atleast_1d(self["class"].values).tolist()
        return dict.fromkeys(PARTS, small) | {
            f"probability_{label}": probability for label in labels
        }

    def _lines_each(self, whole: xr.Dataset) -> int:
        return 1


def _kind_of_rows(whole: xr.Dataset) -> str:
    return f", rows {whole.attrs['rows']}" if "rows" in whole.attrs else ""


class Decisions(ResultDataset):
    """The action chosen for each row and expected losses; `to_frame` has a row for each row of the table.

    The expected losses of all actions are columns there, `loss_<action>`.
    """

    __slots__ = ()
    _form: ClassVar = {**dict.fromkeys(("action", "expected_loss", "abstained"), ("obs_id",)),
                       "loss": ("obs_id", "choice")}  # fmt: skip

    def _title(self, whole: xr.Dataset) -> str:
        return "Decisions with the least expected loss"

    def _notes(self, whole: xr.Dataset) -> list[str]:
        if "abstain" not in whole.attrs:
            return []
        left, rows = int(whole["abstained"].sum()), whole.sizes["obs_id"]
        return [
            f"{left:,} of {rows:,} rows are left undecided, at a cost of {whole.attrs['abstain']:g} each."
        ]

    def _frame(self, whole: xr.Dataset) -> Any:
        parts = {name: whole[name] for name in ("action", "expected_loss", "abstained")}
        return (
            xr.Dataset(parts | by_label(whole["loss"], "choice"))
            .reset_coords(drop=True)
            .to_dataframe()
        )

    def _seen(self, part: xr.Dataset) -> Any:
        table = self._frame(part)
        return table if "abstain" in part.attrs else table.drop(columns="abstained")

    @property
    def _formats(self) -> dict[str, Any]:  # type: ignore[override]
        actions = np.atleast_1d(self["choice"].values).tolist()
        return dict.fromkeys(("expected_loss", *(f"loss_{action}" for action in actions)), small)

    def _lines_each(self, whole: xr.Dataset) -> int:
        return 1


def dataset(
    index: Array,
    classes: Array,
    by_row: dict[str, Array],
    by_class: dict[str, Array],
    attrs: dict[str, Any] | None = None,
    kind: type[xr.Dataset] = xr.Dataset,
) -> xr.Dataset:
    """Label numbers of every row, `(r,)`, and of every row and class, `(r, c)`; settings go into `attrs`."""
    variables: dict[str, Any] = {name: ("obs_id", values) for name, values in by_row.items()}
    variables |= {name: (("obs_id", "class"), values) for name, values in by_class.items()}
    return kind(variables, {"obs_id": row_names(index), "class": classes}, attrs)


def held_out_proba(proba: Array, index: Array, classes: Array, selection: str) -> xr.DataArray:
    """Label the probabilities of rows that are held out, `(r, c)`."""
    coords = {"obs_id": coordinate(index), "class": coordinate(classes)}
    return xr.DataArray(proba, coords, ["obs_id", "class"], "p", {"selection": selection})


def decisions(
    rows: Array, actions: Sequence[Any], made: Decision, abstain: float | None
) -> xr.Dataset:
    """Label the action chosen for each row, None where none is, and the expected losses of all actions."""
    names = _names(actions)
    chosen = names[made.action]
    if abstain is not None:
        chosen = np.where(made.abstained, None, chosen.astype(object))
    by_row = {"action": chosen, "expected_loss": made.expected_loss, "abstained": made.abstained}
    variables: dict[str, Any] = {name: ("obs_id", values) for name, values in by_row.items()}
    variables["loss"] = (("obs_id", "choice"), made.loss)
    attrs = {} if abstain is None else {"abstain": abstain}
    return Decisions(variables, {"obs_id": row_names(rows), "choice": names}, attrs)


def _names(actions: Sequence[Any]) -> Array:
    """Return the actions as one axis of names, objects where their types differ or they are not scalars."""
    alike = len({*map(type, actions)}) == 1 and np.ndim(actions[0]) == 0
    return np.asarray(actions) if alike else np.fromiter(actions, object, len(actions))


class FamilyChoices(ResultDataset):
    """How families were chosen: the label's leave-one-out score by each column alone, under each candidate.

    `to_frame` has a row for each column: the family that was chosen, and a column `elpd_<candidate>` for each score.
    """

    __slots__ = ()
    _form: ClassVar = {"chosen": ("feature",), "elpd": ("feature", "candidate")}

    def _title(self, whole: xr.Dataset) -> str:
        if not whole.sizes["feature"]:
            return "No family was chosen among several: all are declared, or follow from the values of the columns."
        return "Families, chosen by the leave-one-out score of the label (elpd in nats, larger is better)"

    def _frame(self, whole: xr.Dataset) -> Any:
        parts = {"chosen": whole["chosen"]} | by_label(whole["elpd"], "candidate")
        return xr.Dataset(parts).reset_coords(drop=True).to_dataframe()

    def _seen(self, part: xr.Dataset) -> Any:
        """Return for each column the family that was chosen, its score, and the others' scores less that."""
        candidates, rows = part["candidate"].values.tolist(), []
        for name, chosen, elpd in zip(
            part["feature"].values, part["chosen"].values, part["elpd"].values, strict=True
        ):
            best = float(elpd[candidates.index(chosen)]) if chosen in candidates else np.nan
            rows.append(
                [
                    name,
                    chosen,
                    number(best),
                    others(dict(zip(candidates, elpd, strict=True)), chosen),
                ]
            )
        return text_frame(["feature", "chosen", "elpd", "others, against it"], rows, 1)

    def _lines_each(self, whole: xr.Dataset) -> int:
        return 1


def others(elpd: dict[str, float], chosen: str) -> str:
    """Return the candidates that were not chosen with their scores less that of the chosen one, the best first."""
    gaps = {
        name: float(score - elpd[chosen])
        for name, score in elpd.items()
        if name != chosen and not np.isnan(score)
    }
    ordered = sorted(gaps.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{shortened(name, CANDIDATE)} ({gap:+.1f})" for name, gap in ordered)


def rejected(made: Sequence[Choice]) -> dict[Hashable, str]:
    """Return for each feature the candidates that its family was chosen over, in words."""
    return {
        choice.key: others(
            dict(zip(choice.candidates, choice.elpd, strict=True)), choice.candidates[choice.chosen]
        )
        for choice in made
    }


def choices(made: Sequence[Choice]) -> xr.Dataset:
    """Label the label's score by each feature under each candidate for its family, and which was chosen."""
    candidates = list(dict.fromkeys(name for choice in made for name in choice.candidates))
    elpd = np.full((len(made), len(candidates)), np.nan)
    for scores, choice in zip(elpd, made, strict=True):
        scores[[candidates.index(name) for name in choice.candidates]] = choice.elpd
    chosen = np.array([choice.candidates[choice.chosen] for choice in made], dtype=str)
    coords = {
        "feature": coordinate([choice.key for choice in made]),
        "candidate": np.array(candidates, dtype=str),
    }
    return FamilyChoices(
        {"elpd": (("feature", "candidate"), elpd), "chosen": ("feature", chosen)}, coords
    )


def frame(columns: dict[str, Sequence[Any] | Array]) -> Any:
    """Return columns of equal length as a pandas frame with numbered rows."""
    return xr.Dataset(
        {name: ("row", np.asarray(values)) for name, values in columns.items()}
    ).to_dataframe()


def tuning(columns: dict[str, Any]) -> Any:
    """Return the scores of the labels before and after priors were tuned, with a title."""
    table = frame(columns).set_axis(["before", "after"])
    return ShownFrame.titled(
        table, "Leave-one-out log score of the labels, before and after the priors were tuned"
    )


MOST_PAIRS = 5  # pairs
MOST_SHOWN = 20  # features or pairs of a table, those with the most evidence
SHAPE = (
    "Where a family has the wrong shape, as a Gaussian for prices, that makes large factors too."
)
LARGE = 100.0  # nats, beside which stands what makes factors so large


class Relevance(ResultDataset):
    """Evidence that each feature depends on the class; `to_frame` has a row for each feature, in the table's order.

    The table that is shown begins with the largest log Bayes factor.
    """

    __slots__ = ()
    _form: ClassVar = dict.fromkeys(
        ("log_bayes_factor", "inclusion", "temper", "temper_sd"), ("feature",)
    )
    _formats: ClassVar = {"inclusion": probability}

    def _title(self, whole: xr.Dataset) -> str:
        return "Evidence that each feature depends on the class (log Bayes factor in nats)"

    def _parts(self, whole: xr.Dataset) -> list[Any]:
        order = np.argsort(-whole["log_bayes_factor"].values, kind="stable")
        return [self._frame(whole.isel(feature=order[:MOST_SHOWN]))]

    def _notes(self, whole: xr.Dataset) -> list[str]:
        attrs, total = whole.attrs, whole.sizes["feature"]
        notes = (
            [f"Probability of a dependence before the data: {attrs['prior']:g}."]
            if "prior" in attrs
            else []
        )
        blocks, factors = (
            np.atleast_1d(attrs.get(name, [])) for name in ("block", "block_log_bayes_factor")
        )
        for name, value in zip(blocks, factors, strict=True):
            notes.append(f"All words of {shown_name(name)} together: {number(value)} nats.")
        if whole["log_bayes_factor"].max() > LARGE:
            notes.append(
                "Hundreds of nats do not say that a feature is important: see importance(model, X, y)."
            )
            notes.append(SHAPE)
        return notes + [f"The {MOST_SHOWN} features with the most evidence of {total:,}."] * (
            total > MOST_SHOWN
        )


class Importance(ResultDataset):
    """What held-out log loss loses without each feature; `to_frame` has a row for each feature, in the table's order.

    The table that is shown begins with the most important feature.
    """

    __slots__ = ()
    _form: ClassVar = dict.fromkeys(("importance", "lower", "upper", "temper"), ("feature",))

    def _title(self, whole: xr.Dataset) -> str:
        kind = sentence(whole.attrs.get("ci_prob"))
        return f"What held-out log loss loses without each feature (nats a row), with {kind}"

    def _parts(self, whole: xr.Dataset) -> list[Any]:
        order = np.argsort(-whole["importance"].values, kind="stable")
        return [self._frame(whole.isel(feature=order[:MOST_SHOWN]))]

    def _notes(self, whole: xr.Dataset) -> list[str]:
        attrs, total = whole.attrs, whole.sizes["feature"]
        notes = (
            [f"Log loss of the whole model: {number(attrs['log_loss'])}."]
            if "log_loss" in attrs
            else []
        )
        if attrs.get("exponents") == "kept":
            notes.append(
                "The exponents (temper) of the other columns are kept, though a refit would find others."
            )
        return notes + [f"The {MOST_SHOWN} most important features of {total:,}."] * (
            total > MOST_SHOWN
        )


def important(
    names: Sequence[Hashable], estimate: Array, temper: Array, attrs: dict[str, Any]
) -> xr.Dataset:
    """Label what is lost without each feature with its interval, `(3, f)`, and the exponents, `(f,)`."""
    columns = dict(zip(("importance", "lower", "upper"), estimate, strict=True)) | {
        "temper": temper
    }
    variables = {name: ("feature", values) for name, values in columns.items()}
    table = Importance(variables, {"feature": coordinate(names)}, attrs)
    long_name = "held-out log loss without the feature, less that with it"
    table["importance"].attrs = {"long_name": long_name, "units": "nats"}
    return table


class Dependence(ResultDataset):
    """Evidence that columns depend on each other within the classes; `to_frame` has a row for each pair of columns.

    Its index is (feature, feature_2), in the table's order, and the terms of the classes are columns there,
    `log_bayes_factor_<label>`. The table that is shown begins with the strongest evidence.
    """

    __slots__ = ()
    _form: ClassVar = {"log_bayes_factor": ("feature", "feature_2"),
                       "log_bayes_factor_by_class": ("feature", "feature_2", "class")}  # fmt: skip

    def _title(self, whole: xr.Dataset) -> str:
        return "Evidence that two columns depend on each other within the classes (log Bayes factor in nats)"

    def _whole(self) -> xr.Dataset | None:
        whole = super()._whole()
        same = whole is not None and np.array_equal(
            whole["feature"].values, whole["feature_2"].values
        )
        return whole if same else None

    def _frame(self, whole: xr.Dataset) -> Any:
        return _pairs(whole, *np.triu_indices(whole.sizes["feature"], 1))

    def _parts(self, whole: xr.Dataset) -> list[Any]:
        i, j = np.triu_indices(whole.sizes["feature"], 1)
        values = whole["log_bayes_factor"].values[i, j]
        best = np.argsort(-values, kind="stable")[
            : min(MOST_SHOWN, int(np.isfinite(values).sum()))
        ]  # NaN comes last
        return [_pairs(whole, i[best], j[best])]

    def _notes(self, whole: xr.Dataset) -> list[str]:
        values = whole["log_bayes_factor"].values[np.triu_indices(whole.sizes["feature"], 1)]
        unknown = int(np.isnan(values).sum())
        notes = [f"{unknown:,} of {len(values):,} pairs cannot be compared."] if unknown else []
        notes += [SHAPE] * bool((values > LARGE).any())
        known = len(values) - unknown
        return notes + (
            [f"The {MOST_SHOWN} pairs with the most evidence of {known:,}."]
            if known > MOST_SHOWN
            else []
        )


def _pairs(whole: xr.Dataset, i: Array, j: Array) -> Any:
    """Return pairs of columns as a frame."""
    labels, by_class = (
        whole["feature"].values,
        whole["log_bayes_factor_by_class"].transpose("class", ...).values,
    )
    columns = {
        "feature": labels[i],
        "feature_2": labels[j],
        "log_bayes_factor": whole["log_bayes_factor"].values[i, j],
    }
    for label, values in zip(whole["class"].values.tolist(), by_class, strict=True):
        columns[f"log_bayes_factor_{label}"] = values[i, j]
    return frame(columns).set_index(["feature", "feature_2"])


def relevant(
    names: Sequence[Hashable], values_of: dict[str, Array], prior: float, blocks: dict[str, float]
) -> xr.Dataset:
    """Label numbers of every feature, `(f,)`; those of blocks of words go into `attrs`."""
    table = Relevance(
        {name: ("feature", values) for name, values in values_of.items()},
        {"feature": coordinate(names)},
    )
    table["log_bayes_factor"].attrs = {
        "long_name": "log Bayes factor, depends on the class",
        "units": "nats",
    }
    table["inclusion"].attrs = {"long_name": "probability that the feature depends on the class"}
    attrs = (
        {"block": list(blocks), "block_log_bayes_factor": list(blocks.values())} if blocks else {}
    )
    return table.assign_attrs({"prior": prior, **attrs})


def dependent(names: Sequence[Hashable], classes: Array, log_bayes_factor: Array) -> xr.Dataset:
    """Label log Bayes factors of pairs within each class, `(c, n, n)`, and their sums over classes."""
    labels, total = coordinate(names), log_bayes_factor.sum(axis=0)
    pairs = ("feature", "feature_2")
    variables = {
        "log_bayes_factor": (pairs, total),
        "log_bayes_factor_by_class": (("class", *pairs), log_bayes_factor),
    }
    coords = {"class": coordinate(classes), "feature": labels, "feature_2": labels}
    table = Dependence(variables, coords, {"strongest": _strongest(labels, total)})
    for name in variables:
        table[name].attrs = {
            "long_name": "log Bayes factor, the two depend on each other given the class",
            "units": "nats",
        }
    return table


def _strongest(labels: Array, total: Array) -> str:
    """Return the pairs with the most evidence for dependence, in words."""
    top = [_best_of(i, total[i, i + 1 :]) for i in range(len(total) - 1)]
    best = sorted((pair for row in top for pair in row), key=lambda pair: -pair[2])[:MOST_PAIRS]
    if np.isnan(total).all():  # as the diagonal is
        return "No pair of columns can be compared."
    if not best:
        return "No pair of columns has evidence for dependence within the classes."
    return "; ".join(f"{labels[i]} and {labels[j]}: {value:+.1f} nats" for i, j, value in best)


def _best_of(i: int, worth: Array) -> list[tuple[int, int, float]]:
    """Return the pairs of a column with later ones that have the most evidence for dependence."""
    order = np.argsort(-np.nan_to_num(worth, nan=-np.inf), kind="stable")[:MOST_PAIRS]
    return [(i, i + 1 + int(at), float(worth[at])) for at in order if worth[at] > 0]


class ColumnLinks(ResultDataset):
    """Links between columns; `to_frame` has a row for each link, the strongest of the forest first."""

    __slots__ = ()
    _form: ClassVar = dict.fromkeys(
        ("first", "second", "log_bayes_factor", "temper", "temper_sd", "in_forest"), ("link",)
    )

    def _title(self, whole: xr.Dataset) -> str:
        total, forest = whole.sizes["link"], int(whole["in_forest"].sum())
        if not total:
            return "No links between columns"
        return f"{total:,} link{'s' * (total > 1)} between columns, {forest:,} in the forest (log Bayes factor in nats)"

    def _seen(self, part: xr.Dataset) -> Any:
        table = self._frame(part)
        exponents = [
            plus_minus(*pair)
            for pair in zip(table.pop("temper"), table.pop("temper_sd"), strict=True)
        ]
        table["in_forest"] = np.where(table["in_forest"], "yes", "no")
        return table.assign(temper=exponents)


def links(block: Any, temper: Array, temper_sd: Array) -> xr.Dataset:
    """Label links between columns; `block` is None where none were found."""
    ends = [] if block is None else block.keys
    names = [[name for name, _ in ends], [name for _, name in ends]]
    arrays = {
        "first": coordinate(names[0]),
        "second": coordinate(names[1]),
        "log_bayes_factor": np.empty(0) if block is None else block.evidence,
        "temper": temper,
        "temper_sd": temper_sd,
        "in_forest": np.empty(0, bool) if block is None else block.in_forest.astype(bool),
    }
    table = ColumnLinks(
        {name: ("link", array) for name, array in arrays.items()}, {"link": np.arange(len(ends))}
    )
    table["log_bayes_factor"].attrs = {
        "long_name": "log Bayes factor against independence given the class",
        "units": "nats",
    }
    table["temper"].attrs = {"long_name": "exponent on the evidence of the link"}
    return table
