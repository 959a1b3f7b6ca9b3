"""The estimator of a model whose priors, or more of it, were sampled with PyMC.

Given any one draw everything else is conjugate and is integrated out, so answers are means over draws of closed forms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NoReturn, Self

import numpy as np

from bayesnb import results
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.cross_validation import TARGETS
from bayesnb.estimators.model_holder import unchanged_on_error
from bayesnb.estimators.public_methods import PREDICTIONS, public_methods
from bayesnb.estimators.tempering import as_attributes
from bayesnb.families import Beta
from bayesnb.families.base import Array, Cells, Rng
from bayesnb.families.certain import Certain, KnownDie
from bayesnb.inference.posterior_draws import repeated
from bayesnb.inference.row_sampling import check_length, draw_codes, filled
from bayesnb.mcmc.ensemble import (
    Ensemble,
    EnsembleDensity,
    EnsembleScorer,
    PriorOfDraws,
    RowConditioner,
    draw_rows,
    explain,
    thinned,
)
from bayesnb.mcmc.gaussians import StudentDensity
from bayesnb.mcmc.hyperpriors import Draws
from bayesnb.mcmc.importance_weights import (
    EnsembleLOO,
    ImportanceScores,
    draws_for,
    effective,
    few,
    warn_degenerate,
    warn_pareto,
)
from bayesnb.mcmc.pymc_model import ModelData, ModelOptions, ModelPlan, assemble, start
from bayesnb.mcmc.sampled_uncertainty import NUMBERS, DrawsClassifier, Weighed
from bayesnb.mcmc.sampling import ChainParameters, sample
from bayesnb.model.product import Rows
from bayesnb.numerics.threads import blocks

EXPLAINED = 200  # draws


@public_methods(*PREDICTIONS)
@dataclass(eq=False, repr=False)
class Sampled(ModelOptions, ChainParameters, DrawsClassifier):
    """An estimator's model, sampled with PyMC: an ensemble of conjugate models, one for each draw of what is not.

    Parameters
    ----------
    estimator : NaiveBayes or a preset, whose families and priors are taken
    others : as in `fit`

    Attributes
    ----------
    datatree_ : what was drawn, in ArviZ's groups
    estimator_ : the estimator in closed form, fitted on the same rows
    classes_ : the labels, sorted
    """

    estimator: Any
    _: KW_ONLY
    collapse: bool = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, unlabelled: Any = None) -> Self:
        """Sample what has no closed form, given labelled rows and, beside them, rows without labels."""
        self._check_chains()
        self._check_options()
        rng = np.random.default_rng(self.rng)
        plan = ModelPlan.of(ModelData.of(self.estimator, X, y, sample_weight, unlabelled), self)
        theta = plan.closed_form or not self.collapse
        model = assemble(plan, theta)
        traces = sample(model, self, rng, start(model, plan))
        with unchanged_on_error(self):
            self._answer_by(
                plan.data.estimator,
                ensemble_of(traces, plan, theta),
                traces["posterior"].sizes["chain"],
                int(rng.integers(1 << 31)),
            )
            self.datatree_ = self._datatree(traces, plan.data.index, plan.data.codes)
        return self

    @property
    def n_jobs(self) -> int | None:  # type: ignore[override]
        """The threads of the estimator that was sampled."""
        return self.estimator_.n_jobs

    def _answer_by(self, estimator: NaiveBayes, ensemble: Ensemble, chains: int, seed: int) -> Self:
        """Answer by a sampled ensemble, chain after chain, and the fitted estimator that read its table."""
        if estimator.model_.prior.is_mixture:
            raise ValueError("average_features: classes share parameters, which cannot be sampled. Leave it None.")
        self.estimator_, self.ensemble_, self.seed_ = estimator, ensemble, seed
        self.chains_, self.draws_ = chains, ensemble.size // chains
        return self._adopt(
            estimator, "classes_", "temper_", "temper_sd_", "temper_length_", "n_features_in_", "feature_names_in_"
        )

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(x, y | D), one column a class: the log of the mean over the draws."""
        joint, cells = self._joint(X)
        if not np.isfinite(joint).all():
            self.estimator_.schema_.check_cells(cells)
        return joint

    def log_density(self, X: Any) -> Array:
        """log p(x | D) of each row, `(r,)`: how usual it is, whatever its class. No temper enters."""
        cells = self._read(X)
        self.estimator_.schema_.check_cells(cells)
        return self._log_density(cells)

    def explain(self, X: Any) -> Any:
        """Explain what every feature of every row adds to the score of each class.

        As `NaiveBayes.explain` does, over the draws: a mean is the mean of theirs, and a variance the mean of their
        variances plus the variance of their means.

        Parameters
        ----------
        X : table of rows

        Returns
        -------
        xarray.Dataset
            By (obs_id, class, feature): `evidence` and `sd`, posterior mean and standard deviation of what the
            feature adds; `predictive`, the log predictive of the cell, which is the mean over draws. By class:
            `class_term`, `class_term_sd`, `predictive_class_term`. By (obs_id, class): `score`, the sum of
            `class_term` and `evidence`, and `score_sd`. By (obs_id, feature): `cell`, what the cell held, as text.

        Notes
        -----
        Of more than 200 draws 200 are taken, evenly spaced. `predictive` no longer adds up to
        `predict_joint_log_proba` exactly, nor the squares of the sds to that of `score_sd`, which counts all
        features together: cells share what was sampled.
        """
        self._check_fitted()
        table, cells = self.estimator_._read(X)
        self.estimator_.schema_.check_cells(cells)
        draws = thinned(self.ensemble_.size, EXPLAINED)
        explanation = explain(self.ensemble_, draws, cells, self.estimator_._exponents)
        return results.explanations.explained(
            explanation, table.index, self.classes_, self.estimator_.schema_.blocks, cells, self.estimator_._tempers
        )

    def loo(self, X: Any, y: Any, target: str = "label", *, sample_weight: Any = None) -> Any:
        """Score every row by the model of all other rows, without sampling again.

        Given a draw, leave-one-out is exact. Without row i, draws are as probable as with it, times
        1 / p(x_i, y_i | draw, all other rows): by these weights they are averaged, their largest ones smoothed
        (Vehtari et al. 2024, Pareto smoothed importance sampling).

        Parameters
        ----------
        X, y, sample_weight : the rows that were learnt, or some of them, with their labels and weights
        target : {"label", "joint"}
            "label": log p(y_i | x_i, all other rows), by which classifiers are compared. "joint": log p(x_i, y_i | all
            other rows); no temper enters it.

        Returns
        -------
        arviz.ELPDData
            `elpd`, the sum, `se`, its standard error, `p`, by how much the sum is larger over rows that were learnt,
            `elpd_i`, row by row, and `pareto_k`: above `good_k` the draws know too little of what is left without the
            row, which a `ParetoWarning` reports. `az.compare` takes it.

        Notes
        -----
        Of more than 400 draws 400 are taken, evenly spaced; fewer, at least 100, for more than 80,000 rows. Where
        labels are read with errors, a row's score is that of the label that was read.
        """
        index, rows = self._learnt_rows(X, y, sample_weight)
        scores = self._loo_scores(rows, target)
        return results.elpd.sampled_elpd(scores.pointwise, index, scores.k, scores.draws)

    def sample(self, n: int, y: Any = None, *, length: Any = None, rng: Rng = None) -> tuple[Any, Array]:
        """Draw new rows and their labels from the posterior predictive, in a table like the one learnt from.

        Every row takes one of the draws, and parameters from the posterior given that draw.

        Parameters
        ----------
        n, y, length, rng : as in `NaiveBayes.sample`

        Returns
        -------
        X : a table of the kind that was first learnt from
        y : array of labels, as in `classes_`
        """
        self._check_fitted()
        rng, schema = np.random.default_rng(rng), self.estimator_.schema_
        class_prob = np.exp(self.ensemble_.log_class(np.arange(self.ensemble_.size)))
        codes = draw_codes(n, y, self.classes_, class_prob.mean(axis=0), rng)
        check_length(length, n, schema.blocks)
        return filled(schema, draw_rows(schema, self.ensemble_, codes, length, rng)), self.classes_[codes]

    def _loo_scores(self, rows: Rows, target: str) -> ImportanceScores:
        if target not in TARGETS:
            raise ValueError(f"target must be 'label' or 'joint', got {target!r}.")
        power = self.estimator_._exponents if target == "label" else 1.0
        most = draws_for(len(rows.codes))
        draws = thinned(self.ensemble_.size, most)
        scores = EnsembleLOO(self.ensemble_, power, target, self.n_jobs).scores(rows, draws)
        warn_pareto(scores, most)
        return scores

    def _datatree(self, traces: Any, index: Array | None = None, codes: Array | None = None) -> Any:
        """Return the draws of the sampler with theta of each; labels of rows that were learnt, as places, if given."""
        layout = results.parameter_names.layout_of(self.estimator_)
        plan = results.drawn_trees.DrawPlan(self.draws_, self.chains_, None)
        given = self.ensemble_.class_prob is None and isinstance(self.ensemble_.class_prior, KnownDie)
        thetas = results.sampled_trees.ThetaDraws(plan, layout, self._scorer.thetas, given)
        return results.sampled_trees.tree(traces, thetas, as_attributes(self.estimator_._known_temper), index, codes)

    @property
    def _scorer(self) -> EnsembleScorer:
        return EnsembleScorer(self.ensemble_, self.seed_, self.n_jobs)

    def _read(self, X: Any) -> list[Cells]:
        self._check_fitted()
        return self.estimator_._read(X)[1]

    def _density(self, X: Any) -> tuple[EnsembleDensity, list[Cells]]:
        cells = self._read(X)
        density = self._scorer.density(cells, self.estimator_._exponents)
        return density, cells

    def _joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        density, cells = self._density(X)
        warn_degenerate(density.effective, self.ensemble_.size)
        return density.joint, cells

    def _quiet_joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        density, cells = self._density(X)
        return density.joint, cells

    def _refuse_row(self, row: int, cells: Sequence[Cells]) -> NoReturn:
        self.estimator_._refuse_row(row, cells)

    def _log_density(self, cells: Sequence[Cells]) -> Array:
        return np.logaddexp.reduce(self._scorer.density(cells, 1.0).joint, axis=1)

    def _weighed(self, cells: Sequence[Cells], draws: Array, observed: bool) -> Iterator[Weighed]:
        scorer, classes = self._scorer, self.ensemble_.classes
        for rows in blocks(cells[0].shape[0], max(NUMBERS // (len(draws) * classes), 1)):
            part_cells = [x[rows] for x in cells]
            shape = len(draws), rows.stop - rows.start
            log_weight, proba = np.zeros(shape), np.empty((*shape, classes))
            for places, theta in scorer.thetas(draws, part_cells):
                for part, joint in theta.by_rows(part_cells, self.estimator_._exponents, self.n_jobs):
                    if observed:
                        log_weight[places, part] = np.logaddexp.reduce(joint, axis=-1).T
                    proba[places, part] = theta.proba(joint, self.n_jobs).swapaxes(0, 1)
            if observed:
                conditioner = RowConditioner(scorer, self.estimator_.schema_.observers, self.estimator_._exponents)
                for row in np.flatnonzero(few(effective(log_weight), self.ensemble_.size)):
                    log_weight[:, row], proba[:, row] = conditioner.distribution([x[[row]] for x in part_cells])
            yield rows, log_weight, proba


def fit(
    model: Any,
    X: Any,
    y: Any,
    hierarchical: Any = False,
    *,
    sample_weight: Any = None,
    unlabelled: Any = None,
    **options: Any,
) -> Sampled:
    """Sample a model with PyMC: as it is, or beyond what has a closed form.

    Parameters
    ----------
    model : NaiveBayes or a preset
        Its families, priors and class prior are taken; whether it is fitted plays no part.
    X, y, sample_weight : rows, their labels and weights
    hierarchical : {False, True, "base"}
        True: hyperparameters are learned, so that classes borrow from each other. Of levels, flags and words the
        concentration `alpha`, which multiplies the declared proportions; of Gaussians where the classes' means lie and
        how far apart they are, and how alike their variances are; of rates likewise. "base": the proportions of
        levels, flags and words are learned too, up to 500 levels of a column, which pays where many classes have few
        rows. Where proportions are far from even, True alone learns too small an `alpha`, to explain that.
    unlabelled : None or a table
        Rows without labels, which inform about the features, and through them about the classes.
    **options
        `draws=1000`, `tune=1000`, `chains=4`: how many draws of how many chains, after how many steps of tuning. `rng`:
        None, a seed, or numpy.random.Generator. `scale_prior`: "half-normal" or "log-normal", of the standard
        deviations of Gaussian columns. `student`: True, or the degrees of freedom: Gaussian columns get Student's t,
        which outliers do not move. `label_noise`: the probability that a label is wrong, or a `Beta` about it.
        `collapse=False`: sample theta too. `sampler`: "nutpie", "pymc", "numpyro" or "blackjax", default nutpie where
        it is installed. `progressbar`: default one where stderr is a terminal. `sampling`: a mapping of what else
        `pymc.sample` takes, such as {"cores": 1}.

    Returns
    -------
    Sampled
        An estimator: `predict`, `predict_proba`, `predict_interval`, `uncertainty`, `draw_proba`, `explain`, `loo`,
        `decide`, and `datatree_`, ArviZ's groups.

    Notes
    -----
    Only what has no closed form is sampled: given the hyperparameters, theta is integrated out, and drawn exactly for
    `datatree_`. Where everything has a closed form, theta is sampled, as a check of it. `predict_proba` is p(y | x, D),
    joint densities averaged over draws and then normalised. Chains that have not met, too few effective draws and
    divergences raise a `SamplingWarning`; rows that few draws speak for raise a `DegenerateWarning`.

    Under `unlabelled` and `label_noise` classes could be exchanged, so chains begin where the labelled rows put theta.

    `temper` is followed, "loo" by the closed form's exponent; `estimate` plays no part. Links between columns, as
    `NaiveBayes()` has, are left out.
    """
    known = [name for name in Sampled._get_param_names() if name != "estimator"]
    unknown = set(options) - set(known)
    if unknown:
        raise TypeError(
            f"fit has no option {min(unknown)!r}. There are {', '.join(known)}. "
            f"Other arguments of pymc.sample go in sampling={{{min(unknown)!r}: ...}}."
        )
    return Sampled(model, hierarchical=hierarchical, **options).fit(X, y, sample_weight, unlabelled)


def ensemble_of(tree: Any, plan: ModelPlan, theta: bool) -> Ensemble:
    """Return the ensemble of what PyMC drew, chain after chain; under each draw, a theta that was drawn is certain."""
    posterior = tree["posterior"]
    draws = {name: array.values.reshape(-1, *array.shape[2:]) for name, array in posterior.items()}
    size = posterior.sizes["chain"] * posterior.sizes["draw"]
    model = plan.data.estimator.model_
    priors = [
        prior.at_draws(draws, names) if conjugate and not theta else _certain(draws, plan, b)
        for b, (prior, names, conjugate) in enumerate(zip(plan.priors, plan.names, plan.conjugate, strict=True))
    ]
    class_prob, confusion = draws.get("class_prob"), _confusion(draws, plan, size)
    return Ensemble(model.prior.classes, priors, model.stats, size, class_prob, confusion)


def _certain(draws: Draws, plan: ModelPlan, b: int) -> PriorOfDraws:
    """Return, as the prior of a block, the certainty of each draw's theta."""
    like, names = plan.priors[b].declared.estimate("mean"), plan.names[b]
    parts = {key: draws[names(*key)["name"]] for key in like.parts()}
    classes, size = len(like), len(next(iter(draws.values())))
    theta: Any = type(like).of_parts({key: array.reshape(-1, *array.shape[2:]) for key, array in parts.items()}, like)
    if plan.heavy(b):
        learned = plan.options.student is True
        freedom = draws[names.hyper("nu")["name"]] if learned else np.full((size, 1), float(plan.options.student))
        freedom = np.broadcast_to(np.repeat(freedom, classes, axis=0), theta.mean.shape)
        theta = StudentDensity(theta.mean, theta.variance, freedom)
    belief = Certain(theta)
    return lambda places: belief[np.repeat(places * classes, classes) + repeated(classes, len(places))]


def _confusion(draws: Draws, plan: ModelPlan, size: int) -> Array | None:
    """p(label that is read | class) of every draw, `(s, c, c)`."""
    label_noise, classes = plan.options.label_noise, len(plan.coords["class"])
    if label_noise is None:
        return None
    noise = draws["label_noise"] if isinstance(label_noise, Beta) else np.full(size, float(label_noise))
    return np.where(np.eye(classes) > 0, 1 - noise[:, None, None], noise[:, None, None] / max(classes - 1, 1))
