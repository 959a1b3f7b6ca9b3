"""What was learnt, in the columns' own names."""

from collections.abc import Hashable

from sklearn.utils.validation import check_is_fitted

from bayesnb.estimators.predicting import Predictor, short
from bayesnb.families.base import Array, Belief
from bayesnb.families.family import Family
from bayesnb.model.product import ProductStats


class Learnt(Predictor):
    """The fitted state: beliefs, stats and evidence."""

    @property
    def prior_(self) -> dict[Hashable, Belief]:
        """Column -> what was believed about it before the data; the class is the first axis."""
        return {key: self.model_.prior.blocks[b].column(f) for key, b, f in self.schema_.keys}

    @property
    def posterior_(self) -> dict[Hashable, Belief]:
        """Column -> what is believed about it now; the class is the first axis."""
        return {key: self.model_.posterior.blocks[b].column(f) for key, b, f in self.schema_.keys}

    @property
    def class_prior_(self) -> Belief:
        """The die of the classes before the data."""
        return self.model_.prior.classes

    @property
    def class_posterior_(self) -> Belief:
        """The die of the classes now."""
        return self.model_.posterior.classes

    @property
    def stats_(self) -> ProductStats:
        """What the data said."""
        return self.model_.stats

    @property
    def families_(self) -> dict[Hashable, Family]:
        """Column -> family, as declared or inferred; columns that are modelled jointly are one key, a tuple."""
        return self.schema_.declared

    @property
    def log_evidence_(self) -> float:
        """log p(X, y | prior)."""
        labels, blocks = self._evidence()
        return labels + float(sum(block.sum() for block in blocks))

    def log_evidence_by_feature(self) -> dict[Hashable, float]:
        """The terms of `log_evidence_`: of every column given the labels. The rest is the labels' own."""
        check_is_fitted(self)
        _, blocks = self._evidence()
        return {key: float(blocks[b][f]) for key, b, f in self.schema_.keys}

    def _evidence(self) -> tuple[float, tuple[Array, ...]]:
        if not self.class_prior_.strictly_proper:
            raise ValueError(
                "class_prior: a concentration of 0 is improper, so the evidence is undefined. Give another."
            )
        for block, belief in zip(self.schema_.blocks, self.model_.prior.blocks, strict=True):
            proper = belief.strictly_proper.all(axis=0)
            if not proper.all():
                name = short(block.keys[int(proper.argmin())])
                raise ValueError(f"column {name}: its prior is improper, so the evidence is undefined. Give another.")
        return self.model_.prior.log_evidence(self.model_.stats)

    def _html_repr(self) -> str:
        """What scikit-learn's `_repr_html_` shows, and below it what was learnt."""
        shown = super()._html_repr()
        if not hasattr(self, "model_"):
            return shown
        from bayesnb.results.display import state_html

        how = f"Predicts by {self.estimate}; temper {self.temper_:.3g}."
        return shown + state_html(self.classes_, self.stats_.classes.counts, self.families_, how)
