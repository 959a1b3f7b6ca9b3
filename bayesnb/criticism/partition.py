"""Search for columns that are better modelled jointly: partitions between naive Bayes and one table of all."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np

from bayesnb import results
from bayesnb.criticism.joint_blocks import JointBlocks, joinable_columns
from bayesnb.criticism.learnt_rows import learnt_columns
from bayesnb.estimators import NaiveBayes
from bayesnb.model.product import observe
from bayesnb.results.progress import bar
from bayesnb.selection.joint_columns import JoinableColumns, Names, shown
from bayesnb.selection.joint_evidence import after, gain_of, interleaved, joining, steps, union
from bayesnb.stages import PATIENCE

PLOTS = "bayesnb.plots.evidence_plots"  # by name, as it stands above
MOST_NAMED, MOST_PAIRS = 6, 3  # blocks in a sentence, and pairs that stay apart
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Columns in blocks that are modelled jointly, the steps of the search, and the resulting estimator.

    Attributes
    ----------
    blocks : tuple of tuples of column names
        In the table's order; columns of different blocks are independent given the class. A block of words is one.
    table : pandas.DataFrame
        A row for the start, and one for each step: `step`; `joined`, what was done; `log_bayes_factor`, what it gained
        under the priors that are compared, in nats; `log_evidence`, log p(X, y | prior) after it.
    estimator : a `NaiveBayes` that is not fitted
        It declares the blocks and the priors that were compared.
    ends : dict
        The log evidence of both ends: "naive", every column by itself, and "joint", all that can be joined in one
        block of each kind.
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
    table: Any
    estimator: NaiveBayes
    ends: dict[str, float]
    verdict: str
    notes: tuple[str, ...]

    def plot(self, ax: Any = None) -> Any:
        """Draw the log evidence step by step, between naive Bayes and one block of all.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on, by default new ones in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the steps.

        See Also
        --------
        partition : The search whose steps are drawn.

        Examples
        --------
        >>> from bayesnb import CategoricalNB, partition
        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
        >>> ax = partition(CategoricalNB(), X, y).plot()
        >>> ax.get_title(loc="left")
        'Log evidence as columns are joined'
        """
        plots = import_module(PLOTS)
        return plots.plot_steps(
            self.table.joined.to_list(), self.table.log_evidence.to_numpy(), self.ends, ax
        )

    def to_frame(self) -> Any:
        """Return a copy of `table`.

        Returns
        -------
        pandas.DataFrame
            A row for the start, and one for each step.

        See Also
        --------
        partition : The search, and what the columns mean.

        Examples
        --------
        >>> from bayesnb import CategoricalNB, partition
        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
        >>> partition(CategoricalNB(), X, y).to_frame().columns.to_list()
        ['step', 'joined', 'log_bayes_factor', 'log_evidence']
        """
        return self.table.copy()

    def __repr__(self) -> str:
        shown = self.table.to_string(
            index=False, float_format=lambda value: f"{value:.2f}", na_rep=""
        )
        return "\n".join([self.verdict, "", shown, *(f"\n- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        from bayesnb.results.display import notebook

        steps = [
            [str(step), joined, "" if np.isnan(gain) else f"{gain:.2f}".replace("-", MINUS),
             f"{total:.2f}".replace("-", MINUS)]
            for step, joined, gain, total in self.table.itertuples(index=False)
        ]  # fmt: skip
        blocks = [list(map(str, names)) for names in self.blocks]
        head = [name.replace("_", " ").replace("bayes", "Bayes") for name in self.table.columns]
        return notebook(
            "partition.html",
            verdict=self.verdict,
            blocks=blocks,
            head=head,
            steps=steps,
            remarks=self.notes,
        )


def partition(
    model: NaiveBayes,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    columns: Sequence[Hashable] | None = None,
    most: int | None = None,
    concentration: float | None = None,
    progress: bool | None = None,
) -> Partition:
    """Search for blocks of columns that are better modelled jointly than by naive Bayes, by the evidence.

    Naive Bayes has a block for every column, the Bayes-optimal classifier one gigantic table of all; in between are
    all partitions ("semi-naive", Kononenko 1991). Blocks are joined as long as the data are more probable with them
    joined: the evidence weighs what the joint distribution explains against how many more parameters it has to learn.

    Parameters
    ----------
    model : estimator
        One that is fitted on these rows, or not at all. The search starts from its blocks: every column by itself, but
        for those that it declares to be one block.
    X : table of rows
        The rows that were learnt, or a part of them.
    y : array-like
        Their labels.
    sample_weight : array-like of whole numbers, optional
        The weights of the rows, as they were learnt.
    columns : sequence of labels, optional
        The names of the columns that may be joined, by default all.
    most : int, optional
        The largest number of columns that a block may have.
    concentration : float, optional
        A, the total concentration of every Dirichlet prior. By default that of the model or, where columns differ,
        their geometric mean.
    progress : bool, optional
        Whether a progress bar on stderr counts the steps. By default on a terminal, after two seconds.

    Returns
    -------
    Partition
        With `blocks`, `table`, `estimator`, `ends`, `verdict`, `notes` and `plot()`.

    See Also
    --------
    dependence : The evidence for each pair of columns.
    NaiveBayes : `dependence="blocks"` finds blocks at `fit`.

    Notes
    -----
    Columns of levels and flags are joined to `JointTable` blocks, numbers to `MultivariateGaussian` ones. Left alone
    are words and counts, columns whose prior prefers some levels to others, flags that are made by a threshold or of
    which one value never occurs, variances that classes share; and levels with flags or with each other where they
    differ in `levels` or `unseen`.

    The priors of all partitions agree in their margins, so that before anything is seen none is preferred: a table of
    K combinations has concentration A / K for each, whatever columns it is of, and a Gaussian of d columns has 2 shape
    + d - 1 degrees of freedom. Where the model's own priors differ from column to column, all take the geometric mean
    of concentrations, counts and shapes, also at the start. The first gain of two columns is the log Bayes factor for
    their dependence under these priors, and all gains add up to the log evidence of the estimator.

    Under one concentration for all, columns of about as many levels as rows, such as identifiers, would be joined
    though they are noise: it explains many rare levels badly, and their combinations less badly. So a step that joins
    levels is compared with a second log Bayes factor, for which each block has the concentration that makes it most
    probable, one for all classes. The search goes by the smaller of the two. A second one below 2 nats and below a
    tenth of the first is what noise has: it counts as 0, the blocks stay apart, and a note names them, though
    `log_evidence` would be higher. So the gains in `table` may be larger than what `dependence` shows, but none rests
    on the concentration alone.

    The two blocks are joined that gain most so; if no two gain, a column is moved to another block, or to one of its
    own, if that gains. The search is greedy and may miss the best partition: three columns of which any two are
    independent are not joined, though the third may follow from the other two. Columns that hardly vary within the
    classes are joined too readily: most of A is then on combinations that never occur (Suzuki 2017).

    Links between columns, as `NaiveBayes()` has, are left out, and the estimator looks for none: blocks stand in their
    place. `dependence="blocks"` of `NaiveBayes` finds blocks at `fit`.

    Where cells are missing, a step compares both of its hypotheses on the rows that have all cells of its blocks, and
    `log_evidence` adds up such gains. The estimator learns about a block from these rows only. It learns no joint
    table from a sparse table: give it a dense one.

    References
    ----------
    Kononenko (1991), Semi-naive Bayesian classifier. Pazzani (1996), Searching for dependencies in Bayesian
    classifiers. Cooper and Herskovits (1992), A Bayesian method for the induction of probabilistic networks from data.
    Heckerman, Geiger and Chickering (1995), Learning Bayesian networks. Suzuki (2017), A theoretical analysis of the
    BDeu scores in Bayesian network structure learning.

    Examples
    --------
    >>> import bayesnb
    >>> X = [["a", "a", "u"], ["b", "b", "u"], ["a", "a", "v"], ["b", "b", "v"], ["a", "b", "u"]] * 4
    >>> y = ["one", "other"] * 10
    >>> result = bayesnb.partition(bayesnb.NaiveBayes(), X, y)
    >>> result.blocks
    ((0, 1), (2,))
    >>> result.table.round(2).values.tolist()
    [[0, '', nan, -61.64], [1, '0 + 1', 2.93, -58.72]]
    >>> round(result.estimator.fit(X, y).log_evidence_, 2)
    -58.72
    """
    _check(model, most, concentration)
    learnt = learnt_columns(model, X, y, sample_weight).of_whole_weights()
    kinds = joinable_columns(learnt, columns, concentration)
    stats = observe(learnt.rows, len(learnt.estimator.classes_), learnt.estimator.n_jobs)
    path = []
    with bar("partition", progress, " steps", PATIENCE) as shown:
        shown.start(
            sum(len(kind.start) for kind in kinds)
        )  # about: joining all takes one fewer, and columns may move
        for made in interleaved(
            [steps(kind.evidence, kind.start, most or np.inf) for kind in kinds]
        ):
            path.append(made)
            shown.more(1)
        shown.finish()
    blocks = [set(kind.start) for kind in kinds]
    for at, step in path:
        blocks[at] = after(blocks[at], step)
    result = JointBlocks(learnt, stats, list(zip(kinds, blocks, strict=True)))
    first = result.rest + sum(kind.log_evidence for kind in kinds)
    table = _table([(kinds[at].describe(step), step.gain) for at, step in path], first)
    ends = {
        name: first + sum(_gain(kind, name == "joint") for kind in kinds)
        for name in ("naive", "joint")
    }
    return Partition(
        result.names, table, result.estimator, ends, _verdict(result.names, table), _notes(result)
    )


def _gain(kind: JoinableColumns, joint: bool) -> float:
    """Log Bayes factor of one block of all columns of a kind, or of each by itself, against its start."""
    places = union(*kind.start)
    return gain_of(kind.evidence, kind.start, [places] if joint else [(place,) for place in places])


def _check(model: Any, most: Any, concentration: Any) -> None:
    if getattr(model, "average_features", None) is not None:
        raise ValueError(
            "average_features averages over hypotheses about single columns, which have no evidence jointly: search "
            "with average_features=None."
        )
    if most is not None and (
        isinstance(most, bool) or not isinstance(most, Integral) or int(most) < 1
    ):
        raise ValueError(
            f"most must be None or a whole number of columns, 1 or more, got {most!r}."
        )
    if concentration is not None and not (
        isinstance(concentration, Real) and 0 < float(concentration) < np.inf
    ):
        raise ValueError(f"concentration must be None or a positive number, got {concentration!r}.")


def _table(path: Sequence[tuple[str, float]], first: float) -> Any:
    """Return a table of steps: what was done, what it gained, and the log evidence after it."""
    gains = np.array([gain for _, gain in path])
    columns: dict[str, Any] = {
        "step": np.arange(len(path) + 1),
        "joined": np.array(["", *(joined for joined, _ in path)], object),
        "log_bayes_factor": np.concatenate([[np.nan], gains]),
        "log_evidence": first + np.concatenate([[0.0], np.cumsum(gains)]),
    }
    return results.datasets.frame(columns)


def _verdict(blocks: Sequence[Names], table: Any) -> str:
    """Return the outcome of the search in a sentence."""
    if len(table) == 1:
        return "No two blocks are better modelled jointly: the partition stays as it was."
    gained = table.log_evidence.iloc[-1] - table.log_evidence.iloc[0]
    joined = [names for names in blocks if len(names) > 1]
    text = "; ".join("{" + shown(names) + "}" for names in joined[:MOST_NAMED])
    text += f"; {len(joined) - MOST_NAMED} more blocks" if len(joined) > MOST_NAMED else ""
    alone = len(blocks) - len(joined)
    text += f", and {alone} column{'s' * (alone > 1)} alone" if alone and text else ""
    return f"{text or 'Every column by itself'}: {gained:+.1f} nats against the start."


def _notes(search: JointBlocks) -> tuple[str, ...]:
    """Return the notes on how to read the numbers."""
    kinds = [kind for kind, _ in search.blocks]
    inside = {place.name for kind in kinds for place in kind.places}
    left = [name for name in search.schema.families if name not in inside]
    notes = [f"Not among those that may be joined: {shown(left)}."] if left else []
    holed = [name for kind in kinds for name in kind.names(tuple(kind.evidence.holed))]
    if holed:
        notes.append(
            f"Cells are missing in {shown(holed)}: a step compares its hypotheses on the rows that have all cells of "
            "its blocks, so `log_evidence` adds up gains of different rows, and is not that of the estimator."
        )
    apart = list(_kept_apart(search))
    if apart:
        more = f" and {len(apart) - MOST_PAIRS:,} more pairs" if len(apart) > MOST_PAIRS else ""
        notes.append(
            f"Not joined, though the log evidence would be higher: {'; '.join(apart[:MOST_PAIRS])}{more}. They have so "
            "many levels that noise gains as much under one concentration for all; under the best for each, hardly "
            "anything speaks for a dependence."
        )
    return (*notes, *(kind.changed_prior for kind in kinds if kind.changed_prior))


def _kept_apart(search: JointBlocks) -> Iterator[str]:
    """Yield pairs of blocks that only a prior which fits neither would join, and what they would gain under it."""
    for kind, blocks in search.blocks:
        for one, other in combinations(sorted(blocks), 2):
            step = joining(kind.evidence, one, other)
            if step.gain > 0 >= step.worth:
                yield f"{kind.describe(step)} ({step.gain:+.1f})"
