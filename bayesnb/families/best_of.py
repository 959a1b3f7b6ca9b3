"""A family that is chosen for each column by how well the column by itself predicts the label.

    S(family) = sum_i log p(y_i | x_ij, all other rows), exact

Evidences do not choose well: they favour the family that fits the bulk of a column, whether or not
that says something of the label, and families whose densities have different base measures do not
compare by them at all. The label's leave-one-out score always compares.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Self

import numpy as np

from bayesnb.families.family import Family


@dataclass(frozen=True, eq=False, init=False)
class BestOf:
    """Choice among families, made for each column by how well the column alone predicts the label.

    The first family is taken, unless another one's exact leave-one-out log score of the label is
    better by more than ``margin`` nats.

    Parameters
    ----------
    *families : Family
        Two candidates or more. One that cannot model a column's cells is passed over, and so is one
        after the first that they refute: ``Poisson``, where the variance within classes is more
        than five times the mean.
    margin : float, default=2.0
        By how many nats another candidate must be better than the first.

    Attributes
    ----------
    candidates : tuple of Family
        The families to choose from.

    See Also
    --------
    NaiveBayes : What was chosen is in its ``families_``, and by how much in ``choices_``.

    Notes
    -----
    The choice is made at the first ``fit`` or ``partial_fit``, and then fixed. Where a
    candidate is a family over several columns at once, a block of columns is decided as a whole.

    Evidences would not choose well: they favour the family that fits the bulk of a column, whether
    or not that tells the classes apart, and densities relative to different base measures cannot be
    compared by them at all.

    Examples
    --------
    >>> from bayesnb import BestOf, Categorical, Gaussian, NaiveBayes
    >>> # one class outside, the other inside: no two bell curves
    >>> x = [[1.0], [9.0], [1.0], [9.0], [5.0], [5.0], [5.0], [5.0]] * 5
    >>> best = BestOf(Gaussian(shared=True), Categorical())
    >>> model = NaiveBayes(best).fit(x, list("aaaabbbb") * 5)
    >>> model.families_
    {0: Categorical(prior=Dirichlet(concentration=1.0))}
    """

    candidates: tuple[Family, ...]
    margin: float

    def __init__(self, *families: Family, margin: float = 2.0) -> None:
        if len(families) < 2 or not all(isinstance(family, Family) for family in families):
            raise TypeError(
                "BestOf takes two families or more, such as BestOf(Histogram(), Gaussian()), got "
                f"{families!r}."
            )
        if isinstance(margin, bool) or not (isinstance(margin, Real) and 0 <= float(margin) < inf):
            raise ValueError(
                f"BestOf: margin must be a number of nats, at least 0, got {margin!r}."
            )
        object.__setattr__(self, "candidates", families)
        object.__setattr__(self, "margin", float(margin))

    @classmethod
    def of_fields(cls, candidates: tuple[Family, ...], margin: float = 2.0) -> Self:
        """Return the choice among these candidates."""
        return cls(*candidates, margin=margin)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the candidates: the class of one that is declared with its defaults, else all of
        its declaration.
        """
        return tuple(
            type(family).__name__ if repr(family) == repr(type(family)()) else repr(family)
            for family in self.candidates
        )

    @property
    def over_blocks(self) -> bool:
        """Whether a candidate is a family over several columns at once."""
        return any(family.multivariate or family.words for family in self.candidates)

    def __repr__(self) -> str:
        margin = "" if self.margin == 2.0 else f", margin={self.margin:g}"
        return f"BestOf({', '.join(map(repr, self.candidates))}{margin})"


@dataclass(frozen=True, eq=False)
class Choice:
    """How the family of a column, or of a block of columns, was chosen among candidates."""

    key: Hashable  # the column's name, or those of a block
    candidates: tuple[str, ...]
    # the label's score by each candidate, `(candidates,)`; NaN for one that cannot have the cells
    elpd: np.ndarray
    chosen: int  # the place of the one that was chosen
