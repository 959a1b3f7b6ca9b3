"""Exact leave-one-out: what every row's prediction would be, had the model never seen the row."""

import numpy as np

from bayesnb.families.base import Array, Belief
from bayesnb.families.weight import one_hot
from bayesnb.model import Model, Rows, normalised
from bayesnb.threads import blocks, in_order

LEFT_OUT = 1 << 19  # cells whose rows are left out at once, in NumPy


def loo_log_proba(
    model: Model, rows: Rows, gone: Array | None = None, power: float = 1.0, n_jobs: int | None = None
) -> Array:
    """log p(y | x, all rows but this one), `(r, c)`; of a row of some weight, `gone` goes, by default all of it."""
    return normalised(leave_one_out(model, rows, gone, power, n_jobs))


def leave_one_out(
    model: Model, rows: Rows, gone: Array | None = None, power: float = 1.0, n_jobs: int | None = None
) -> Array:
    """log_joint of every row under the posterior without it, `(r, c)`: a row touches only its own class.

    Of each row a weight w goes, by default all of it, by K(power - w) - K(-w) in place of K(power). Where hardly
    anything of a belief would stay, that difference has no digits, and the other rows are counted again.
    """
    gone = rows.counts if gone is None else gone
    total = np.empty((len(rows.codes), len(model.stats.classes)))

    def some(chunk: slice) -> None:
        part, codes, taken = total[chunk], rows.codes[chunk], gone[chunk]
        part[:] = model.posterior.classes.left_out(codes, taken)
        for b, (block, x) in enumerate(zip(model.posterior.blocks, rows.cells, strict=True)):
            seen = x[chunk]
            score = block.score(seen, power)
            for c in np.unique(codes):
                its, own = np.flatnonzero(codes == c), block[c : c + 1]
                cells, w = seen[its], taken[its]
                score[its, c] = (own.score(cells, power - w[:, None]) - own.score(cells, -w[:, None]))[:, 0]
                for i in its[own.fragile(cells, w)]:
                    score[i, c] = without(model, rows, b, chunk.start + i, gone).score(seen[[i]], power)[0, 0]
            part += score

    list(in_order(some, blocks(len(total), max(LEFT_OUT // sum(x.shape[1] for x in rows.cells), 1)), n_jobs))
    return total


def without(model: Model, rows: Rows, b: int, row: int, gone: Array) -> Belief:
    """One block's belief about one row's class, from all rows but that one, `(1, f)`."""
    c = rows.codes[row]
    same = np.flatnonzero(rows.codes == c)
    weight = np.where(same == row, rows.counts[same] - gone[row], rows.counts[same])
    same, weight = same[weight > 0], weight[weight > 0]
    rest = rows.observers[b](rows.cells[b][same], one_hot(np.zeros(len(same), np.intp), 1, weight), 1)
    return model.prior.blocks[b][c : c + 1].update(rest)
