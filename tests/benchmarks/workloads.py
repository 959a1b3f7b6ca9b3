"""The workloads: what is measured, against what, and what must be reached."""

from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn import naive_bayes as sk
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from bayesnb import (
    BernoulliNB,
    Categorical,
    CategoricalNB,
    Gaussian,
    GaussianNB,
    Histogram,
    MultinomialNB,
    NaiveBayes,
    NormalInverseGamma,
)

from .data import Array, bits, categories, codes, iris, mixed, reals, texts, words
from .side_by_side import MLE, Workload, one_row, stream

GaussianTheirs = partial(sk.GaussianNB, var_smoothing=0)


def encoded() -> Pipeline:
    """Scikit-learn's way with levels that are no codes."""
    return make_pipeline(OrdinalEncoder(dtype=np.int64), sk.CategoricalNB())


class TwoModels:
    """Scikit-learn's way with real columns beside levels.

    Two models, and the class prior counted once.
    """

    def fit(self, x: pd.DataFrame, y: Array) -> Self:
        self.encoder = OrdinalEncoder(dtype=np.int64)
        self.reals = GaussianTheirs().fit(x.filter(like="r"), y)
        self.levels = sk.CategoricalNB().fit(self.encoder.fit_transform(x.filter(like="c")), y)
        return self

    def predict_proba(self, x: pd.DataFrame) -> Array:
        joint = self.reals.predict_joint_log_proba(x.filter(like="r"))
        joint += self.levels.predict_joint_log_proba(self.encoder.transform(x.filter(like="c")))
        return softmax(joint - self.levels.class_log_prior_, axis=1)


def mixed_naive_bayes(estimate: str = "predictive", **arguments: Any) -> NaiveBayes:
    """Ours for the mixed frame; the mean under an empty prior is the maximum likelihood that scikit-learn takes."""
    empty = NormalInverseGamma(mean=0.0, count=0.0, shape=1.0, scale=0.0)
    numbers = Gaussian() if estimate == "predictive" else Gaussian(empty)
    families = {f"r{j}": numbers for j in range(20)} | {f"c{j}": Categorical() for j in range(20)}
    return NaiveBayes(families, estimate=estimate, **arguments)


gaussian = partial(Workload, theirs=GaussianTheirs, ours=GaussianNB, as_theirs=MLE)
multinomial = partial(Workload, theirs=sk.MultinomialNB, ours=MultinomialNB)
bernoulli = partial(Workload, theirs=sk.BernoulliNB, ours=BernoulliNB)
frame = partial(Workload, theirs=encoded, ours=partial(NaiveBayes, Categorical()))
chosen = partial(Workload, ours=NaiveBayes, goals={"fit": None, "predict": None}, as_theirs=None)

