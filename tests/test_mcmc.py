"""Models in PyMC: those of the closed form, where there is one, and what SciPy and sums say, where
there is none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import arviz_stats
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import gammaln, logsumexp

from bayesnb import (
    Bernoulli,
    Beta,
    Categorical,
    Gaussian,
    Multinomial,
    NaiveBayes,
    NormalInverseGamma,
    Poisson,
    mcmc,
)

pytest.importorskip("pymc")
pytensor = pytest.importorskip("pytensor")

from pymc.model.transform.conditioning import remove_value_transforms  # noqa: E402

Array = np.ndarray
Point = dict[str, Array]
CLASSES = ["ash", "elm", "oak"]


def log_density(model: Any) -> Callable[[Point], float]:
    """The log density of a model's variables as they are named."""
    terms = remove_value_transforms(model).compile_logp(
        jacobian=False, sum=False, mode="FAST_COMPILE"
    )
    return lambda point: float(sum(np.sum(term) for term in terms(point)))


def shape_of(model: Any, name: str) -> tuple[int, ...]:
    return tuple(len(model.coords[dim]) for dim in model.named_vars_to_dims.get(name, ()))


def frame(rows: int = 60) -> tuple[pd.DataFrame, Array, Array]:
    """Columns of every family, with missing cells; two of the three classes have rows."""
    rng = np.random.default_rng(20261121)
    code = rng.integers(0, 2, rows)
    table = pd.DataFrame(
        {
            "girth": rng.normal(2.0 * code, 1.0),
            "height": rng.normal(-2e3 + 300 * code, 500.0),
            "wet": rng.random(rows) < 0.3 + 0.3 * code,
            "mossy": rng.random(rows) < 0.1,
            "soil": rng.choice(["clay", "loam", "sand"], rows),
            "nests": rng.poisson(0.4 + code),
            "rings": rng.poisson(20.0 + 4 * code),
            "red": rng.poisson(2.0, rows),
            "green": rng.poisson(0.5 + code),
            "blue": rng.poisson(1.0, rows),
        },
        index=[f"tree {row}" for row in range(rows)],
    ).astype({"wet": object, "nests": float})
    for row, column in [(3, "girth"), (5, "height"), (7, "wet"), (9, "soil"), (13, "nests")]:
        table.loc[f"tree {row}", column] = np.nan
    return table, np.array(CLASSES)[code], 0.25 + np.arange(rows) % 4


TABLE, LABEL, WEIGHT = frame()
WORDS = ("red", "green", "blue")
EVERY = {
    "girth": Gaussian(),
    "height": Gaussian(NormalInverseGamma(-2e3, 0.5, 3.0, 4e5)),
    "wet": Bernoulli(),
    "mossy": Bernoulli(Beta(0.5, 4.0)),
    "soil": Categorical(),
    "nests": Poisson(),
    WORDS: Multinomial(),
}

COLUMNS = [*[*EVERY][:-1], *WORDS]


# Name -> families, columns (or another table), and what else the estimator is told


# Conjugate models ---------------------------------------------------------------------------------
# -------------------


# What has no closed form: the whole story told again in SciPy
# -------------------------------------------------------

MIXED = NaiveBayes(EVERY, classes=CLASSES)
MIXED_X = TABLE[COLUMNS]
MIXED.fit(MIXED_X, LABEL, WEIGHT)
CODE = np.searchsorted(CLASSES, LABEL)
NORMALS = {"": "girth", "_2": "height"}
# theta -> how often each class saw each level is counted of these cells, alpha and proportions as
# declared
DICE = {
    "bernoulli_theta": ("wet", 1.0, [1.0, 1.0]),
    "bernoulli_theta_2": ("mossy", 2.25, [4.0 / 2.25, 0.5 / 2.25]),
    "theta_soil": ("soil", 1.0, [1.0, 1.0, 1.0]),
    "multinomial_theta": (None, 1.0, [1.0, 1.0, 1.0]),
}
WIDE = 1.5  # sd of the logs of what is learned


