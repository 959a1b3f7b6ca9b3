"""What predicts: log p(x, y) of every row, and what follows from it."""

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesnb.data import Table
from bayesnb.estimators.revising import Reviser
from bayesnb.families.base import Array, Cells
from bayesnb.integrations.dask_tables import by_partition
from bayesnb.model.product import Joint

ADVICE = {
    "predictive": "Use a proper prior.",
    "mle": "Use estimate='predictive', or drop the column: families={...: None}.",
}


class Predictor(Reviser):
    """Predictions of one model: every parameter integrated out, or plugged in."""

    @by_partition
    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(x, y), one column a class: every parameter integrated out, or plugged in as `estimate` says."""
        joint, cells = self._joint(X)
        if not np.isfinite(joint).all():
            self.schema_.check_cells(cells)
        return joint

    def _read(self, X: Any) -> tuple[Table, list[Cells]]:
        """A table, and its cells as the model's blocks have them."""
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        self._check_arguments()
        table = self._open(X, reset=False)
        return table, self.schema_.read(table)

    def _joint(self, X: Any) -> tuple[Array, list[Cells]]:
        _, cells = self._read(X)
        joint = self._reader().log_joint(cells, self.temper_, self.n_jobs)
        self.schema_.tell_unseen(cells)
        return joint, cells

    def _refuse_row(self, row: int, cells: Sequence[Cells]) -> NoReturn:
        """Say why a row has no answer: a bad cell, or no class under which it is possible."""
        self.schema_.check_cells(cells)
        parts = zip(self.schema_.blocks, self._reader().blocks, cells, strict=True)
        never = [
            short(block.keys[0])
            for block, own, x in parts
            if block.family.combined and np.isneginf(own.score(x[[row]])).all()
        ]
        why = f" No row was learnt that is like it in the columns {', '.join(never)}." if never else ""
        raise ValueError(
            f"row {row} is impossible under every class: 0/0 has no answer.{why} A smoothing of 0 does that, as in the "
            "MLE, and in the MAP under Dirichlet(1); use a larger one, or estimate='predictive'."
        )

    def _reader(self, estimate: str | None = None) -> Joint:
        """What predicts, by the estimator's own estimate or the one asked for; an error where it is no distribution."""
        estimate, model = estimate or self.estimate, self.model_
        if estimate in model.readers:
            return model.readers[estimate]
        reader = model.read(estimate)
        for block, own in zip(self.schema_.blocks, reader.blocks, strict=True):
            bad = ~own.proper & reader.live[:, None]
            if bad.any():
                c, f = np.argwhere(bad)[0]
                raise ValueError(
                    f"column {short(block.keys[f])}, class {self.classes_.tolist()[c]!r}: the data do not settle a "
                    f"distribution for estimate={estimate!r} (no rows, or no spread, and a prior that adds none). "
                    + ADVICE.get(estimate, "Use a proper prior, or estimate='predictive'.")
                )
        model.readers[estimate] = reader  # only now, as other threads take what is there
        return reader


def short(key: Hashable) -> str:
    return f"{key!r}" if not isinstance(key, tuple) or len(key) < 8 else f"block of {len(key)} columns from {key[0]!r}"
