"""What to do about what was found, and what it gives: computed where it can be, and advised where it cannot.

Advice is in the language of whoever made the page: as Python for the estimator that it has, or as options.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bayesnb.estimators.tempering import COLUMNS, LOO
from bayesnb.families.family import joint_family
from bayesnb.formatting import count, fixed, list_names, percent, shorten
from bayesnb.report.estimator_code import declared_columns
from bayesnb.report.wording import name_of
from bayesnb.selection.verdict import TEMPERED

if TYPE_CHECKING:
    from bayesnb.report.facts import Facts
    from bayesnb.report.facts.features import ModelledColumn

MOST, LETTERS = 4, 60  # columns of an advice, and letters of a name
CLASSES = {
    "joint": "JointTable()",
    "multivariate": "MultivariateGaussian()",
    "gaussian:shared": "Gaussian(shared=True)",
    "multivariate:shared": "MultivariateGaussian(shared=True)",
}


class Advice(Protocol):
    """How each remedy is typed."""

    @property
    def temper(self) -> str:
        """The exponent of the columns' evidence that predicts best."""

    def drop(self, keys: Sequence[Hashable]) -> str:
        """Leave columns out, as a clause."""

    def declare(self, keys: Sequence[Hashable], family: str) -> str:
        """Give columns a family; where that is joint or multivariate, as one block."""

    def reserve(self, key: Hashable) -> str:
        """Keep a level of a column for those that are new; nothing, where there is no way to say it."""

    def setting(self, name: str, value: Any) -> str:
        """A parameter of the estimator."""

    def reworded(self, message: str) -> str:
        """A message of the rooms below, which know Python only."""

    def whole(self, remedies: "Remedies", facts: "Facts") -> str:
        """One command, or one call, that makes the model with all remedies."""


class Remedies(NamedTuple):
    """Changes that the page is sure of: columns to leave out, and parameters of the estimator."""

    dropped: tuple[Hashable, ...]
    params: Mapping[str, Any]

    def __bool__(self) -> bool:
        return bool(self.dropped or self.params)


@dataclass(frozen=True)
class InPython:
    """As code for an estimator: a preset has one family for all columns, and takes no `families`."""

    model: Any

    @property
    def temper(self) -> str:
        return "temper='loo'"

    def drop(self, keys: Sequence[Hashable]) -> str:
        if not self._by_column:
            names = list_names([shorten(name_of(key), LETTERS) for key in keys], MOST)
            return f"leave {'it' if len(keys) == 1 else 'them'} out of X: {names}"
        return f"leave {'it' if len(keys) == 1 else 'them'} out: {self._mapping(dict.fromkeys(keys, 'None'))}"

    def declare(self, keys: Sequence[Hashable], family: str) -> str:
        block = family.startswith(("joint", "multivariate"))
        return self._mapping(dict.fromkeys([tuple(keys)] if block else keys, CLASSES[family]))

    def reserve(self, key: Hashable) -> str:
        return self._mapping({key: "Categorical(unseen='reserve')"})

    def setting(self, name: str, value: Any) -> str:
        return f"{name}={value!r}"

    def reworded(self, message: str) -> str:
        return message

    def whole(self, remedies: Remedies, facts: "Facts") -> str:
        changes = ", ".join(f"{name}={value!r}" for name, value in remedies.params.items())
        model = f"model.set_params({changes})" if changes else "model"
        return f"{model}.fit({self._rest_of(remedies.dropped, facts.X)}, y)"

    def _rest_of(self, dropped: Sequence[Hashable], X: Any) -> str:
        """The table without columns."""
        if not dropped:
            return "X"
        if hasattr(X, "columns"):
            return f"X.drop({'columns=' if hasattr(X, 'iloc') else ''}{list(dropped)!r})"
        return f"np.delete(X, {list(dropped)!r}, axis=1)"

    @property
    def _by_column(self) -> bool:
        """Whether the estimator takes a mapping from columns to families, beside which others are inferred."""
        families = getattr(self.model, "families", None)
        return isinstance(families, Mapping | str)

    def _mapping(self, families: Mapping[Any, str]) -> str:
        """Entries of `families`; of an estimator that has them, where this one has not."""
        entries = [f"{shorten(repr(key), LETTERS)}: {family}" for key, family in list(families.items())[:MOST]]
        code = f"{{{', '.join(entries)}{', ...' if len(families) > MOST else ''}}}"
        if isinstance(getattr(self.model, "families", None), Mapping):
            return f"add {code} to families"
        return f"families={code}" if self._by_column else f"NaiveBayes(families={code})"


def tempering(facts: "Facts") -> str:
    """What the exponent that predicts best gives on held-out rows; plain text."""
    tempered, held, how = facts.held_out.tempered, facts.held_out.held, facts.advice.temper
    if is_tempered_by_rows(facts):
        return ""
    if tempered is None or held is None:
        return f"{how} raises the evidence of the columns to the power that predicts held-out labels best."
    losses = (
        f"the held-out log loss goes from {fixed(held.log_loss.value, 3)} to {fixed(tempered.line.log_loss.value, 3)}"
    )
    if tempered.gain.lower <= 0:
        return f"{how} (the power {tempered.power:.2g}) would make no clear difference: {losses}."
    right = f"{percent(held.accuracy.value)} to {percent(tempered.line.accuracy.value)}"
    return (
        f"With {how}, which raises the evidence of the columns to the power {tempered.power:.2g}, {losses}, and the "
        f"accuracy from {right}; the predicted label changes for {count(tempered.changed, 'row')} of "
        f"{held.rows:,}. {facts.advice.reworded("temper='columns'")} finds a power for each column."
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
    return f"Or model {names} jointly, as one block: {facts.advice.declare(keys, joint.word)}."


def alike(one: "ModelledColumn", two: "ModelledColumn", facts: "Facts") -> bool:
    """Whether there is a family for a block of both, and rows enough for all combinations of their levels."""
    blocks = facts.model.schema_.blocks
    if type(one.family) is not type(two.family) or joint_family(one.family) is None:
        return False
    return not one.family.has_levels or blocks[one.b].sizes[one.j] * blocks[two.b].sizes[two.j] <= len(facts.codes)


def settling(facts: "Facts") -> str:
    """What leaves every class a distribution in every column; plain text."""
    if facts.model.estimate in ("map", "mle"):
        return f"A proper prior and {facts.advice.setting('estimate', 'predictive')} fix this."
    return "A proper prior fixes this."


def possible(facts: "Facts") -> str:
    """What keeps cells or classes from being impossible; plain text."""
    model, advice = facts.model, facts.advice
    if model.estimate in ("map", "mle"):
        return (
            f"With {advice.setting('estimate', model.estimate)}, values that a class has not shown can be impossible. "
            f"{advice.setting('estimate', 'predictive')} with a smoothing above 0 leaves nothing impossible."
        )
    if all(block.strictly_proper.all() for block in model.model_.prior.blocks):
        return (
            "The columns make nothing impossible here, but the class prior does: without the row, the class has "
            f"probability 0. {advice.setting('class_prior', 1.0)} gives every class a probability above 0."
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
