"""What was learnt, in the columns' names: beliefs, evidence, explanations, linear scores."""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from bayesnb import results
from bayesnb.estimators.base import ModelHolder, predictor, read_rows
from bayesnb.families import Dirichlet
from bayesnb.families.base import Array, Belief
from bayesnb.families.family import Family
from bayesnb.formatting import count, fixed, list_names, number, quote, shorten, times
from bayesnb.inference.explanation import explain
from bayesnb.inference.linear_form import form_of, numbers_of
from bayesnb.inference.sql import write_select
from bayesnb.model.covariance import Covariance
from bayesnb.model.fitted import Fitted
from bayesnb.model.linked import Linked
from bayesnb.model.missing import MissingCells
from bayesnb.model.powers import of_blocks
from bayesnb.model.product import Joint, Product, ProductStats
from bayesnb.model.schema import Block
from bayesnb.selection.feature_evidence import cautious, check_comparable

MAX_CLASSES, MAX_NAMES = 12, 8  # listed; names of a block
MAX_LETTERS = 40  # of a class


class InspectionMixin(ModelHolder):
    """The fitted state under the names of columns and classes, and what it says about rows."""

    @property
    def prior_(self) -> dict[Hashable, Belief]:
        """Prior beliefs by column; the class is the first axis."""
        return self._name_columns(self.model_.prior)

    @property
    def posterior_(self) -> dict[Hashable, Belief]:
        """Posterior beliefs by column; the class is the first axis.

        Those of links are by pairs of columns.
        """
        return self._name_columns(self.model_.posterior)

    def _name_columns(self, beliefs: Product) -> dict[Hashable, Belief]:
        return {key: beliefs.blocks[b].column(f) for key, b, f in self.schema_.keys}

    @property
    def class_prior_(self) -> Belief:
        """Prior of the class probabilities."""
        return self.model_.prior.classes

    @property
    def class_posterior_(self) -> Belief:
        """Posterior of the class probabilities."""
        return self.model_.posterior.classes

    @property
    def stats_(self) -> ProductStats:
        """Statistics of the rows learnt."""
        return self.model_.stats

    @property
    def families_(self) -> dict[Hashable, Family]:
        """Families by column, as declared or inferred.

        Columns that are modelled jointly are one key, a tuple.
        """
        return self.schema_.declared

    @property
    def choices_(self) -> "results.Result":
        """How families were chosen among several candidates, a Dataset by (feature, candidate).

        `elpd` is the exact leave-one-out log score of the label by that feature alone, NaN for a
        family that was not a candidate or cannot hold the cells; `chosen`, by feature, is the
        candidate that was chosen, and `chosen_over` names the others, the best first, with their
        scores less that of the chosen one. Features whose family was declared, or follows from
        their values, are not in it. It shows itself as a table, and its `to_frame` has a row for
        each feature.
        """
        check_is_fitted(self)
        return results.datasets.choices(self.schema_.choices)

    @property
    def log_evidence_(self) -> float:
        """Log evidence, log p(X, y | prior).

        Of columns with histograms relative to the distribution of all rows.
        """
        labels, blocks = self._evidence()
        return labels + float(sum(block.sum() for block in blocks))

    def log_evidence_by_feature(self) -> dict[Hashable, float]:
        """Return the terms of `log_evidence_` by column; the rest is that of the labels.

        Returns
        -------
        dict
            Column, or tuple of columns that are modelled jointly, -> log evidence given the labels.

        See Also
        --------
        NaiveBayes.summary : The terms beside each column's family and prior.

        Examples
        --------
        >>> from bayesnb import CategoricalNB
        >>> model = CategoricalNB().fit([["red"], ["blue"], ["red"]], ["wine", "water", "wine"])
        >>> {name: round(value, 2) for name, value in model.log_evidence_by_feature().items()}
        {0: -1.79}
        """
        check_is_fitted(self)
        _, blocks = self._evidence()
        covariance = self.schema_.covariance
        return {
            key: float(blocks[b][f])
            for key, b, f in self.schema_.keys
            if self.schema_.blocks[b].family is not covariance
        }

    def _evidence(self) -> tuple[float, tuple[Array, ...]]:
        prior = self.model_.prior
        proper = [belief.strictly_proper.all(axis=0) for belief in prior.blocks]
        improper = []
        for key, b, f in self.schema_.keys:
            if not proper[b][f]:
                improper.append(f"column {quote(key)}: its prior")
        if not prior.classes.strictly_proper:
            improper.append("class_prior: a concentration of 0")
        if improper:
            raise ValueError(
                f"{improper[0]} is improper, so the evidence is undefined. Give another."
            )
        labels, blocks = prior.log_evidence(self.model_.stats)
        pairs = zip(self.schema_.blocks, blocks, strict=True)
        return labels, tuple(block.family.in_joint * each for block, each in pairs)

    @property
    def links_(self) -> "results.Result":
        """The links between columns, the strongest of the forest first, a Dataset by `link`.

        It shows itself as a table, and its `to_frame` has a row for each link.

        `first` and `second`, the parent and the child; `log_bayes_factor`, in nats, against
        independence of the two given the class, by the rows in which the links were found, whatever
        prior is declared; `temper` and `temper_sd`, the exponent on the link's evidence and its sd;
        `in_forest`, whether it is one of the spanning forest, which is a joint distribution of the
        columns, and not a further expert.
        """
        check_is_fitted(self)
        if self._dependence_rule is None:
            raise AttributeError(
                "this model has no links, as it has dependence=None. Fit with dependence='forest'."
            )
        return results.datasets.links(self.schema_.links, *self.fitted_.of_block(Linked))

    @property
    def missing_(self) -> "results.Result | None":
        """Columns whose missing cells are evidence, a Dataset by `feature`; None without.

        `gain`, how much better the label is predicted by that alone, its exact leave-one-out score
        in nats; `temper` and `temper_sd`, the flag's exponent and its sd.
        """
        check_is_fitted(self)
        missing = self.schema_.missing
        if missing is None:
            return None
        names = [self.schema_.columns[place] for place in missing.places]
        return results.datasets.missing_cells(
            names, missing.gain, *self.fitted_.of_block(MissingCells)
        )

    @property
    def covariance_(self) -> "results.Result | None":
        """Columns once more as one Gaussian, a Dataset by `feature`; None without.

        Numbers are taken as they are, levels as indicators. `bent`, whether a column has a long
        tail and is put on a scale that is logarithmic there. Of all columns together: `products`,
        whether levels of two columns count together, too; `dof`, the degrees of freedom of the
        prior of a class's covariance, of which many make it that of all classes; `gain`, how much
        better the labels' exact leave-one-out score is with it, in nats; `temper` and `temper_sd`,
        its exponent and sd.
        """
        check_is_fitted(self)
        covariance = self.schema_.covariance
        if covariance is None:
            return None
        names = [self.schema_.columns[place] for place in covariance.columns]
        numbers = [float(each[0]) for each in self.fitted_.of_block(Covariance)]
        return results.datasets.covariance(covariance, names, *numbers)

    @property
    def feature_importances_(self) -> NoReturn:
        """Not known to a model, which keeps no rows: an AttributeError that says what to use.

        What a column is worth shows in rows that are held out, `bayesnb.importance`. The scores by
        which `fit` found exponents do not tell, as exponents are the best ones for those very rows.
        """
        raise AttributeError(
            "feature_importances_: a model keeps no rows, and what a column is worth shows in rows "
            "that are held out: bayesnb.importance(model, X, y). SelectFromModel can do without, "
            "with importance_getter=lambda model: bayesnb.relevance(model).inclusion.values."
        )

    def summary(self) -> "results.ModelSummary":
        """Summarise the fitted model: columns, families, priors, evidence, exponents, relevance.

        Returns
        -------
        ModelSummary
            A table in a terminal and in a notebook, with `to_frame` and `to_latex`. By feature:
            `family`; `prior`, in words; `log_evidence`, the terms of `log_evidence_`; `temper` and
            `temper_sd`, the exponent and its standard deviation; `log_bayes_factor` and
            `inclusion`, whether the feature depends on the class, as in `bayesnb.relevance`;
            `missing`, how many cells were not learnt; `chosen_over`, the families that were
            rejected, with their scores less that of the family chosen. A block of words is one
            feature.

        See Also
        --------
        bayesnb.relevance : The Bayes factors, also of each word.
        NaiveBayes.loo : How well the model predicts rows that it has not learnt.
        bayesnb.report.report : A page with all of it, with scores and pictures.

        Notes
        -----
        Nothing is predicted or scored, so it is quick, and it needs no rows: a model that was
        loaded from a file has a summary too.

        Examples
        --------
        >>> from bayesnb import CategoricalNB
        >>> model = CategoricalNB().fit([["red"], ["blue"], ["red"]], ["wine", "water", "wine"])
        >>> model.summary().to_frame()[["family", "prior", "missing"]].values.tolist()
        [['Categorical', 'as if each level had been seen once in each class', 0.0]]
        """
        check_is_fitted(self)
        title = f"Summary of {type(self).__name__}"
        return results.tables.ModelSummary(title, describe_model(self), describe_features(self))

    def explain(self, X: Any) -> "results.Result":
        """Return what every feature of every row adds to the score of each class.

        The score of a class is log G + sum over features of t * log p(x | theta), where t is the
        exponent in `temper_`, and the probabilities of the classes are the shares of the Gamma
        variates G: a softmax of the scores is p(y | x, theta). It depends on the parameters, so it
        has a posterior mean and a standard deviation.

        Parameters
        ----------
        X : table of rows
            The rows to explain.

        Returns
        -------
        xarray.Dataset
            It shows itself as a table, and its `to_frame` has a row for each (obs_id, class,
            feature), the class's own part included, so that they add up to the scores. By (obs_id,
            class, feature): `evidence` and `sd`, posterior mean and standard deviation of what the
            feature adds; `predictive`, the log predictive of the cell, log E[p(x | theta)**t]. By
            class: `class_term`, `class_term_sd`, `predictive_class_term`, the same of the class's
            own part. By (obs_id, class): `score`, the sum of `class_term` and `evidence`, and
            `score_sd`. By (obs_id, feature): `cell`, what the cell held, as text. By feature:
            `temper` and `temper_sd`, the exponent t and its sd; and, where exponents fall with the
            length of a text, `temper_length`, as in `temper_length_`, infinite for others.

        See Also
        --------
        plot_waterfall : One row as steps from the class frequencies to the prediction.
        NaiveBayes.linear_form : Weights that hold for all rows.

        Notes
        -----
        `predictive` and `predictive_class_term` add up to `predict_joint_log_proba` under
        estimate="predictive", so the difference between two classes is a log predictive ratio.
        Scores are compared between classes; what all classes have in common says nothing. A missing
        cell adds 0 for certain, and an impossible class has a `class_term` of minus infinity and
        nothing else.

        A block of counts is explained word by word, each that occurs in some row: x_j * E[log
        theta_j], and x_j's share of what only the whole row has, the number of its orders (the same
        for every class) and, for `predictive`, the total of the Dirichlet. Each `sd` is that of the
        word's own probability. Words share one Dirichlet, where more of one is less of the others:
        the squares of their sds add up to more than that of `score_sd`, which is exact.

        Examples
        --------
        >>> from bayesnb import NaiveBayes
        >>> model = NaiveBayes({0: "gaussian", 1: "categorical"})
        >>> x = [[1.0, "a"], [1.2, "a"], [3.0, "b"], [3.1, "a"]]
        >>> model = model.fit(x, ["low", "low", "high", "high"])
        >>> why = model.explain([[1.1, "b"]]).isel(obs_id=0)
        >>> low, high = why.predictive.sel({"class": "low"}), why.predictive.sel({"class": "high"})
        >>> (low - high).round(2).values.tolist()
        [2.09, -0.69]
        """
        table, cells = read_rows(self, X)
        self.schema_.check_cells(cells)
        predictor(self.fitted_)  # an error, where the posterior is no distribution
        terms = explain(self.model_.posterior, cells, self.fitted_.exponents)
        return results.explanations.explained(
            terms, table.index, self.classes_, self.schema_.blocks, cells, self.fitted_.tempers
        )

    def linear_form(self, *, against: Any = None) -> "results.Result":
        """Return the classes' scores as linear functions: weights w, offsets b, and their sds.

        With parameters plugged in, log p(x, c | theta) is w_c . x + b_c and something that all
        classes share. The largest score is that of the predicted class, a softmax of the scores is
        p(y | x, theta), and the boundary between classes j and k is (w_j - w_k) . x + (b_j - b_k) =
        0. What x is for a row, `linear_features` says. Parameters are plugged in as the `estimate`
        of the model says: at their posterior means where that is "predictive", which plugs in none.

        Parameters
        ----------
        against : label, optional
            Give differences from this class: w_c - w_k and b_c - b_k. With two classes, those of
            the other class are the w and b of a logistic regression.

        Returns
        -------
        xarray.Dataset
            `w` and `w_sd` (class, feature), `b` and `b_sd` (class). A feature is a column, or
            `column=level` for every level of a column that has levels; the coordinates `column` and
            `level` tell both apart. A class of probability 0 has a `b` of minus infinity, and
            nothing else.

        See Also
        --------
        NaiveBayes.linear_features : The numbers of a row that the weights multiply.
        plot_boundary : The boundary over two columns.

        Notes
        -----
        The weights of `Bernoulli` columns are logit theta, of words and levels log theta, of
        `Poisson` columns log rate; b has the log of the class's probability, and what a row of
        zeros adds: log(1 - theta), or minus the rate. Where all classes share their variances, w is
        the mean divided by the variance, and b has -mean**2 / (2 variance). `temper_` multiplies
        all of this but the class's own part. Where it falls with the length of a text, n words, the
        weights multiply the counts divided by 1 + n / `temper_length_`.

        The sds are exact, in closed form. A weight is a function of the parameters, and its sd is
        the one it has under the posterior, whichever estimate is plugged in; its mean there is in
        general not `w`, as E log theta is not log E theta. Weights of levels of one column, or of
        words, are not independent, nor are w and b: sds do not add up to that of a score, which
        `explain` has.

        In columns that lie far from zero scores are large, and their differences have few digits
        left: `against` has them all. Under a smoothing of 0 a probability may be 0 or 1. Its weight
        would be infinite, and 0 times that is no number: such a plug-in is refused.

        Examples
        --------
        >>> from bayesnb import BernoulliNB
        >>> flags = [[1, 0], [1, 1], [0, 1], [0, 1]]
        >>> model = BernoulliNB().fit(flags, ["spam", "spam", "ham", "ham"])
        >>> form = model.linear_form(against="ham").sel({"class": "spam"})
        >>> form.w.values.round(3).tolist(), round(float(form.b), 3)
        ([2.197, -1.099], -0.405)
        >>> x = model.linear_features([[1, 1]])
        >>> log_odds = x @ form.w.values + float(form.b)
        >>> (1 / (1 + np.exp(-log_odds))).round(3), model.predict_proba([[1, 1]]).round(3)
        (array([0.667]), array([[0.333, 0.667]]))
        """
        check_is_fitted(self)
        labels = self.classes_.tolist()
        if against is not None and against not in labels:
            raise ValueError(f"against must be one of the classes {labels}, got {against!r}.")
        place = None if against is None else labels.index(against)
        density = self._linear()
        parts = density, self.model_.posterior, self.fitted_.exponents
        terms = results.explanations.terms_of(self.schema_.blocks)
        form = form_of(*parts)
        infinite = ~np.isfinite(form.w)
        if infinite.any():
            c, k = np.argwhere(infinite)[0]
            raise ValueError(
                f"feature {terms.names[k]!r}, class {labels[c]!r}: a probability is 0, which has "
                f"no finite weight ({infinite.sum()} such weights). Use estimate='mean', or a "
                "larger smoothing."
            )
        if place is not None:
            if not density.live[place]:
                raise ValueError(
                    f"against: class {against!r} has probability 0, so nothing has log-odds "
                    "against it."
                )
            form = form_of(*parts, place)
        form = form.ordered(terms.order)
        attrs = {"estimate": self._plugged} | self.fitted_.temper_attributes
        if against is not None:
            attrs["against"] = str(against)
        return results.explanations.linear_form(form, self.classes_, terms.coords, attrs)

    def linear_features(self, X: Any) -> Array | sparse.csr_array:
        """Return the numbers of every row that the weights of `linear_form` multiply.

        Parameters
        ----------
        X : table of rows
            The rows to transform.

        Returns
        -------
        array, or scipy.sparse.csr_array for a sparse table, (row, feature)
            Numbers and counts are themselves; of yes and no, or of what is above a `Bernoulli`'s
            threshold, a one is a yes; of levels, a one is the level that the cell holds; of words,
            the counts are divided by 1 + n / `temper_length_` where that is known. `x @
            form.w.values.T + form.b.values` are the scores of the classes, `(row, class)`.

        See Also
        --------
        NaiveBayes.linear_form : The weights.

        Notes
        -----
        A missing cell in a column of levels, and one of a level that was never learnt, is all
        zeros, which leaves the column out, exactly. Rows that lack another cell have a b of their
        own, without that column's part, so they are refused; `predict_proba` knows them.

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
        _, cells = read_rows(self, X)
        self._linear()
        self.schema_.check_cells(cells)
        blocks = self.schema_.blocks
        parts: list[Any] = []
        powers = of_blocks(self.fitted_.exponents, len(blocks))
        for block, x, power in zip(blocks, cells, powers, strict=True):
            part = numbers_of(x, block.sizes if block.family.has_levels else None, power)
            refuse_missing_numbers(block, part)
            parts.append(part)
        order = results.explanations.terms_of(blocks).order
        if sparse.issparse(X):
            return sparse.csr_array(sparse.hstack(parts, format="csr")[:, order])
        return np.hstack([x.toarray() if sparse.issparse(x) else x for x in parts])[:, order]

    @property
    def _plugged(self) -> str:
        """Estimate of the parameters that is nearest to what predicts."""
        return "mean" if self.estimate == "predictive" else self.estimate

    def _linear(self) -> Joint:
        """Return the parameters plugged in; an error where the scores are not linear."""
        density = predictor(self.fitted_, self._plugged)
        pairs = zip(self.schema_.blocks, self.model_.posterior.blocks, strict=True)
        refuse_nonlinear([block for block, belief in pairs if not belief.is_linear])
        return density

    def to_sql(self, table: str = "t", key: str | Sequence[str] = ()) -> str:
        """Write a SELECT that computes the class probabilities in a database.

        Parameters
        ----------
        table : str, default "t"
            The name of the table, which has the columns that were fitted.
        key : str or sequence of str, default ()
            Names of columns that the answer keeps, such as an identifier.

        Returns
        -------
        str
            One statement in standard SQL but for the word ``MATERIALIZED``, with a column
            ``p_<label>`` for each class.

        Raises
        ------
        ValueError
            For what no such SELECT can compute: texts, columns modelled jointly by a covariance,
            ``unseen="error"``, ``estimate`` other than ``"predictive"``, levels that are dates, and
            tables of very many numbers; and where a key has the name of a probability. The message
            says what to do.

        See Also
        --------
        NaiveBayes.predict_proba : The probabilities, which are the same.

        Notes
        -----
        It needs the functions ``abs``, ``ln`` and ``exp`` and the word ``MATERIALIZED``, which
        SQLite has since 3.35. A missing cell is NULL, and silent; a level that was never seen is
        silent, too, unless it is reserved. Levels are compared by ``=``: text with text, numbers
        with numbers, flags with ``TRUE`` and ``FALSE``. Cells are not checked, as `predict_proba`
        checks them: a count must not be negative.

        Examples
        --------
        >>> from bayesnb import NaiveBayes
        >>> model = NaiveBayes("categorical").fit([["a"], ["a"], ["b"]], ["x", "x", "y"])
        >>> print(model.to_sql("letters")[:10])
        WITH cells
        """
        check_is_fitted(self)
        if self.estimate != "predictive":
            raise ValueError(
                "to_sql: it computes the posterior predictive, and this model predicts by "
                f"estimate={self.estimate!r}. Set estimate='predictive'."
            )
        return write_select(self.fitted_, table, [key] if isinstance(key, str) else key)

    def _html_repr(self) -> str:
        """Return scikit-learn's display, and below it what was learnt."""
        learnt = self.summary()._repr_html_() if hasattr(self, "model_") else ""
        return super()._html_repr() + learnt  # type: ignore[misc]  # BaseEstimator's


