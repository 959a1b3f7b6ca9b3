"""Dependence between columns given the class, where naive Bayes is misspecified.

`dependence` has the evidence for each pair of columns; `partition` searches for blocks of columns
that are better modelled jointly, between naive Bayes and one table of all.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import (
    FittedRows,
    VerdictTable,
    declare_families,
    fit_columns,
)
from bayesnb.estimators import NaiveBayes
from bayesnb.families.family import Family
from bayesnb.formatting import count, list_names, signed
from bayesnb.model.product import Product, ProductStats, observe
from bayesnb.model.schema import Schema
from bayesnb.progress import bar
from bayesnb.selection.feature_evidence import check_comparable
from bayesnb.selection.joint_evidence import (
    JoinableColumns,
    Names,
    after,
    declare_blocks,
    joinable_members,
    list_block,
    put_side_by_side,
    steps,
)
from bayesnb.selection.pair_evidence import (
    LevelColumns,
    NumberColumns,
    Work,
    dependences,
    read_columns,
)
from bayesnb.stages import PATIENCE

MAX_NUMBERS = 25_000_000  # of a result: classes x pairs of columns
MAX_BLOCKS = 6  # listed in a sentence
MAX_PAIRS = 3
MISSING_CELLS = (
    "a step compares its hypotheses on the rows that have all cells of its blocks, so "
    "`log_evidence` adds up gains of different rows, and is not that of the estimator."
)
MANY_LEVELS = (
    "They have so many levels that noise gains as much with one concentration for all; with the "
    "best concentration for each, there is hardly any evidence of a dependence."
)


def dependence(
    model: NaiveBayes,
    X: Any,
    y: Any,
    columns: Sequence[Hashable] | None = None,
    *,
    sample_weight: Any = None,
    progress: bool | None = None,
) -> "results.Result":
    """Compute Bayes factors for a dependence between each pair of columns within the classes.

    Naive Bayes assumes that columns are independent given the class. The log Bayes factor compares
    this with a joint distribution of the two: above 0 the data favour dependence, which makes
    probabilities overconfident (see `temper`). A misspecified family also gives large factors, of
    hundreds of nats; see the notes.

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

    With a fixed concentration, noise in columns of many levels would count as evidence: a
    Dirichlet(1) fits many rare levels poorly, and their joint table less poorly than their margins.
    So a factor above 0 that a column of levels has with another, or with counts, is compared with a
    second one, for which the strength of the priors is learnt: that under which each hypothesis
    makes the data most probable, one for all classes. The smaller of the two is shown, and 0 if the
    second favours independence. A factor below 0 is that of the model's priors. Two columns that
    both have a level for each row cannot be shown to depend on each other.

    Both hypotheses assume the columns' families. If a family is misspecified, as for heavy-tailed
    numbers or overdispersed counts, separate parameters for each level also improve its fit, and
    noise may have a large factor.

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
            f"{len(names):,} columns have {pairs:,} pairs in {len(classes)} classes, too many for "
            "one result. Select some `columns`, such as those with the highest `relevance`."
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


# Blocks of columns


@dataclass(frozen=True, eq=False, repr=False)
class Partition(VerdictTable):
    """Columns in blocks that are modelled jointly, the steps of the search, and the estimator.

    Attributes
    ----------
    blocks : tuple of tuples of column names
        In the table's order; columns of different blocks are independent given the class. A block
        of words is one.
    table : pandas.DataFrame
        A row for the start, and one for each step: `step`; `joined`, what was done;
        `log_bayes_factor`, what it gained under the priors that are compared, in nats;
        `log_evidence`, log p(X, y | prior) after it.
    estimator : a `NaiveBayes` that is not fitted
        It declares the blocks and the priors that were compared.
    verdict : str
        What was joined and what it gained, in a sentence.
    notes : tuple of sentences
        What to know about the numbers.

    See Also
    --------
    partition : The search that returns it.

    Examples
    --------
    >>> from bayesnb import CategoricalNB, partition
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
    >>> partition(CategoricalNB(), X, y).blocks
    ((0, 1),)
    """

    blocks: tuple[Names, ...]
    estimator: NaiveBayes


