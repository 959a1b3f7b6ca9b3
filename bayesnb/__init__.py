"""Naive Bayes that keeps the whole posterior."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "NaiveBayes": "estimators",
    "BernoulliNB": "estimators",
    "CategoricalNB": "estimators",
    "GaussianNB": "estimators",
    "MultinomialNB": "estimators",
    "PoissonNB": "estimators",
    "Bernoulli": "families",
    "Categorical": "families",
    "Gaussian": "families",
    "JointTable": "families",
    "Multinomial": "families",
    "MultivariateGaussian": "families",
    "Poisson": "families",
    "Beta": "families",
    "Dirichlet": "families",
    "Gamma": "families",
    "NormalInverseGamma": "families",
    "NormalInverseWishart": "families",
    "InclusionWarning": "selection.inclusion",
    "UnseenLevelWarning": "data.unseen",
    "DrawnWarning": "inference.posterior_draws",
    "UndefinedWarning": "selection.leave_one_out",
    "UnverifiedWarning": "selection.leave_one_out",
    "calibration": "criticism.calibration",
    "compare": "criticism.compare",
    "Partition": "criticism.partition",
    "dependence": "criticism.dependence",
    "partition": "criticism.partition",
    "relevance": "criticism.relevance",
    "load": "estimators.loading",
    "Live": "integrations.live",
    "plot_boundary": "plots",
    "plot_calibration": "plots",
    "plot_confusion": "plots",
    "plot_column": "plots",
    "plot_dependence": "plots",
    "BoundaryWarning": "criticism.tune",
    "RefusedWarning": "criticism.tune",
    "SmoothingComparison": "criticism.compare_smoothing",
    "compare_smoothing": "criticism.compare_smoothing",
    "tune": "criticism.tune",
    "plot_nomogram": "plots",
    "plot_relevance": "plots",
    "plot_uncertainty": "plots",
    "plot_waterfall": "plots",
    "plot_words": "plots",
}

_ROOMS = ("datasets", "mcmc", "report", "scale")  # are there without an import of their own

__all__ = list(_HOME)

if TYPE_CHECKING:
    from bayesnb.criticism.calibration import calibration as calibration
    from bayesnb.criticism.compare import compare as compare
    from bayesnb.criticism.compare_smoothing import SmoothingComparison as SmoothingComparison
    from bayesnb.criticism.compare_smoothing import compare_smoothing as compare_smoothing
    from bayesnb.criticism.dependence import dependence as dependence
    from bayesnb.criticism.partition import Partition as Partition
    from bayesnb.criticism.partition import partition as partition
    from bayesnb.criticism.relevance import relevance as relevance
    from bayesnb.criticism.tune import BoundaryWarning as BoundaryWarning
    from bayesnb.criticism.tune import RefusedWarning as RefusedWarning
    from bayesnb.criticism.tune import tune as tune
    from bayesnb.data.unseen import UnseenLevelWarning as UnseenLevelWarning
    from bayesnb.estimators import BernoulliNB as BernoulliNB
    from bayesnb.estimators import CategoricalNB as CategoricalNB
    from bayesnb.estimators import GaussianNB as GaussianNB
    from bayesnb.estimators import MultinomialNB as MultinomialNB
    from bayesnb.estimators import NaiveBayes as NaiveBayes
    from bayesnb.estimators import PoissonNB as PoissonNB
    from bayesnb.estimators.loading import load as load
    from bayesnb.families import Bernoulli as Bernoulli
    from bayesnb.families import Beta as Beta
    from bayesnb.families import Categorical as Categorical
    from bayesnb.families import Dirichlet as Dirichlet
    from bayesnb.families import Gamma as Gamma
    from bayesnb.families import Gaussian as Gaussian
    from bayesnb.families import JointTable as JointTable
    from bayesnb.families import Multinomial as Multinomial
    from bayesnb.families import MultivariateGaussian as MultivariateGaussian
    from bayesnb.families import NormalInverseGamma as NormalInverseGamma
    from bayesnb.families import NormalInverseWishart as NormalInverseWishart
    from bayesnb.families import Poisson as Poisson
    from bayesnb.inference.posterior_draws import DrawnWarning as DrawnWarning
    from bayesnb.integrations.live import Live as Live
    from bayesnb.plots import plot_boundary as plot_boundary
    from bayesnb.plots import plot_calibration as plot_calibration
    from bayesnb.plots import plot_column as plot_column
    from bayesnb.plots import plot_confusion as plot_confusion
    from bayesnb.plots import plot_dependence as plot_dependence
    from bayesnb.plots import plot_nomogram as plot_nomogram
    from bayesnb.plots import plot_relevance as plot_relevance
    from bayesnb.plots import plot_uncertainty as plot_uncertainty
    from bayesnb.plots import plot_waterfall as plot_waterfall
    from bayesnb.plots import plot_words as plot_words
    from bayesnb.selection.inclusion import InclusionWarning as InclusionWarning
    from bayesnb.selection.leave_one_out import UndefinedWarning as UndefinedWarning
    from bayesnb.selection.leave_one_out import UnverifiedWarning as UnverifiedWarning


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"bayesnb.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'bayesnb' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"bayesnb.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_ROOMS})
