"""What PyMC drew, as an ensemble of conjugate models."""

from typing import Any

import numpy as np

from bayesnb.families import Beta
from bayesnb.families.base import Array
from bayesnb.families.certain import Certain
from bayesnb.families.gaussian_density import StudentDensity
from bayesnb.inference.posterior_draws import repeated
from bayesnb.mcmc.ensemble import Ensemble, Given
from bayesnb.mcmc.priors import Draws
from bayesnb.mcmc.pymc_model import Blueprint


def ensemble_of(tree: Any, plan: Blueprint, theta: bool) -> Ensemble:
    """The priors that every draw makes, chain after chain; a theta that was drawn is certain."""
    draws = {
        name: own.reshape(-1, *own.shape[2:]) for name, own in ((n, a.values) for n, a in tree["posterior"].items())
    }
    size = tree["posterior"].sizes["chain"] * tree["posterior"].sizes["draw"]
    model = plan.data.estimator.model_
    priors = [
        prior.given(draws, say) if conjugate and not theta else _certain(draws, plan, b)
        for b, (prior, say, conjugate) in enumerate(zip(plan.priors, plan.says, plan.conjugate, strict=True))
    ]
    class_prob = draws.get("class_prob")
    return Ensemble(model.prior.classes, priors, model.stats, size, class_prob, _confusion(draws, plan, size))


def _certain(draws: Draws, plan: Blueprint, b: int) -> Given:
    """Every draw's theta of a block."""
    like, say = plan.priors[b].declared.estimate("mean"), plan.says[b]
    parts = {key: draws[say(*key)["name"]] for key in like.parts()}
    classes = len(like)
    theta: Any = type(like).of_parts({key: own.reshape(-1, *own.shape[2:]) for key, own in parts.items()}, like)
    if plan.heavy(b):
        every = np.repeat(_freedom(draws, plan, b), classes, axis=0)
        theta = StudentDensity(theta.mean, theta.variance, np.broadcast_to(every, theta.mean.shape))
    belief = Certain(theta)
    return lambda some: belief[np.repeat(some * classes, classes) + repeated(classes, len(some))]


def _freedom(draws: Draws, plan: Blueprint, b: int) -> Array:
    """Degrees of freedom, `(s, f)`."""
    if plan.options.student is True:
        return draws[plan.says[b].hyper("nu")["name"]]
    size = len(next(iter(draws.values())))
    return np.full((size, len(plan.coords[plan.says[b].axis])), float(plan.options.student))


def _confusion(draws: Draws, plan: Blueprint, size: int) -> Array | None:
    """p(label that is read | class) of every draw, `(s, c, c)`."""
    said, classes = plan.options.label_noise, len(plan.coords["class"])
    if said is None:
        return None
    noise = draws["label_noise"] if isinstance(said, Beta) else np.full(size, float(said))
    return np.where(np.eye(classes) > 0, 1 - noise[:, None, None], noise[:, None, None] / max(classes - 1, 1))
