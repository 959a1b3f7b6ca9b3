"""`save` and `load`: the same model comes back, from any file that is one; of any other comes one clear error."""

import hashlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import log_softmax
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bayesnb
from bayesnb import (
    Bernoulli,
    BernoulliNB,
    Beta,
    Categorical,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianNB,
    Multinomial,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    PoissonNB,
    load,
)
from bayesnb.datasets import penguins
from tests.conftest import CASES, Case

GOLDEN = Path(__file__).parent / "data" / "model-1.0.bnb"
ROWS = 24
Y = np.arange(ROWS) % 3


def fresh(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def again(model: Any, folder: Path) -> Any:
    """The model, from its file."""
    model.save(folder / "model.bnb")
    return load(folder / "model.bnb")


def alike(a: Any, b: Any) -> bool:
    """Whether two values are of the same types and the same to the last bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        same = a.dtype == b.dtype and a.shape == b.shape
        return same and (a.tolist() == b.tolist() if a.dtype.kind in "OT" else a.tobytes() == b.tobytes())
    if is_dataclass(a):
        return all(alike(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    return a == b or (a != a and b != b)


def same_table(a: Any, b: Any) -> None:
    """Two drawn tables are the same, in their types too."""
    assert type(a) is type(b)
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    elif isinstance(a, (pl.DataFrame, pa.Table)):
        assert a.schema == b.schema
        assert a.equals(b)
    elif sparse.issparse(a):
        assert alike(a.toarray(), b.toarray())
    else:
        assert alike(a, b)


def same_state(a: Any, b: Any) -> None:
    """Two fitted estimators have the same parameters, and learnt the same."""
    assert type(a) is type(b)
    assert alike(a.get_params(deep=False), b.get_params(deep=False))
    assert alike(a.classes_, b.classes_)
    assert alike(a.schema_.columns, b.schema_.columns)
    assert alike(a.schema_.blocks, b.schema_.blocks)
    assert alike(a.model_.prior, b.model_.prior)
    assert alike(a.model_.stats, b.model_.stats)
    assert (a.model_.whole, a.temper_, a.n_features_in_) == (b.model_.whole, b.temper_, b.n_features_in_)
    assert alike(a.__dict__.get("feature_names_in_"), b.__dict__.get("feature_names_in_"))


def same_answers(a: Any, b: Any, X: Any, y: Any, weight: Any = None) -> None:
    """Two fitted estimators say the same of rows, to the last bit."""
    for name in ("predict", "predict_proba", "predict_joint_log_proba"):
        assert alike(getattr(a, name)(X), getattr(b, name)(X)), name
    for name in ("uncertainty", "explain"):
        assert getattr(a, name)(X).identical(getattr(b, name)(X)), name
    assert alike(a.posterior_, b.posterior_)
    assert alike(a.class_posterior_, b.class_posterior_)
    assert a.log_evidence_ == b.log_evidence_
    assert a.log_evidence_by_feature() == b.log_evidence_by_feature()
    assert alike(a.loo(X, y, sample_weight=weight).elpd_i.values, b.loo(X, y, sample_weight=weight).elpd_i.values)
    for own, its in zip(a.sample(9, rng=3), b.sample(9, rng=3), strict=True):
        same_table(own, its)


@dataclass(frozen=True)
class Fitted:
    """An estimator and the rows that it has learnt."""

    name: str
    model: Any
    X: Any
    y: Any = None
    weight: Any = None

    @property
    def labels(self) -> Any:
        return Y if self.y is None else self.y

    def fit(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bayesnb.UnseenLevelWarning)
            return clone(self.model).fit(self.X, self.labels, sample_weight=self.weight)


def of_case(case: Case) -> Fitted:
    """A family of the laws' cases, with priors that differ between classes and a class without rows."""
    priors = {
        "gaussian": lambda: Gaussian(case.prior),
        "bernoulli": lambda: Bernoulli(case.prior),
        "poisson": lambda: Poisson(case.prior),
        "categorical": lambda: Categorical(Dirichlet(fresh().gamma(2.0, size=(3, 2, 7))), levels=range(7)),
        "multinomial": lambda: Multinomial(Dirichlet(case.prior.concentration[:, 0])),
    }
    x = np.where(case.x < 0, np.nan, case.x) if case.name == "categorical" else case.x
    model = NaiveBayes(priors[case.name](), classes=[10, 20, 30])
    return Fitted(f"the law's {case.name}", model, x, 10 * (1 + case.codes), case.weight)


def mixed_frame() -> pd.DataFrame:
    rng = fresh()
    return pd.DataFrame(
        {
            "real": np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(1e6, 3.0, ROWS)),
            "flag": rng.random(ROWS) < 0.4,
            "level": rng.choice(["x", "y", "żółć", "\U0001f427", ""], ROWS),
            "kind": pd.Categorical(rng.choice(list("ab"), ROWS), categories=["b", "a", "never"], ordered=True),
            "events": rng.poisson(3, ROWS),
            "free": rng.poisson(2, ROWS),
            "money": rng.poisson(1, ROWS),
            "dropped": rng.normal(size=ROWS),
            "weight": rng.normal(size=ROWS).astype(np.float32),
        }
    )