WORKLOADS = [
    gaussian(
        name="G1",
        about="Gaussian, 10 classes",
        rows=1_000_000,
        table=partial(reals, columns=50, classes=10),
        goals={"fit": 15, "predict": 15, "plug-in": None},
    ),
    gaussian(
        name="G2",
        quick=0.3,
        about="Gaussian, 2 classes",
        rows=100_000,
        table=partial(reals, columns=500, classes=2),
        goals={"fit": 12, "predict": 15},
    ),
    gaussian(
        name="G3",
        about="Gaussian, 10 classes, float32",
        rows=1_000_000,
        table=partial(reals, columns=50, classes=10, dtype=np.float32),
        goals={"fit": 12, "predict": 12},
        tolerance=1e-3,  # scikit-learn's means and variances are then float32's
    ),
    gaussian(
        name="G1-holes",
        about="Gaussian, 10 % of it missing, against ourselves without",
        rows=1_000_000,
        table=partial(reals, columns=50, classes=10, missing=0.1),
        theirs=None,
        given=np.nan_to_num,
        goals={"fit": 1 / 2, "predict": 1 / 4},
    ),
    Workload(
        name="T1",
        about="Histograms, 10 classes, against our Gaussians",
        rows=1_000_000,
        table=partial(reals, columns=50, classes=10),
        theirs=None,
        against=partial(NaiveBayes, Gaussian()),
        ours=partial(NaiveBayes, Histogram()),
        goals={"fit": 1 / 2, "predict": 1},
        floor={"fit": 1 / 40, "predict": 1 / 6},  # searching each number takes longer
    ),
    Workload(
        name="T1-small",
        quick=1,
        about="Histograms, 400 rows, against our Gaussians",
        rows=400,
        table=partial(reals, columns=5, classes=2),
        theirs=None,
        against=partial(NaiveBayes, Gaussian()),
        ours=partial(NaiveBayes, Histogram()),
        goals={"fit": 1 / 6, "predict": None},
    ),
    multinomial(
        name="M1",
        quick=0.2,
        about="word counts (CSR), 20 classes",
        rows=200_000,
        table=partial(words, columns=50_000, classes=20, length=84),
        goals={"fit": 3.5, "predict": 2, "plug-in": 1.3},  # the last is SciPy's product, as theirs
        smaller={"predict": 1.5, "plug-in": None},
    ),
    multinomial(
        name="M2",
        quick=0.2,
        about="word counts (CSR), 1,000 classes",
        rows=100_000,
        table=lambda rows: words(
            rows, columns=rows // 2, classes=1_000, length=84
        ),  # its parameters grow with it
        goals={"fit": 60, "predict": 6},
        smaller={"fit": 40, "predict": 3},
    ),
    bernoulli(
        name="B1",
        about="words that occur (CSR), 20 classes",
        rows=200_000,
        table=partial(words, columns=50_000, classes=20, length=84, binary=True),
        goals={"fit": 4, "predict": 4, "plug-in": 2},
        smaller={"predict": 3, "plug-in": None},
    ),
    bernoulli(
        name="B2",
        about="zeros and ones, float64",
        rows=500_000,
        table=partial(bits, columns=100, classes=10),
        goals={"fit": 25, "predict": 12},
        floor={"fit": 6, "predict": 4},  # of few rows; at full size 12 and 8
    ),
    bernoulli(
        name="B2-uint8",
        about="zeros and ones, uint8",
        rows=500_000,
        table=partial(bits, columns=100, classes=10, dtype=np.uint8),
        goals={"fit": 150, "predict": 18},
        floor={"fit": 30, "predict": 5},  # of few rows; at full size 12 and 8
    ),
    Workload(
        name="C1",
        quick=0.3,
        about="integer codes",
        rows=1_000_000,
        table=partial(codes, columns=30, classes=5),
        theirs=sk.CategoricalNB,
        ours=CategoricalNB,
        goals={"fit": 30, "predict": 20},
        floor={"predict": 6},  # 7 to 12 where memory is slow and shared; 7.2 to 7.6 before
    ),
    frame(
        name="C2",
        quick=0.3,
        about="pandas categoricals",
        rows=500_000,
        table=partial(categories, columns=30, classes=5),
        goals={"fit": 100, "predict": 40},
    ),
    frame(
        name="C2s",
        quick=0.4,
        about="strings",
        rows=200_000,
        table=partial(texts, columns=30, classes=5),
        goals={"fit": 20, "predict": 9},
    ),
    frame(
        name="X1",
        quick=0.3,
        about="a frame of floats and categoricals",
        rows=500_000,
        table=partial(mixed, columns=20, classes=5),
        theirs=TwoModels,
        ours=mixed_naive_bayes,
        goals={"fit": 50, "predict": 25},
    ),
    chosen(
        name="C2-auto",
        quick=0.3,
        about="pandas categoricals; priors and exponents chosen",
        rows=500_000,
        table=partial(categories, columns=30, classes=5),
        theirs=encoded,
    ),
    chosen(
        name="X1-auto",
        quick=0.3,
        about="floats and categoricals; families and exponents chosen",
        rows=500_000,
        table=partial(mixed, columns=20, classes=5),
        theirs=TwoModels,
    ),
    gaussian(
        name="P1",
        floor={"partial_fit": 4},
        about="partial_fit, 1,000 rows a batch",
        rows=1_000_000,
        table=partial(reals, columns=50, classes=10),
        goals={"partial_fit": 10},
        run=partial(stream, batch=1_000),
    ),
    gaussian(
        name="P1-20",
        about="partial_fit, 20 rows a batch",
        rows=20_000,
        table=partial(reals, columns=50, classes=10),
        goals={"partial_fit": 5},
        run=partial(stream, batch=20),
    ),
    gaussian(
        name="S1",
        floor={"predict": 7},  # 9 to 10, as 70 calls within Python take 8 of its 10 µs
        about="one row, array",
        rows=150,
        table=partial(iris, kind="array"),
        goals={"predict": 20},
        run=one_row,
    ),
    gaussian(
        name="S1-small",
        about="one row, array, nothing compiled",
        rows=150,
        table=partial(iris, kind="array"),
        goals={"predict": None},
        run=partial(one_row, compiled=False),
    ),
    multinomial(
        name="S1-csr",
        floor={"predict": 2},  # 4 to 6; it must not be slower than scikit-learn anywhere
        about="one row, CSR",
        rows=2_000,
        table=partial(words, columns=1_000, classes=3, length=30),
        goals={"predict": 15},
        run=one_row,
    ),
    gaussian(
        name="S1-list",
        about="one row, list",
        rows=150,
        table=partial(iris, kind="list"),
        goals={"predict": 6},
        run=one_row,
    ),
    gaussian(
        name="S1-frame",
        about="one row, frame",
        rows=150,
        table=partial(iris, kind="frame"),
        goals={"predict": 5},
        run=one_row,
    ),
]
