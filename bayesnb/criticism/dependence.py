"""Which columns depend on each other given the class: where the assumption of naive Bayes fails."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.trial import Trial, trial_of
from bayesnb.estimators import Classifier
from bayesnb.model.schema import Schema
from bayesnb.results.progress import bar
from bayesnb.selection.column_evidence import check_comparable, own_of
from bayesnb.selection.pair_evidence import Labels, Leveled, Numbers, Work, dependences, part_of

MOST = 50_000_000  # numbers in a result: classes x columns x columns
PATIENCE = 2.0  # seconds before a bar is drawn
Place = tuple[Hashable, int, int]  # a column's name, its block, its place there


def dependence(
    model: Classifier,
    X: Any,
    y: Any,
    columns: Sequence[Hashable] | None = None,
    *,
    sample_weight: Any = None,
    progress: bool | None = None,
) -> Any:
    """Say for every pair of columns how strongly the data speak for, or against, a dependence within the classes.

    Naive Bayes takes the columns of a class to be independent. The log Bayes factor compares that with a joint law of
    the two: above 0 the data speak for a dependence, which makes probabilities too extreme (see `temper`).

    Parameters
    ----------
    model : an estimator; one that is not fitted yet learns the rows first
    X, y, sample_weight : the rows that were learnt, or some of them, with their labels and whole weights
    columns : None for all, or the names of some
    progress : whether a bar on stderr shows how many pairs were compared; None: where that is a terminal

    Returns
    -------
    xarray.Dataset
        By (feature, feature_2), symmetric: `log_bayes_factor`, in nats, summed over classes; by (class, feature,
        feature_2): `log_bayes_factor_by_class`. NaN on the diagonal, and for pairs that cannot be compared. The
        attribute `strongest` says the pairs with the most evidence.

    Notes
    -----
    Two columns of levels, flags among them: one Dirichlet over their table against two dice. A cell of the table has
    concentration A p q, where p and q are the shares that the levels have in the priors of their columns and A is the
    concentration of either die, so a single row says nothing; of two dice with different concentrations both
    hypotheses take the geometric mean. A number, or a count, and levels: a parameter for each level against one for the
    class. Two Gaussian columns: a bivariate normal, with Normal-inverse-Wishart prior, against two normals. Two counts,
    or a count and a Gaussian column, have no conjugate joint law: NaN. The words of a block share one die, and are left
    out.

    Under one concentration for all, noise in columns of many levels would be evidence: a Dirichlet(1) explains many
    rare levels badly, and their table less badly than their margins. So a factor above 0 that a column of levels has
    with another, or with counts, is compared with a second one, for which the strength of the priors is learnt: that
    under which each hypothesis makes the data most probable, one for all classes. The smaller of the two is shown, and
    0 if the second speaks against a dependence. A factor below 0 is that of the model's priors. Two columns that both
    have a level for each row cannot be told to depend on each other.

    Both hypotheses are of the columns' families, and so is the factor. Where a shape is wrong, as for numbers with
    heavy tails or counts that vary more than a Poisson allows, a parameter for each level also serves to fit that
    shape, and noise may have a large factor.

    A pair uses the rows that have both cells, under both hypotheses. Priors are the model's; a column that is modelled
    jointly with others has the margin of their prior, and a variance that classes share is taken for each class's own.
    What the data say of two columns of one block is no fault of the model, which takes them to be dependent already.

    Examples
    --------
    >>> import bayesnb
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> X, y = table.drop(columns="breed"), table["breed"]
    >>> bayesnb.dependence(bayesnb.NaiveBayes(), X, y).strongest
    'height and weight: +0.7 nats'
    """
    trial = of_whole_rows(trial_of(model, X, y, sample_weight))
    chosen = _chosen(trial, columns)
    classes = trial.estimator.classes_
    if len(classes) * len(chosen) ** 2 > MOST:
        raise ValueError(
            f"{len(chosen):,} columns have {len(chosen) ** 2:,} pairs in {len(classes)} classes, more than fit into "
            "one result. Name some `columns`, such as those with the most `relevance`."
        )
    labels = Labels(trial.rows.codes, trial.rows.counts, len(classes))
    with bar("pairs of columns", progress, " pairs", PATIENCE) as drawn:
        drawn.start(len(chosen) * (len(chosen) - 1) // 2)
        work = Work(trial.estimator.n_jobs, drawn.more)
        found = dependences(list(_parts(trial, chosen)), labels, len(chosen), work)
        drawn.finish()  # pairs of counts cannot be compared
    return results.evidence_datasets.dependent([name for name, _, _ in chosen], classes, found)


def of_whole_rows(trial: Trial) -> Trial:
    """The rows that count; an error if one counts, or holds a count, by fractions."""
    rows = trial.rows.where(trial.rows.counts > 0)
    if not trial.estimator.schema_.are_whole(rows.cells, rows.weight):
        raise ValueError(
            "a Bayes factor compares probabilities of rows: sample_weight must be whole numbers, which say how many "
            "rows a row is, and counts must be counts."
        )
    return replace(trial, rows=rows)


def _chosen(trial: Trial, columns: Sequence[Hashable] | None) -> list[Place]:
    """The columns that are paired, in the table's order."""
    schema = trial.estimator.schema_
    apart = _places(schema)
    if columns is not None:
        known, every = [name for name, _, _ in apart], list(schema.families)
        if isinstance(columns, str) or not np.iterable(columns):
            raise ValueError(f"columns must be None or a list of names, got {columns!r}.")
        said = list(columns)
        unknown = [name for name in said if name not in known]
        if unknown:
            why = (
                "is in a block of words, which are not paired" if unknown[0] in every else "is no column of this model"
            )
            raise ValueError(f"columns: {unknown[0]!r} {why}. Name some of {known[:20]}.")
        apart = [at for at in apart if at[0] in said]
    if len(apart) < 2:
        raise ValueError(f"a pair needs two columns, and there are {len(apart)} (blocks of words have none).")
    return apart


def _places(schema: Schema) -> list[Place]:
    """All columns but words, in the table's order."""
    found = [
        (place, (name, b, j))
        for b, block in enumerate(schema.blocks)
        if not block.family.words
        for j, (place, name) in enumerate(zip(block.places, block.names, strict=True))
    ]
    return [own for _, own in sorted(found, key=lambda at: at[0])]


def _parts(trial: Trial, chosen: list[Place]) -> Any:
    for b, block in enumerate(trial.estimator.schema_.blocks):
        mine = [at for at, (_, own, _) in enumerate(chosen) if own == b]
        if mine:
            prior, some = own_of(trial.model.prior.blocks[b]), [chosen[at][2] for at in mine]
            check_comparable(prior, block.keys, alike=False)
            own = prior.margins(), trial.rows.cells[b], some, block.family.columnwise.observe
            part: Leveled | Numbers = part_of(*own)
            yield replace(part, places=np.array(mine))
