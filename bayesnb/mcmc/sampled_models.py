"""A model whose priors, or more of it, were sampled: what it answers about rows.

Given any one draw everything else is conjugate and is integrated out, so answers are means over draws of closed forms.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, Self

import numpy as np

from bayesnb import results
from bayesnb.estimators import NaiveBayes
from bayesnb.estimators.cross_validation import TARGETS
from bayesnb.estimators.model_holder import unchanged_on_error
from bayesnb.estimators.public_methods import PREDICTIONS, public_methods
from bayesnb.families.base import Array, Cells, Rng
from bayesnb.families.known import KnownDie
from bayesnb.inference.row_sampling import check_length, draw_codes, filled
from bayesnb.mcmc.chain_draws import ensemble_of
from bayesnb.mcmc.ensemble import Ensemble
from bayesnb.mcmc.explaining import explain
from bayesnb.mcmc.generating import draw_rows
from bayesnb.mcmc.importance_loo import Judge, Judgement, draws_for, warn_pareto
from bayesnb.mcmc.importance_weights import effective, few, tell_degenerate
from bayesnb.mcmc.model_options import Options
from bayesnb.mcmc.pymc_model import Blueprint, Data, assemble, start
from bayesnb.mcmc.sampled_uncertainty import NUMBERS, Drawn, Weighed, thinned
from bayesnb.mcmc.sampling import Plan, sample
from bayesnb.mcmc.scoring import Mixed, Reading
from bayesnb.mcmc.seeing import Seer
from bayesnb.model.product import Rows
from bayesnb.numerics.threads import blocks
from bayesnb.selection.leave_one_out import Pointwise

EXPLAINED = 200  # draws


@public_methods(*PREDICTIONS)
class Sampled(Drawn):
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

    estimator_: NaiveBayes
    ensemble_: Ensemble
    datatree_: Any
    seed_: int

    def __init__(
        self,
        estimator: Any,
        *,
        hierarchical: Any = False,
        scale_prior: str | None = None,
        student: Any = False,
        label_noise: Any = None,
        collapse: bool = True,
        draws: int = 1000,
        tune: int = 1000,
        chains: int = 4,
        rng: Any = None,
        sampler: str | None = None,
        progressbar: bool | None = None,
        sampling: Mapping[str, Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.hierarchical = hierarchical
        self.scale_prior = scale_prior
        self.student = student
        self.label_noise = label_noise
        self.collapse = collapse
        self.draws = draws
        self.tune = tune
        self.chains = chains
        self.rng = rng
        self.sampler = sampler
        self.progressbar = progressbar
        self.sampling = sampling

    def fit(self, X: Any, y: Any, sample_weight: Any = None, unlabelled: Any = None) -> Self:
        """Sample what has no closed form, given labelled rows and, beside them, rows without labels."""
        rng = np.random.default_rng(self.rng)
        chains = Plan(self.draws, self.tune, self.chains, rng, self.sampler, self.progressbar, self.sampling or {})
        options = Options(self.hierarchical, self.scale_prior, self.student, self.label_noise)
        plan = Blueprint.of(Data.of(self.estimator, X, y, sample_weight, unlabelled), options)
        theta = plan.nothing_left or not self.collapse
        model = assemble(plan, theta)
        traces = sample(model, chains, start(model, plan))
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

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """The names of what may be said beside the estimator."""
        return tuple(name for name in cls._get_param_names() if name != "estimator")

    def _answer_by(self, estimator: NaiveBayes, ensemble: Ensemble, chains: int, seed: int) -> Self:
        """Take an ensemble that was sampled, chain after chain, and the fitted estimator that read its table."""
        if estimator.model_.prior.weighs:
            raise ValueError("average_features: classes share parameters, which cannot be sampled. Leave it None.")
        self.estimator_, self.ensemble_, self.seed_ = estimator, ensemble, seed
        self.chains_, self.draws_ = chains, ensemble.size // chains
        for name in ("classes_", "temper_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

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
        density = self._log_density(cells)
        self.estimator_.schema_.tell_unseen(cells)
        return density

    def explain(self, X: Any) -> Any:
        """Say what every feature of every row adds to the score of each class.

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
        found = explain(self.ensemble_, thinned(self.ensemble_.size, EXPLAINED), cells, self.estimator_.temper_)
        self.estimator_.schema_.tell_unseen(cells)
        return results.explanations.explained(found, table.index, self.classes_, self.estimator_.schema_.blocks, cells)

    def loo(self, X: Any, y: Any, target: str = "label", *, sample_weight: Any = None) -> Any:
        """Score every row by what all other rows lead to, without sampling again.

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
            row, which a `ParetoWarning` says. `az.compare` takes it.

        Notes
        -----
        Of more than 400 draws 400 are taken, evenly spaced; fewer, at least 100, for more than 80,000 rows. Where
        labels are read with errors, a row's score is that of the label that was read.
        """
        index, rows = self._learnt_rows(X, y, sample_weight)
        found = self._judged(rows, target)
        return results.elpd.sampled_elpd(found.found, index, found.k, found.draws)

    def sample(self, n: int, y: Any = None, *, length: Any = None, rng: Rng = None) -> tuple[Any, Array]:
        """Draw new rows and their labels from the posterior predictive, in a table like the one learnt from.

        Every row has one of the draws, and parameters of its own from the posterior given that.

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
        die = np.exp(self.ensemble_.log_class(np.arange(self.ensemble_.size)))
        codes = draw_codes(n, y, self.classes_, die.mean(axis=0), rng)
        check_length(length, n, schema.blocks)
        return filled(schema, draw_rows(schema, self.ensemble_, codes, length, rng)), self.classes_[codes]

    def _left_out(self, rows: Rows, target: str) -> Pointwise:
        """The scores of `loo`."""
        return self._judged(rows, target).found

    def _judged(self, rows: Rows, target: str) -> Judgement:
        if target not in TARGETS:
            raise ValueError(f"target must be 'label' or 'joint', got {target!r}.")
        power = self.estimator_.temper_ if target == "label" else 1.0
        most = draws_for(len(rows.codes))
        draws = thinned(self.ensemble_.size, most)
        found = Judge(self.ensemble_, power, target, self.n_jobs).judge(rows, draws)
        warn_pareto(found, most)
        return found

    def _learnt_rows(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, Rows]:
        self._check_fitted()
        return self.estimator_._learnt_rows(X, y, sample_weight)

    def _datatree(self, traces: Any, index: Array | None = None, codes: Array | None = None) -> Any:
        """What the sampler returned with theta of every draw; labels of rows that were learnt, as places, if given."""
        layout = results.parameter_names.layout_of(self.estimator_)
        plan = results.drawn_trees.Plan(self.draws_, self.chains_, None)
        given = self.ensemble_.class_prob is None and isinstance(self.ensemble_.die, KnownDie)
        thetas = results.sampled_trees.ThetaDraws(plan, layout, self._reading.thetas, given)
        return results.sampled_trees.tree(traces, thetas, self.estimator_.temper_, index, codes)

    @property
    def _reading(self) -> Reading:
        return Reading(self.ensemble_, self.seed_, self.n_jobs)

    def _read(self, X: Any) -> list[Cells]:
        self._check_fitted()
        return self.estimator_._read(X)[1]

    def _mixed(self, X: Any) -> tuple[Mixed, list[Cells]]:
        cells = self._read(X)
        found = self._reading.mixed(cells, self.estimator_.temper_)
        self.estimator_.schema_.tell_unseen(cells)
        return found, cells

    def _joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        found, cells = self._mixed(X)
        tell_degenerate(found.worth, self.ensemble_.size)
        return found.joint, cells

    def _quiet_joint(self, X: Any) -> tuple[Array, Sequence[Cells]]:
        found, cells = self._mixed(X)
        return found.joint, cells

    def _refuse_row(self, row: int, cells: Sequence[Cells]) -> NoReturn:
        self.estimator_._refuse_row(row, cells)

    def _log_density(self, cells: Sequence[Cells]) -> Array:
        return np.logaddexp.reduce(self._reading.mixed(cells, 1.0).joint, axis=1)

    def _weighed(self, cells: Sequence[Cells], draws: Array, observed: bool) -> Iterator[Weighed]:
        reading, classes = self._reading, self.ensemble_.classes
        for rows in blocks(cells[0].shape[0], max(NUMBERS // (len(draws) * classes), 1)):
            own = [x[rows] for x in cells]
            shape = len(draws), rows.stop - rows.start
            log_weight, proba = np.zeros(shape), np.empty((*shape, classes))
            for some, theta in reading.thetas(draws, own):
                for part, joint in theta.by_rows(own, self.estimator_.temper_, self.n_jobs):
                    if observed:
                        log_weight[some, part] = np.logaddexp.reduce(joint, axis=-1).T
                    proba[some, part] = theta.proba(joint, self.n_jobs).swapaxes(0, 1)
            if observed:
                self._see(own, log_weight, proba)
            yield rows, log_weight, proba

    def _see(self, cells: Sequence[Cells], log_weight: Array, proba: Array) -> None:
        """Other draws in place of those that know nothing of a row: theta once the row was seen."""
        seer = Seer(self._reading, self.estimator_.schema_.observers, self.estimator_.temper_)
        for row in np.flatnonzero(few(effective(log_weight), self.ensemble_.size)):
            log_weight[:, row], proba[:, row] = seer.law([x[[row]] for x in cells])
