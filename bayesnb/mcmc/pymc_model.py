"""A naive Bayes model in PyMC: the same priors and data, and options that have no closed form."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.families import Beta
from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.certain import KnownDie
from bayesnb.families.dirichlet import DirichletDensity, simplex
from bayesnb.families.gaussian import NORMAL
from bayesnb.families.poisson import RATE
from bayesnb.families.weight import one_hot
from bayesnb.mcmc.gaussians import StudentDensity
from bayesnb.mcmc.hyperpriors import (
    BlockPrior,
    DeclaredPrior,
    DeviationPrior,
    LearnedDirichlet,
    LearnedGaussians,
    LearnedRates,
)
from bayesnb.mcmc.likelihood import ObservedRows, by_rows, row_scores, tensors
from bayesnb.mcmc.sampling import pymc
from bayesnb.mcmc.variable_names import BlockNames, names_of
from bayesnb.model.schema import Block
from bayesnb.results.parameter_names import coordinate

LEARNED = {RATE: LearnedRates, NORMAL: LearnedGaussians}
MOST = 500  # levels of a column whose proportions are learned
SCALES = (None, "half-normal", "log-normal")
LIKELIHOODS = ("statistics", "rows")
NU = {"alpha": 2.0, "beta": 0.1}  # of the Gamma over degrees of freedom: Juarez and Steel (2010)


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
) -> Any:
    """Write an estimator's model and its data as a PyMC model, which you may change and sample.

    Parameters
    ----------
    model : NaiveBayes or a preset
        Its families, priors and class prior are taken. It need not be fitted. Links between columns, as
        ``NaiveBayes()`` has, are left out.
    X : table of rows
        The rows to learn from. A missing cell is left out.
    y : sequence of labels
        One for each row.
    hierarchical : {False, True, "base"}, default=False
        Whether hyperparameters are learnt, so that classes borrow strength from each other. True: of levels, flags and
        words the concentration ``alpha``, which multiplies the declared proportions; of Gaussian columns where the
        classes' means lie, how far apart they are, and how alike their variances are; of rates likewise. ``"base"``:
        the proportions of levels, flags and words too, up to 500 levels of a column, which pays where many classes have
        few rows. Where proportions are far from even, True alone learns too small an ``alpha`` to explain that.
    scale_prior : {None, "half-normal", "log-normal"}, default=None
        The prior of the standard deviations of Gaussian columns. None: the declared one.
    student : bool or float, default=False
        Whether Gaussian columns have Student's t, which outliers do not move: True, or the degrees of freedom.
    label_noise : float, Beta or None, default=None
        The probability that a label is wrong, or a ``Beta`` about it.
    unlabelled : table of rows or None, default=None
        Rows without labels, which inform about the features, and through them about the classes.
    sample_weight : sequence of float or None, default=None
        Weights of the rows: powers of their likelihood.
    likelihood : {"statistics", "rows"}, default="statistics"
        ``"statistics"``: one potential for each block of columns, of its sufficient statistics. ``"rows"``: every cell
        is an observed variable, so ``pymc.compute_log_likelihood`` and posterior predictive checks work; where rows
        have weights these are potentials, as PyMC has no weighted observations.
    collapse : bool, default=False
        Whether whatever has a closed form is integrated out, as ``fit`` does, which leaves the hyperparameters.

    Returns
    -------
    pymc.Model
        Dimensions are ``class``, ``feature`` (``<family>_feature`` where several families have columns),
        ``<column>_level`` and ``obs_id``; variables are named as in ``NaiveBayes.to_datatree``: ``class_prob``, ``mu``,
        ``sigma2``, ``theta``, ``theta_<column>``, ``rate``. A column of more than 40 levels is sampled as Gamma
        variates, of which ``theta`` are the shares.

    Raises
    ------
    ImportError
        Where PyMC is not installed.
    ValueError
        For options that the model's columns cannot use.

    See Also
    --------
    fit : Build the model and sample it.
    bayesnb.NaiveBayes.to_datatree : Exact draws of the conjugate posterior.

    Notes
    -----
    Without options the log density of the model is that of the posterior in closed form plus ``log_evidence_``.

    Examples
    --------
    >>> from bayesnb import GaussianNB, mcmc
    >>> model = mcmc.build(GaussianNB(), [[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
    >>> [variable.name for variable in model.free_RVs]
    ['class_prob', 'sigma2', 'mu']
    """
    if likelihood not in LIKELIHOODS:
        raise ValueError(f"likelihood must be one of {', '.join(LIKELIHOODS)}, got {likelihood!r}.")
    if likelihood == "rows" and (collapse or label_noise is not None):
        why = "collapse=True has no theta" if collapse else "under label_noise no row's class is certain"
        raise ValueError(f"likelihood='rows' needs theta and the classes of rows: {why}. Use 'statistics'.")
    options = ModelOptions(hierarchical=hierarchical, scale_prior=scale_prior, student=student, label_noise=label_noise)
    options._check_options()
    plan = ModelPlan.of(ModelData.of(model, X, y, sample_weight, unlabelled), options)
    return assemble(plan, not collapse, likelihood == "rows")


@dataclass(kw_only=True, eq=False, repr=False)
class ModelOptions:
    """Options of a model beyond its conjugate form, each as in `mcmc.fit`."""

    hierarchical: Any = False
    scale_prior: str | None = None
    student: Any = False
    label_noise: Any = None

    def _check_options(self) -> None:
        if not (isinstance(self.hierarchical, bool) or self.hierarchical == "base"):
            raise ValueError(f"hierarchical must be True, False or 'base', got {self.hierarchical!r}.")
        if self.scale_prior not in SCALES:
            raise ValueError(f"scale_prior must be None, 'half-normal' or 'log-normal', got {self.scale_prior!r}.")
        student, noise = self.student, self.label_noise
        if not isinstance(student, bool) and not (isinstance(student, Real) and 0 < float(student) < inf):
            raise ValueError(
                f"student must be True, False or the degrees of freedom, a finite number above 0, got {student!r}."
            )
        if isinstance(noise, Beta):
            if noise.a.ndim or noise.b.ndim or not noise.strictly_proper:
                raise ValueError(f"label_noise as a Beta needs one a and one b, both above 0, got {noise!r}.")
        elif not (noise is None or (isinstance(noise, Real) and 0 <= float(noise) < 1)):
            raise ValueError(
                f"label_noise must be None, the probability that a label is wrong, below 1, or a Beta, got {noise!r}."
            )


def _check_columns(options: ModelOptions, blocks: Sequence[Block]) -> None:
    """Raise for an option that no column of the model can use."""
    gaussian = any(block.family.has_width for block in blocks)
    for name, value in (("scale_prior", options.scale_prior), ("student", options.student)):
        if value and not gaussian:
            raise ValueError(f"{name}={value!r} is about Gaussian columns, and the model has none. Leave it out.")
    joint = [block for block in blocks if block.family.multivariate and block.family.continuous]
    if options.hierarchical and joint:
        raise ValueError(
            f"hierarchical={options.hierarchical!r} learns priors of independent columns, and the block of column "
            f"{joint[0].names[0]!r} has one covariance matrix. Leave it out, or declare Gaussian() columns."
        )
    if options.hierarchical != "base":
        return
    most = max((_most_levels(block) for block in blocks if block.family.counts_levels), default=0)
    if not most:
        raise ValueError(
            "hierarchical='base' is about columns of levels, flags and words, and the model has none. Use True."
        )
    if most > MOST:
        raise ValueError(
            f"hierarchical='base' learns the proportions of all levels of a column, and one has {most:,}, more than "
            f"the {MOST} that a sampler can follow. Use True, which learns the concentration alone."
        )


def _most_levels(block: Block) -> int:
    """Return the most levels that one distribution of the block has."""
    if block.family.combined:
        return prod(block.sizes)
    return len(block.words) if block.family.multivariate else max(block.sizes, default=2)


@dataclass(frozen=True, eq=False)
class ModelData:
    """A fitted estimator, the rows that it has learnt, and rows without labels."""

    estimator: NaiveBayes
    index: Array
    cells: Sequence[Cells]
    codes: Array
    weight: Array | None
    unlabelled: Sequence[Cells] | None = None

    @classmethod
    def of(
        cls, estimator: NaiveBayes, X: Any, y: Any, sample_weight: Any = None, unlabelled: Any = None
    ) -> "ModelData":
        """Fit a copy of an estimator to these rows."""
        check_estimator(estimator)
        learner = estimator._fresh_of_columns().fit(X, y, sample_weight)
        index, rows = learner._counting_rows(X, y, sample_weight)
        cells = None
        if unlabelled is not None:
            _, cells = learner._read(unlabelled)
            learner.schema_.check_cells(cells)
        return cls(learner, index, rows.cells, rows.codes, rows.weight, cells)


@dataclass(frozen=True, eq=False)
class ModelPlan:
    """A model to be built: the data, the options, and the prior and names of every block."""

    data: ModelData
    options: ModelOptions
    priors: Sequence[BlockPrior]
    names: Sequence[BlockNames]
    coords: dict[str, Array]

    @classmethod
    def of(cls, data: ModelData, options: ModelOptions) -> "ModelPlan":
        schema, model = data.estimator.schema_, data.estimator.model_
        _check(data.estimator, options)
        beliefs = _with_entries(data)
        pairs = zip(schema.blocks, beliefs, model.stats.blocks, strict=True)
        priors = [_prior(block.family, belief, stats.beside(belief), options) for block, belief, stats in pairs]
        posteriors = [posterior.beside(prior) for posterior, prior in zip(model.posterior.blocks, beliefs, strict=True)]
        names, coords = names_of(data.estimator.classes_, list(schema.blocks), posteriors)
        return cls(data, options, priors, names, coords)

    @property
    def mixed(self) -> bool:
        """Return whether the class of some row is not certain."""
        return self.data.unlabelled is not None or self.options.label_noise is not None

    @property
    def conjugate(self) -> list[bool]:
        """Return whether theta of each block can be integrated out, given the hyperparameters."""
        return [not self.mixed and not self.heavy(b) for b in range(len(self.priors))]

    def heavy(self, b: int) -> bool:
        """Return whether a block's cells have Student's distribution."""
        return bool(self.options.student) and self.data.estimator.schema_.blocks[b].family.has_width

    @property
    def closed_form(self) -> bool:
        """Return whether everything has a closed form, which leaves nothing to sample but theta."""
        return all(self.conjugate) and all(type(prior) is DeclaredPrior for prior in self.priors)


def _with_entries(data: ModelData) -> list[Belief]:
    """Priors with an entry for every combination of levels that rows hold, labelled or not."""
    model, blocks = data.estimator.model_, data.estimator.schema_.blocks
    beliefs = list(model.prior.beside(model.posterior).blocks)
    for b, x in enumerate(data.unlabelled or ()):
        if blocks[b].family.combined:
            once = one_hot(np.zeros(x.shape[0], np.intp), 1)
            beliefs[b] = beliefs[b].beside(blocks[b].observe(x, once, 1))
    return beliefs


def _check(estimator: NaiveBayes, options: ModelOptions) -> None:
    _check_columns(options, estimator.schema_.blocks)
    if not estimator.class_prior_.strictly_proper:
        raise ValueError("class_prior: a concentration of 0 is improper, and PyMC needs a distribution. Give another.")
    for block, belief in zip(estimator.schema_.blocks, estimator.model_.prior.blocks, strict=True):
        improper = ~belief.strictly_proper.all(axis=0)
        if improper.any():
            name = block.names[int(improper.argmax())]
            raise ValueError(f"column {name!r}: its prior is improper, and PyMC needs a distribution. Give another.")


def _prior(family: Any, belief: Belief, stats: Any, options: ModelOptions) -> BlockPrior:
    if family.has_width and options.scale_prior:
        return DeviationPrior(family, belief, stats, options.scale_prior, bool(options.hierarchical))
    if not options.hierarchical:
        return DeclaredPrior(family, belief, stats)
    if family.counts_levels:
        return LearnedDirichlet(family, belief, stats, options.hierarchical == "base")
    if family.hyperparameters not in LEARNED:
        raise ValueError(
            f"hierarchical={options.hierarchical!r}: there is no hierarchy over priors of {type(family).__name__}. "
            "Leave it out."
        )
    return LEARNED[family.hyperparameters](family, belief, stats)


def assemble(plan: ModelPlan, theta: bool, rows: bool = False) -> Any:
    """Return the PyMC model: theta integrated out where conjugate unless asked for, cells as variables if `rows`."""
    pm = pymc()
    with pm.Model(coords=_coords(plan, rows)) as model:
        class_prob = _class_prob(pm, plan) if theta or plan.mixed else None
        densities: list[Any] = []
        for b, conjugate in enumerate(plan.conjugate):
            if theta or not conjugate:
                densities.append(_density(pm, plan, b))
            else:  # theta is integrated out, which leaves no density
                evidence = plan.priors[b].evidence(pm, plan.names[b])
                pm.Potential(f"{plan.names[b].observed}_evidence", pm.math.sum(evidence))
                densities.append(None)
        if plan.options.label_noise is not None:
            _misread(pm, plan, densities, class_prob)
        else:
            _labelled(pm, plan, densities, class_prob, rows)
        if plan.data.unlabelled is not None:
            joint = _joint(pm, plan, densities, class_prob, plan.data.unlabelled)
            pm.Potential("unlabelled", pm.math.logsumexp(joint, axis=1).sum())
    return model


def start(model: Any, plan: ModelPlan) -> dict[str, Array]:
    """Return where chains begin, by variable: at theta as the closed form of the labelled rows puts it.

    Rows without a certain class fit as well with the classes interchanged, so a chain may stay where it begins. Empty
    where every row's class is certain.
    """
    if not plan.mixed:
        return {}
    free, point = {variable.name for variable in model.free_RVs}, {}
    for belief, names in zip(plan.data.estimator.model_.posterior.blocks, plan.names, strict=True):
        for key, value in belief.estimate("mean").parts().items():
            name = names(*key)["name"]
            if name in free and np.isfinite(value).all():
                point[name] = value
    return point


def _coords(plan: ModelPlan, rows: bool) -> dict[str, list[Any]]:
    coords = dict(plan.coords)
    if rows or any(plan.heavy(b) for b in range(len(plan.priors))):
        coords["obs_id"] = coordinate(plan.data.index)
    return {name: list(labels) for name, labels in coords.items()}


def _class_prob(pm: Any, plan: ModelPlan) -> Any:
    """The probabilities of the classes, a variable unless they are given."""
    class_prior = plan.data.estimator.model_.prior.classes
    if isinstance(class_prior, KnownDie):
        return pm.math.stack([*class_prior.probability])
    return simplex(pm, {"name": "class_prob", "dims": ("class",)}, class_prior.concentration)


def _density(pm: Any, plan: ModelPlan, b: int) -> Any:
    """Add theta of a block as variables, and return its density."""
    names = plan.names[b]
    density = plan.priors[b].theta(pm, names)
    if not plan.heavy(b):
        return density
    if plan.options.student is True:
        freedom = pm.Gamma(**names.hyper("nu"), **NU)
    else:
        freedom = np.full(len(plan.coords[names.axis]), float(plan.options.student))
    return StudentDensity(density.mean, density.variance, freedom)


def _labelled(pm: Any, plan: ModelPlan, densities: Sequence[Any], class_prob: Any, rows: bool) -> None:
    """Add the likelihood of rows whose class is known."""
    data, model = plan.data, plan.data.estimator.model_
    observed = ObservedRows(data.codes, data.weight)
    if class_prob is None:
        pm.Potential("y", pm.math.sum(model.prior.classes.log_evidence(model.stats.classes)))
    elif not rows:
        pm.Potential("y", DirichletDensity(class_prob).log_likelihood(model.stats.classes, tensors()))
    else:
        args, places = {"name": "y", "dims": ("obs_id",)}, np.arange(len(data.codes))
        observed.likelihood(pm, args, pm.Categorical, {"p": class_prob}, data.codes, places)
        observed = ObservedRows(pm.modelcontext(None)["y"] if data.weight is None else data.codes, data.weight)
    for b, density in enumerate(densities):
        if density is None:
            continue
        if rows or not density.sufficient:
            by_rows(pm, data.estimator.schema_.blocks[b], density, data.cells[b], observed, plan.names[b])
        else:
            logs = density.log_likelihood(model.stats.blocks[b], tensors())
            pm.Potential(plan.names[b].observed, logs.sum())


def _misread(pm: Any, plan: ModelPlan, densities: Sequence[Any], class_prob: Any) -> None:
    """Add the likelihood of rows whose labels may be wrong, all wrong labels being as probable."""
    data, noise, classes = plan.data, plan.options.label_noise, len(plan.coords["class"])
    noise = pm.Beta("label_noise", noise.a, noise.b) if isinstance(noise, Beta) else float(noise)
    right = np.arange(classes) == data.codes[:, None]
    read = pm.math.log(pm.math.where(right, 1.0 - noise, noise / max(classes - 1, 1)))
    logs = pm.math.logsumexp(_joint(pm, plan, densities, class_prob, data.cells) + read, axis=1)
    pm.Potential("x_and_y", (logs if data.weight is None else data.weight * logs).sum())


def _joint(pm: Any, plan: ModelPlan, densities: Sequence[Any], class_prob: Any, cells: Sequence[Cells]) -> Any:
    """log p(x, y | theta) of every row and class, `(r, c)`."""
    blocks = plan.data.estimator.schema_.blocks
    parts = [row_scores(pm, *args) for args in zip(blocks, densities, cells, strict=True)]
    return sum(parts, start=pm.math.log(class_prob))
