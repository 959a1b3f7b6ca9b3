"""What every estimator is: it learns, predicts, and says how sure it is. Each method is one call into a room below."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesnb import persistence, results
from bayesnb.estimators.drawing import sheet_of, subject_of
from bayesnb.estimators.saving import restored, saved_of
from bayesnb.estimators.weighing import Weigher
from bayesnb.families.base import Array, Rng
from bayesnb.inference.explanation import explain
from bayesnb.inference.row_sampling import draw_codes, draw_table
from bayesnb.persistence import Saved


class Classifier(Weigher):
    """What every estimator shares; a subclass says its families and its class prior."""

    def explain(self, X: Any) -> Any:
        """Say what every feature of every row adds to the score of each class.

        The score of a class is log G + t * sum over features of log p(x | theta), where t is `temper_`, and the
        probabilities of the classes are the shares of the Gamma variates G: a softmax of the scores is
        p(y | x, theta). It depends on the parameters, so it has a posterior mean and a standard deviation.

        Parameters
        ----------
        X : table of rows

        Returns
        -------
        xarray.Dataset
            By (obs_id, class, feature): `evidence` and `sd`, posterior mean and standard deviation of what the
            feature adds; `predictive`, the log predictive of the cell, log E[p(x | theta)**t]. By class:
            `class_term`, `class_term_sd`, `predictive_class_term`, the same of the class's own part. By (obs_id,
            class): `score`, the sum of `class_term` and `evidence`, and `score_sd`. By (obs_id, feature): `cell`,
            what the cell held, as text.

        Notes
        -----
        `predictive` and `predictive_class_term` add up to `predict_joint_log_proba` under estimate="predictive", so
        the difference between two classes is a log predictive ratio. Scores are compared between classes; what all
        classes have in common says nothing. A missing cell adds 0 for certain, and an impossible class has a
        `class_term` of minus infinity and nothing else.

        A block of counts is told word by word, each that occurs in some row: x_j * E[log theta_j], and x_j's share of
        what only the whole row has, the number of its orders (the same for every class) and, for `predictive`, the
        total of the die. Each `sd` is that of the word's own probability. Words share one die, where more of one is
        less of the others: the squares of their sds add up to more than that of `score_sd`, which is exact.

        Under `average_features` every number is that of the average over both hypotheses about a feature.

        Examples
        --------
        >>> from bayesnb import NaiveBayes
        >>> model = NaiveBayes().fit([[1.0, "a"], [1.2, "a"], [3.0, "b"], [3.1, "a"]], ["low", "low", "high", "high"])
        >>> why = model.explain([[1.1, "b"]]).isel(obs_id=0)
        >>> (why.predictive.sel({"class": "low"}) - why.predictive.sel({"class": "high"})).round(2).values.tolist()
        [2.09, -0.69]
        """
        table, cells = self._read(X)
        self.schema_.check_cells(cells)
        self._reader("predictive")  # an error, where the posterior is no distribution
        found = explain(self.model_.posterior, cells, self.temper_)
        self.schema_.tell_unseen(cells)
        return results.explanations.explained(found, table.index, self.classes_, self.schema_.blocks, cells)

    def sample(self, n: int, y: Any = None, *, length: Any = None, rng: Rng = None) -> tuple[Any, Array]:
        """Draw new rows and their labels from the posterior predictive, in a table like the one learnt from.

        Every row has parameters of its own, drawn from the posterior: rows are independent given the data, and each
        is an exact draw of the row to come next. `temper` and `estimate` play no part.

        Parameters
        ----------
        n : number of rows
        y : None, one label, or one for each row
            None draws the labels too, from the posterior predictive of the class.
        length : None, a whole number, or one for each row
            How many words a row of a `Multinomial` block has, in every such block. By default it is drawn: a Poisson
            count, with a rate that is learnt from the words and rows of each class as `Poisson()` would. Real texts'
            lengths vary more than that; where it matters, say them.
        rng : None, a seed, or numpy.random.Generator

        Returns
        -------
        X : a table of the kind that was first learnt from
            A frame of the same library, with its names, order, types and categories; an array, also for a list of
            lists; CSR for a sparse table; lists of words for such, in a random order.
        y : array of labels, as in `classes_`

        Notes
        -----
        A column keeps its type where that can hold what is drawn: a Gaussian column of integers becomes floats, and
        integers that are too narrow for a count become wider. Columns without a family (None) are absent. No cell is
        missing, but for the level that `unseen="reserve"` keeps for whatever is new. Under a `Bernoulli` with a
        threshold, a one is some number above it. With `fractional=True` too the rows hold whole counts: of other
        numbers the family has no distribution.

        Examples
        --------
        >>> from bayesnb import NaiveBayes
        >>> from bayesnb.datasets import dogs
        >>> table = dogs()
        >>> model = NaiveBayes().fit(table.drop(columns="breed"), table["breed"])
        >>> rows, labels = model.sample(3, "Labradoodle", rng=1)
        >>> rows.dtypes.astype(str).to_dict()
        {'height': 'float64', 'weight': 'float64', 'curled_tail': 'bool'}
        >>> labels.tolist()
        ['Labradoodle', 'Labradoodle', 'Labradoodle']
        """
        check_is_fitted(self)
        rng, probability = np.random.default_rng(rng), np.exp(self._reader("predictive").log_class)
        codes = draw_codes(n, y, self.classes_, probability, rng)
        return draw_table(self.schema_, self.model_, codes, length, rng), self.classes_[codes]

    def draw_proba(self, X: Any, draws: int = 1000, *, chains: int = 4, rng: Rng = None) -> Any:
        """Draw p(y | x, theta), theta from the posterior.

        Their mean is the ensemble average, not `predict_proba`: a row to come is itself evidence about theta, which
        the draws leave out.

        Parameters
        ----------
        X : table of rows
        draws : number of draws of each chain
        chains : number of chains, which only ArviZ's functions need: all draws are exact and independent
        rng : None, a seed, or numpy.random.Generator
            A seed draws the same theta whatever the rows are, and the same as in `to_datatree`.

        Returns
        -------
        xarray.DataArray
            (chain, draw, obs_id, class); `obs_id` is the frame's index.

        Notes
        -----
        The features' part is scaled by `temper_`; `estimate` plays no part. A class of probability 0 keeps it. What
        would take more than 2 GiB is refused beforehand.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
        >>> p = model.draw_proba([[2.0]], rng=1)
        >>> dict(p.sizes)
        {'chain': 4, 'draw': 1000, 'obs_id': 1, 'class': 2}
        """
        check_is_fitted(self)
        return results.drawn_trees.probabilities(
            subject_of(self), sheet_of(self, X), results.drawn_trees.Plan(draws, chains, rng)
        )

    def to_datatree(
        self,
        X: Any = None,
        y: Any = None,
        draws: int = 1000,
        chains: int = 4,
        *,
        rng: Rng = None,
        groups: Any = None,
        features: Any = None,
    ) -> Any:
        """Draw from the posterior into ArviZ's groups, for its summaries, plots and checks.

        Parameters
        ----------
        X : None or table of rows
        y : None or their labels
            The rows learnt from, with their labels, for checks of the model; without labels, rows to predict.
        draws : number of draws of each chain
        chains : number of chains, which only ArviZ's functions need: all draws are exact and independent
        rng : None, a seed, or numpy.random.Generator
        groups : None for all that can be had, or names of groups
        features : None for all, or the columns whose parameters are wanted

        Returns
        -------
        xarray.DataTree
            `posterior`, `prior` : `class_prob` (class); `mu` and `sigma2`, `rate`, and `theta` of coins or words
            (class, feature); `theta_<column>` (class, <column>_level). Under `average_features`, `included`: 1 where a
            feature depends on the class, 0 where all classes share its parameters.
            `log_prior` : log p(theta) under the same names, that of `mu` given `sigma2`; of a die, one number.
            `log_likelihood` : `y` (obs_id), log p(x, y | theta), in which the model is generative; never tempered.
            `posterior_predictive` : `y`, labels thrown from p(y | x, theta). `observed_data` : `y`. Both are places in
            the coordinate `class`.
            `predictions`, where there are no labels : `p` (obs_id, class), p(y | x, theta), and `y` thrown from it.
            `constant_data` : `class_prob`, where it is given and so not drawn.
            `conjugate` : the posterior's parameters in closed form, and `log_evidence`.

        Notes
        -----
        Where several families have columns, the axis `feature` becomes `<family>_feature`; where both coins and words
        have a `theta`, it becomes `bernoulli_theta` and `multinomial_theta`. An improper prior cannot be drawn:
        `prior` and `log_prior` are left out, which the tree's attributes say, and are an error in `groups`; so is
        `log_prior` under `average_features`, where classes may share a parameter.
        Labels other than numbers, booleans, dates and text become text. What would take more than 2 GiB is refused.

        Examples
        --------
        >>> from bayesnb import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
        >>> tree = model.to_datatree(rng=1)
        >>> sorted(tree.children)
        ['conjugate', 'log_prior', 'posterior', 'prior']
        >>> tree["posterior"]["mu"].dims
        ('chain', 'draw', 'class', 'feature')
        """
        check_is_fitted(self)
        if X is None and y is not None:
            raise ValueError("y was given without X. Give the rows that have these labels.")
        self._reader("predictive")  # an error, where the posterior is no distribution
        sheet = None if X is None else sheet_of(self, X, y)
        return results.trees.tree(
            subject_of(self, features), sheet, results.drawn_trees.Plan(draws, chains, rng), groups
        )

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file, from which `bayesnb.load` makes it again.

        Parameters
        ----------
        path : str or os.PathLike, such as "model.bnb"
            A file that is there already is replaced, once the new one is on the disk as a whole.

        Notes
        -----
        The file is a zip archive of `model.json`, arrays in NumPy's format, and checksums; see `bayesnb.persistence`.
        It holds no code, so families and estimators of your own cannot be saved, nor can labels and levels
        that are neither text nor numbers. Requests of metadata routing are not kept.

        Examples
        --------
        >>> import os, tempfile
        >>> from bayesnb import GaussianNB, load
        >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
        >>> path = os.path.join(tempfile.mkdtemp(), "model.bnb")
        >>> model.save(path)
        >>> bool((load(path).predict_proba([[2.0]]) == model.predict_proba([[2.0]])).all())
        True
        """
        check_is_fitted(self)
        persistence.write(saved_of(self), path)

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        """The fitted estimator that was saved."""
        return restored(cls, saved)
