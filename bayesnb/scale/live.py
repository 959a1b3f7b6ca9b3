"""A model that learns while it answers.

One thread changes it, others read it, and no reader sees half a change.

Stats are values: a change makes new ones beside the old, however many rows those were of, and then
takes their place in one assignment.
"""

import copy
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple, Self

from bayesnb import persistence
from bayesnb.estimators import NaiveBayes, check_estimator
from bayesnb.estimators.naive_bayes import describe_saved, opened


class Moment(NamedTuple):
    """A model, and how far in its stream it has read."""

    model: NaiveBayes
    at: Any


class Live:
    """Model that goes on learning while other threads ask it.

    Parameters
    ----------
    model : NaiveBayes or a preset
        Fitted or not. A copy of it is held.
    at : object, default=None
        How far in a stream of rows it has read: None, or plain values such as a number, or offsets
        by partition.
    ready : callable or None, default=None
        A function of a changed model, called before that takes the old one's place. It may ask what
        readers will ask: what a model derives to answer at all, such as tables of 50,000 words, is
        then there, and no reader waits for it. Or it may raise, on a check, and so refuse the
        change.

    Attributes
    ----------
    model : NaiveBayes or a preset
        The estimator as it is now, a copy that never changes: ask it as often as an answer needs.
    at : object
        How far in the stream it has read.
    now : tuple
        Both, at the same moment.

    See Also
    --------
    NaiveBayes.partial_fit : Learn from more rows.
    NaiveBayes.decay : Let old rows count less.

    Notes
    -----
    Any number of threads may read and change it. (An estimator itself may be asked by many, but not
    while it learns.) A change is made to a copy, and is there as a whole or, where it fails, not at
    all. Changes wait for each other; readers wait for nobody. A model that was taken stays what it
    was, so several questions about one row are best asked of one ``model``.

    ``save`` writes the model and its position into one file, as a whole or not at all. A service
    that is killed goes on from there: ``open`` the file, and learn what comes after ``at``. So no
    row is lost, and none is learnt twice, as long as every change says the position after it, and
    one service at a time writes the file.

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

    It is killed, and starts again:

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
        """Read a model from a file, and how far it had read.

        Parameters
        ----------
        path : str or os.PathLike
            A file that ``Live.save`` or an estimator's ``save`` wrote; in the latter, ``at`` is
            None.
        ready : callable or None, default=None
            As in the class.

        Returns
        -------
        Live
            The model, which goes on learning.

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
        """The model, and how far it has read, at one moment."""
        model, at = self._now
        return Moment(copy.copy(model), copy.deepcopy(at))

    @property
    def model(self) -> NaiveBayes:
        """The model as it is now, a copy that never changes."""
        return self.now.model

    @property
    def at(self) -> Any:
        """How far in the stream the model has read."""
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
            How far in the stream the model has then read. None: as far as before.
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
            A function of a copy of the model, which returns what is to take its place. Only what
            belongs together is done in one change: where old rows are to count less with every new
            batch, ``lambda model: model.decay(0.99).partial_fit(X, y)``.
        at : object, default=None
            How far in the stream the model has then read. None: as far as before.

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
            check_estimator(model, "the function that changes a model has to return it: ")
            if self.ready is not None:
                self.ready(model)
            self._now = Moment(model, before.at if at is None else copy.deepcopy(at))

    def save(self, path: Any) -> None:
        """Write the model, and how far it has read, to a file, in place of what is there.

        Readers and changes go on meanwhile.

        Parameters
        ----------
        path : str or os.PathLike
            Name of the file, which is replaced as a whole or not at all.

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
        with self._saving:  # else an older moment might replace a newer one
            model, at = self._now
            persistence.write(describe_saved(model, {"at": at}), path)
