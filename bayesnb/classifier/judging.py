"""What says how well an estimator predicts rows that it has not seen: exact, without a refit."""

from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesnb.classifier.doubting import Doubter
from bayesnb.classifier.learning import checked_labels
from bayesnb.families.base import Array
from bayesnb.labels import encode, weights
from bayesnb.model import Rows, observe


class Judged(Doubter):
    """Leave-one-out and k-fold of the rows that were learnt."""

    def _fresh(self, **changes: Any) -> Self:
        """An unfitted copy with some parameters changed."""
        return clone(self).set_params(**changes)

    def _learnt_rows(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, Rows]:
        """Rows that were learnt from, and their names; an error for any others."""
        check_is_fitted(self)
        table, cells = self._read(X)
        labels, weight = checked_labels(self, y, table.rows), weights(sample_weight, table.rows)
        rows = Rows(self.schema_.observers, cells, encode(labels, self.classes_), weight)
        seen = observe(rows.where(rows.counts > 0), len(self.classes_), self.n_jobs)
        self.schema_.check_stats(cells, seen)
        self.schema_.tell_unseen(cells)
        if not self.stats_.covers(seen):
            raise ValueError(
                "these rows are not among those that the model has learnt from, so they cannot be left out of it. "
                "Give the rows, labels and sample_weight that it was fitted on, or an estimator that is not fitted."
            )
        return table.index, rows
