"""What to do, in the language of whoever made the page: as Python for the estimator that it has, or as options."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bayesnb.report.wording import brief, listed, name_of

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


@dataclass(frozen=True)
class InPython:
    """As code for an estimator: a preset has one family for all columns, and takes no `families`."""

    model: Any

    @property
    def temper(self) -> str:
        return "temper='loo'"

    def drop(self, keys: Sequence[Hashable]) -> str:
        if not self._by_column:
            names = listed([brief(name_of(key), LETTERS) for key in keys], MOST)
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

    @property
    def _by_column(self) -> bool:
        """Whether the estimator takes a mapping from columns to families, beside which others are inferred."""
        families = getattr(self.model, "families", None)
        return isinstance(families, Mapping | str)

    def _mapping(self, families: Mapping[Any, str]) -> str:
        """Entries of `families`; of an estimator that has them, where this one has not."""
        entries = [f"{brief(repr(key), LETTERS)}: {family}" for key, family in list(families.items())[:MOST]]
        code = f"{{{', '.join(entries)}{', ...' if len(families) > MOST else ''}}}"
        if isinstance(getattr(self.model, "families", None), Mapping):
            return f"add {code} to families"
        return f"families={code}" if self._by_column else f"NaiveBayes(families={code})"
