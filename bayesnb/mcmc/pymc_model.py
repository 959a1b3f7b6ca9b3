"""A naive Bayes model in PyMC: the same priors and data, or with what has no closed form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.estimators import Classifier, check_estimator
from bayesnb.families import Beta
from bayesnb.families.base import Array, Belief, Cells
from bayesnb.families.dirichlet import DirichletDensity, simplex
from bayesnb.families.gaussian import NORMAL
from bayesnb.families.gaussian_density import StudentDensity
from bayesnb.families.known import KnownDie
from bayesnb.families.poisson import RATE
from bayesnb.families.weight import one_hot
from bayesnb.mcmc.backend import pymc, tensors
from bayesnb.mcmc.likelihood import Labelled, by_rows, row_scores
from bayesnb.mcmc.model_options import Options
from bayesnb.mcmc.priors import Fixed, LearnedDice, LearnedNormals, LearnedRates, Prior, Scaled
from bayesnb.mcmc.variable_names import Say, names_of
from bayesnb.results.parameter_names import coordinate

LEARNED = {RATE: LearnedRates, NORMAL: LearnedNormals}
NU = {"alpha": 2.0, "beta": 0.1}  # of the Gamma over degrees of freedom: Juarez and Steel (2010)


@dataclass(frozen=True, eq=False)
class Data:
    """A fitted estimator, the rows that it has learnt, and rows without labels."""

    estimator: Classifier
    index: Array
    cells: Sequence[Cells]
    codes: Array
    weight: Array | None
    unlabelled: Sequence[Cells] | None = None

    @classmethod
    def of(cls, estimator: Classifier, X: Any, y: Any, sample_weight: Any = None, unlabelled: Any = None) -> "Data":
        """What an estimator learns from these rows."""
        check_estimator(estimator)
        learner = estimator._fresh().fit(X, y, sample_weight)
        index, rows = learner._counting_rows(X, y, sample_weight)
        return cls(learner, index, rows.cells, rows.codes, rows.weight, _unlabelled(learner, unlabelled))


def _unlabelled(learner: Classifier, X: Any) -> Sequence[Cells] | None:
    """The cells of rows without labels."""
    if X is None:
        return None
    _, cells = learner._read(X)
    learner.schema_.check_cells(cells)
    learner.schema_.tell_unseen(cells)
    return cells


@dataclass(frozen=True, eq=False)
class Blueprint:
    """What is to be built: the data, the options, and the prior and names of every block."""

    data: Data
    options: Options
    priors: Sequence[Prior]
    says: Sequence[Say]
    coords: dict[str, Array]

    @classmethod
    def of(cls, data: Data, options: Options) -> "Blueprint":
        schema, model = data.estimator.schema_, data.estimator.model_
        _check(data.estimator, options)
        beliefs = _with_entries(data)
        pairs = zip(schema.blocks, beliefs, model.stats.blocks, strict=True)
        priors = [_prior(block.family, belief, stats.beside(belief), options) for block, belief, stats in pairs]
        after = [own.beside(before) for own, before in zip(model.posterior.blocks, beliefs, strict=True)]
        says, coords = names_of(data.estimator.classes_, list(schema.blocks), after)
        return cls(data, options, priors, says, coords)

    @property
    def mixed(self) -> bool:
        """Whether the class of some row is not certain."""
        return self.data.unlabelled is not None or self.options.label_noise is not None

    @property
    def conjugate(self) -> list[bool]:
        """Of every block whether theta can be integrated out, given the parameters of its prior."""
        return [not self.mixed and not self.heavy(b) for b in range(len(self.priors))]

    def heavy(self, b: int) -> bool:
        """Whether a block's cells have Student's distribution."""
        return bool(self.options.student) and self.data.estimator.schema_.blocks[b].family.has_width

    @property
    def nothing_left(self) -> bool:
        """Whether everything has a closed form, so that there would be nothing to sample."""
        return all(self.conjugate) and all(type(prior) is Fixed for prior in self.priors)


def _with_entries(data: Data) -> list[Belief]:
    """The priors, with entries of their own for all that rows hold."""
    model, blocks = data.estimator.model_, data.estimator.schema_.blocks
    beliefs = list(model.prior.beside(model.posterior).blocks)
    for b, x in enumerate(data.unlabelled or ()):
        if blocks[b].family.combined:
            once = one_hot(np.zeros(x.shape[0], np.intp), 1)
            beliefs[b] = beliefs[b].beside(blocks[b].observe(x, once, 1))
    return beliefs


def _check(estimator: Classifier, options: Options) -> None:
    options.check(estimator.schema_.blocks)
    if estimator.model_.prior.weighs:
        raise ValueError("average_features has no PyMC model. Give an estimator with average_features=None.")
    if not estimator.class_prior_.strictly_proper:
        raise ValueError("class_prior: a concentration of 0 is improper, and PyMC needs a distribution. Give another.")
    for block, belief in zip(estimator.schema_.blocks, estimator.model_.prior.blocks, strict=True):
        odd = ~belief.strictly_proper.all(axis=0)
        if odd.any():
            name = block.names[int(odd.argmax())]
            raise ValueError(f"column {name!r}: its prior is improper, and PyMC needs a distribution. Give another.")


def _prior(family: Any, belief: Belief, stats: Any, options: Options) -> Prior:
    if family.has_width and options.scale_prior:
        return Scaled(family, belief, stats, options.scale_prior, bool(options.hierarchical))
    if not options.hierarchical:
        return Fixed(family, belief, stats)
    if family.counts_levels:
        return LearnedDice(family, belief, stats, options.hierarchical == "base")
    if family.hyperparameters not in LEARNED:
        raise ValueError(
            f"hierarchical={options.hierarchical!r}: there is no hierarchy over priors of {type(family).__name__}. "
            "Leave it out."
        )
    return LEARNED[family.hyperparameters](family, belief, stats)


def assemble(plan: Blueprint, theta: bool, rows: bool = False) -> Any:
    """The PyMC model; without `theta` what is conjugate is integrated out, with `rows` every cell is a variable."""
    pm = pymc()
    with pm.Model(coords=_coords(plan, rows)) as model:
        apart = [conjugate and not theta for conjugate in plan.conjugate]
        class_prob = _class_prob(pm, plan) if theta or plan.mixed else None
        pairs = enumerate(zip(plan.priors, plan.says, apart, strict=True))
        densities = [_alone(pm, prior, say) if alone else _density(pm, plan, b) for b, (prior, say, alone) in pairs]
        if plan.options.label_noise is not None:
            _misread(pm, plan, densities, class_prob)
        else:
            _labelled(pm, plan, densities, class_prob, rows)
        if plan.data.unlabelled is not None:
            joint = _joint(pm, plan, densities, class_prob, plan.data.unlabelled)
            pm.Potential("unlabelled", pm.math.logsumexp(joint, axis=1).sum())
    return model


def start(model: Any, plan: Blueprint) -> dict[str, Array]:
    """Where chains are to begin: theta where the closed form of the labelled rows puts it, by variable.

    Rows without a certain class fit as well with the classes interchanged, so a chain may stay where it begins. Empty
    where every row's class is certain.
    """
    if not plan.mixed:
        return {}
    free, found = {variable.name for variable in model.free_RVs}, {}
    for belief, say in zip(plan.data.estimator.model_.posterior.blocks, plan.says, strict=True):
        for key, value in belief.estimate("mean").parts().items():
            name = say(*key)["name"]
            if name in free and np.isfinite(value).all():
                found[name] = value
    return found


def _coords(plan: Blueprint, rows: bool) -> dict[str, list[Any]]:
    every = dict(plan.coords)
    if rows or any(plan.heavy(b) for b in range(len(plan.priors))):
        every["obs_id"] = coordinate(plan.data.index)
    return {name: list(labels) for name, labels in every.items()}


def _class_prob(pm: Any, plan: Blueprint) -> Any:
    """The probabilities of the classes, a variable unless they are given."""
    die = plan.data.estimator.model_.prior.classes
    if isinstance(die, KnownDie):
        return pm.math.stack([*die.probability])
    return simplex(pm, {"name": "class_prob", "dims": ("class",)}, die.concentration)


def _alone(pm: Any, prior: Prior, say: Say) -> Any:
    """A block whose theta is integrated out: the evidence, given what of its prior is learned. It has no density."""
    found = prior.evidence(pm, say)
    constant = prior.declared.log_evidence(prior.stats) if found is None else found
    pm.Potential(f"{say.observed}_evidence", pm.math.sum(constant))
    return None


def _density(pm: Any, plan: Blueprint, b: int) -> Any:
    """A block's theta as variables."""
    density, say = plan.priors[b].theta(pm, plan.says[b]), plan.says[b]
    if not plan.heavy(b):
        return density
    said = plan.options.student
    freedom = pm.Gamma(**say.hyper("nu"), **NU) if said is True else np.full(len(plan.coords[say.axis]), float(said))
    return StudentDensity(density.mean, density.variance, freedom)