def partition(
    model: NaiveBayes,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    progress: bool | None = None,
) -> Partition:
    """Search for blocks of columns that are better modelled jointly, by their evidence.

    Naive Bayes has a block for every column, the saturated model one table of all; in between are
    all partitions ("semi-naive", Kononenko 1991). Blocks are joined as long as that increases the
    evidence, which trades goodness of fit against the number of parameters.

    Parameters
    ----------
    model : estimator
        One that is fitted on these rows, or not at all. The search starts from its blocks: every
        column by itself, but for those that it declares to be one block.
    X : table of rows
        The rows that were learnt, or a part of them.
    y : array-like
        Their labels.
    sample_weight : array-like of whole numbers, optional
        The weights of the rows, as they were learnt.
    progress : bool, optional
        Whether a progress bar on stderr counts the steps. By default on a terminal, after two
        seconds.

    Returns
    -------
    Partition
        With `blocks`, `table`, `estimator`, `verdict` and `notes`.

    See Also
    --------
    dependence : The evidence for each pair of columns.
    NaiveBayes : Its `dependence` has links between columns.

    Notes
    -----
    Columns of levels and flags are joined to `JointTable` blocks, numbers to `MultivariateGaussian`
    ones. Left alone are words and counts, columns whose prior prefers some levels to others, flags
    that are made by a threshold or of which one value never occurs, variances that classes share;
    and levels with flags or with each other where they differ in `levels` or `unseen`.

    The priors of all partitions agree in their margins, so that before anything is seen none is
    preferred: a table of K combinations has concentration A / K for each, with one A for all
    tables, and a Gaussian of d columns has 2 shape + d - 1 degrees of freedom. A is the total
    concentration of the model's priors; where these differ from column to column, all take the
    geometric mean of concentrations, counts and shapes, also at the start. The first gain of two
    columns is the log Bayes factor for their dependence under these priors, and all gains add up to
    the log evidence of the estimator.

    Under one concentration for all, columns of about as many levels as rows, such as identifiers,
    would be joined though they are noise: it explains many rare levels badly, and their
    combinations less badly. So a step that joins levels is compared with a second log Bayes factor,
    for which each block has the concentration that makes it most probable, one for all classes. The
    search goes by the smaller of the two. A second one below 2 nats and below a tenth of the first
    is what noise has: it counts as 0, the blocks stay apart, and a note names them, though
    `log_evidence` would be higher. So the gains in `table` may be larger than what `dependence`
    shows, but none rests on the concentration alone.

    Columns of one kind are searched after those of another. The two blocks are joined that gain
    most so; if no two gain, a column is moved to another block, or to one of its own, if that
    gains. The search is greedy and may miss the best partition: three columns of which any two are
    independent are not joined, though the third may follow from the other two. Columns that hardly
    vary within the classes are joined too readily: most of A is then on combinations that never
    occur (Suzuki 2017).

    Links between columns, as `NaiveBayes()` has, are left out, and the estimator looks for none:
    blocks stand in their place.

    Where cells are missing, a step compares both of its hypotheses on the rows that have all cells
    of its blocks, and `log_evidence` adds up such gains. The estimator learns about a block from
    these rows only. It learns no joint table from a sparse table: give it a dense one.

    References
    ----------
    Kononenko (1991), Semi-naive Bayesian classifier. Pazzani (1996), Searching for dependencies in
    Bayesian classifiers. Cooper and Herskovits (1992), A Bayesian method for the induction of
    probabilistic networks from data. Heckerman, Geiger and Chickering (1995), Learning Bayesian
    networks. Suzuki (2017), A theoretical analysis of the BDeu scores in Bayesian network structure
    learning.

    Examples
    --------
    >>> import bayesnb
    >>> X = [list(row) for row in ("aau", "bbu", "aav", "bbv", "abu")] * 4
    >>> y = ["one", "other"] * 10
    >>> result = bayesnb.partition(bayesnb.NaiveBayes(), X, y)
    >>> result.blocks
    ((0, 1), (2,))
    >>> result.table.round(2).values.tolist()
    [[0, '', nan, -61.64], [1, '0 + 1', 2.93, -58.72]]
    >>> round(result.estimator.fit(X, y).log_evidence_, 2)
    -58.72
    """
    fitted = fit_columns(model, X, y, sample_weight)
    schema = fitted.schema
    prior = fitted.model.prior
    if not prior.classes.strictly_proper:
        raise ValueError(
            "class_prior: a concentration of 0 is improper, so the evidence is undefined. Give "
            "another."
        )
    start = _find_joinable(fitted)
    kinds = []
    joined = [""]
    gains = [np.nan]
    with bar("partition", progress, " steps", PATIENCE) as shown:
        # about: joining all takes one step fewer, and columns may move
        shown.start(sum(len(kind.blocks) for kind in start))
        for kind in start:
            blocks = set(kind.blocks)
            for step in steps(kind.evidence, kind.blocks):
                blocks = after(blocks, step)
                joined.append(kind.describe(step))
                gains.append(step.gain)
                shown.more(1)
            kinds.append(replace(kind, blocks=tuple(sorted(blocks))))
        shown.finish()
    stats = observe(fitted.rows, len(fitted.estimator.classes_), fitted.estimator.n_jobs)
    table: dict[str, Any] = {
        "step": range(len(gains)),
        "joined": joined,
        "log_bayes_factor": gains,
        "log_evidence": _log_evidence(prior, stats, start) + np.nancumsum(gains),
    }
    families = declare_blocks(schema, prior.blocks, stats.blocks, kinds)
    names = _list_blocks(schema, families)
    return Partition(
        table=results.datasets.frame(table),
        verdict=judge_partition(names, gains[1:]),
        notes=explain_partition(list(schema.families), kinds),
        blocks=names,
        estimator=_declare(fitted.estimator, families),
    )


