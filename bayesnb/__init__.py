"""Naive Bayes that keeps the whole posterior: exact probabilities, intervals, evidence.

Structure of the package. After one pass over a table, the training data are not needed again:

    table -> blocks of columns -> Stats  -> Belief -> predictive, evidence, uncertainty -> Dataset
             (r, f) arrays        (c, f)    (c, f)    (r, c) and (s, r, c) arrays          DataTree

`Stats` summarise what was observed: they add, subtract and scale. A `Belief` is a distribution of
parameters, prior or posterior. The model is a product of beliefs with the interface of its parts.
Axes have the same letters and order everywhere: `s` draws, `r` rows, `c` classes, `f` features, `k`
levels.

Rooms, from top to bottom; a room imports only from rooms below it (tests/test_layers.py):

    cli           commands (click) and their options, reading of tables, writing of results
    report        facts (results of functions), sections (sentences, figures, tables), one template
                  (Jinja2)
    mcmc          the same models in PyMC, models that are not conjugate, logistic regression
    scale         Dask, files larger than memory, shards, models that learn while they serve
    plots         figures of columns, rows, links and performance, and their shared style
    criticism     functions of estimators and rows: compare, compare_smoothing, tune, calibration,
                  relevance, ...
    estimators    NaiveBayes and presets: flat mixins over `fitted_`; only this room imports
                  scikit-learn
    results       Datasets, DataTree, ELPDData, notebook displays; only this room imports xarray
                  and ArviZ
    inference     the distribution of p(y | x, theta): intervals, entropies, explanation, decision,
                  linear form, draws
    selection     on arrays: leave-one-out, k-fold, scores, exponents, settings of priors, evidence
                  of blocks and pairs
    persistence   save and load without pickle, with a size limit for untrusted files
    model         the product of beliefs, the schema of a table, the class prior, shards
    data          any table as columns of cells; labels, levels; files
    families      one file per family: Stats, Density, Belief, and the Family that a user declares
    numerics      special functions, threads, views of cells, compiled kernels: arrays in, arrays
                  out

Four call paths (file: function):

    fit               estimators/learning.py: fit -> data/tables.py: open_table -> data/columns.py:
                      encode -> model/schema.py: learn -> model/shards.py: Shard.of ->
                      model/schema.py: read -> model/product.py: observe -> a family's Stats.of ->
                      model/shards.py: model_of, the prior; the posterior is derived:
                      prior.update(stats)
    predict_proba     estimators/prediction.py: predict_proba -> data/tables.py: open_table ->
                      model/schema.py: read -> model/product.py: log_joint -> each belief's `score`
                      -> model/product.py: normalise
    predict_interval  estimators/uncertainty.py: predict_interval -> inference/intervals.py:
                      intervals -> inference/class_scores.py: cumulants -> each belief's
                      `score_cumulants`; where Cornish-Fisher is not exact enough,
                      inference/two_classes.py and characteristic_functions.py invert the
                      characteristic function -> results/datasets.py: dataset
    loo               estimators/cross_validation.py: loo -> selection/leave_one_out.py:
                      leave_one_out -> each belief's score of rows that were removed from their
                      class -> results/elpd.py: elpd

Nearly everything follows from one function, `Belief.log_moment`, which has a closed form in every
family. With K(s) = log E[p(x | theta)**s] under a belief, K(1) is the log predictive, -K(-1) is the
log predictive with this row left out, the derivatives at 0 are the cumulants of the log-density,
and exp K(it) is its characteristic function.

Terms: a *block* is columns of one family that are modelled together; *cells* are the numbers of a
block; a *schema* gives the block of each column and its levels; a *shard* is the stats of some rows
with their schema; the *temper* is an exponent of the features' evidence, and its *length* the
number of words at which that of a text is half; a *score* is log p(x, y) of a row and class; a row
is *held out* if it is predicted by a model fitted without it; a *kernel* is a compiled loop, with a
NumPy version for small inputs; the *class prior* is the belief about the class probabilities.

How to add a family: write one file with its `Stats`, `Density`, `Belief` and `Family` (see
families/poisson.py), which declares `support` (what cells must be, checked at fit and at predict),
`picture`, `hyperparameters` and `describe`, and decorate it with `register`. A belief has ten
abstract members (families/base.py), from which scores of rows, leave-one-out and explanations are
derived. Methods that only some families have, such as PyMC variables, return None, or raise, by
default. Storage, command line, report, tuning and plots use the registry. tests/waiting.py is an
example, and tests/test_new_family.py uses it everywhere.

Only pyarrow reads files. Polars fills short rows with missing cells, misreads lone carriage returns
and refuses a quote inside a cell; DuckDB drops headers above ragged rows and reads an empty text in
quotes as missing. Arrow reads every column as text, from which the kinds of columns are inferred.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

_NAMES = {
    "estimators": "NaiveBayes BernoulliNB CategoricalNB GaussianNB MultinomialNB PoissonNB",
    "families": (
        "Bernoulli BestOf Categorical Gaussian JointTable Multinomial MultivariateGaussian "
        "Poisson Histogram Beta Dirichlet Gamma NormalInverseGamma NormalInverseWishart "
        "AveragedHistogram"
    ),
    "data.cells": "UnseenLevelWarning",
    "data.checks": "ColumnWarning",
    "inference.posterior_draws": "DrawnWarning",
    "selection.leave_one_out": "UndefinedWarning UnverifiedWarning",
    "criticism.calibration": "calibration",
    "criticism.check": "TableCheck check",
    "criticism.dependence": "Partition dependence partition",
    "criticism.points": "points",
    "criticism.prediction_sets": "PredictionSets prediction_sets",
    "criticism.relevance": "importance relevance",
    "estimators.naive_bayes": "load",
    "scale.live": "Live",
    "plots": (
        "plot_boundary plot_calibration plot_check plot_confusion plot_column plot_dependence "
        "plot_relevance plot_uncertainty plot_waterfall plot_words"
    ),
    "criticism.tune": "BoundaryWarning RefusedWarning tune",
    "criticism.compare": "SmoothingComparison compare compare_smoothing",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_ROOMS = ("datasets", "mcmc", "report", "scale")  # available without a separate import

__all__ = list(_HOME)

if TYPE_CHECKING:
    from bayesnb.criticism.calibration import calibration as calibration
    from bayesnb.criticism.check import TableCheck as TableCheck
    from bayesnb.criticism.check import check as check
    from bayesnb.criticism.compare import SmoothingComparison as SmoothingComparison
    from bayesnb.criticism.compare import compare as compare
    from bayesnb.criticism.compare import compare_smoothing as compare_smoothing
    from bayesnb.criticism.dependence import Partition as Partition
    from bayesnb.criticism.dependence import dependence as dependence
    from bayesnb.criticism.dependence import partition as partition
    from bayesnb.criticism.points import points as points
    from bayesnb.criticism.prediction_sets import PredictionSets as PredictionSets
    from bayesnb.criticism.prediction_sets import prediction_sets as prediction_sets
    from bayesnb.criticism.relevance import importance as importance
    from bayesnb.criticism.relevance import relevance as relevance
    from bayesnb.criticism.tune import BoundaryWarning as BoundaryWarning
    from bayesnb.criticism.tune import RefusedWarning as RefusedWarning
    from bayesnb.criticism.tune import tune as tune
    from bayesnb.data.cells import UnseenLevelWarning as UnseenLevelWarning
    from bayesnb.data.checks import ColumnWarning as ColumnWarning
    from bayesnb.estimators import BernoulliNB as BernoulliNB
    from bayesnb.estimators import CategoricalNB as CategoricalNB
    from bayesnb.estimators import GaussianNB as GaussianNB
    from bayesnb.estimators import MultinomialNB as MultinomialNB
    from bayesnb.estimators import NaiveBayes as NaiveBayes
    from bayesnb.estimators import PoissonNB as PoissonNB
    from bayesnb.estimators.naive_bayes import load as load
    from bayesnb.families import AveragedHistogram as AveragedHistogram
    from bayesnb.families import Bernoulli as Bernoulli
    from bayesnb.families import BestOf as BestOf
    from bayesnb.families import Beta as Beta
    from bayesnb.families import Categorical as Categorical
    from bayesnb.families import Dirichlet as Dirichlet
    from bayesnb.families import Gamma as Gamma
    from bayesnb.families import Gaussian as Gaussian
    from bayesnb.families import Histogram as Histogram
    from bayesnb.families import JointTable as JointTable
    from bayesnb.families import Multinomial as Multinomial
    from bayesnb.families import MultivariateGaussian as MultivariateGaussian
    from bayesnb.families import NormalInverseGamma as NormalInverseGamma
    from bayesnb.families import NormalInverseWishart as NormalInverseWishart
    from bayesnb.families import Poisson as Poisson
    from bayesnb.inference.posterior_draws import DrawnWarning as DrawnWarning
    from bayesnb.plots import plot_boundary as plot_boundary
    from bayesnb.plots import plot_calibration as plot_calibration
    from bayesnb.plots import plot_check as plot_check
    from bayesnb.plots import plot_column as plot_column
    from bayesnb.plots import plot_confusion as plot_confusion
    from bayesnb.plots import plot_dependence as plot_dependence
    from bayesnb.plots import plot_relevance as plot_relevance
    from bayesnb.plots import plot_uncertainty as plot_uncertainty
    from bayesnb.plots import plot_waterfall as plot_waterfall
    from bayesnb.plots import plot_words as plot_words
    from bayesnb.scale.live import Live as Live
    from bayesnb.selection.leave_one_out import UndefinedWarning as UndefinedWarning
    from bayesnb.selection.leave_one_out import UnverifiedWarning as UnverifiedWarning


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"bayesnb.{name}")
    if name == "PolyaTree":  # `hasattr` needs an AttributeError; an import shows the reason
        is_import = sys._getframe(1).f_code.co_name == "_handle_fromlist"
        kind = ImportError if is_import else AttributeError
        raise kind("PolyaTree is called Histogram: from bayesnb import Histogram.")
    if name not in _HOME:
        raise AttributeError(f"module 'bayesnb' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"bayesnb.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_ROOMS})
