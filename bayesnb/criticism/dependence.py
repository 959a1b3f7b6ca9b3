"""Dependence between columns given the class, which naive Bayes ignores.

`dependence` computes the evidence for each pair of columns; `partition` searches for blocks of
columns that are better modelled jointly, between naive Bayes and one joint table.
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
    "a step compares its hypotheses on the rows with no missing cell in its blocks, so "
    "`log_evidence` adds up gains on different rows, and is not that of the estimator."
)
MANY_LEVELS = (
    "With so many levels, noise gains as much if one concentration is used for all; with the best "
    "concentration for each, there is hardly any evidence of dependence."
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
        If it is not fitted, it is fitted to these rows first.
    X : table of rows
        The training rows, or some of them.
    y : array-like
        Their labels.
    columns : sequence of labels, optional
        The columns to compare, by default all.
    sample_weight : array-like of whole numbers, optional
        The weights of the rows, as in `fit`.
    progress : bool, optional
        Whether a progress bar on stderr counts the pairs. By default on a terminal, after two
        seconds.

    Returns
    -------
    xarray.Dataset
        It is displayed as a table, the strongest pair first, and its `to_frame` has a row for each
        pair. By (feature, feature_2), symmetric: `log_bayes_factor`, in nats, summed over classes;
        by (class, feature, feature_2): `log_bayes_factor_by_class`. NaN on the diagonal, and for
        pairs that cannot be compared.

    See Also
    --------
    plot_dependence : The factors as a map.
    partition : Blocks of columns that are better modelled jointly.
    NaiveBayes.links_ : The links between columns in a model.

    Notes
    -----
    Two columns of levels, including flags: one Dirichlet over their joint table against one over
    each column. A cell of the table has concentration A p q, where p and q are the prior
    proportions of the two levels and A is the total concentration of either prior, so a single row
    gives a factor of 0; if the totals differ, both hypotheses use their geometric mean. A number,
    or a count, and levels: a parameter for each level against one for the class. Two Gaussian
    columns: a bivariate normal, with Normal-inverse-Wishart prior, against two normals. Two counts,
    or a count and a Gaussian column, have no conjugate joint distribution: NaN. The words of a
    block share one Dirichlet, and are not compared.

    With a fixed concentration, noise in columns of many levels would count as evidence: a
    Dirichlet(1) fits many rare levels poorly, and their joint table less poorly than their margins.
    So a factor above 0 between a column of levels and another one, or counts, is compared with a
    second one, with estimated prior strengths: for each hypothesis, the strength that maximises the
    evidence, one for all classes. The smaller of the two is shown, and 0 if the second favours
    independence. A factor below 0 is that of the model's priors. If two columns both have a
    different level in every row, the data cannot show that they depend on each other.

    Both hypotheses assume the columns' families. If a family is misspecified, as for heavy-tailed
    numbers or overdispersed counts, separate parameters for each level also improve its fit, and
    noise may have a large factor.

    Links between columns, as in `NaiveBayes()`, do not affect the factors. Under both hypotheses, a
    pair uses the rows in which neither cell is missing. Priors are the model's; for a column of a
    joint block, the prior is the margin of the block's prior, and a variance that classes share is
    treated as separate for each class. Evidence for two columns of one block is not evidence
    against the model, which already models them jointly.

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
    """Return the columns to compare, in the table's order: those named, or all but words."""
    names = [name for name, family in schema.families.items() if not family.words]
    if columns is not None:
        if isinstance(columns, str) or not np.iterable(columns):
            raise ValueError(f"columns must be None or a list of names, got {columns!r}.")
        columns = list(columns)
        for name in columns:
            if name not in names:  # a list, because a name may not be hashable
                why = "is not a column of this model"
                if name in list(schema.families):
                    why = "is in a block of words, which are not compared"
                raise ValueError(f"columns: {name!r} {why}. Name some of {names[:20]}.")
        names = [name for name in names if name in columns]
    if len(names) < 2:
        raise ValueError(f"a pair needs two columns, got {len(names)} (words are not compared).")
    return names


