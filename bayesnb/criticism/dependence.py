"""Evidence that columns depend on each other given the class: where naive Bayes fails."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import FittedRows, fit_columns
from bayesnb.estimators import NaiveBayes
from bayesnb.model.schema import Schema
from bayesnb.progress import bar
from bayesnb.selection.feature_evidence import check_comparable
from bayesnb.selection.pair_evidence import (
    LevelColumns,
    NumberColumns,
    Work,
    dependences,
    read_columns,
)
from bayesnb.stages import PATIENCE

MAX_NUMBERS = 25_000_000  # of a result: classes x pairs of columns


def dependence(
    model: NaiveBayes,
    X: Any,
    y: Any,
    columns: Sequence[Hashable] | None = None,
    *,
    sample_weight: Any = None,
    progress: bool | None = None,
) -> Any:
    """Compute Bayes factors for a dependence between each pair of columns within the classes.

    Naive Bayes takes the columns of a class to be independent. The log Bayes factor compares that
    with a joint distribution of the two: above 0 the data speak for a dependence, which makes
    probabilities too extreme (see `temper`). A family of the wrong shape makes large factors too,
    of hundreds of nats; see the notes.

    Parameters
    ----------
    model : estimator
        One that is not fitted is fitted to these rows first.
    X : table of rows
        The rows that were learnt, or a part of them.
    y : array-like
        Their labels.
    columns : sequence of labels, optional
        The columns to compare, by default all.
    sample_weight : array-like of whole numbers, optional
        The weights of the rows, as they were learnt.
    progress : bool, optional
        Whether a progress bar on stderr counts the pairs. By default on a terminal, after two
        seconds.

    Returns
    -------
    xarray.Dataset
        It shows itself as a table, the strongest pair first, and its `to_frame` has a row for each
        pair. By (feature, feature_2), symmetric: `log_bayes_factor`, in nats, summed over classes;
        by (class, feature, feature_2): `log_bayes_factor_by_class`. NaN on the diagonal, and for
        pairs that cannot be compared.

    See Also
    --------
    plot_dependence : The factors as a map.
    partition : Blocks of columns that are better modelled jointly.
    NaiveBayes.links_ : The links that a model has found between columns.

    Notes
    -----
    Two columns of levels, flags among them: one Dirichlet over their table against one over each
    column. A cell of the table has concentration A p q, where p and q are the shares that the
    levels have in the priors of their columns and A is the total concentration of either prior, so
    a single row says nothing; if the totals differ, both hypotheses take their geometric mean. A
    number, or a count, and levels: a parameter for each level against one for the class. Two
    Gaussian columns: a bivariate normal, with Normal-inverse-Wishart prior, against two normals.
    Two counts, or a count and a Gaussian column, have no conjugate joint distribution: NaN. The
    words of a block share one Dirichlet, and are left out.

    Under one concentration for all, noise in columns of many levels would be evidence: a
    Dirichlet(1) explains many rare levels badly, and their table less badly than their margins. So
    a factor above 0 that a column of levels has with another, or with counts, is compared with a
    second one, for which the strength of the priors is learnt: that under which each hypothesis
    makes the data most probable, one for all classes. The smaller of the two is shown, and 0 if the
    second speaks against a dependence. A factor below 0 is that of the model's priors. Two columns
    that both have a level for each row cannot be shown to depend on each other.

    Both hypotheses are of the columns' families, and so is the factor. Where a shape is wrong, as
    for numbers with heavy tails or counts that vary more than a Poisson allows, a parameter for
    each level also serves to fit that shape, and noise may have a large factor.

    Links between columns, as `NaiveBayes()` has, change no factor. A pair uses the rows that have
    both cells, under both hypotheses. Priors are the model's; a column that is modelled jointly
    with others has the margin of their prior, and a variance that classes share is taken for each
    class's own. Evidence for two columns of one block does not speak against the model, which takes
    them to be dependent already.

    Examples
    --------
    >>> import bayesnb
    >>> from bayesnb.datasets import dogs
    >>> table = dogs()
    >>> X, y = table.drop(columns="breed"), table["breed"]
    >>> model = bayesnb.NaiveBayes({"height": "gaussian", "weight": "gaussian"})
    >>> pairs = bayesnb.dependence(model, X, y)
    >>> pairs.log_bayes_factor.sel(feature="height", feature_2="weight").round(1).item()
    0.7
    """
    fitted = fit_columns(model, X, y, sample_weight)
    names = _choose_columns(fitted.schema, columns)
    classes = fitted.estimator.classes_
    pairs = len(names) * (len(names) - 1) // 2
    if len(classes) * pairs > MAX_NUMBERS:
        raise ValueError(
            f"{len(names):,} columns have {pairs:,} pairs in {len(classes)} classes, more than "
            "fit into one result. Name some `columns`, such as those with the most `relevance`."
        )
    with bar("pairs of columns", progress, " pairs", PATIENCE) as shown:
        shown.start(pairs)
        parts = list(_split_into_parts(fitted, names))
        work = Work(fitted.estimator.n_jobs, shown.more)
        factors = dependences(parts, fitted.labels, len(names), work)
        shown.finish()  # pairs of counts cannot be compared
    return results.datasets.dependent(names, classes, factors)


def _choose_columns(schema: Schema, columns: Any) -> list[Hashable]:
    """Return the columns that are paired, in the table's order: all but words, or those named."""
    names = [name for name, family in schema.families.items() if not family.words]
    if columns is not None:
        if isinstance(columns, str) or not np.iterable(columns):
            raise ValueError(f"columns must be None or a list of names, got {columns!r}.")
        columns = list(columns)
        for name in columns:
            if name not in names:  # lists, as a name may not be hashable
                why = "is not a column of this model"
                if name in list(schema.families):
                    why = "is in a block of words, which are not paired"
                raise ValueError(f"columns: {name!r} {why}. Name some of {names[:20]}.")
        names = [name for name in names if name in columns]
    if len(names) < 2:
        raise ValueError(
            f"a pair needs two columns, and there are {len(names)} (blocks of words have none)."
        )
    return names


def _split_into_parts(
    fitted: FittedRows, names: list[Hashable]
) -> Iterator[LevelColumns | NumberColumns]:
    """Yield the named columns block by block, with their places among all that are named."""
    places = {name: place for place, name in enumerate(names)}
    for b, block in enumerate(fitted.schema.blocks):
        columns = [f for f, name in enumerate(block.names) if name in places]
        if columns:
            prior = fitted.model.prior.blocks[b]
            check_comparable(prior, block.keys, alike=False)
            observe = block.family.columnwise.observe
            part = read_columns(prior.margins(), fitted.rows.cells[b], columns, observe)
            yield replace(part, places=np.array([places[block.names[f]] for f in columns]))