def one_hot(column: str | None) -> Array:
    """The levels of a column's cells, one column each; none where the cell is missing."""
    if column is None:
        return TABLE[[*WORDS]].to_numpy(float)
    levels = [False, True] if column in ("wet", "mossy") else ["clay", "loam", "sand"]
    return np.column_stack([TABLE[column] == level for level in levels]).astype(float)


def by_class(cells: Array, weight: Array = WEIGHT) -> Array:
    """Weighted sums over the rows of each class, `(r, k) -> (c, k)`."""
    return np.stack([(weight[:, None] * cells)[c == CODE].sum(axis=0) for c in range(len(CLASSES))])


@dataclass(frozen=True)
class Story:
    """A model of all columns at a point of its variables, which are named as in PyMC."""

    at: Point
    hierarchical: Any = False
    scale_prior: str | None = None
    student: Any = False
    label_noise: Any = None

    def log_hyper(self) -> float:
        """log p(phi), of all variables but theta and the probabilities of the classes."""
        found = [*map(self._of_die, DICE), self._of_rates(), *map(self._of_normals, NORMALS)]
        return float(sum(np.sum(part) for part in found))

    def _of_die(self, name: str) -> Array | float:
        if not self.hierarchical:
            return 0.0
        _, alpha, unit = DICE[name]
        found = stats.lognorm.logpdf(self.at[hyper(name, "alpha")], WIDE, scale=alpha)
        if self.hierarchical == "base":
            return found + stats.gamma.logpdf(self.at[f"{hyper(name, 'base')}_variate"], unit).sum()
        return found

    def _of_rates(self) -> Array | float:
        if not self.hierarchical:
            return 0.0
        own = MIXED.prior_["nests"]
        shape = stats.lognorm.logpdf(self.at["rate_shape"], WIDE, scale=own.shape[0])
        return shape + stats.lognorm.logpdf(
            self.at["rate_mean"], WIDE, scale=own.shape[0] / own.rate[0]
        )

    def _of_normals(self, number: str) -> Array | float:
        def at(name: str) -> Any:
            return self.at[f"{name}{number}"]

        own = MIXED.prior_[NORMALS[number]]
        typical = np.sqrt(own.scale[0] / own.shape[0])
        total = 0.0
        if self.student is True:
            total += stats.gamma.logpdf(at("nu"), 2.0, scale=10.0)
        if self.hierarchical:
            total += stats.norm.logpdf(
                at("mu_mean"), own.location[0], typical / np.sqrt(own.count[0])
            )
            total += stats.halfnorm.logpdf(at("mu_spread"), scale=own.count[0] ** -0.5)
        match self.scale_prior, bool(self.hierarchical):
            case None, True:
                total += stats.lognorm.logpdf(at("sigma2_shape"), WIDE, scale=own.shape[0])
                total += stats.lognorm.logpdf(at("sigma2_typical"), WIDE, scale=typical**2)
            case "half-normal", False:
                total += stats.halfnorm.logpdf(at("sigma"), scale=typical).sum()
            case "half-normal", True:
                total += stats.lognorm.logpdf(at("sigma_width"), WIDE, scale=typical)
                total += stats.halfnorm.logpdf(at("sigma"), scale=at("sigma_width")).sum()
            case "log-normal", False:
                total += stats.lognorm.logpdf(at("sigma"), 1.0, scale=typical).sum()
            case "log-normal", True:
                total += stats.norm.logpdf(at("log_sigma_mean"), np.log(typical), WIDE)
                total += stats.halfnorm.logpdf(at("log_sigma_spread"))
                total += stats.norm.logpdf(self.at[f"sigma{number}_variate"]).sum()
        return total

    def variance(self, number: str) -> Array:
        """Those of a scale prior, `(c, 1)`."""
        if self.scale_prior == "log-normal" and self.hierarchical:
            spread = self.at[f"log_sigma_spread{number}"] * self.at[f"sigma{number}_variate"]
            return np.exp(2 * (self.at[f"log_sigma_mean{number}"] + spread))
        return self.at[f"sigma{number}"] ** 2

    def concentration(self, name: str) -> Array:
        _, alpha, unit = DICE[name]
        if not self.hierarchical:
            return np.tile(alpha * np.array(unit), (len(CLASSES), 1))
        if self.hierarchical == "base":
            variates = self.at[f"{hyper(name, 'base')}_variate"]
            unit = variates / variates.mean()
        return np.tile(self.at[hyper(name, "alpha")] * np.array(unit), (len(CLASSES), 1))

    def rate(self) -> tuple[Array, Array]:
        """Shape and rate of the Gamma over rates, `(c, 1)`."""
        own = MIXED.prior_["nests"]
        if not self.hierarchical:
            return own.shape[:, None], own.rate[:, None]
        shape = np.tile(self.at["rate_shape"], (len(CLASSES), 1))
        return shape, shape / self.at["rate_mean"]

    def normal(self, number: str) -> tuple[Array, ...]:
        """location, count, shape, scale, `(c, 1)`; the last two are unused under a scale prior."""
        own = MIXED.prior_[NORMALS[number]]
        given = [part[:, None] for part in (own.location, own.count, own.shape, own.scale)]
        if self.hierarchical:
            every = np.ones((len(CLASSES), 1))
            given[:2] = (
                every * self.at[f"mu_mean{number}"],
                every * self.at[f"mu_spread{number}"] ** -2,
            )
            if not self.scale_prior:
                shape = self.at[f"sigma2_shape{number}"]
                given[2:] = every * shape, every * shape * self.at[f"sigma2_typical{number}"]
        return tuple(given)

    def log_theta(self, seen: bool = False) -> float:
        """log p(theta | phi), or log p(theta | phi, D) once the weighted rows were seen."""
        at = self.at
        total = 0.0
        total += stats.dirichlet.logpdf(
            at["class_prob"], 1.0 + seen * np.bincount(CODE, WEIGHT, len(CLASSES))
        )
        for name, (column, _, _) in DICE.items():
            concentration = self.concentration(name) + seen * by_class(one_hot(column))
            theta = np.hstack([1 - at[name], at[name]]) if "bernoulli" in name else at[name]
            total += sum(map(stats.dirichlet.logpdf, theta, concentration))
        cells = TABLE[["nests"]].to_numpy(float)
        there, (shape, rate) = ~np.isnan(cells), self.rate()
        shape = shape + seen * by_class(np.nan_to_num(cells))
        rate = rate + seen * by_class(there)
        total += stats.gamma.logpdf(at["rate"], shape, scale=1 / rate).sum()
        return float(total + sum(self._log_normal(number, seen) for number in NORMALS))

    def _log_normal(self, number: str, seen: bool) -> float:
        (location, count, shape, scale), total = self.normal(number), 0.0
        if seen:
            cells = TABLE[[NORMALS[number]]].to_numpy(float)
            rows = by_class(~np.isnan(cells))
            first = by_class(np.nan_to_num(cells - cells[0]))
            mean = np.divide(first, rows, out=np.zeros_like(first), where=rows > 0) + cells[0]
            ssd = by_class(np.nan_to_num(cells - mean[CODE]) ** 2)
            scale = scale + (ssd + count * rows / (count + rows) * (mean - location) ** 2) / 2
            location = (count * location + rows * mean) / (count + rows)
            count = count + rows
            shape = shape + rows / 2
        variance = self.variance(number) if self.scale_prior else self.at[f"sigma2{number}"]
        if not self.scale_prior:
            total += stats.invgamma.logpdf(variance, shape, scale=scale).sum()
        return float(
            total
            + stats.norm.logpdf(self.at[f"mu{number}"], location, np.sqrt(variance / count)).sum()
        )

    def log_joint(self, table: pd.DataFrame = TABLE) -> Array:
        """log p(x, y | theta) of every row and class, `(r, c)`; missing cells are silent."""
        at = self.at
        total = np.log(self.at["class_prob"])
        for number, column in NORMALS.items():
            variance = self.variance(number) if self.scale_prior else at[f"sigma2{number}"]
            x = table[[column]].to_numpy(float)
            mean = at[f"mu{number}"][:, 0]
            sd = np.sqrt(variance[:, 0])
            freedom = at[f"nu{number}"] if self.student is True else self.student
            own = (
                stats.t.logpdf(x, freedom, mean, sd)
                if self.student
                else stats.norm.logpdf(x, mean, sd)
            )
            total = total + np.where(np.isnan(x), 0.0, own)
        for name, column in (("bernoulli_theta", "wet"), ("bernoulli_theta_2", "mossy")):
            x = np.array(table[[column]], float)
            total = total + np.where(
                np.isnan(x), 0.0, stats.bernoulli.logpmf(x == 1, at[name][:, 0])
            )
        soil = np.stack([np.log(at["theta_soil"][:, level]) for level in range(3)])
        level = table["soil"].map({"clay": 0, "loam": 1, "sand": 2}).to_numpy()
        total = total + np.where(
            np.isnan(level)[:, None], 0.0, soil[np.nan_to_num(level).astype(int)]
        )
        nests = table[["nests"]].to_numpy(float)
        total = total + np.where(
            np.isnan(nests), 0.0, stats.poisson.logpmf(nests, at["rate"][:, 0])
        )
        counts = table[[*WORDS]].to_numpy()
        return total + np.stack(
            [
                stats.multinomial.logpmf(counts, counts.sum(axis=1), p)
                for p in at["multinomial_theta"]
            ],
            axis=1,
        )

    def log_likelihood(self, weight: Array = WEIGHT) -> float:
        """log p(D | theta), the labels being read with errors, if there is noise."""
        joint = self.log_joint()
        if self.label_noise is None:
            return float(weight @ joint[np.arange(len(CODE)), CODE])
        noise = self.at["label_noise"] if isinstance(self.label_noise, Beta) else self.label_noise
        read = np.where(np.eye(len(CLASSES))[CODE] == 1, 1 - noise, noise / (len(CLASSES) - 1))
        return float(weight @ logsumexp(joint + np.log(read), axis=1))


