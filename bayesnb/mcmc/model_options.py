"""What may be asked of a model beyond its conjugate form."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from numbers import Real
from typing import Any

from bayesnb.families import Beta
from bayesnb.model.schema import Block

MOST = 500  # levels of a die whose proportions are learned
SCALES = (None, "half-normal", "log-normal")


@dataclass(frozen=True)
class Options:
    """Each as in `mcmc.fit`."""

    hierarchical: Any = False
    scale_prior: str | None = None
    student: Any = False
    label_noise: Any = None

    def __post_init__(self) -> None:
        if not (isinstance(self.hierarchical, bool) or self.hierarchical == "base"):
            raise ValueError(f"hierarchical must be True, False or 'base', got {self.hierarchical!r}.")
        if self.scale_prior not in SCALES:
            raise ValueError(f"scale_prior must be None, 'half-normal' or 'log-normal', got {self.scale_prior!r}.")
        self._check_student()
        self._check_noise()

    def _check_student(self) -> None:
        said = self.student
        if not isinstance(said, bool) and not (isinstance(said, Real) and 0 < float(said) < inf):
            raise ValueError(
                f"student must be True, False or the degrees of freedom, a finite number above 0, got {said!r}."
            )

    def _check_noise(self) -> None:
        noise = self.label_noise
        if isinstance(noise, Beta):
            if noise.a.ndim or noise.b.ndim or not noise.strictly_proper:
                raise ValueError(f"label_noise as a Beta needs one a and one b, both above 0, got {noise!r}.")
        elif not (noise is None or (isinstance(noise, Real) and 0 <= float(noise) < 1)):
            raise ValueError(
                f"label_noise must be None, the probability that a label is wrong, below 1, or a Beta, got {noise!r}."
            )

    def check(self, blocks: Sequence[Block]) -> None:
        """Raise for an option that no column of the model has a use for."""
        gaussian = any(block.family.has_width for block in blocks)
        for name, value in (("scale_prior", self.scale_prior), ("student", self.student)):
            if value and not gaussian:
                raise ValueError(f"{name}={value!r} is about Gaussian columns, and the model has none. Leave it out.")
        joint = [block for block in blocks if block.family.whole and block.family.continuous]
        if self.hierarchical and joint:
            raise ValueError(
                f"hierarchical={self.hierarchical!r} learns priors of columns that are apart, and the block of column "
                f"{joint[0].names[0]!r} has one covariance matrix. Leave it out, or declare Gaussian() columns."
            )
        if self.hierarchical == "base":
            _check_dice([block for block in blocks if block.family.counts_levels])


def _check_dice(blocks: Sequence[Block]) -> None:
    """Raise where there are no proportions to be learned, or more than a sampler can follow."""
    if not blocks:
        raise ValueError(
            "hierarchical='base' is about columns of levels, flags and words, and the model has none. Say True."
        )
    most = max(map(_sides, blocks))
    if most > MOST:
        raise ValueError(
            f"hierarchical='base' learns the proportions of all levels of a die, and one has {most:,}, more than the "
            f"{MOST} that a sampler can follow. Say True, which learns the concentration alone."
        )


def _sides(block: Block) -> int:
    """Of its largest die."""
    if block.family.combined:
        return prod(block.sizes)
    return len(block.words) if block.family.whole else max(block.sizes, default=2)
