"""What weighs the columns: the scores of the classes as linear functions of them, where they are linear."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from bayesnb import results
from bayesnb.estimators.judging import Judged
from bayesnb.families.base import Array
from bayesnb.families.record import Linear
from bayesnb.inference.linear_form import beside, differences, form_of, linear_of, numbers_of
from bayesnb.inference.posterior_draws import refuse_large
from bayesnb.model.product import ProductDensity
from bayesnb.model.schema import Block

PLUGGED = ("mean", "map", "mle")
MOST_NAMED = 5  # columns


class Weigher(Judged):
    """Everything is about parameters plugged in; `temper_` is followed."""

    def linear_form(self, *, estimate: str | None = None, against: Any = None) -> Any:
        """The scores of the classes as linear functions of what the columns hold: weights w, offsets b, and their sds.

        With parameters plugged in, log p(x, c | theta) is w_c . x + b_c and something that all classes share. The
        largest score is that of the predicted class, a softmax of the scores is p(y | x, theta), and the boundary
        between classes j and k is (w_j - w_k) . x + (b_j - b_k) = 0. What x is for a row, `linear_features` says.

        Parameters
        ----------
        estimate : {None, "mean", "map", "mle"}
            Which parameters are plugged in. None: as the model's own `estimate` says, and the posterior mean where that
            is "predictive", which plugs in nothing.
        against : None or a label
            Give differences from this class: w_c - w_k and b_c - b_k. Of two classes, the other one's are the w and b
            of a logistic regression.

        Returns
        -------
        xarray.Dataset
            `w` and `w_sd` (class, feature), `b` and `b_sd` (class). A feature is a column, or `column=level` for every
            level of a column that has levels; the coordinates `column` and `level` tell both apart. A class of
            probability 0 has a `b` of minus infinity, and nothing else.

        Notes
        -----
        The weights of `Bernoulli` columns are logit theta, of words and levels log theta, of `Poisson` columns log
        rate; b has the log of the class's probability, and what a row of zeros adds: log(1 - theta), or minus the
        rate. Where all classes share their variances, w is the mean divided by the variance, and b has
        -mean**2 / (2 variance). `temper_` multiplies all of this but the class's own part.

        The sds are exact, in closed form. A weight is a function of the parameters, and its sd is the one it has under
        the posterior, whichever estimate is plugged in; the mean of that law is in general not `w`, as E log theta is
        not log E theta. Weights of levels of one column, or of words, are not independent, nor are w and b: sds do not
        add up to that of a score, which `explain` has.

        In columns that lie far from zero scores are large, and their differences have few digits left: `against` has
        them all. Under a smoothing of 0 a probability may be 0 or 1. Its weight would be infinite, and 0 times that is
        no number: such a plug-in is refused.

        Examples
        --------
        >>> from bayesnb import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1], [0, 1]], ["spam", "spam", "ham", "ham"])
        >>> form = model.linear_form(against="ham").sel({"class": "spam"})
        >>> form.w.values.round(3).tolist(), round(float(form.b), 3)
        ([2.197, -1.099], -0.405)
        >>> x = model.linear_features([[1, 1]])
        >>> (1 / (1 + np.exp(-(x @ form.w.values + float(form.b))))).round(3), model.predict_proba([[1, 1]]).round(3)
        (array([0.667]), array([[0.333, 0.667]]))
        """
        check_is_fitted(self)
        kind = self._plugged if estimate is None else estimate
        if kind not in PLUGGED:
            raise ValueError(f"estimate must be None or one of {', '.join(PLUGGED)}, got {estimate!r}.")
        place = None if against is None else self._place(against)
        density, parts = self._linear(kind)
        terms = results.linear_datasets.terms_of(self.schema_.blocks)
        self._refuse_infinite(np.concatenate([part.weights for part in parts], axis=1), density.live, terms.names)
        if place is not None:
            self._refuse_impossible(place, density.live)
            parts = differences(density, place)
        form = form_of(parts, density, self.model_.posterior, self.temper_, place)
        said = {"estimate": kind, "temper": self.temper_} | ({} if against is None else {"against": str(against)})
        return results.linear_datasets.linear_form(form, self.classes_, terms, said)

    def linear_features(self, X: Any) -> Any:
        """What the weights of `linear_form` multiply: x of every row, in the order of its `feature`.

        Parameters
        ----------
        X : table of rows

        Returns
        -------
        array, or scipy.sparse.csr_array for a sparse table, (row, feature)
            Numbers and counts are themselves; of yes and no, or of what is above a `Bernoulli`'s threshold, a one is a
            yes; of levels, a one is the level that the cell holds. `x @ form.w.values.T + form.b.values` are the
            scores of the classes, `(row, class)`.

        Notes
        -----
        A missing cell in a column of levels, and one of a level that was never learnt, is all zeros, which leaves the
        column out, exactly. Rows that lack another cell have a b of their own, without that column's part, so they are
        refused; `predict_proba` knows them.

        Examples
        --------
        >>> from bayesnb import CategoricalNB
        >>> model = CategoricalNB().fit([["red"], ["blue"], ["red"]], ["wine", "water", "wine"])
        >>> model.linear_form().feature.values.tolist()
        ['0=blue', '0=red']
        >>> model.linear_features([["red"], [None]])
        array([[0., 1.],
               [0., 0.]])
        """
        table, cells = self._read(X)
        self._linear(self._plugged)
        self.schema_.check_cells(cells)
        order, blocks = results.linear_datasets.terms_of(self.schema_.blocks).order, self.schema_.blocks
        if not sparse.issparse(X):
            size = f"{table.rows} rows of {len(order)} features"
            refuse_large(size, 8.0 * table.rows * len(order), "Give fewer rows at once, or a sparse table.")
        parts = [numbers_of(x, _coded(block)) for block, x in zip(blocks, cells, strict=True)]
        for block, part in zip(blocks, parts, strict=True):
            _refuse_missing(block, part)
        self.schema_.tell_unseen(cells)
        return beside(parts, order, sparse.issparse(X))

    @property
    def _plugged(self) -> str:
        """The estimate of the parameters that is nearest to what predicts."""
        return "mean" if self.estimate == "predictive" else self.estimate

    def _linear(self, kind: str) -> tuple[ProductDensity, list[Linear]]:
        """The parameters plugged in, and what is linear in every block; an error that names those that are not."""
        if self.average_features is not None:
            raise ValueError(
                "average_features averages over subsets of the columns, and an average of linear forms is none. "
                "Use average_features=None."
            )
        density: Any = self._reader(kind)
        parts = linear_of(density, self.model_.posterior)
        odd = [block for block, part in zip(self.schema_.blocks, parts, strict=True) if part is None]
        if odd:
            _refuse_bent(odd)
        return density, [part for part in parts if part is not None]

    def _place(self, label: Any) -> int:
        labels = self.classes_.tolist()
        if label not in labels:
            raise ValueError(f"against must be one of the classes {labels}, got {label!r}.")
        return int(labels.index(label))

    def _refuse_impossible(self, place: int, live: Array) -> None:
        if not live[place]:
            label = self.classes_.tolist()[place]
            raise ValueError(f"against: class {label!r} has probability 0, so nothing has log-odds against it.")

    def _refuse_infinite(self, w: Array, live: Array, names: Sequence[Any]) -> None:
        odd = ~np.isfinite(w)
        if odd.any():
            c, k = np.argwhere(odd)[0]
            raise ValueError(
                f"feature {names[k]!r}, class {self.classes_[live].tolist()[c]!r}: a probability is 0, which "
                f"has no finite weight ({odd.sum()} such weights). Use estimate='mean', or a larger smoothing."
            )


def _refuse_bent(blocks: Sequence[Block]) -> NoReturn:
    names = [repr(name) for block in blocks for name in block.names]
    families = sorted({type(block.family).__name__ for block in blocks})
    shown = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else "")
    raise ValueError(
        f"linear_form: the log-density of {shown} ({', '.join(families)}) is not linear in what the columns hold. "
        "Numbers need one variance for all classes, Gaussian(shared=True), or MultivariateGaussian(shared=True) for a "
        "block; levels modelled jointly have no weights of their own: declare Categorical; or drop the columns, "
        "families={...: None}."
    )


def _coded(block: Block) -> tuple[int, ...] | None:
    """The numbers of levels of columns whose cells are levels; a list of words is counts already."""
    return block.sizes if block.family.has_levels else None


def _refuse_missing(block: Block, numbers: Any) -> None:
    missing = np.isnan(numbers.data if sparse.issparse(numbers) else numbers)
    if missing.any():
        where = np.flatnonzero(missing)[0]
        if sparse.issparse(numbers):
            row, j = np.searchsorted(numbers.indptr, where, "right") - 1, numbers.indices[where]
        else:
            row, j = divmod(int(where), numbers.shape[1])
        raise ValueError(
            f"column {block.names[j]!r}: a cell is missing at row {row} ({missing.sum()} such cells in the block), "
            "which takes the column's part of b away too. Drop such rows, or use predict_proba, which leaves the cell "
            "out, exactly."
        )