def hyper(name: str, symbol: str) -> str:
    """What a hyperparameter of a die is called."""
    if name == "theta_soil":
        return f"categorical_{symbol}"
    family, _, number = name.partition("_theta")
    return f"{family}_{symbol}{number}"


def anywhere(model: Any, seed: int) -> Point:
    """A point of all free variables, each of about the size that it should have."""
    rng = np.random.default_rng(seed)
    found = {}
    for variable in model.free_RVs:
        name = variable.name
        shape = shape_of(model, variable.name)
        scale = (
            500.0
            if name in ("height", "sigma_2", "sigma_width_2")
            else 2.5e5
            if name == "sigma2_2"
            else 1.0
        )
        if name == "class_prob" or ("theta" in name and "bernoulli" not in name):
            found[name] = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
        elif "bernoulli_theta" in name or name == "label_noise":
            found[name] = rng.uniform(size=shape)
        elif name in ("mu", "mu_mean", "sigma_variate", "sigma_2_variate", "log_sigma_mean"):
            found[name] = rng.normal(size=shape)
        elif name in ("mu_2", "mu_mean_2"):
            found[name] = rng.normal(-2e3, 500.0, shape)
        else:
            found[name] = scale * np.exp(0.7 * rng.normal(size=shape)) + 6 * (
                name == "log_sigma_mean_2"
            )
    return found