def _labelled(pm: Any, plan: Blueprint, densities: Sequence[Any], class_prob: Any, rows: bool) -> None:
    """The likelihood of rows whose class is known."""
    data, model = plan.data, plan.data.estimator.model_
    own = Labelled(data.codes, data.weight)
    if class_prob is None:
        pm.Potential("y", pm.math.sum(model.prior.classes.log_evidence(model.stats.classes)))
    elif not rows:
        pm.Potential("y", DirichletDensity(class_prob).log_likelihood(model.stats.classes, tensors()))
    else:
        every = np.arange(len(data.codes))
        own.likelihood(pm, {"name": "y", "dims": ("obs_id",)}, pm.Categorical, {"p": class_prob}, data.codes, every)
        own = Labelled(pm.modelcontext(None)["y"] if data.weight is None else data.codes, data.weight)
    for b, density in enumerate(densities):
        if density is None:
            continue
        if rows or not density.sufficient:
            by_rows(pm, data.estimator.schema_.blocks[b], density, data.cells[b], own, plan.says[b])
        else:
            logs = density.log_likelihood(model.stats.blocks[b], tensors())
            pm.Potential(plan.says[b].observed, logs.sum())


def _misread(pm: Any, plan: Blueprint, densities: Sequence[Any], class_prob: Any) -> None:
    """The likelihood of rows whose labels may be wrong, each other label being as probable."""
    data, said, classes = plan.data, plan.options.label_noise, len(plan.coords["class"])
    noise = pm.Beta("label_noise", said.a, said.b) if isinstance(said, Beta) else float(said)
    right = np.arange(classes) == data.codes[:, None]
    read = pm.math.log(pm.math.where(right, 1.0 - noise, noise / max(classes - 1, 1)))
    logs = pm.math.logsumexp(_joint(pm, plan, densities, class_prob, data.cells) + read, axis=1)
    pm.Potential("x_and_y", (logs if data.weight is None else data.weight * logs).sum())


def _joint(pm: Any, plan: Blueprint, densities: Sequence[Any], class_prob: Any, cells: Sequence[Cells]) -> Any:
    """log p(x, y | theta) of every row and class, `(r, c)`."""
    blocks = plan.data.estimator.schema_.blocks
    parts = [row_scores(pm, *each, tensors()) for each in zip(blocks, densities, cells, strict=True)]
    return sum(parts, start=pm.math.log(class_prob))
