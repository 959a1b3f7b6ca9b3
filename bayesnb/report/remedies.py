"""What to do about what was found, in words that hold in Python and in the shell, and one line of Python for it all."""

from collections.abc import Hashable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from bayesnb.estimators.tempering import COLUMNS, LOO
from bayesnb.families.family import joint_family
from bayesnb.formatting import count, fixed, list_names, percent, shorten
from bayesnb.report.estimator_code import declared_columns
from bayesnb.report.wording import name_of
from bayesnb.selection.verdict import TEMPERED

if TYPE_CHECKING:
    from bayesnb.report.facts import Facts
    from bayesnb.report.facts.features import ModelledColumn

MAX_COLUMNS_LISTED = 4
MAX_NAME_LENGTH = 60
TEMPER = "temper='loo'"


class Remedies(NamedTuple):
    """Changes that the page is sure of: columns to leave out, and parameters of the estimator."""

    dropped: tuple[Hashable, ...]
    params: Mapping[str, Any]

    def __bool__(self) -> bool:
        return bool(self.dropped or self.params)


def drop_columns(keys: Sequence[Hashable]) -> str:
    """Return the advice to leave columns out, as a clause."""
    return f"leave {'it' if len(keys) == 1 else 'them'} out: {list_columns(keys)}"


def declare_columns(keys: Sequence[Hashable], family: str) -> str:
    """Return the advice to give columns a family, as a clause."""
    together = " together" if len(keys) > 1 else ""
    return f"declare {list_columns(keys)}{together} as {family}"


def list_columns(keys: Sequence[Hashable]) -> str:
    """Return the names of columns, the first of many."""
    return list_names([shorten(name_of(key), MAX_NAME_LENGTH) for key in keys], MAX_COLUMNS_LISTED)


def write_call(remedies: Remedies, X: Any) -> str:
    """Return the line of Python that makes the model with all remedies."""
    changes = ", ".join(f"{name}={value!r}" for name, value in remedies.params.items())
    model = f"model.set_params({changes})" if changes else "model"
    rest = "X"
    if remedies.dropped and hasattr(X, "columns"):
        is_pandas = hasattr(X, "iloc")
        rest = f"X.drop({'columns=' if is_pandas else ''}{list(remedies.dropped)!r})"
    elif remedies.dropped:
        rest = f"np.delete(X, {list(remedies.dropped)!r}, axis=1)"
    return f"{model}.fit({rest}, y)"


def tempering(facts: "Facts") -> str:
    """What the exponent that predicts best gives on held-out rows; plain text."""
    tempered, held = facts.held_out.tempered, facts.held_out.held
    if is_tempered_by_rows(facts):
        return ""
    if tempered is None or held is None:
        return f"{TEMPER} raises the evidence of the columns to the power that predicts held-out labels best."
    losses = (
        f"the held-out log loss goes from {fixed(held.log_loss.value, 3)} to {fixed(tempered.line.log_loss.value, 3)}"
    )
    if tempered.gain.lower <= 0:
        return f"{TEMPER} (the power {tempered.power:.2g}) would make no clear difference: {losses}."
    right = f"{percent(held.accuracy.value)} to {percent(tempered.line.accuracy.value)}"
    return (
        f"With {TEMPER}, which raises the evidence of the columns to the power {tempered.power:.2g}, {losses}, and the "
        f"accuracy from {right}; the predicted label changes for {count(tempered.changed, 'row')} of "
        f"{held.rows:,}. temper='columns' finds a power for each column."
    )


def is_tempered_by_rows(facts: "Facts") -> bool:
    """Whether the exponents were chosen by the rows."""
    return facts.model._temper_rule in (COLUMNS, LOO)


def mends(facts: "Facts") -> bool:
    """Whether less extreme probabilities are clearly better, held out."""
    observed = facts.held_out.observed
    return observed is not None and observed.is_mended_by_temper


def jointly(facts: "Facts", least: float) -> str:
    """How the pair of one kind with the most evidence is modelled as one block; nothing, where there is none.

    It is one that no link connects.
    """
    pair = next(
        (pair for pair in facts.comparisons.unconnected if pair[2] > least and alike(pair[0], pair[1], facts)), None
    )
    if pair is None:
        return ""
    keys, joint = [pair[0].key, pair[1].key], joint_family(pair[0].family)
    assert joint is not None  # as they are alike
    names = " and ".join(shorten(column.name, 40) for column in pair[:2])
    return f"Or model {names} jointly, as one block: {declare_columns(keys, joint.word)}."


def alike(one: "ModelledColumn", two: "ModelledColumn", facts: "Facts") -> bool:
    """Whether there is a family for a block of both, and rows enough for all combinations of their levels."""
    blocks = facts.model.schema_.blocks
    if type(one.family) is not type(two.family) or joint_family(one.family) is None:
        return False
    return not one.family.has_levels or blocks[one.b].sizes[one.j] * blocks[two.b].sizes[two.j] <= len(facts.codes)


def settling(facts: "Facts") -> str:
    """What leaves every class a distribution in every column; plain text."""
    if facts.model.estimate in ("map", "mle"):
        return "A proper prior and estimate='predictive' fix this."
    return "A proper prior fixes this."


def possible(facts: "Facts") -> str:
    """What keeps cells or classes from being impossible; plain text."""
    model = facts.model
    if model.estimate in ("map", "mle"):
        return (
            f"With estimate={model.estimate!r}, values that a class has not shown can be impossible. "
            "estimate='predictive' with a smoothing above 0 leaves nothing impossible."
        )
    if all(block.strictly_proper.all() for block in model.model_.prior.blocks):
        return (
            "The columns make nothing impossible here, but the class prior does: without the row, the class has "
            "probability 0. class_prior=1.0 gives every class a probability above 0."
        )
    return "Use a smoothing above 0, or a proper prior. Without one, whatever a class has not shown is impossible."


def all_remedies(facts: "Facts", useless: Sequence[Hashable]) -> Remedies:
    """Return every change that is sure to help, where these columns say nothing about new rows.

    Columns whose family was declared stay, and so does the last one.
    """
    model = facts.model
    params: dict[str, Any] = {}
    declared = declared_columns(model) or set()
    dropped = tuple(key for key in useless if key not in declared)
    if all(feature.key in dropped for feature in facts.features.all):
        dropped = ()
    verdict, observed = facts.held_out.verdict, facts.held_out.observed
    if verdict is not None and verdict.probabilities == TEMPERED:
        params["temper"] = LOO
    if observed is not None and not isfinite(observed.log_loss):
        if model.estimate in ("map", "mle"):
            params["estimate"] = "predictive"
        elif all(block.strictly_proper.all() for block in model.model_.prior.blocks):
            params["class_prior"] = 1.0
    return Remedies(dropped, params)