OPTIONS: dict[str, dict[str, Any]] = {
    "base": {"hierarchical": "base"},
    "half-normal": {"scale_prior": "half-normal"},
    "half-normal, hierarchical": {"scale_prior": "half-normal", "hierarchical": True},
    "log-normal, base": {"scale_prior": "log-normal", "hierarchical": "base"},
}
MORE: dict[str, dict[str, Any]] = {
    "conjugate": {},
    "rows": {"likelihood": "rows"},
    "hierarchical": {"hierarchical": True},
    "student, hierarchical": {"student": True, "hierarchical": True},
    "student, log-normal": {"student": 3.5, "scale_prior": "log-normal", "hierarchical": True},
    "noise": {"label_noise": 0.1},
    "noise, student": {"label_noise": Beta(2.0, 20.0), "student": True},
}
LATER = [pytest.param(name, marks=pytest.mark.slow) for name in (OPTIONS | MORE)]
AT_ONCE = ("conjugate", "rows")


def build(name: str, **more: Any) -> tuple[Any, Callable[[Point], float]]:
    """A model of all columns with some options, and its log density."""
    options = (OPTIONS | MORE)[name] | more
    model = mcmc.build(MIXED, MIXED_X, LABEL, sample_weight=WEIGHT, **options)
    return model, log_density(model)