def refuse_nonlinear(blocks: Sequence[Block]) -> None:
    """Raise where there are blocks whose log-density is not linear in their cells."""
    if any(block.repeats for block in blocks):
        raise ValueError(
            "linear_form: with dependence between columns, or flags of missing cells, the scores "
            "are not a sum over columns. Fit with dependence=None and missing='omit'."
        )
    if blocks:
        names = [name for block in blocks for name in block.names]
        families = sorted({type(block.family).__name__ for block in blocks})
        raise ValueError(
            f"linear_form: the log-density of {list_names(names, to_text=repr)} "
            f"({', '.join(families)}) is not linear in what the columns hold. Numbers need one "
            "variance for all classes, Gaussian(shared=True), or MultivariateGaussian(shared=True) "
            "for a block; levels modelled jointly have no weights of their own: declare "
            "Categorical; or drop the columns."
        )


def refuse_missing_numbers(block: Block, numbers: Any) -> None:
    cells = sparse.coo_array(numbers)
    missing = np.isnan(cells.data)
    if missing.any():
        row, j = (places[missing][0] for places in cells.coords)
        raise ValueError(
            f"column {block.names[j]!r}: a cell is missing at row {row} ({missing.sum()} such "
            "cells in the block), which takes the column's part of b away too. Drop such rows, or "
            "use predict_proba, which leaves the cell out, exactly."
        )


