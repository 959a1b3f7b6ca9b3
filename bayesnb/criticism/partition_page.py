"""What a search for blocks of columns says, in words and in a notebook."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from bayesnb.criticism.joint_blocks import JointBlocks, shown
from bayesnb.selection.partition_search import joining

MINUS = "\N{MINUS SIGN}"
HEADS = {
    "step": "step",
    "joined": "joined",
    "log_bayes_factor": "log Bayes factor",
    "log_evidence": "log evidence",
}
MOST = 6  # blocks in a sentence
MOST_PAIRS = 3  # that stay apart
Names = tuple[Hashable, ...]


class PartitionSummary(NamedTuple):
    """The blocks, the verdict and the notes."""

    blocks: Sequence[Names]
    verdict: str
    notes: Sequence[str]


def verdict(blocks: Sequence[Names], table: Any) -> str:
    """Return the outcome of the search in a sentence."""
    gained = table.log_evidence.iloc[-1] - table.log_evidence.iloc[0]
    joined = [names for names in blocks if len(names) > 1]
    if len(table) == 1:
        return "No two blocks are better modelled jointly: the partition stays as it was."
    text = "; ".join("{" + shown(names) + "}" for names in joined[:MOST])
    text += f"; {len(joined) - MOST} more blocks" if len(joined) > MOST else ""
    alone = sum(len(names) == 1 for names in blocks)
    rest = "" if not alone else f", and {alone} column{'s' * (alone > 1)} alone"
    return f"{text or 'Every column by itself'}{rest if text else ''}: {gained:+.1f} nats against the start."


def notes_of(search: JointBlocks) -> tuple[str, ...]:
    """Return the notes on how to read the numbers."""
    schema = search.learnt.estimator.schema_
    inside = {home.name for kind in search.kinds for home in kind.homes}
    left = [name for name in schema.families if name not in inside]
    notes = [f"Not among those that may be joined: {shown(left)}."] if left else []
    holed = [name for kind in search.kinds for name in kind.names(tuple(kind.columns.holed))]
    if holed:
        notes.append(
            f"Cells are missing in {shown(holed)}: a step compares its hypotheses on the rows that have all cells of "
            "its blocks, so `log_evidence` adds up gains of different rows, and is not that of the estimator."
        )
    apart = list(kept_apart(search))
    if apart:
        more = f" and {len(apart) - MOST_PAIRS:,} more pairs" if len(apart) > MOST_PAIRS else ""
        notes.append(
            f"Not joined, though the log evidence would be higher: {'; '.join(apart[:MOST_PAIRS])}{more}. They have so "
            "many levels that noise gains as much under one concentration for all; under the best for each, hardly "
            "anything speaks for a dependence."
        )
    return (*notes, *(kind.moved for kind in search.kinds if kind.moved))


def kept_apart(search: JointBlocks) -> Iterator[str]:
    """Yield pairs of blocks that only a prior which fits neither would join, and what they would gain under it."""
    for kind, blocks in zip(search.kinds, search.blocks, strict=True):
        for one, other in combinations(sorted(blocks), 2):
            step = joining(kind.columns, one, other)
            if step.gain > 0 >= step.worth:
                yield f"{kind.describe(step)} ({step.gain:+.1f})"


def page(summary: PartitionSummary, columns: Mapping[str, Sequence[Any]]) -> str:
    """Return a notebook page of the verdict, the blocks, the steps and the notes."""
    from bayesnb.results.display import notebook

    steps = [[_cell(value) for value in step] for step in zip(*columns.values(), strict=True)]
    blocks = [list(map(str, names)) for names in summary.blocks]
    head = [HEADS[name] for name in columns]
    return notebook(
        "partition.html", verdict=summary.verdict, blocks=blocks, head=head, steps=steps, remarks=summary.notes
    )


def _cell(value: Any) -> str:
    """A cell of the table of steps; nothing, where there is no number."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.2f}".replace("-", MINUS)
    return str(value)