def _split_into_parts(
    fitted: FittedRows, names: list[Hashable]
) -> Iterator[LevelColumns | NumberColumns]:
    """Yield the named columns block by block, with their places in `names`."""
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
    """Blocks of columns that are modelled jointly, the steps of the search, and the estimator.

    Attributes
    ----------
    blocks : tuple of tuples of column names
        In the table's order; columns of different blocks are independent given the class. A block
        of words stays one block.
    table : pandas.DataFrame
        A row for the start, and one for each step: `step`; `joined`, the columns joined or moved;
        `log_bayes_factor`, the gain under the common prior of the search, in nats; `log_evidence`,
        log p(X, y | prior) after the step.
    estimator : a `NaiveBayes` that is not fitted
        It declares the blocks and the priors of the search.
    verdict : str
        The blocks and the gain, in a sentence.
    notes : tuple of sentences
        Notes on the numbers.

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

    Naive Bayes has a block for every column, the saturated model one block of all; in between are
    all partitions ("semi-naive", Kononenko 1991). Blocks are joined as long as this increases the
    evidence, which penalises the number of parameters.

    Parameters
    ----------
    model : estimator
        An estimator that is fitted to these rows, or not fitted. The search starts from its blocks:
        every column by itself, except for declared blocks.
    X : table of rows
        The training rows, or some of them.
    y : array-like
        Their labels.
    sample_weight : array-like of whole numbers, optional
        The weights of the rows, as in `fit`.
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
    NaiveBayes : The parameter `dependence` adds links between columns.

    Notes
    -----
    Columns of levels and flags are joined to `JointTable` blocks, numbers to `MultivariateGaussian`
    blocks. Not joined are words and counts, columns whose prior is not the same for all levels,
    flags that are made by a threshold or have one value only, and columns with a variance that
    classes share; nor columns that differ in `levels` or `unseen`.

    The priors of all partitions have the same margins, so that none is preferred a priori: a table
    of K combinations has concentration A / K for each, with one A for all tables, and a Gaussian of
    d columns has 2 shape + d - 1 degrees of freedom. A is the total concentration of the model's
    priors; if these differ between columns, the geometric means of concentrations, counts and
    shapes are used throughout, also at the start. The first gain of two columns is the log Bayes
    factor for their dependence under these priors, and all gains add up to the log evidence of the
    estimator.

    With one concentration for all, noise columns with about as many levels as rows, such as
    identifiers, would be joined: it explains many rare levels poorly, and their combinations less
    poorly. So a step that joins levels is compared with a second log Bayes factor, for which each
    block has the concentration that maximises its evidence, one for all classes. The search uses
    the smaller of the two. A second one below 2 nats and below a tenth of the first is typical of
    noise: it counts as 0, the blocks are not joined, and a note names them, although `log_evidence`
    would be higher. So the gains in `table` may be larger than the factors of `dependence`, but
    none is due to the concentration alone.

    Each kind of columns is searched separately. A step joins the two blocks with the largest gain;
    if no two gain, it moves a column to another block, or to a new one, if that gains. The search
    is greedy and may miss the best partition: three columns that are pairwise independent are not
    joined, even if the other two determine the third. Columns that hardly vary within the classes
    are joined too easily: most of A is then on combinations that never occur (Suzuki 2017).

    Links between columns, as in `NaiveBayes()`, are not used, and the estimator has none: blocks
    replace them.

    If cells are missing, a step compares both of its hypotheses on the rows with no missing cell in
    its blocks, and `log_evidence` adds up these gains. The estimator fits a block to these rows
    only. It cannot fit a joint table to a sparse table: give it a dense one.

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
        # an estimate: joining all takes one step fewer, and columns may move
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
            "no two columns can be joined: levels and flags can be joined if they have the same "
            "`levels` and `unseen` and a symmetric prior, and numbers if they are Gaussian: "
            "families={column: 'gaussian'}."
        )
    return kinds


def _log_evidence(prior: Product, stats: ProductStats, kinds: Sequence[JoinableColumns]) -> float:
    """Log evidence of labels and columns; those in `kinds` have the priors of the search."""
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
        # keep what "auto" meant before families were declared
        "temper": model.fitted_.temper.rule,
    }
    known = params.keys() & NaiveBayes().get_params(deep=False)
    return NaiveBayes(**{name: params[name] for name in known})


def judge_partition(blocks: Sequence[Names], gains: Sequence[float]) -> str:
    """Return the verdict on a partition, given the gains of its steps."""
    if not gains:
        return "No two blocks are better modelled jointly: the partition is unchanged."
    joined = [f"{{{list_block(names)}}}" for names in blocks if len(names) > 1]
    alone = count(len(blocks) - len(joined), "column")
    together = list_names(joined, MAX_BLOCKS) or "none"
    gain = f"{signed(sum(gains), 1)} nats in total"
    return f"Modelled jointly: {together}; by themselves: {alone}; {gain}."


def explain_partition(
    columns: Sequence[Hashable], kinds: Sequence[JoinableColumns]
) -> tuple[str, ...]:
    """Return notes on omitted columns, missing cells, blocks that are not joined, and priors."""
    searched: set[Hashable] = set()
    missing: list[Hashable] = []
    apart: list[str] = []
    for kind in kinds:
        searched |= {place.name for place in kind.places}
        missing += kind.names(tuple(kind.evidence.holed))
        for one, other in combinations(kind.blocks, 2):
            step = kind.evidence.join(one, other)
            if step.gain > 0 >= step.worth:  # the gain is due to the common concentration alone
                apart.append(f"{kind.describe(step)} ({step.gain:+.1f})")
    left = [name for name in columns if name not in searched]
    notes = []
    if left:
        notes.append(f"Columns that cannot be joined: {list_block(left)}.")
    if missing:
        notes.append(f"Cells are missing in {list_block(missing)}: {MISSING_CELLS}")
    if apart:
        pairs = list_names(apart, MAX_PAIRS)
        notes.append(f"Not joined, though the log evidence would be higher: {pairs}. {MANY_LEVELS}")
    notes += [kind.changed_prior for kind in kinds if kind.changed_prior]
    return tuple(notes)
