"""The fitted model by column name: beliefs, evidence, explanations, linear scores."""

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

MAX_CLASSES, MAX_NAMES = 12, 8  # listed at most; names of a block
MAX_LETTERS = 40  # of a class name


class InspectionMixin(ModelHolder):
    """The fitted state by the names of columns and classes, and explanations of rows."""

    @property
    def prior_(self) -> dict[Hashable, Belief]:
        """Prior beliefs by column; the class is the first axis."""
        return self._name_columns(self.model_.prior)

    @property
    def posterior_(self) -> dict[Hashable, Belief]:
        """Posterior beliefs by column; the class is the first axis.

        Links have pairs of columns as keys.
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
        """Statistics of the training rows."""
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

        `elpd` is the exact leave-one-out log score of the label, predicted by that feature alone;
        NaN for a family that was not a candidate or does not support the cells. `chosen`, by
        feature, is the candidate that was chosen, and `chosen_over` lists the others, best first,
        with their score differences to it. Features whose family was declared, or follows from
        their values, are not included. It is displayed as a table, and its `to_frame` has a row for
        each feature.
        """
        check_is_fitted(self)
        return results.datasets.choices(self.schema_.choices)

    @property
    def log_evidence_(self) -> float:
        """Log evidence, log p(X, y | prior).

        The terms of histogram columns are relative to the distribution of all rows.
        """
        labels, blocks = self._evidence()
        return labels + float(sum(block.sum() for block in blocks))

    def log_evidence_by_feature(self) -> dict[Hashable, float]:
        """Return the terms of `log_evidence_` by column; the remainder is that of the labels.

        Returns
        -------
        dict
            Column, or tuple of columns that are modelled jointly, -> log evidence given the labels.

        See Also
        --------
        NaiveBayes.summary : The same terms, with each column's family and prior.

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

        It is displayed as a table, and its `to_frame` has a row for each link.

        `first` and `second`, the parent and the child; `log_bayes_factor`, in nats, against
        independence of the two given the class, on the rows used to select links, whatever prior is
        declared; `temper` and `temper_sd`, the exponent on the link's evidence and its sd;
        `in_forest`, whether it belongs to the spanning forest, which is a joint distribution of the
        columns, or is one of the further links.
        """
        check_is_fitted(self)
        if self._dependence_rule is None:
            raise AttributeError(
                "this model has no links, because dependence is None. Fit with dependence='forest'."
            )
        return results.datasets.links(self.schema_.links, *self.fitted_.of_block(Linked))

    @property
    def missing_(self) -> "results.Result | None":
        """Columns whose missing cells are evidence, a Dataset by `feature`; None without.

        `gain`, the gain in the label's exact leave-one-out score from this flag alone, in nats;
        `temper` and `temper_sd`, the flag's exponent and its sd.
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
        """Columns that are also modelled as one Gaussian, a Dataset by `feature`; None without.

        Numbers enter as they are, levels as indicators. `bent`, whether a column has a long tail
        and is transformed to a scale that is logarithmic there. For all columns together:
        `products`, whether products of indicators of two columns are included; `dof`, the degrees
        of freedom of the prior of a class's covariance: with many, all classes share one; `gain`,
        the gain in the labels' exact leave-one-out score, in nats; `temper` and `temper_sd`, its
        exponent and sd.
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
        """Raise an AttributeError that says what to use: importances need rows.

        The importance of a column is computed from held-out rows, by `bayesnb.importance`. The
        scores from which `fit` estimated exponents cannot be used: exponents maximise them.
        """
        raise AttributeError(
            "feature_importances_: a model keeps no rows, and importances are computed from "
            "held-out rows: bayesnb.importance(model, X, y). For SelectFromModel, use "
            "importance_getter=lambda model: bayesnb.relevance(model).inclusion.values."
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
            `missing`, the number of missing cells in training; `chosen_over`, the families that
            were rejected, with their score differences to the chosen one. A block of words is one
            feature.

        See Also
        --------
        bayesnb.relevance : The Bayes factors, also for each word.
        NaiveBayes.loo : How well the model predicts held-out rows.
        bayesnb.report.report : A page with all of this, scores and plots.

        Notes
        -----
        Nothing is predicted or scored, so this is fast and needs no rows: a model that was loaded
        from a file has a summary too.

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
        """Return the contribution of every feature of every row to the score of each class.

        The score of a class is log G + sum over features of t * log p(x | theta), where t is the
        exponent in `temper_`, and the class probabilities are the Gamma variates G divided by their
        sum: a softmax of the scores is p(y | x, theta). The score depends on the parameters, so it
        has a posterior mean and a standard deviation.

        Parameters
        ----------
        X : table of rows
            The rows to explain.

        Returns
        -------
        xarray.Dataset
            It is displayed as a table, and its `to_frame` has a row for each (obs_id, class,
            feature), including the class term, so that rows add up to the scores. By (obs_id,
            class, feature): `evidence` and `sd`, posterior mean and standard deviation of the
            contribution; `predictive`, the log predictive of the cell, log E[p(x | theta)**t]. By
            class: `class_term`, `class_term_sd`, `predictive_class_term`, the same for log G.
            By (obs_id, class): `score`, the sum of `class_term` and `evidence`, and `score_sd`. By
            (obs_id, feature): `cell`, the content of the cell, as text. By feature: `temper` and
            `temper_sd`, the exponent t and its sd; and, if exponents decrease with the length of a
            text, `temper_length`, as in `temper_length_`, infinite for other features.

        See Also
        --------
        plot_waterfall : One row as steps from the class frequencies to the prediction.
        NaiveBayes.linear_form : Weights that apply to all rows.

        Notes
        -----
        `predictive` and `predictive_class_term` add up to `predict_joint_log_proba` under
        estimate="predictive", so the difference between two classes is a log predictive ratio.
        Only differences between classes matter: terms equal in all classes cancel. A missing cell
        contributes exactly 0, and a class of probability 0 has a `class_term` of minus infinity and
        no other terms.

        A block of counts is explained word by word, for each word that occurs in some row: x_j *
        E[log theta_j], and a part, proportional to x_j, of the terms of the whole row: the
        multinomial coefficient (the same for every class) and, for `predictive`, the total of the
        Dirichlet. Each `sd` is that of the word's own probability. Words share one Dirichlet, so
        they are negatively correlated: the squares of their sds add up to more than that of
        `score_sd`, which is exact.

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
        predictor(self.fitted_)  # an error if the posterior is improper
        terms = explain(self.model_.posterior, cells, self.fitted_.exponents)
        return results.explanations.explained(
            terms, table.index, self.classes_, self.schema_.blocks, cells, self.fitted_.tempers
        )

    def linear_form(self, *, against: Any = None) -> "results.Result":
        """Return the classes' scores as linear functions: weights w, offsets b, and their sds.

        With parameters plugged in, log p(x, c | theta) is w_c . x + b_c, up to a term that is equal
        in all classes. The predicted class has the largest score, a softmax of the scores is
        p(y | x, theta), and the boundary between classes j and k is (w_j - w_k) . x + (b_j - b_k) =
        0. `linear_features` returns x for given rows. Parameters are plugged in by the `estimate`
        of the model: at their posterior means if it is "predictive", which plugs in none.

        Parameters
        ----------
        against : label, optional
            Return differences from this class: w_c - w_k and b_c - b_k. With two classes, those of
            the other class are the w and b of a logistic regression.

        Returns
        -------
        xarray.Dataset
            `w` and `w_sd` (class, feature), `b` and `b_sd` (class). A feature is a column, or
            `column=level` for every level of a column that has levels; the coordinates `column` and
            `level` hold these separately. A class of probability 0 has a `b` of minus infinity, and
            no other terms.

        See Also
        --------
        NaiveBayes.linear_features : The numbers of a row that the weights multiply.
        plot_boundary : The boundary over two columns.

        Notes
        -----
        The weights of `Bernoulli` columns are logit theta, those of words and levels log theta,
        those of `Poisson` columns log rate; b includes the log of the class's probability and the
        contribution of a row of zeros: log(1 - theta), or minus the rate. If all classes share
        their variances, w is the mean divided by the variance, and b includes -mean**2 / (2
        variance). `temper_` multiplies all terms but the class term. If it decreases with the
        length of a text, n words, the weights multiply the counts divided by 1 + n /
        `temper_length_`.

        The sds are exact, in closed form. They are posterior sds of the weights as functions of the
        parameters, whichever estimate is plugged in; the posterior mean is in general not `w`, as E
        log theta is not log E theta. Weights of levels of one column, or of words, are not
        independent, nor are w and b: their sds do not add up to that of a score, which `explain`
        computes.

        If columns are far from zero, scores are large and their differences lose digits; `against`
        computes them accurately. With smoothing 0, a probability may be 0 or 1. Its weight would be
        infinite, and 0 times infinity is NaN, so this raises an error.

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
                f"no finite weight ({infinite.sum()} such weights). Use estimate='mean', or more "
                "smoothing."
            )
        if place is not None:
            if not density.live[place]:
                raise ValueError(
                    f"against: class {against!r} has probability 0, so log-odds against it are "
                    "infinite."
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
            Numbers and counts are unchanged; yes, or a number above a `Bernoulli`'s threshold, is
            1, and no is 0; levels are one-hot encoded; counts of words are divided by 1 + n /
            `temper_length_` if the model has that. `x @ form.w.values.T + form.b.values` are the
            scores of the classes, `(row, class)`.

        See Also
        --------
        NaiveBayes.linear_form : The weights.

        Notes
        -----
        A missing cell in a column of levels, or a level that did not occur in training, is encoded
        as all zeros, which leaves the column out exactly. If a cell of another column is missing,
        the row needs a different b, without that column's term, so it raises an error;
        `predict_proba` accepts such rows.

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
        """The plug-in estimate that is closest to the model's predictions."""
        return "mean" if self.estimate == "predictive" else self.estimate

    def _linear(self) -> Joint:
        """Return the parameters plugged in; raise if the scores are not linear."""
        density = predictor(self.fitted_, self._plugged)
        pairs = zip(self.schema_.blocks, self.model_.posterior.blocks, strict=True)
        refuse_nonlinear([block for block, belief in pairs if not belief.is_linear])
        return density

    def to_sql(self, table: str = "t", key: str | Sequence[str] = ()) -> str:
        """Write a SELECT that computes the class probabilities in a database.

        Parameters
        ----------
        table : str, default "t"
            The name of the table, which must have the columns seen in `fit`.
        key : str or sequence of str, default ()
            Columns to include in the result, such as an identifier.

        Returns
        -------
        str
            One statement in standard SQL, except for the keyword ``MATERIALIZED``, with a column
            ``p_<label>`` for each class.

        Raises
        ------
        ValueError
            For models that such a SELECT cannot compute: texts, columns modelled jointly by a
            covariance, ``unseen="error"``, ``estimate`` other than ``"predictive"``, levels that
            are dates, and models with too many parameters; and if a key has the name of a
            probability. The message says what to do.

        See Also
        --------
        NaiveBayes.predict_proba : The same probabilities.

        Notes
        -----
        The statement needs the functions ``abs``, ``ln`` and ``exp`` and the keyword
        ``MATERIALIZED``, which SQLite has since 3.35. A missing cell is NULL, and is left out; so
        is a level that did not occur in training, unless one is reserved for it. Levels are
        compared by ``=``: text with text, numbers with numbers, flags with ``TRUE`` and ``FALSE``.
        Unlike `predict_proba`, the statement does not check cells: a count must not be negative.

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
                "to_sql: the SELECT computes the posterior predictive, and this model has "
                f"estimate={self.estimate!r}. Set estimate='predictive'."
            )
        return write_select(self.fitted_, table, [key] if isinstance(key, str) else key)

    def _html_repr(self) -> str:
        """Return scikit-learn's display, followed by the summary of a fitted model."""
        learnt = self.summary()._repr_html_() if hasattr(self, "model_") else ""
        return super()._html_repr() + learnt  # type: ignore[misc]  # BaseEstimator's


def refuse_nonlinear(blocks: Sequence[Block]) -> None:
    """Raise if the log density of any block is not linear in its cells."""
    if any(block.repeats for block in blocks):
        raise ValueError(
            "linear_form: with dependence between columns, or flags of missing cells, the scores "
            "are not a sum over columns. Fit with dependence=None and missing='omit'."
        )
    if blocks:
        names = [name for block in blocks for name in block.names]
        families = sorted({type(block.family).__name__ for block in blocks})
        raise ValueError(
            f"linear_form: the log density of {list_names(names, to_text=repr)} "
            f"({', '.join(families)}) is not linear in the cells. Numbers need one variance for "
            "all classes, Gaussian(shared=True), or MultivariateGaussian(shared=True) for a block; "
            "levels modelled jointly have no separate weights: declare Categorical; or drop the "
            "columns."
        )


def refuse_missing_numbers(block: Block, numbers: Any) -> None:
    cells = sparse.coo_array(numbers)
    missing = np.isnan(cells.data)
    if missing.any():
        row, j = (places[missing][0] for places in cells.coords)
        raise ValueError(
            f"column {block.names[j]!r}: a cell is missing at row {row} ({missing.sum()} such "
            "cells in the block), so b would have to omit the column's term. Drop such rows, or "
            "use predict_proba, which leaves the cell out exactly."
        )


# The summary


def describe_features(estimator: Any) -> list[dict[str, Any]]:
    """Return the summary of each feature, in the table's order."""
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

    NaN where a number is not defined.
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
        numbers[2] = np.where(missing < 1e-9 * rows, 0.0, missing)  # only rounding errors
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
        class_prior = f"Dirichlet, as if each label had been seen {times(prior.concentration)}"
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
        dependence += "; columns are also modelled as one Gaussian, see covariance_"
    if estimator.schema_.missing is not None:
        flags = count(len(estimator.schema_.missing.places), "column")
        dependence += f"; missing cells of {flags} are evidence, see missing_"
    try:
        evidence = f"{fixed(estimator.log_evidence_, 1)} nats"
    except ValueError:
        evidence = "undefined, because a prior is improper"
    return (
        f"Rows: {number(counts.sum(), 6)}",
        f"Classes (rows): {list_names(classes, MAX_CLASSES)}",
        f"Class prior: {class_prior}",
        f"Predictions: {predictions}",
        f"Exponents (temper): {estimator.fitted_.of_columns.describe_temper()}",
        f"Dependence: {dependence}",
        f"Log evidence: {evidence}",
    )
