"""Who takes part in the contest: name -> a function that makes an unfitted classifier of frames.

A frame's numbers are floats and its levels are strings; both may have holes. scikit-learn's methods
get the usual preparation, fitted on the rows that are learnt. Every method runs in one process and
on one core.
"""

import os
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from bayesnb import NaiveBayes

from .data import SEED, Array

Make = Callable[
    [Array], Any
]  # of the labels that are learnt: the folds cannot be more than a class has rows

Grow = Callable[[Array, Array, int], Any]

NUMBERS = make_column_selector(dtype_include="number")
LEVELS = make_column_selector(dtype_exclude="number")
FOLDS = 5
PENALTIES = np.logspace(-3, 3, 7)
BINS = 8
HOLE = "missing"
BAGS = 2  # of InterpretML's quick variant: its default, 14, takes several times as long


def folds(y: Array) -> StratifiedKFold:
    """Five folds, or as many as the smallest class has rows."""
    return StratifiedKFold(
        int(np.clip(np.bincount(y)[np.unique(y)].min(), 2, FOLDS)), shuffle=True, random_state=SEED
    )


def prepared(numbers: Any, levels: Any) -> ColumnTransformer:
    """Numbers and levels, each prepared in one way."""
    return ColumnTransformer(
        [("levels", levels, LEVELS), ("numbers", numbers, NUMBERS)], sparse_threshold=0.0
    )


def indicators() -> OneHotEncoder:
    """A column of zeros and ones for every level; a hole is a level, and what is new has none."""
    return OneHotEncoder(handle_unknown="ignore", sparse_output=False)


def gaussian(y: Array) -> Any:
    return make_pipeline(prepared(SimpleImputer(), indicators()), GaussianNB())


def calibrated(y: Array) -> Any:
    return CalibratedClassifierCV(gaussian(y), method="sigmoid", cv=folds(y))


def binned(y: Array) -> Any:
    """What many write by hand: quantile bins, and what is missing or new counts as the middle or the first level."""
    bins = KBinsDiscretizer(
        BINS, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"
    )
    levels = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
    )
    numbers = make_pipeline(SimpleImputer(strategy="median"), bins)
    known = FunctionTransformer(at_least_zero)
    return make_pipeline(prepared(numbers, levels), known, CategoricalNB())


def at_least_zero(codes: Array) -> Array:
    return np.maximum(codes, 0)


def logistic(y: Array) -> Any:
    """Logistic regression; its penalty by cross-validated log loss."""
    numbers = make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True))
    model = LogisticRegressionCV(
        Cs=PENALTIES, cv=folds(y), scoring="neg_log_loss", max_iter=300, use_legacy_attributes=False
    )
    return make_pipeline(prepared(numbers, indicators()), model)


def boosted(y: Array) -> Any:
    return CodedTrees(grow_boosted)


def boosted_by_folds(y: Array) -> Any:
    return CodedTrees(grow_boosted_by_folds)


def light(y: Array) -> Any:
    return CodedTrees(grow_light)


def cat(y: Array) -> Any:
    """CatBoost, which reads levels as they are; a hole is a level."""
    return FramedCatBoost()


def forest(y: Array) -> Any:
    return make_pipeline(
        prepared("passthrough", indicators()), RandomForestClassifier(random_state=SEED, n_jobs=1)
    )


def khiops(y: Array) -> Any:
    from khiops.sklearn import KhiopsClassifier

    return KhiopsClassifier()


def additive(y: Array) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=SEED)


def additive_quick(y: Array) -> Any:
    return additive(y).set_params(outer_bags=BAGS)


class CodedTrees(ClassifierMixin, BaseEstimator):
    """Trees that learn numbers and the codes of levels; a hole or a new level is NaN.

    `grow(x, y, levels)` returns the fitted model; the first so many columns are codes.
    """

    def __init__(self, grow: Grow) -> None:
        self.grow = grow

    def fit(self, x: pd.DataFrame, y: Array) -> Self:
        """Code the levels, and grow the trees."""
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        self.codes_ = prepared("passthrough", codes).fit(x)
        self.model_ = self.grow(self.codes_.transform(x), y, len(LEVELS(x)))
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, x: pd.DataFrame) -> Array:
        return self.model_.predict_proba(self.codes_.transform(x))


def hist_boosting(levels: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        categorical_features=list(range(levels)), random_state=SEED
    )


def grow_boosted(x: Array, y: Array, levels: int) -> Any:
    """Gradient boosting of scikit-learn, 100 iterations."""
    return hist_boosting(levels).fit(x, y)


