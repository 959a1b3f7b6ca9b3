"""The state of a fitted estimator as one immutable value: schema, product of beliefs, exponents.

There is one exponent, or one for each feature, in the order of blocks. Exponents of words fall with
the length of a row, to half at `length` words.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb.data.tables import series_by_key
from bayesnb.families.base import Array
from bayesnb.families.record import fields_alone
from bayesnb.model.powers import ExponentCovariance, Exponents, LengthPower, Numbers
from bayesnb.model.product import Model
from bayesnb.model.schema import Schema
from bayesnb.model.shards import Shard


@dataclass(frozen=True, eq=False)
class Temper:
    """Exponents with their standard deviations, which are 0 for given exponents."""

    value: float | Array = 1.0
    sd: float | Array = 0.0
    length: Array | None = None  # infinite for exponents that do not depend on the length
    covariance: ExponentCovariance | None = None  # of estimated exponents

    @property
    def by_feature(self) -> bool:
        """Whether each feature has an exponent of its own."""
        return not isinstance(self.value, float)

    @property
    def is_found(self) -> bool:
        """Whether exponents were estimated from rows."""
        return bool(np.any(self.sd))

    @property
    def rule(self) -> str | float | None:
        """The parameter `temper` that gives such exponents; None if all are 1."""
        if self.by_feature:
            return "columns"
        if self.is_found:
            return "loo"
        return None if self.value == 1 else float(self.value)

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers by name, without those that are None."""
        named = {"temper": self.value, "temper_sd": self.sd, "temper_length": self.length}
        return {name: each for name, each in named.items() if each is not None}

    def of_first(self, count: int) -> Self:
        """Return the exponents of the first features."""
        first: dict[str, Any] = {}
        for name in ("value", "sd", "length"):
            each = getattr(self, name)
            first[name] = each[:count] if isinstance(each, np.ndarray) else each
        covariance = self.covariance
        if covariance is not None:
            covariance = replace(covariance, group=covariance.group[:count])
        return replace(self, covariance=covariance, **first)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A schema, the product of beliefs about its columns, and the exponents in use."""

    classes: Array
    schema: Schema
    model: Model
    temper: Temper = Temper()

    def __getstate__(self) -> dict[str, Any]:
        return fields_alone(self)  # other threads may be filling the caches

    @property
    def shard(self) -> Shard:
        """Stats of all rows learnt, with the names of columns and classes."""
        return Shard(self.classes, self.schema, self.model.stats, self.model.integer_weights)

    @cached_property
    def exponents(self) -> Exponents:
        """The exponents in the form that blocks take."""
        powers = self.by_block(self.temper.value)
        lengths = self.by_block(self.temper.length)
        if lengths is None:
            return powers
        exponents = []
        for block, power, length in zip(self.schema.blocks, powers, lengths, strict=True):
            falls = block.family.words and power > 0 and length < np.inf
            exponents.append(LengthPower(power, length) if falls else power)
        return tuple(exponents)

    def by_block(self, values: Any) -> Any:
        """Split numbers of features by block, `(f,)` or a number; return other values unchanged."""
        if not isinstance(values, np.ndarray):
            return values
        blocks = self.schema.blocks
        parts = np.split(values, np.cumsum([len(block.keys) for block in blocks])[:-1])
        pairs = zip(blocks, parts, strict=True)
        return tuple(float(part[0]) if block.family.multivariate else part for block, part in pairs)

    @property
    def joint_exponents(self) -> Exponents:
        """Exponents under which p(x, y) is a distribution: 0 for links outside the forest and for
        the covariance, else 1.
        """
        exponents = tuple(block.family.in_joint for block in self.schema.blocks)
        return exponents if any(np.any(each != 1) for each in exponents) else 1.0

    @property
    def of_columns(self) -> Self:
        """The model without links and covariance, with unchanged exponents of columns."""
        schema = self.schema.columns_alone
        if schema is self.schema:
            return self
        model = self.model.of_first_blocks(len(schema.blocks))
        temper = self.temper.of_first(len(schema.keys))
        return replace(self, schema=schema, model=model, temper=temper)

    def of_block(self, kind: type) -> tuple[Array, Array]:
        """Return exponents of the features of a kind of family, and standard deviations, `(f,)`."""
        found = []
        for values in (self.temper.value, self.temper.sd):
            every = np.broadcast_to(values, len(self.schema.keys))
            parts = self.by_block(np.array(every))
            pairs = zip(self.schema.blocks, parts, strict=True)
            of_kind = [np.ravel(part) for block, part in pairs if isinstance(block.family, kind)]
            found.append(np.concatenate([np.zeros(0), *of_kind]))
        return found[0], found[1]

    def by_name(self, values: Any, name: str = "") -> Any:
        """Return numbers of features as a Series in the order of the table; other values
        unchanged.
        """
        if not isinstance(values, np.ndarray):
            return values
        starts = np.cumsum([0, *(len(block.keys) for block in self.schema.blocks)])
        keys, b, f = zip(*self.schema.keys, strict=True)
        return series_by_key(values[starts[list(b)] + f], keys, name)

    @property
    def tempers(self) -> dict[str, Numbers]:
        """The exponents, and their standard deviations and lengths if any, by block."""
        return {name: self.by_block(each) for name, each in self.temper.numbers.items()}

    @property
    def temper_attributes(self) -> dict[str, Any]:
        """The exponents and lengths as attributes of a Dataset: lists in the order of the table."""
        numbers = self.temper.numbers
        del numbers["temper_sd"]
        return {name: np.asarray(self.by_name(each)).tolist() for name, each in numbers.items()}

    def describe_temper(self) -> str:
        """Describe one exponent, or the range of several, and how those of words fall with
        length.
        """
        value = self.by_name(self.temper.value)
        length = self.by_name(self.temper.length)
        if not self.temper.by_feature:
            return f"{value:.3g}"
        low = f"{min(value):.3g}"
        high = f"{max(value):.3g}"
        ends = low if low == high else f"{low} to {high}, by column"
        if length is None:
            return ends
        texts = []
        for t, n0 in zip(value, length, strict=True):
            if n0 < np.inf:
                texts.append(f"{t:.3g} / (1 + n / {n0:.3g}) for a text of n words")
        return "; ".join(texts if len(value) == 1 else [ends, *texts])