@pytest.mark.parametrize("name", [*AT_ONCE, *LATER[:4], *LATER[6:]])
def test_the_log_density_is_the_story_told_in_scipy(name: str) -> None:
    (model, found), options = build(name), (OPTIONS | MORE)[name]
    options = {key: value for key, value in options.items() if key != "likelihood"}
    for seed in range(5):
        at = anywhere(model, seed)
        story = Story(at, **options)
        noise = 0.0
        if isinstance(story.label_noise, Beta):
            noise = stats.beta.logpdf(at["label_noise"], 2, 20)
        expected = story.log_hyper() + story.log_theta() + story.log_likelihood() + noise
        assert_allclose(found(at), expected, rtol=1e-10)
        if not options:
            evidence = found(at) - story.log_theta(seen=True)
            assert_allclose(evidence, MIXED.log_evidence_, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_theta_is_integrated_out_whatever_it_is(name: str) -> None:
    """log p(phi, theta, D) - log p(theta | phi, D) is log p(phi, D)."""
    full, of_both = build(name)
    collapsed, of_phi = build(name, collapse=True)
    phi = [variable.name for variable in collapsed.free_RVs]
    assert set(phi) < {variable.name for variable in full.free_RVs}
    for seed in range(3):
        at = {key: value for key, value in anywhere(full, seed).items() if key in phi}
        for other in range(3):  # theta moves, phi stays
            point = anywhere(full, 10 * seed + other + 5) | at
            story = Story(point, **OPTIONS[name])
            theta = story.log_theta(seen=True)
            if story.scale_prior:  # under which Gaussians are not conjugate
                theta -= sum(story._log_normal(number, True) for number in NORMALS)
            assert_allclose(of_both(point) - theta, of_phi(at), rtol=1e-10)


@pytest.mark.slow
def test_rows_without_labels_are_summed_over_the_classes() -> None:
    some = MIXED_X[:40]
    rest = MIXED_X[40:]
    model = mcmc.build(
        MIXED, some, LABEL[:40], unlabelled=rest, hierarchical=True, sample_weight=WEIGHT[:40]
    )
    plain = mcmc.build(MIXED, some, LABEL[:40], hierarchical=True, sample_weight=WEIGHT[:40])
    own = log_density(model)
    without = log_density(plain)
    for seed in range(5):
        at = anywhere(model, seed)
        expected = logsumexp(Story(at, hierarchical=True).log_joint(TABLE[40:]), axis=1).sum()
        assert_allclose(own(at) - without(at), expected, rtol=1e-9)


# Names that meet, rows that do not count, and what is refused
# ------------------------------------------------------


def test_a_row_of_weight_zero_is_no_row_and_the_estimate_plays_no_part() -> None:
    X = np.array([[1.0, 5.0], [2.0, 5.0], [1.5, 5.0], [2.5, 5.0]])
    y = ["a", "b", "a", "b"]
    plain = log_density(mcmc.build(NaiveBayes(Gaussian()), X, y))
    more = np.vstack([X, [[9.0, 9.0]]])
    own = mcmc.build(
        NaiveBayes(Gaussian(), estimate="mle"), more, [*y, "never"], sample_weight=[1, 1, 1, 1, 0]
    )
    point = {
        "class_prob": np.array([0.3, 0.7]),
        "mu": np.ones((2, 2)),
        "sigma2": np.full((2, 2), 2.0),
    }
    assert_allclose(log_density(own)(point), plain(point), rtol=1e-12)


GIRTH = TABLE[["girth"]]
SOIL = TABLE[["soil"]]
REFUSED: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "hierarchy": (Gaussian(), GIRTH, {"hierarchical": "yes"}, "hierarchical must be True, False"),
    "scale": (Gaussian(), GIRTH, {"scale_prior": "cauchy"}, "scale_prior must be None"),
    "degrees": (Gaussian(), GIRTH, {"student": -1}, "the degrees of freedom.*got -1"),
    "infinite degrees": (Gaussian(), GIRTH, {"student": np.inf}, "finite number above 0"),
    "noise": (Gaussian(), GIRTH, {"label_noise": 1.0}, "below 1, or a Beta.*got 1.0"),
    "improper noise": (Gaussian(), GIRTH, {"label_noise": Beta(0.0, 9.0)}, "both above 0"),
    "rows without theta": (
        Gaussian(),
        GIRTH,
        {"likelihood": "rows", "collapse": True},
        "collapse=True has no theta.*Use 'statistics'",
    ),
    "rows without classes": (
        Gaussian(),
        GIRTH,
        {"likelihood": "rows", "label_noise": 0.1},
        "the classes of rows are uncertain",
    ),
    "no levels": (Gaussian(), GIRTH, {"hierarchical": "base"}, "the model has none. Use True"),
    "no numbers": (Categorical(), SOIL, {"student": True}, "the model has none. Leave it out"),
    "improper levels": (Categorical(0.0), SOIL, {}, "column 'soil': its prior is improper"),
    "fractions": (
        Poisson(fractional=True),
        np.arange(len(LABEL))[:, None] + 0.5,
        {"likelihood": "rows"},
        "holds fractions.*Use likelihood='statistics'",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_makes_no_model_is_refused(what: str) -> None:
    family, table, options, match = REFUSED[what]
    with pytest.raises(ValueError, match=match):
        mcmc.build(NaiveBayes(family), table, LABEL, **options)


# What was sampled ---------------------------------------------------------------------------------
# -------------------

ERRORS = 5  # Monte Carlo standard errors


def test_rows_of_one_class_say_nothing_about_how_classes_differ() -> None:
    rows = [[0.0], [1.0], [2.0]]
    model = NaiveBayes("gaussian", classes=["ash", "elm"])
    with pytest.warns(UserWarning, match="all rows are of class 'elm'"):
        mcmc.build(model, rows, ["elm"] * 3, hierarchical=True)


HOW: dict[str, Any] = {
    "chains": 2,
    "rng": 1,
    "sampler": "pymc",
    "progressbar": False,
    "sampling": {"cores": 1},
}


def within_errors(found: xr.Dataset, name: str, mean: Array, sd: Array) -> None:
    """The draws of a variable have this mean and this standard deviation."""
    for method, own, expected in (("mean", found.mean, mean), ("sd", found.std, sd)):
        error = arviz_stats.mcse(found[[name]], method=method)[name].values
        assert (np.abs(own(("chain", "draw"))[name].values - expected) < ERRORS * error).all(), (
            name,
            method,
        )


@pytest.fixture(scope="module")
def flowers() -> tuple[Array, Array]:
    """Two numbers of three kinds, with a missing cell."""
    rng = np.random.default_rng(5)
    code = np.arange(45) % 3
    x = rng.normal(code[:, None] * [0.7, -30.0], [1.0, 40.0])
    x[4, 1] = np.nan
    return x, np.array(["setosa", "versicolor", "virginica"])[code]


@pytest.fixture(scope="module")
def conjugate(flowers: tuple[Array, Array]) -> mcmc.Sampled:
    """A model that has a closed form, sampled all the same."""
    return mcmc.fit(
        NaiveBayes(Gaussian(NormalInverseGamma(0.0, 0.5, 3.0, [3.0, 3e3]))), *flowers, **HOW
    )


@pytest.mark.slow
def test_a_conjugate_model_is_sampled_as_the_closed_form_says(
    conjugate: mcmc.Sampled, flowers: tuple[Array, Array]
) -> None:
    exact = conjugate.estimator_
    found = conjugate.datatree_["posterior"].to_dataset()
    die = exact.class_posterior_.concentration
    own = exact.model_.posterior.blocks[0]
    share = die / die.sum()
    size = die.sum()
    within_errors(found, "class_prob", share, np.sqrt(share * (1 - share) / (size + 1)))
    variance = own.scale / (own.shape - 1)
    within_errors(found, "sigma2", variance, variance / np.sqrt(own.shape - 2))
    within_errors(found, "mu", own.location, np.sqrt(variance / own.count))
    assert_allclose(conjugate.predict_proba(flowers[0]), exact.predict_proba(flowers[0]), atol=0.02)
    assert (conjugate.classes_ == exact.classes_).all()
    table = conjugate.summary("class_prob", ci_prob=0.5)
    assert_allclose(table["mean"], found["class_prob"].mean(("chain", "draw")), rtol=1e-12)
    assert {"eti50_lb", "eti50_ub", "r_hat"} <= {*table.columns}
    assert "2 chains of" in repr(table)


@pytest.fixture(scope="module")
def birds() -> tuple[pd.DataFrame, Array, Array]:
    """One column of three levels, six kinds with few rows each, and how often each kind saw each
    level.
    """
    rng = np.random.default_rng(8)
    code = np.arange(48) % 6
    share = rng.dirichlet([2.0, 3.0, 4.0], 6)
    level = np.array([rng.choice(3, p=share[c]) for c in code])
    counts = np.zeros((6, 3))
    np.add.at(counts, (code, level), 1)
    return (
        pd.DataFrame({"song": np.array(["low", "mid", "shrill"])[level]}),
        np.array([*"abcdef"])[code],
        counts,
    )


@pytest.fixture(scope="module")
def hierarchy(birds: tuple[pd.DataFrame, Array, Array]) -> mcmc.Sampled:
    return mcmc.fit(NaiveBayes(Categorical(2.0), temper=0.5), *birds[:2], hierarchical=True, **HOW)


@pytest.mark.slow
def test_a_hierarchy_is_what_a_grid_of_concentrations_says(
    hierarchy: mcmc.Sampled, birds: tuple[pd.DataFrame, Array, Array]
) -> None:
    alpha = np.exp(np.linspace(-9.0, 12.0, 4001))
    counts = birds[2]
    own = alpha[:, None, None] + counts
    total = 3 * alpha[:, None] + counts.sum(axis=1)
    evidence = (gammaln(own) - gammaln(alpha)[:, None, None]).sum(axis=(1, 2))
    evidence += (gammaln(3 * alpha)[:, None] - gammaln(total)).sum(axis=1)
    weight = np.exp(evidence - evidence.max()) * stats.norm.pdf(np.log(alpha), np.log(2.0), 1.5)
    weight /= weight.sum()
    mean = weight @ alpha
    found = hierarchy.datatree_["posterior"].to_dataset()
    within_errors(found, "alpha", mean, np.sqrt(weight @ (alpha - mean) ** 2))
    theta = np.einsum("g,gck->ck", weight, own / total[:, :, None])
    spread = np.einsum("g,gck->ck", weight, own * (own + 1) / (total * (total + 1))[:, :, None])
    within_errors(found, "theta_song", theta, np.sqrt(spread - theta**2))

    die = (1 + counts.sum(axis=1)) / (6 + counts.sum())
    t = 0.5
    levels = pd.DataFrame({"song": ["low", "mid", "shrill"]})
    assert_allclose(hierarchy.log_density(levels), np.log(die @ theta), atol=0.02)
    gain = gammaln(own + t) - gammaln(own) - (gammaln(total + t) - gammaln(total))[:, :, None]
    joint = die[:, None] * np.einsum("g,gck->ck", weight, np.exp(gain))
    assert hierarchy.temper_ == 0.5
    assert_allclose(hierarchy.predict_proba(levels), (joint / joint.sum(axis=0)).T, atol=0.01)


def test_what_fails_after_the_sampler_leaves_the_model_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = {"draws": 10, "tune": 10, "chains": 1, "sampler": "pymc", "sampling": {"cores": 1}}
    x = np.array([[0.1], [0.3], [2.0], [2.4]])
    model = mcmc.fit(NaiveBayes("gaussian"), x, list("abab"), rng=1, **few)
    before = model.predict_proba(x)

    def fail(*args: Any) -> None:
        raise MemoryError("no room for the draws")

    monkeypatch.setattr("bayesnb.results.drawn_trees.sampled_tree", fail)
    with pytest.raises(MemoryError):
        model.fit(x + 5, list("cdcd"))
    assert model.classes_.tolist() == ["a", "b"]
    assert_allclose(model.predict_proba(x), before)
