"""What revises what was learnt, by the algebra of stats: it adds another's, takes rows back, and lets them fade."""

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesnb.data.unseen import NEVER_LEARNT
from bayesnb.estimators.checking import check_estimator
from bayesnb.estimators.labelled import Labelled
from bayesnb.estimators.learning import Learner, unchanged_on_error
from bayesnb.families.base import Array
from bayesnb.model.schema import Block
from bayesnb.model.shards import Shard, without

DIGITS = 1e-8  # how far off what is believed may be, in its own scale


class Reviser(Learner):
    """A fitted estimator that learns, forgets and fades; the prior stays what it was."""

    def merge(self, other: Self) -> Self:
        """Make an estimator that has seen what this one and another have: of parts of a table, the whole.

        Parameters
        ----------
        other : a fitted estimator of the same class, with the same columns, families and priors
            It may know other labels and other levels: they are united by name.

        Returns
        -------
        a new fitted estimator, with the parameters of this one; neither of the two changes

        Notes
        -----
        It is what `partial_fit` on the other's rows would make of a copy of this one, to round-off. So everything that
        is not counted is this one's: `class_prior`, `estimate`, `temper_` also where it was found by "loo", and a
        prior that took its scale from the data, such as `Gaussian()`, whose default keeps that of the first batch. For
        a prior from all rows, see `bayesnb.scale.shard`. With priors that are given, a.merge(b) equals b.merge(a), and
        any number can be merged in any order.

        Classes that only the other knows are added; it is an error where a prior is not the same for all classes, as
        it says nothing about new ones.

        Examples
        --------
        >>> from bayesnb import MultinomialNB
        >>> monday = MultinomialNB().fit([[2, 0], [1, 3]], ["spam", "ham"])
        >>> tuesday = MultinomialNB().fit([[4, 1], [0, 2]], ["spam", "news"])
        >>> both = monday.merge(tuesday)
        >>> both.classes_.tolist(), both.stats_.classes.counts.tolist()
        (['ham', 'news', 'spam'], [1.0, 1.0, 2.0])
        """
        check_is_fitted(self)
        self._check_arguments()
        check_estimator(other, "merge: ")
        if type(other) is not type(self):
            raise TypeError(
                f"merge: {type(self).__name__} cannot be merged with {type(other).__name__}. Fit both parts by the "
                "same class, NaiveBayes(families) say."
            )
        check_is_fitted(other, msg="merge: the other %(name)s is not fitted yet. Fit it on its own rows first.")
        merged = clone(self)
        merged.__dict__.update({name: value for name, value in vars(self).items() if name.endswith("_")})
        return merged._hold(self._seen + other._seen, self._seen, None)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows back, as if they had never been learnt. It needs them, and no others.

        Parameters
        ----------
        X, y, sample_weight : rows that were learnt, with the labels and weights with which they were
            A smaller weight takes back a part. After `decay` a row has the weight that it faded to.

        Returns
        -------
        self

        Notes
        -----
        The model equals one that was fitted without these rows, under the same prior: one that took its scale from the
        data, such as `Gaussian()`, keeps it, levels and classes stay known, and so does `temper_`. Counts are exact as
        long as weights are whole numbers.

        Rows that were never learnt are an error, which changes nothing, where they can be noticed: an unknown label or
        level, more of something than there is, or a rest that no rows can make, such as a spread below zero. Rows that
        the stats could hold cannot be told from rows that they do hold: nobody kept the rows.

        A Gaussian column whose rest is far smaller than what goes, such as an outlier of 1e9 among numbers around 1,
        has too few digits left of it. Where what is believed could be off by more than 1e-8 of its own scale, it is an
        error: fit again on what stays. Roundings of many calls add up.

        Examples
        --------
        >>> from bayesnb import GaussianNB, NormalInverseGamma
        >>> prior = NormalInverseGamma(mean=0, count=1, shape=1, scale=1)
        >>> x, y = [[1.0], [1.2], [9.0], [3.0], [3.1]], ["low", "low", "low", "high", "high"]
        >>> model = GaussianNB(prior=prior).fit(x, y).forget([[9.0]], ["low"])
        >>> again = GaussianNB(prior=prior).fit(x[:2] + x[3:], y[:2] + y[3:])
        >>> bool(abs(model.predict_proba([[2.0]]) - again.predict_proba([[2.0]])).max() < 1e-14)
        True
        """
        check_is_fitted(self)
        with unchanged_on_error(self):
            self._check_arguments()
            table, y, weight = self._counting(self._open(X, reset=False), y, sample_weight)
            gone, rows = self._observe(Labelled(table, y, weight, self.classes_, self.schema_, NEVER_LEARNT))
            self.schema_.refuse_unseen(rows.cells)
            rest = without(self._seen, gone, len(rows.codes))
            self._check_digits(gone, rest)
            return self._hold(rest, self._seen, None)

    def _check_digits(self, gone: Shard, rest: Shard) -> None:
        """Raise where subtraction leaves too few digits of what is believed, or of what an estimate is made of."""
        prior, seen = self.model_.prior.blocks, (self.stats_.blocks, gone.stats.blocks, rest.stats.blocks)
        for block, belief, own, its, stays in zip(self.schema_.blocks, prior, *seen, strict=True):
            slip = own.slip(its, stays)
            if slip is not None:
                plain = belief.map(np.zeros_like) if self.estimate == "mle" else belief
                self._refuse_slips(block, plain.shaken(stays, slip))

    def _refuse_slips(self, block: Block, off: Array) -> None:
        if (off > DIGITS).any():
            c, f = (int(place) for place in np.unravel_index(off.argmax(), off.shape))
            raise ValueError(
                f"column {block.keys[f]!r}, class {self.classes_.tolist()[c]!r}: these rows carry so much of what was "
                f"learnt that they cannot be taken back by arithmetic: what stays could be off by {off[c, f]:.1g} of "
                f"its own scale, and {DIGITS:g} is allowed. Fit again on what stays. Nothing was forgotten."
            )

    def decay(self, factor: float) -> Self:
        """Let all that was learnt count less: every row's weight is multiplied by the factor.

        Called once a day, or a batch, a row of age t counts factor**t: exponential forgetting, for a world that drifts.

        Parameters
        ----------
        factor : a number above 0, and at most 1
            At 0.99 the stats of a steady stream level off at those of 100 batches.

        Returns
        -------
        self

        Notes
        -----
        Only the stats fade: what is believed goes back to the prior, the die of the classes too. All of them do, those
        of a class that is not seen any more as well. `partial_fit`, `decay`, `partial_fit` equals `fit` with weights;
        `log_evidence_` is that of weighted rows, no longer a probability of data, so `average_features` refuses it.

        Examples
        --------
        >>> from bayesnb import BernoulliNB
        >>> model = BernoulliNB().fit([[1], [1], [0]], ["new", "old", "old"])
        >>> model.decay(0.5).stats_.classes.counts.tolist()
        [0.5, 1.0]
        """
        check_is_fitted(self)
        if not (isinstance(factor, Real) and 0 < float(factor) <= 1):
            raise ValueError(
                f"decay: the factor must be a number above 0, and at most 1, got {factor!r}. To start anew, fit again."
            )
        with unchanged_on_error(self):
            self._check_arguments()
            seen = self._seen
            faded = Shard(seen.classes, seen.schema, float(factor) * seen.stats, seen.whole and factor == 1)
            return self._hold(faded, seen, None)