# The summary


def describe_features(estimator: Any) -> list[dict[str, Any]]:
    """Return what is known of each feature, in the table's order."""
    fitted = estimator.fitted_.of_columns
    keys = fitted.schema.keys
    rejected = results.datasets.rejected(fitted.schema.choices)
    numbers = [measure_features(fitted, b) for b in range(len(fitted.schema.blocks))]
    tempers = np.broadcast_to(estimator.temper_, len(keys))
    temper_sds = np.broadcast_to(estimator.temper_sd_, len(keys))
    features = []
    for (key, b, f), temper, temper_sd in zip(keys, tempers, temper_sds, strict=True):
        block = fitted.schema.blocks[b]
        evidence, factor, missing = numbers[b][:, f]
        row = {
            "feature": name_feature(block, key),
            "family": type(block.family).__name__ + ", shared" * block.family.shared,
            "prior": block.family.describe(fitted.model.prior.blocks[b].column(f)),
            "log_evidence": evidence,
            "temper": temper,
            "temper_sd": temper_sd,
            "log_bayes_factor": factor,
            "inclusion": expit(factor),
            "missing": missing,
            "chosen_over": rejected.get(key, ""),
        }
        features.append(row)
    return features


def measure_features(fitted: Fitted, b: int) -> Array:
    """Return the log evidence, log Bayes factor and missing cells of a block's features, `(3, f)`.

    NaN where one is not known.
    """
    block = fitted.schema.blocks[b]
    prior = fitted.model.prior.blocks[b]
    stats: Any = fitted.model.stats.blocks[b]
    numbers = np.full((3, len(block.keys)), np.nan)
    with np.errstate(all="ignore"):
        evidence = prior.log_evidence(stats).sum(axis=0)
    numbers[0] = np.where(prior.strictly_proper.all(axis=0), evidence, np.nan)
    if fitted.model.integer_weights:
        with suppress(ValueError):  # of priors that cannot be compared
            check_comparable(prior, block.keys)
            numbers[1] = cautious(block.family, prior, stats)
    if stats.cells is not None and not block.family.words:
        rows = fitted.model.stats.classes.counts.sum()
        missing = rows - stats.cells.sum(axis=0).reshape(-1)
        numbers[2] = np.where(missing < 1e-9 * rows, 0.0, missing)  # no more than rounding
    return numbers


