"""Beliefs whose classes have a part of theta in common, as one variance for all of them.

    common ~ p(common)      own_c | common ~ p(own_c | common), for every class c

What every class says of the common part is added up. The arrays keep the layout of classes that are apart, `(c, f)`,
those of the common part being the same for every class: so whatever concerns one class alone, its predictive or its
interval, is the formula of such a class. What concerns several at once is here, and in `pair_moment`:

    J(s, u) = log E[p(x | theta_1)**s p(x | theta_0)**u]

Were the classes apart, it would be K_1(s) + K_0(u). As s -> J(s, -s) it is all of the distribution of the log-odds.
"""

from abc import abstractmethod
from math import factorial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import ORDER, Array, Belief
from bayesnb.families.removal import Leaving
from bayesnb.numerics.threads import in_order


class Sharing(Belief):
    """What is believed of classes that have parameters in common.

    Several models may stand side by side, the classes of one after those of another, as draws of a prior do.
    """

    apart: ClassVar[bool] = False
    paired: ClassVar[bool] = True
    common: ClassVar[tuple[str, ...]]  # the fields that say what is believed of the common part
    alone: ClassVar[type[Belief]]  # what is believed of one class, whatever the others are
    layout: ClassVar[tuple[str, ...]] = ("models",)
    models: int

    def check_common(self) -> None:
        """Raise if what is believed of the common part is not one thing."""
        for name in self.common:
            values = getattr(self, name)
            if not values.ndim or (values != self.each(self.once(values))).any():
                raise ValueError(
                    f"{type(self).__name__}: {name} is about what all classes have in common, so it must be the same "
                    f"for every class, got {values.tolist()!r:.100}."
                )

    def __repr__(self) -> str:
        return super().__repr__().replace(", models=1)", ")")

    @property
    def classes(self) -> int:
        """Of one model."""
        return len(self) // self.models

    def __getitem__(self, index: Any) -> Any:
        """Some classes, as many of every model; of a single one what is believed of it, whatever the others are."""
        if isinstance(index[0] if isinstance(index, tuple) else index, Integral):
            return self.alone(*(getattr(self, name)[index] for name in self.alone.__match_args__))
        return self.map(lambda array: array[index])

    @property
    def public_name(self) -> str:
        return self.alone.__name__

    def repeated(self, times: int) -> Self:
        every = np.tile(np.arange(len(self)), times)
        names = self.alone.__match_args__
        return type(self)(*(getattr(self, name)[every] for name in names), self.models * times)  # type: ignore[call-arg]

    def once(self, values: Any) -> Any:
        """One entry for every model of what its classes have alike, `(c, f) -> (1, f)`."""
        return values[:1] if self.models == 1 else values[:: self.classes]

    def pooled(self, values: Any) -> Any:
        """Sums over the classes of every model, `(c, f) -> (1, f)`; of PyMC's variables, which are of one model."""
        if self.models == 1:
            return values.sum(axis=0, keepdims=True)
        return values.reshape((self.models, -1, *values.shape[1:])).sum(axis=1)

    def each(self, values: Array) -> Array:
        """What every model has, for each of its classes, `(1, f) -> (c, f)`."""
        return np.repeat(values, self.classes, axis=0)

    def left_out(self, stats: Any, reader: Any, leaving: Leaving) -> Array:
        """A row that leaves takes its word on the common part with it: the scores of all classes change."""
        seen = (self.map(np.zeros_like) if leaving.kind == "mle" else self).update(stats)
        out = np.empty((len(leaving.codes), len(self)))

        def score_group(group: tuple[int, Array]) -> None:
            c, rows = group
            scores = seen.left_by(c, leaving[rows])
            scores[np.isnan(scores[:, c])] = np.nan
            out[rows] = scores

        list(in_order(score_group, list(leaving.groups()), leaving.n_jobs))
        return out

    @abstractmethod
    def left_by(self, c: int, leaving: Leaving) -> Array:
        """Scores of rows of class c that this belief has seen, once each of them has left it, `(r, f) -> (r, c)`.

        NaN of its own class where the class must be counted again.
        """

    @abstractmethod
    def pair_moment(self, x: Any, s: Array, u: Array) -> Array:
        """J(s, u), of the second class and the first, summed over features, `(r, f), (n,), (n,) -> (r, n)`.

        Both are real, or have real parts of 0 or more; infinite where the moment does not exist.
        """

    @abstractmethod
    def pair_cumulants(self, x: Any, t: float, v: float) -> Array:
        """The first four derivatives of s -> J(t + s, v - s) at 0, summed over features, `(r, f) -> (4, r)`.

        They are cumulants of log-odds: once the second class has seen the row t times, the first v times.
        """


def log_series(terms: Array) -> Array:
    """The derivatives at 0 of log(1 + terms[0] s + terms[1] s**2 + ...), of as many as there are terms: four."""
    a, b, c, d = terms
    logs = (a, b - a**2 / 2, c - a * b + a**3 / 3, d - a * c - b**2 / 2 + a**2 * b - a**4 / 4)
    return np.stack([factorial(n + 1) * log for n, log in enumerate(logs)])


def mean_series(r: Array, sign: int = 1) -> Array:
    """What a mean that is integrated out leaves of a power: (a(t + sign s) - a(t)) / k**2, as a series in s from s on.

    E exp(-t (x - mean)**2 / 2) = (1 + t / k)**-0.5 exp(-a(t) (x - m)**2 / 2) for mean ~ Normal(m, 1 / k), with
    a(t) = t / (1 + t / k) = k - k**2 / (k + t) and, where r = 1 / (k + t), 1 / (k + t + s) = r / (1 + r s).
    """
    return np.stack([-r * (-sign * r) ** n for n in range(1, ORDER + 1)])
