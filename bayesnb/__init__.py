"""Naive Bayes that keeps the whole posterior."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "bayesnb.classifier": ("NaiveBayes",),
    "bayesnb.presets": ("BernoulliNB", "CategoricalNB", "GaussianNB", "MultinomialNB", "PoissonNB"),
    "bayesnb.families": ("Bernoulli", "Categorical", "Gaussian", "Multinomial", "Poisson")
    + ("Beta", "Dirichlet", "Gamma", "NormalInverseGamma"),
    "bayesnb.schema": ("UnseenLevelWarning",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)  # noqa: PLE0605

if TYPE_CHECKING:
    from bayesnb.classifier import NaiveBayes
    from bayesnb.families import Bernoulli, Beta, Categorical, Dirichlet, Gamma, Gaussian, Multinomial, NormalInverseGamma, Poisson
    from bayesnb.presets import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB
    from bayesnb.schema import UnseenLevelWarning


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bayesnb' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
