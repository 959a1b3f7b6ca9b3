"""A naive Bayes model in PyMC: the same priors and data, and options without closed form."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.base import clone_without_links, read_rows
from bayesnb.estimators.cross_validation import read_labelled_rows
from bayesnb.families import Beta
from bayesnb.families.base import Array, Cells
from bayesnb.families.certain import Certain, KnownDie
from bayesnb.families.dirichlet import DirichletDensity, simplex
from bayesnb.families.weight import one_hot
from bayesnb.inference.posterior_draws import repeat_classes
from bayesnb.mcmc.ensemble import Ensemble, PriorOfDraws
from bayesnb.mcmc.hyperpriors import Draws, choose_prior
from bayesnb.mcmc.likelihood import (
    ObservedRows,
    StudentDensity,
    add_rows,
    name_variables,
    row_scores,
    tensors,
)
from bayesnb.mcmc.sampling import pymc
from bayesnb.model.schema import Block
from bayesnb.numerics.views import EVERY
from bayesnb.results.drawn_trees import Layout
from bayesnb.results.tables import coordinate
from bayesnb.selection.leave_one_out import PACKAGE

if TYPE_CHECKING:
    from pymc import Model

MAX_LEVELS_LEARNED = 500  # levels of a column whose proportions are learned
SCALES = (None, "half-normal", "log-normal")
LIKELIHOODS = ("statistics", "rows")
ALLOWED = {  # values of options
    "hierarchical": "True, False or 'base'",
    "scale_prior": "None, 'half-normal' or 'log-normal'",
    "student": "True, False or the degrees of freedom, a finite number above 0",
    "label_noise": "None, the probability that a label is wrong, below 1, or a Beta with one a and "
    "one b, both above 0",
}
# the Gamma prior of degrees of freedom: Juarez and Steel (2010)
NU = {"alpha": 2.0, "beta": 0.1}


def build(
    model: Any,
    X: Any,
    y: Any,
    hierarchical: Any = False,
    *,
    scale_prior: str | None = None,
    student: Any = False,
    label_noise: Any = None,
    unlabelled: Any = None,
    sample_weight: Any = None,
    likelihood: str = "statistics",
    collapse: bool = False,
) -> "Model":
    """Build a PyMC model from an estimator and its data, to change or to sample.

    Parameters
    ----------
    model : NaiveBayes or a preset
        Its families, priors and class prior are used. It need not be fitted. Links between columns,
        as in ``NaiveBayes()``, are left out.
    X : table of rows
        The rows to learn from. A missing cell is left out.
    y : sequence of labels
        One for each row.
    hierarchical : {False, True, "base"}, default=False
        Whether hyperparameters are learnt, so that classes borrow strength from each other. True:
        for levels, flags and words the concentration ``alpha``, which multiplies the declared
        proportions; for Gaussian columns the location and spread of the class means, and how
        similar the variances are; likewise for rates. ``"base"``: also the proportions of levels,
        flags and words, up to 500 levels in a column, which helps if many classes have few rows. If
        proportions are far from uniform, True alone underestimates ``alpha``.
    scale_prior : {None, "half-normal", "log-normal"}, default=None
        The prior of the standard deviations of Gaussian columns. None: the declared one.
    student : bool or float, default=False
        Whether Gaussian columns have Student's t distributions, which are robust to outliers: True,
        or the degrees of freedom.
    label_noise : float, Beta or None, default=None
        The probability that a label is wrong, or a ``Beta`` about it.
    unlabelled : table of rows or None, default=None
        Unlabelled rows, which are informative about the features and so about the classes.
    sample_weight : sequence of float or None, default=None
        Weights of the rows: powers of their likelihood.
    likelihood : {"statistics", "rows"}, default="statistics"
        ``"statistics"``: one potential for each block of columns, from its sufficient statistics.
        ``"rows"``: every cell is an observed variable, so ``pymc.compute_log_likelihood`` and
        posterior predictive checks work; with weights they are potentials, as PyMC has no weighted
        observations.
    collapse : bool, default=False
        Whether to integrate out everything with a closed form, as ``fit`` does, which leaves the
        hyperparameters.

    Returns
    -------
    pymc.Model
        Dimensions are ``class``, ``feature`` (``<family>_feature`` if there are several families),
        ``<column>_level`` and ``obs_id``; variables are named as in ``NaiveBayes.to_datatree``:
        ``class_prob``, ``mu``, ``sigma2``, ``theta``, ``theta_<column>``, ``rate``. A column with
        more than 40 levels is sampled as Gamma variates, which are normalised to ``theta``.

    Raises
    ------
    ImportError
        If PyMC is not installed.
    ValueError
        For options that the model's columns cannot use.

    See Also
    --------
    fit : Build the model and sample it.
    bayesnb.NaiveBayes.to_datatree : Exact draws of the conjugate posterior.

    Notes
    -----
    Without options the log density of the model is that of the closed-form posterior plus
    ``log_evidence_``.

    Examples
    --------
    >>> from bayesnb import GaussianNB, mcmc
    >>> x, y = [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"]
    >>> model = mcmc.build(GaussianNB(), x, y)
    >>> [variable.name for variable in model.free_RVs]
    ['class_prob', 'sigma2', 'mu']
    """
    if likelihood not in LIKELIHOODS:
        raise ValueError(f"likelihood must be one of {', '.join(LIKELIHOODS)}, got {likelihood!r}.")
    if likelihood == "rows" and (collapse or label_noise is not None):
        why = "with label_noise the classes of rows are uncertain"
        if collapse:
            why = "collapse=True has no theta"
        raise ValueError(
            f"likelihood='rows' needs theta and the classes of rows: {why}. Use 'statistics'."
        )
    options = ModelOptions(
        hierarchical=hierarchical,
        scale_prior=scale_prior,
        student=student,
        label_noise=label_noise,
    )
    options._check_options()
    builder = ModelBuilder(options, model, X, y, sample_weight, unlabelled)
    return builder.build(theta=not collapse, rows=likelihood == "rows")


@dataclass(kw_only=True, eq=False, repr=False)
class ModelOptions:
    """Options of a model beyond its conjugate form, as in `mcmc.fit`."""

    hierarchical: Any = False
    scale_prior: str | None = None
    student: Any = False
    label_noise: Any = None

    def _check_options(self) -> None:
        student = self.student
        noise = self.label_noise
        if isinstance(noise, Beta):
            good_noise = noise.a.ndim == noise.b.ndim == 0 and bool(noise.strictly_proper)
        else:
            good_noise = noise is None or (isinstance(noise, Real) and 0 <= float(noise) < 1)
        good = {
            "hierarchical": isinstance(self.hierarchical, bool) or self.hierarchical == "base",
            "scale_prior": self.scale_prior in SCALES,
            "student": isinstance(student, bool)
            or (isinstance(student, Real) and 0 < float(student) < inf),
            "label_noise": good_noise,
        }
        for name, allowed in ALLOWED.items():
            if not good[name]:
                raise ValueError(f"{name} must be {allowed}, got {getattr(self, name)!r}.")

    def _check_columns(self, blocks: Sequence[Block]) -> None:
        """Raise for an option that no column of the model can use."""
        families = [block.family for block in blocks]
        gaussian = any(family.has_width for family in families)
        for name in ("scale_prior", "student"):
            value = getattr(self, name)
            if value and not gaussian:
                raise ValueError(
                    f"{name}={value!r} applies to Gaussian columns, but the model has none. Leave "
                    "it out."
                )
        for block in blocks:
            if self.hierarchical and block.family.multivariate and block.family.continuous:
                raise ValueError(
                    f"hierarchical={self.hierarchical!r} needs independent columns, but the block "
                    f"of column {block.names[0]!r} has a covariance matrix. Leave it out, or "
                    "declare Gaussian() columns."
                )
        if self.hierarchical != "base":
            return
        levels = [_count_levels(block) for block in blocks if block.family.counts_levels]
        if not levels:
            raise ValueError(
                "hierarchical='base' applies to levels, flags and words, but the model has none. "
                "Use True."
            )
        if max(levels) > MAX_LEVELS_LEARNED:
            raise ValueError(
                "hierarchical='base' learns the proportions of all levels, but a column has "
                f"{max(levels):,}, more than the {MAX_LEVELS_LEARNED} that a sampler can handle. "
                "Use True, which learns only the concentration."
            )


def _count_levels(block: Block) -> int:
    """Return the largest number of levels of a distribution in the block."""
    if block.family.combined:
        return prod(block.sizes)
    return len(block.words) if block.family.multivariate else max(block.sizes, default=2)


def _check_proper(estimator: NaiveBayes) -> None:
    if not estimator.class_prior_.strictly_proper:
        raise ValueError(
            "class_prior: a concentration of 0 is improper, and PyMC needs a distribution. Give "
            "another."
        )
    priors = estimator.model_.prior.blocks
    for block, belief in zip(estimator.schema_.blocks, priors, strict=True):
        improper = ~belief.strictly_proper.all(axis=0)
        if improper.any():
            name = block.names[int(improper.argmax())]
            raise ValueError(
                f"column {name!r}: its prior is improper, and PyMC needs a distribution. Give "
                "another."
            )


def _warn_single_class(estimator: NaiveBayes) -> None:
    """Warn if all rows are of one class, so that differences of classes cannot be learnt."""
    present = np.flatnonzero(estimator.stats_.classes.counts)
    if len(present) == 1:
        label = estimator.classes_.tolist()[present[0]]
        warnings.warn(
            f"all rows are of class {label!r}, so differences between classes follow only from "
            "the hyperpriors. Give rows of several classes, or hierarchical=False.",
            UserWarning,
            skip_file_prefixes=(PACKAGE,),
        )


class ModelBuilder:
    """A fitted copy of an estimator, its rows, and priors and names of its blocks.

    `unlabelled` are the cells of unlabelled rows.
    """

    def __init__(
        self,
        options: ModelOptions,
        estimator: NaiveBayes,
        X: Any,
        y: Any,
        sample_weight: Any,
        unlabelled: Any,
    ) -> None:
        check_estimator(estimator)
        self.options = options
        self.estimator = learner = clone_without_links(estimator).fit(X, y, sample_weight)
        self.index, self.rows = read_labelled_rows(learner, X, y, sample_weight)
        schema = learner.schema_
        model = learner.model_
        cells = None
        if unlabelled is not None:
            _, cells = read_rows(learner, unlabelled)
            schema.check_cells(cells)
        self.unlabelled = cells
        options._check_columns(schema.blocks)
        _check_proper(learner)
        if options.hierarchical:
            _warn_single_class(learner)
        self.priors = []
        posteriors = []
        for b, block in enumerate(schema.blocks):
            declared = model.prior.blocks[b].beside(model.posterior.blocks[b])
            if cells is not None and block.family.combined:  # with entries for what rows hold
                one_class = one_hot(np.zeros(cells[b].shape[0], np.intp), 1)
                declared = declared.beside(block.observe(cells[b], one_class, 1))
            stats = model.stats.blocks[b].beside(declared)
            self.priors.append(
                choose_prior(
                    block.family, declared, stats, options.hierarchical, options.scale_prior
                )
            )
            posteriors.append(model.posterior.blocks[b].beside(declared))
        self.layout = Layout(learner.classes_, schema.blocks, posteriors)
        self.names, self.coords = name_variables(self.layout)

    @property
    def mixed(self) -> bool:
        """Whether the class of some row is uncertain."""
        return self.unlabelled is not None or self.options.label_noise is not None

    def is_student(self, b: int) -> bool:
        """Whether the cells of a block have Student's t distributions."""
        return bool(self.options.student) and self.priors[b].family.has_width

    def is_conjugate(self, b: int) -> bool:
        """Whether theta of a block can be integrated out, given the hyperparameters."""
        return self.priors[b].conjugate and not self.mixed and not self.is_student(b)

    @property
    def closed_form(self) -> bool:
        """Whether everything has a closed form, so that only theta could be sampled."""
        return not any(
            prior.learned or not self.is_conjugate(b) for b, prior in enumerate(self.priors)
        )

    def build(self, theta: bool, rows: bool = False) -> Any:
        """Return the PyMC model; with `rows`, cells are observed variables.

        Theta is integrated out where possible, unless `theta` is true.
        """
        pm = pymc()
        blocks = range(len(self.priors))
        coords = dict(self.coords)
        if rows or any(map(self.is_student, blocks)):
            coords["obs_id"] = coordinate(self.index)
        with pm.Model(coords={name: list(labels) for name, labels in coords.items()}) as model:
            class_prob = self._add_class_prob(pm) if theta or self.mixed else None
            densities = [self._add_block(pm, b, theta) for b in blocks]
            if self.options.label_noise is None:
                self._add_labelled(pm, densities, class_prob, rows)
            else:
                self._add_noisy(pm, densities, class_prob)
            if self.unlabelled is not None:
                joint = self._log_joint(pm, densities, class_prob, self.unlabelled)
                pm.Potential("unlabelled", pm.math.logsumexp(joint, axis=1).sum())
        return model

    def _add_class_prob(self, pm: Any) -> Any:
        """The class probabilities, a variable unless they are fixed."""
        class_prior = self.estimator.model_.prior.classes
        if isinstance(class_prior, KnownDie):
            return pm.math.stack([*class_prior.probability])
        return simplex(pm, {"name": "class_prob", "dims": ("class",)}, class_prior.concentration)

    def _add_block(self, pm: Any, b: int, theta: bool) -> Any:
        """Add the variables of a block, and return its density: None if theta is integrated out."""
        prior = self.priors[b]
        names = self.names[b]
        student = self.options.student
        if not theta and self.is_conjugate(b):
            evidence = prior.add_evidence(pm, names)
            pm.Potential(f"{names.observed}_evidence", pm.math.sum(evidence))
            return None
        density = prior.add_theta(pm, names)
        if not self.is_student(b):
            return density
        freedom = np.full(len(self.coords[names.axis]), float(student))
        if student is True:
            freedom = pm.Gamma(**names.hyper("nu"), **NU)
        return StudentDensity(density.mean, density.variance, freedom)

    def _add_labelled(self, pm: Any, densities: Sequence[Any], class_prob: Any, rows: bool) -> None:
        """Add the likelihood of rows whose class is known."""
        model = self.estimator.model_
        codes = self.rows.codes
        weight = self.rows.weight
        observed = ObservedRows(codes, weight)
        if class_prob is None:
            pm.Potential("y", pm.math.sum(model.prior.classes.log_evidence(model.stats.classes)))
        elif rows:
            labels: tuple[Any, dict[str, Any]] = pm.Categorical, {}
            y = observed.add("y", labels, codes, EVERY, dims=("obs_id",), p=class_prob)
            observed = ObservedRows(codes if y is None else y, weight)
        else:
            logs = DirichletDensity(class_prob).log_likelihood(model.stats.classes, tensors())
            pm.Potential("y", logs)
        for b, density in enumerate(densities):
            if density is None:
                continue
            if rows or not density.sufficient:
                block = self.estimator.schema_.blocks[b]
                add_rows(pm, block, density, self.rows.cells[b], observed, self.names[b])
            else:
                logs = density.log_likelihood(model.stats.blocks[b], tensors())
                pm.Potential(self.names[b].observed, logs.sum())

    def _add_noisy(self, pm: Any, densities: Sequence[Any], class_prob: Any) -> None:
        """Add the likelihood of rows whose labels may be wrong; all wrong labels are equally
        probable.
        """
        noise = self.options.label_noise
        weight = self.rows.weight
        if isinstance(noise, Beta):
            noise = pm.Beta("label_noise", noise.a, noise.b)
        classes = len(self.coords["class"])
        right = np.arange(classes) == self.rows.codes[:, None]
        read = pm.math.log(pm.math.where(right, 1.0 - noise, noise / max(classes - 1, 1)))
        joint = self._log_joint(pm, densities, class_prob, self.rows.cells)
        logs = pm.math.logsumexp(joint + read, axis=1)
        pm.Potential("x_and_y", (logs if weight is None else weight * logs).sum())

    def _log_joint(
        self, pm: Any, densities: Sequence[Any], class_prob: Any, cells: Sequence[Cells]
    ) -> Any:
        """log p(x, y | theta) of every row and class, `(r, c)`."""
        total = pm.math.log(class_prob)
        for args in zip(self.estimator.schema_.blocks, densities, cells, strict=True):
            total = total + row_scores(pm, *args)
        return total

    def start(self, model: Any) -> dict[str, Array]:
        """Return the start of the chains: the posterior mean of theta given the labelled rows.

        Rows with uncertain classes fit equally well with classes interchanged, so a chain may stay
        in its initial mode. Empty if all classes are certain.
        """
        point: dict[str, Array] = {}
        if not self.mixed:
            return point
        shapes = {variable.name: variable.type.shape for variable in model.free_RVs}
        posteriors = self.estimator.model_.posterior.blocks
        for belief, names in zip(posteriors, self.names, strict=True):
            for key, value in belief.estimate("mean").parts().items():
                name = names(*key)["name"]
                # combinations that occur only in unlabelled rows have no estimate
                sizes = zip(shapes.get(name, ()), value.shape, strict=False)
                fits = all(size in (None, known) for size, known in sizes)
                if name in shapes and fits and np.isfinite(value).all():
                    point[name] = value
        return point

    def make_ensemble(self, tree: Any, theta: bool) -> Ensemble:
        """Return the ensemble of PyMC's draws, chain after chain; a drawn theta is a point mass."""
        draws = {
            name: array.values.reshape(-1, *array.shape[2:])
            for name, array in tree["posterior"].items()
        }
        size = len(next(iter(draws.values())))
        priors = []
        for b, (prior, names) in enumerate(zip(self.priors, self.names, strict=True)):
            integrated = self.is_conjugate(b) and not theta
            priors.append(prior.at_draws(draws, names) if integrated else self._certain(draws, b))
        confusion = None
        noise = self.options.label_noise
        if noise is not None:
            classes = len(self.coords["class"])
            if isinstance(noise, Beta):
                noise = draws["label_noise"]
            noise = np.broadcast_to(noise, size)[:, None, None]
            confusion = np.where(np.eye(classes) > 0, 1 - noise, noise / max(classes - 1, 1))
        model = self.estimator.model_
        return Ensemble(
            model.prior.classes, priors, model.stats, size, draws.get("class_prob"), confusion
        )

    def _certain(self, draws: Draws, b: int) -> PriorOfDraws:
        """Return the point masses at the drawn thetas, as priors of a block."""
        names = self.names[b]
        student = self.options.student
        like = self.priors[b].declared.estimate("mean")
        classes = len(like)
        parts = {}
        for key in like.parts():
            array = draws[names(*key)["name"]]
            parts[key] = array.reshape(-1, *array.shape[2:])
        theta: Any = type(like).of_parts(parts, like)
        if self.is_student(b):
            freedom: Any = float(student)
            if student is True:
                freedom = np.repeat(draws[names.hyper("nu")["name"]], classes, axis=0)
            freedom = np.broadcast_to(freedom, theta.mean.shape)
            theta = StudentDensity(theta.mean, theta.variance, freedom)
        belief = Certain(theta)

        def take(places: Array) -> Certain:
            return belief[
                np.repeat(places * classes, classes) + repeat_classes(classes, len(places))
            ]

        return take
