"""Fitted estimators are read from files."""

from typing import Any

from bayesnb import estimators, persistence
from bayesnb.estimators import NaiveBayes


def load(path: Any) -> NaiveBayes:
    """Read a fitted estimator from a file that ``save`` wrote.

    Parameters
    ----------
    path : str or os.PathLike
        Name of the file.

    Returns
    -------
    NaiveBayes or a preset
        It predicts, explains, draws and goes on learning as the estimator that was saved.

    Raises
    ------
    ValueError
        For a file that is damaged, was changed, is not a bayesnb model file, or has a newer format.
        The message says which.

    See Also
    --------
    NaiveBayes.save : Write the file.
    Live.open : Read a model that learns while it answers.

    Notes
    -----
    Files from strangers are safe to open: no code in a file is run, and its contents take some
    hundred megabytes more than a few dozen times its length at most. The model in it may still be
    wrong on purpose; the file does not say who made it.

    Examples
    --------
    >>> import os, tempfile
    >>> from bayesnb import GaussianNB, load
    >>> model = GaussianNB().fit([[1.0], [1.2], [3.0], [3.1]], ["low", "low", "high", "high"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.bnb")
    >>> model.save(path)
    >>> load(path).predict([[1.1]]).tolist()
    ['low']
    """
    return opened(path)[0]


def opened(path: Any) -> tuple[NaiveBayes, Any]:
    """Return a fitted estimator from its file, and the note beside it."""
    saved = persistence.read(path)
    with persistence.reading_errors(path):
        if saved.estimator not in estimators.__all__:
            raise ValueError(f"there is no estimator {saved.estimator!r:.50}")
        return getattr(estimators, saved.estimator)._restored(saved), saved.note