MIXED = {"events": Poisson(), ("free", "money"): Multinomial(0.5), "dropped": None, "real": Gaussian()}
COUNTS = fresh(2).poisson([2.0, 0.3, 0.0, 25.0], (ROWS, 4))
REAL = fresh(3).normal(size=(ROWS, 3))
LEVELS = fresh(4).integers(0, 4, (ROWS, 3))
MODELS = [
    *map(of_case, CASES),
    Fitted("a mixed frame", NaiveBayes(MIXED, class_prior={0: 0.5, 1: 0.25, 2: 0.25}), mixed_frame()),
    Fitted("tempered by loo", NaiveBayes(MIXED, temper="loo", class_prior="empirical"), mixed_frame()),
    Fitted("a number for a temper", GaussianNB(temper=0.3, n_jobs=1, fit_prior=False), REAL),
    Fitted("averaged features", NaiveBayes(average_features=0.5), mixed_frame().drop(columns="dropped")),
    Fitted(
        "some averaged features",
        NaiveBayes(MIXED, average_features={"real": 0.2, ("free", "money"): 0.7}),
        mixed_frame(),
    ),
    Fitted("declared classes", NaiveBayes(class_prior=Dirichlet([3, 1, 2, 0.5]), classes=[2, 1, 0, 7]), REAL),
    Fitted("weights", GaussianNB(estimate="map", class_prior=np.array([0.2, 0.3, 0.5])), REAL, None, Y + 0.5),
    Fitted("reserved levels", NaiveBayes(Categorical(unseen="reserve")), LEVELS),
    Fitted("refused levels", CategoricalNB(alpha=[0.5, 1, 2], min_categories=6, unseen="error"), LEVELS),
    Fitted("codes", CategoricalNB(class_prior=[0.2, 0.2, 0.6]), LEVELS),
    Fitted("levels that are floats", NaiveBayes(Categorical(0.5)), LEVELS / 3 - 0.5),
    Fitted("levels that are booleans", NaiveBayes(Categorical(levels=[True, False])), LEVELS > 1),
    Fitted("a threshold", BernoulliNB(alpha=np.float32(0.3), binarize=np.int64(0)), COUNTS),
    Fitted("words", MultinomialNB(alpha=0.1, estimate="mean"), sparse.csr_array(COUNTS)),
    Fitted("words of a matrix", MultinomialNB(alpha=np.arange(1, 5)), sparse.csr_matrix(COUNTS)),
    Fitted("weights of words", NaiveBayes(Multinomial(fractional=True)), COUNTS / 7),
    Fitted("rates", PoissonNB(prior=Gamma([0.5, 1, 2, 3], 0.1)), COUNTS),
    Fitted("a prior that lies in columns", GaussianNB(prior=NormalInverseGamma(np.asfortranarray(REAL[:3]), 1, 2, 3)), REAL),
    Fitted("a list of lists", NaiveBayes(), [[1.5, "a"], [2.5, "b"], [1.0, "a"], [9.0, "b"]], list("ppqq")),
]


@pytest.mark.parametrize("fitted", MODELS, ids=lambda fitted: fitted.name)
def test_a_loaded_model_is_the_one_that_was_saved(fitted: Fitted, tmp_path: Path) -> None:
    model = fitted.fit()
    loaded = again(model, tmp_path)
    same_state(model, loaded)
    same_answers(model, loaded, fitted.X, fitted.labels, fitted.weight)
