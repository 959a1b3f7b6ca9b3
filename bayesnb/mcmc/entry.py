"""The public functions: `build` a PyMC model to look at and to change, and `fit` an estimator that has sampled it."""

from typing import Any

from bayesnb.families.base import Rng
from bayesnb.mcmc.pymc_model import ModelData, ModelOptions, ModelPlan, assemble
from bayesnb.mcmc.sampled_models import Sampled

LIKELIHOODS = ("statistics", "rows")


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
    """Write an estimator's model and its data in PyMC.

    Parameters
    ----------
    model : NaiveBayes or a preset
        Its families, priors and class prior are taken; whether it is fitted plays no part.
    X, y, sample_weight : rows, their labels and weights
        A missing cell is left out, and a weight is a power of the row's likelihood.
    hierarchical, scale_prior, student, label_noise, unlabelled : as in `fit`
    likelihood : {"statistics", "rows"}
        "statistics": one potential for each block of columns, of its sufficient statistics. "rows": every cell is an
        observed variable, so `pm.compute_log_likelihood` and posterior predictive checks work; where rows have weights
        these are potentials, as PyMC knows no weighted observations.
    collapse : bool
        Integrate out whatever has a closed form, as `fit` does, and leave the hyperparameters.

    Returns
    -------
    pymc.Model
        Axes `class`, `feature` (`<family>_feature` where several families have columns), `<column>_level`, `obs_id`;
        variables as in `NaiveBayes.to_datatree`: `class_prob`, `mu`, `sigma2`, `theta`, `theta_<column>`, `rate`. A
        column of more than 40 levels is sampled as Gamma variates, of which `theta` are the shares.

    Notes
    -----
    Without options the log density of the model is that of the posterior in closed form plus `log_evidence_`.

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
    options = ModelOptions(hierarchical, scale_prior, student, label_noise)
    plan = ModelPlan.of(ModelData.of(model, X, y, sample_weight, unlabelled), options)
    return assemble(plan, not collapse, likelihood == "rows")


def fit(
    model: Any,
    X: Any,
    y: Any,
    hierarchical: Any = False,
    *,
    sample_weight: Any = None,
    unlabelled: Any = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    rng: Rng = None,
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
    draws, tune, chains : how many draws of how many chains, after how many steps of tuning
    rng : None, a seed, or numpy.random.Generator
    **options
        `scale_prior`: "half-normal" or "log-normal", of the standard deviations of Gaussian columns. `student`: True,
        or the degrees of freedom: Gaussian columns get Student's t, which outliers do not move. `label_noise`: the
        probability that a label is wrong, or a `Beta` about it. `collapse=False`: sample theta too. `sampler`,
        `progressbar`: default nutpie where it is installed, and a bar where stderr is a terminal. `sampling`: a mapping
        of what else `pymc.sample` takes, such as {"cores": 1}.

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

    `temper` is followed, "loo" by the closed form's exponent; `estimate` plays no part.
    """
    args = {"hierarchical": hierarchical, "draws": draws, "tune": tune, "chains": chains, "rng": rng}
    unknown = set(options) - set(Sampled.options())
    if unknown:
        raise TypeError(
            f"fit has no option {min(unknown)!r}. There are {', '.join(Sampled.options())}. "
            f"Other arguments of pymc.sample go in sampling={{{min(unknown)!r}: ...}}."
        )
    return Sampled(model, **args, **options).fit(X, y, sample_weight, unlabelled)