def grow_boosted_by_folds(x: Array, y: Array, levels: int) -> Any:
    """Gradient boosting; as many of its 100 iterations as cross-validation finds best."""
    model = hist_boosting(levels).set_params(early_stopping=False)  # as above 10,000 rows it would
    return model.set_params(max_iter=iterations(model, x, y)).fit(x, y)


def grow_light(x: Array, y: Array, levels: int) -> Any:
    """LightGBM as it comes."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, random_state=SEED, verbose=-1)
    return model.fit(x, y, categorical_feature=list(range(levels)))


class FramedCatBoost(ClassifierMixin, BaseEstimator):
    """CatBoost as it comes, on frames: it is told which columns are levels."""

    def fit(self, x: pd.DataFrame, y: Array) -> Self:
        """Mark the holes among the levels, and learn."""
        from catboost import CatBoostClassifier

        self.levels_ = LEVELS(x)
        model = CatBoostClassifier(
            cat_features=self.levels_,
            thread_count=1,
            random_seed=SEED,
            verbose=False,
            allow_writing_files=False,
        )
        self.model_ = model.fit(self.marked(x), y)
        self.classes_ = self.model_.classes_
        return self

    def marked(self, x: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with a level of its own for holes among levels."""
        return x.fillna(dict.fromkeys(self.levels_, HOLE))

    def predict_proba(self, x: pd.DataFrame) -> Array:
        return self.model_.predict_proba(self.marked(x))


def iterations(model: HistGradientBoostingClassifier, x: Array, y: Array) -> int:
    """Return the number of iterations whose log loss is least over the folds."""
    losses = []
    for known, asked in folds(y).split(x, y):
        fitted = clone(model).fit(x[known], y[known])
        labels = np.unique(y[known])
        seen = asked[np.isin(y[asked], labels)]
        losses.append(
            [log_loss(y[seen], p, labels=labels) for p in fitted.staged_predict_proba(x[seen])]
        )
    return 1 + int(np.mean(losses, axis=0).argmin())


MAIN = "bayesnb"  # as it comes
OURS: Mapping[str, Make] = {
    MAIN: lambda y: NaiveBayes(n_jobs=1),
    "bayesnb-plain": lambda y: NaiveBayes(dependence=None, n_jobs=1),
    "bayesnb-loo": lambda y: NaiveBayes(temper="loo", dependence=None, n_jobs=1),
}
BASE = "logistic"
RIVALS: Mapping[str, Make] = {
    BASE: logistic,
    "gaussian": gaussian,
    "calibrated": calibrated,
    "bins": binned,
    "forest": forest,
    "boosting": boosted,
    "boosting-cv": boosted_by_folds,
    "khiops": khiops,
    "ebm": additive,
    "ebm-quick": additive_quick,
    "lightgbm": light,
    "catboost": cat,
}
METHODS: Mapping[str, Make] = OURS | RIVALS
TITLES = {
    MAIN: "bayesnb: NaiveBayes()",
    "bayesnb-plain": "bayesnb: dependence=None",
    "bayesnb-loo": 'bayesnb: temper="loo", no links',
    BASE: "logistic regression, C by CV",
    "gaussian": "GaussianNB",
    "calibrated": "GaussianNB, calibrated",
    "bins": "quantile bins, CategoricalNB",
    "forest": "random forest",
    "boosting": "gradient boosting",
    "boosting-cv": "gradient boosting, iterations by CV",
    "khiops": "Khiops",
    "ebm": "EBM of InterpretML",
    "ebm-quick": f"EBM of InterpretML, {BAGS} bags",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
}
PACKAGES = {
    "khiops": "khiops",
    "ebm": "interpret",
    "ebm-quick": "interpret",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
}


def title(method: str) -> str:
    """Return a method's name for readers; a variant that is being tried has none but its key."""
    return TITLES.get(method, method)


def missing() -> dict[str, str]:
    """Return the methods whose package is not installed, and why they are left out."""
    remedy = "uv sync --inexact --group contest, which has Khiops for Linux only"
    return {
        name: f"{title(name)} is left out: the package {package} is not installed ({remedy})"
        for name, package in PACKAGES.items()
        if find_spec(package) is None
    }


def prepare_process() -> None:
    """Let Khiops find the program that it starts, which is installed beside Python."""
    scripts = os.path.join(sys.prefix, "bin")
    if scripts not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", "")])
