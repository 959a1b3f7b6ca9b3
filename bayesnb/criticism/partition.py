"""Search for columns that are better modelled jointly, between naive Bayes and one table of all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.fitted_rows import FittedRows, declare_families, fit_columns
from bayesnb.criticism.wording import VerdictTable, explain_partition, judge_partition
from bayesnb.estimators import NaiveBayes
from bayesnb.families.family import Family
from bayesnb.model.product import Product, ProductStats, observe
from bayesnb.model.schema import Schema
from bayesnb.progress import bar
from bayesnb.selection.feature_evidence import check_comparable
from bayesnb.selection.joint_columns import (
    JoinableColumns,
    Names,
    declare_blocks,
    joinable_members,
    put_side_by_side,
)
from bayesnb.selection.joint_evidence import after, steps
from bayesnb.stages import PATIENCE


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

    Naive Bayes has a block for every column, the Bayes-optimal classifier one gigantic table of
    all; in between are all partitions ("semi-naive", Kononenko 1991). Blocks are joined as long as
    the data are more probable with them joined: the evidence weighs what the joint distribution
    explains against how many more parameters it has to learn.

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
