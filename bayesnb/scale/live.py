"""A model that learns while other threads predict with it.

Stats are immutable: a change makes new ones, then replaces the old ones in one assignment, so no
reader sees a partial change.
"""

import copy
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple, Self

from bayesnb import persistence
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.naive_bayes import describe_saved, opened


class Moment(NamedTuple):
    """A model, and its position in a stream of rows."""

    model: NaiveBayes
    at: Any


class Live:
    """Model that keeps learning while other threads predict with it.

    Parameters
    ----------
    model : NaiveBayes or a preset
        Fitted or not. A copy is stored.
    at : object, default=None
        Position in a stream of rows: None, or plain values such as a number, or offsets by
        partition.
    ready : callable or None, default=None
        A function that is called with a changed model before it replaces the old one. It can make
        typical predictions, so that derived tables, such as those of 50,000 words, are cached and
        no reader waits for them. Or it can raise to refuse the change.

    Attributes
    ----------
    model : NaiveBayes or a preset
        A copy of the current estimator, which never changes.
    at : object
        Position in the stream.
    now : tuple
        Both, read at the same moment.

    See Also
    --------
    NaiveBayes.partial_fit : Learn from more rows.
    NaiveBayes.decay : Down-weight old rows.

    Notes
    -----
    Any number of threads may read and change it. (A plain estimator can also be read by many
    threads, but not while it learns.) A change is made to a copy, and takes effect completely or,
    if it fails, not at all. Changes wait for each other; readers never wait. A ``model`` that was
    read does not change, so use one for several questions about a row.

    ``save`` writes the model and its position to one file, completely or not at all. After a crash,
    ``open`` the file and learn the rows after ``at``. No row is lost or learnt twice, as long as
    every change gives its position, and only one service at a time writes the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from bayesnb import GaussianNB, Live
    >>> labels = ["low", "high"]
    >>> batches = [([[1.0], [3.0]], labels), ([[1.2], [3.1]], labels), ([[9.0]], ["top"])]
    >>> live = Live(GaussianNB(classes=["low", "high"]), at=0)
    >>> for at, (X, y) in enumerate(batches[:2]):
    ...     live.learn(X, y, at=at + 1)
    >>> before, path = live.model, os.path.join(tempfile.mkdtemp(), "live.bnb")
    >>> live.save(path)

    After a restart:

    >>> live = Live.open(path)
    >>> for at, (X, y) in enumerate(batches[live.at :], live.at):
    ...     live.learn(X, y, grow_classes=True, at=at + 1)
    >>> live.at, live.model.classes_.tolist(), before.classes_.tolist()
    (3, ['high', 'low', 'top'], ['high', 'low'])
    """

    def __init__(
        self, model: Any, at: Any = None, *, ready: Callable[[Any], Any] | None = None
    ) -> None:
        check_estimator(model)
        self.ready = ready
        self._now = Moment(copy.copy(model), copy.deepcopy(at))
        self._turn, self._saving = Lock(), Lock()

    @classmethod
    def open(cls, path: Any, *, ready: Callable[[Any], Any] | None = None) -> Self:
        """Read a model and its position from a file.

        Parameters
        ----------
        path : str or os.PathLike
            A file written by ``Live.save``, or by an estimator's ``save``, where ``at`` is None.
        ready : callable or None, default=None
            As in the class.

        Returns
        -------
        Live
            The model.

        See Also
        --------
        save : Write the file.

        Examples
        --------
        >>> import os, tempfile
        >>> from bayesnb import GaussianNB, Live
        >>> path = os.path.join(tempfile.mkdtemp(), "live.bnb")
        >>> Live(GaussianNB().fit([[1.0], [3.0]], ["low", "high"]), at=2).save(path)
        >>> Live.open(path).at
        2
        """
        model, note = opened(path)
        return cls(model, note.get("at") if isinstance(note, dict) else None, ready=ready)

    @property
    def now(self) -> Moment:
        """The model and its position, consistently."""
        model, at = self._now
        return Moment(copy.copy(model), copy.deepcopy(at))

    @property
    def model(self) -> NaiveBayes:
        """A copy of the current model, which never changes."""
        return self.now.model

    @property
    def at(self) -> Any:
        """The position in the stream."""
        return self.now.at

    def learn(self, X: Any, y: Any, *, at: Any = None, **how: Any) -> None:
        """Learn from more rows.

        Parameters
        ----------
        X : table of rows
            As in ``partial_fit``.
        y : sequence of labels
            One for each row.
        at : object, default=None
            Position in the stream after this change. None: unchanged.
        **how
            Further arguments of ``partial_fit``.

        See Also
        --------
        update : Any other change.

        Examples
        --------
        >>> from bayesnb import GaussianNB, Live
        >>> live = Live(GaussianNB(classes=["low", "high"]))
        >>> live.learn([[1.0], [3.0]], ["low", "high"], at=2)
        >>> live.at, live.model.class_count_.tolist()
        (2, [1.0, 1.0])
        """
        self.update(lambda model: model.partial_fit(X, y, **how), at)

    def update(self, change: Callable[[Any], Any], at: Any = None) -> None:
        """Change the model.

        Parameters
        ----------
        change : callable
            A function that gets a copy of the model and returns the new model. Steps that belong
            together must be one change, for example ``lambda model:
            model.decay(0.99).partial_fit(X, y)``.
        at : object, default=None
            Position in the stream after this change. None: unchanged.

        See Also
        --------
        learn : Learn from more rows.

        Examples
        --------
        >>> from bayesnb import GaussianNB, Live
        >>> live = Live(GaussianNB().fit([[1.0], [3.0]], ["low", "high"]))
        >>> live.update(lambda model: model.decay(0.5).partial_fit([[1.2]], ["low"]))
        >>> live.model.class_count_.tolist()  # classes: high, low
        [0.5, 1.5]
        """
        with self._turn:
            before = self._now
            model = change(copy.copy(before.model))
            check_estimator(model, "the function that changes a model must return it: ")
            if self.ready is not None:
                self.ready(model)
            self._now = Moment(model, before.at if at is None else copy.deepcopy(at))

    def save(self, path: Any) -> None:
        """Write the model and its position to a file, replacing an existing one.

        Readers and changes continue meanwhile.

        Parameters
        ----------
        path : str or os.PathLike
            Name of the file, which is replaced completely or not at all.

        See Also
        --------
        open : Read it again.

        Examples
        --------
        >>> import os, tempfile
        >>> from bayesnb import GaussianNB, Live
        >>> path = os.path.join(tempfile.mkdtemp(), "live.bnb")
        >>> Live(GaussianNB().fit([[1.0], [3.0]], ["low", "high"]), at=2).save(path)
        >>> Live.open(path).at
        2
        """
        with self._saving:  # else an older state might replace a newer one
            model, at = self._now
            persistence.write(describe_saved(model, {"at": at}), path)