def _find_joinable(fitted: FittedRows) -> list[JoinableColumns]:
    """Return the columns that can be joined, kind by kind, at least two of each."""
    schema = fitted.schema
    priors = fitted.model.prior.blocks
    for block, prior in zip(schema.blocks, priors, strict=True):
        check_comparable(prior, block.keys, alike=False)
    kinds = []
    for key, members in joinable_members(schema, priors, fitted.rows.cells).items():
        if sum(len(places) for _, places in members) > 1:
            kinds.append(put_side_by_side(key, members, fitted.labels))
    if not kinds:
        raise ValueError(
            "no two columns can be joined: levels and flags are joined with each other where they "
            "are read alike and their priors are even, and numbers with numbers where they are "
            "Gaussian: families={column: 'gaussian'}."
        )
    return kinds


def _log_evidence(prior: Product, stats: ProductStats, kinds: Sequence[JoinableColumns]) -> float:
    """Log evidence of the labels and of all columns, those of the kinds under their priors."""
    # a block that is modelled jointly is one feature, at its first column's place
    searched = {(place.block, place.feature) for kind in kinds for place in kind.places}
    total, blocks = prior.log_evidence(stats)
    total += sum(kind.log_evidence for kind in kinds)
    for b, terms in enumerate(blocks):
        total += sum(float(term) for f, term in enumerate(terms) if (b, f) not in searched)
    return total


def _list_blocks(schema: Schema, families: Mapping[Names, Family]) -> tuple[Names, ...]:
    """Return all blocks of columns in the table's order."""
    place = {name: at for at, name in enumerate(schema.columns)}
    blocks: list[Names] = []
    for names, family in families.items():
        blocks += [names] if family.multivariate else zip(names)
    return tuple(sorted(blocks, key=lambda names: place[names[0]]))


def _declare(model: NaiveBayes, families: Mapping[Names, Family]) -> NaiveBayes:
    """Return a new `NaiveBayes` like the fitted model or preset, with these families."""
    class_prior = getattr(model, "_class_prior", model.class_prior)
    if np.ndim(class_prior) == 1:
        class_prior = dict(zip(model.classes_.tolist(), class_prior, strict=True))
    params = model.get_params(deep=False)
    params |= {
        "families": declare_families(model.schema_, families),
        "class_prior": class_prior,
        "dependence": None,
        # what "auto" stands for where nothing is declared stays, now that families are
        "temper": model.fitted_.temper.rule,
    }
    known = params.keys() & NaiveBayes().get_params(deep=False)
    return NaiveBayes(**{name: params[name] for name in known})


def judge_partition(blocks: Sequence[Names], gains: Sequence[float]) -> str:
    """Return the verdict on a partition that was reached by steps with these gains."""
    if not gains:
        return "No two blocks are better modelled jointly: the partition stays as it was."
    joined = [f"{{{list_block(names)}}}" for names in blocks if len(names) > 1]
    alone = count(len(blocks) - len(joined), "column")
    together = list_names(joined, MAX_BLOCKS) or "none"
    gain = f"{signed(sum(gains), 1)} nats against the start"
    return f"Modelled jointly: {together}; by themselves: {alone}; {gain}."


def explain_partition(
    columns: Sequence[Hashable], kinds: Sequence[JoinableColumns]
) -> tuple[str, ...]:
    """Return notes on columns left out or with missing cells, on blocks kept apart, on priors."""
    searched: set[Hashable] = set()
    missing: list[Hashable] = []
    apart: list[str] = []
    for kind in kinds:
        searched |= {place.name for place in kind.places}
        missing += kind.names(tuple(kind.evidence.holed))
        for one, other in combinations(kind.blocks, 2):
            step = kind.evidence.join(one, other)
            if step.gain > 0 >= step.worth:  # only a prior that fits neither would join them
                apart.append(f"{kind.describe(step)} ({step.gain:+.1f})")
    left = [name for name in columns if name not in searched]
    notes = []
    if left:
        notes.append(f"Not among those that may be joined: {list_block(left)}.")
    if missing:
        notes.append(f"Cells are missing in {list_block(missing)}: {MISSING_CELLS}")
    if apart:
        pairs = list_names(apart, MAX_PAIRS)
        notes.append(f"Not joined, though the log evidence would be higher: {pairs}. {MANY_LEVELS}")
    notes += [kind.changed_prior for kind in kinds if kind.changed_prior]
    return tuple(notes)