def name_feature(block: Block, key: Hashable) -> Hashable:
    """Return the name of a column, or of a block of columns."""
    is_block = block.family.multivariate and len(block.names) > 1
    return list_names(block.names, MAX_NAMES) if is_block else key


def describe_model(estimator: Any) -> tuple[str, ...]:
    """Return sentences about the whole model."""
    counts = estimator.model_.stats.classes.counts
    classes = [
        f"{shorten(label, MAX_LETTERS)} ({number(rows, 6)})"
        for label, rows in zip(estimator.classes_.tolist(), counts, strict=True)
    ]
    prior = estimator.class_prior_
    class_prior = "known probabilities, see class_prior_"
    if isinstance(prior, Dirichlet):
        class_prior = f"Dirichlet, each label as if seen {times(prior.concentration)} before"
    predictions = "posterior predictive"
    if estimator.estimate != "predictive":
        predictions = f"parameters plugged in, estimate={estimator.estimate!r}"
    links = estimator.schema_.links
    dependence = "columns, or blocks of them, are independent given the class"
    if links is not None:
        dependence = (
            f"{count(len(links.keys), 'link')} between columns, {int(links.in_forest.sum()):,} of "
            "them in the forest; see links_"
        )
    if estimator.schema_.covariance is not None:
        dependence += "; columns once more as one Gaussian, see covariance_"
    if estimator.schema_.missing is not None:
        flags = count(len(estimator.schema_.missing.places), "column")
        dependence += f"; missing cells of {flags} are evidence, see missing_"
    try:
        evidence = f"{fixed(estimator.log_evidence_, 1)} nats"
    except ValueError:
        evidence = "not defined, as a prior is improper"
    return (
        f"Rows: {number(counts.sum(), 6)}",
        f"Classes (rows): {list_names(classes, MAX_CLASSES)}",
        f"Class prior: {class_prior}",
        f"Predictions: {predictions}",
        f"Exponents (temper): {estimator.fitted_.of_columns.describe_temper()}",
        f"Dependence: {dependence}",
        f"Log evidence: {evidence}",
    )
