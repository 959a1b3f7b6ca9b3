"""A model that learns while it answers: no reader sees half a change, no kill loses a row."""

import copy
import json
import multiprocessing
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from bayesnb import GaussianNB, Live, MultinomialNB, NaiveBayes, load
from tests.service import Service, batches, consuming

pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning")
RNG = np.random.default_rng(3)
Y = np.arange(30) % 3
X = np.round(RNG.normal(Y[:, None], 1.0, (30, 2)))
KEEP = 0.97


@pytest.fixture(autouse=True)
def threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run_at_once(*works: Callable[[], Any]) -> None:
    """Each on a thread of its own, all starting together; the first error is raised."""
    barrier = Barrier(len(works))
    errors = []

    def run(work: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def batch(number: int, rows: int = 5) -> tuple[pd.DataFrame, list[str]]:
    """Rows of a stream in which levels and classes appear that were not there before."""
    rng = np.random.default_rng(number)
    colours = [f"c{k}" for k in range(2 + number // 4)]
    frame = pd.DataFrame({"size": rng.normal(number, 3.0, rows)})
    frame["colour"] = rng.choice(colours, rows)
    frame["rate"] = rng.random(rows)
    return frame, [f"k{k}" for k in rng.integers(0, 2 + number // 10, rows)]


def write_stream(folder: Path, lines: int = 40) -> Path:
    path = folder / "stream.jsonl"
    with path.open("w") as file:
        for number in range(lines):
            frame, labels = batch(number)
            file.write(json.dumps({"rows": frame.to_dict("records"), "labels": labels}) + "\n")
    return path


def learn_alone(path: Path) -> Any:
    """The stream's model, by a loop without any of this."""
    model = NaiveBayes({"rate": None, "size": "gaussian"}, class_prior=0.5)
    for number, (rows, labels, _) in enumerate(batches(path, 0)):
        if number:
            model.decay(KEEP)
        model.partial_fit(rows, labels, grow_classes=True)
    return model


def assert_same(one: Any, two: Any, x: Any = X) -> None:
    assert_array_equal(one.classes_, two.classes_)
    assert_array_equal(one.predict_joint_log_proba(x), two.predict_joint_log_proba(x))
    assert one.log_evidence_ == two.log_evidence_


# Many threads


def test_no_answer_is_of_half_a_change() -> None:
    """Every answer is, to the last bit, that of a model that learnt a beginning of the stream."""
    questions = pd.concat([batch(number)[0].head(1) for number in (0, 9, 20)])
    live = Live(NaiveBayes({"size": "gaussian", "rate": None}), at=0)
    done = Event()
    seen = []
    live.learn(*batch(0), grow_classes=True, at=1)

    def write() -> None:
        try:
            for number in range(1, 24):
                live.learn(*batch(number), grow_classes=True, at=number + 1)
                heard = len(seen)
                while len(seen) < heard + 2:
                    time.sleep(0)
        finally:
            done.set()

    def ask() -> None:
        while not done.is_set():
            model, at = live.now
            seen.append((at, model.predict_proba(questions)))

    run_at_once(write, ask, ask, ask)
    model = NaiveBayes({"size": "gaussian", "rate": None})
    expected = {}
    for number in range(24):
        model.partial_fit(*batch(number), grow_classes=True)
        expected[number + 1] = model.predict_proba(questions)
    for at, answer in seen:
        assert_array_equal(answer, expected[at])
    assert len({at for at, _ in seen}) > 8


def test_changes_of_several_threads_are_all_there() -> None:
    counts = np.random.default_rng(1).integers(0, 9, (4, 20, 3, 5))
    live = Live(MultinomialNB(classes=[0, 1, 2]))

    def write(parts: np.ndarray) -> None:
        for rows in parts:
            live.learn(rows, [0, 1, 2])

    run_at_once(*(lambda parts=parts: write(parts) for parts in counts))
    table = counts.reshape(-1, 5)
    expected = MultinomialNB().fit(table, np.tile([0, 1, 2], 80))
    assert_array_equal(live.model.predict_proba(table), expected.predict_proba(table))


def test_nobody_waits_for_a_change() -> None:
    live = Live(GaussianNB().fit(X, Y), at=1)
    begun = Event()
    go_on = Event()

    def wait(model: Any) -> Any:
        begun.set()
        assert go_on.wait(20)
        return model.partial_fit(X, Y)

    writer = Thread(target=live.update, args=(wait, 2), daemon=True)
    writer.start()
    assert begun.wait(20)
    assert live.at == 1
    assert_same(live.model, GaussianNB().fit(X, Y))
    go_on.set()
    writer.join()
    assert live.at == 2
    assert_same(live.model, GaussianNB().fit(X, Y).partial_fit(X, Y))


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "probabilities": lambda model: model.predict_proba(X),
    "interval": lambda model: model.predict_interval(X[:3], 0.9).to_dataarray(),
    "uncertainty": lambda model: model.uncertainty(X[:3])["epistemic"],
    "explanation": lambda model: model.explain(X)["evidence"],
    "leave-one-out": lambda model: model.loo(X, Y).elpd_i,
    "sample": lambda model: model.sample(4, rng=1)[1],
}


@pytest.mark.parametrize(
    "model",
    [GaussianNB(), NaiveBayes("histogram", temper="loo"), NaiveBayes("categorical")],
    ids=str,
)
def test_what_is_derived_by_several_threads_at_once_is_what_one_derives(model: Any) -> None:
    """Of a model that nobody asked before; meanwhile it is copied and pickled."""
    cold = model.fit(X, Y)
    alone = copy.deepcopy(cold)
    expected = {name: np.asarray(ask(alone)) for name, ask in QUESTIONS.items()}

    def ask_from(first: int) -> None:
        names = list(QUESTIONS)
        for name in names[first:] + names[:first]:
            assert_array_equal(np.asarray(QUESTIONS[name](cold)), expected[name])

    def send() -> None:
        for _ in range(3):
            assert_same(pickle.loads(pickle.dumps(cold)), alone)
            assert_same(copy.deepcopy(cold), alone)

    run_at_once(lambda: ask_from(0), lambda: ask_from(0), lambda: ask_from(3), send)


# One object


def test_a_change_that_fails_changes_nothing() -> None:
    live = Live(GaussianNB().fit(X, Y), at={"part": 1})

    def fail_half_way(model: Any) -> Any:
        model.partial_fit(X, Y)
        raise RuntimeError("the other half")

    with pytest.raises(ValueError, match="not among the classes"):
        live.learn(X, Y + 1, at={"part": 2})
    with pytest.raises(RuntimeError, match="the other half"):
        live.update(fail_half_way, at={"part": 2})
    with pytest.raises(TypeError, match="the function that changes a model must return it"):
        live.update(lambda model: None, at={"part": 2})
    assert_same(live.model, GaussianNB().fit(X, Y))
    assert live.at == {"part": 1}
    live.learn(X, Y, at={"part": 2})  # the turn was given back
    assert live.at == {"part": 2}


def test_a_model_is_made_ready_before_anybody_sees_it_or_is_refused() -> None:
    asked = []

    def ready(model: Any) -> None:
        asked.append(live.at)
        if model.predict([[9.0, 9.0]])[0] == 0:
            raise ValueError("nine is no zero")

    live = Live(GaussianNB().fit(X, Y), at=1, ready=ready)
    live.learn(X, Y, at=2)
    with pytest.raises(ValueError, match="nine is no zero"):
        live.learn(np.full((500, 2), 9.0), [0] * 500, at=3)
    assert asked == [1, 2]
    assert live.at == 2


def test_what_is_done_to_a_model_that_was_given_or_taken_does_not_reach_it() -> None:
    given = GaussianNB().fit(X, Y)
    at = {0: 17}
    live = Live(given, at)
    given.partial_fit(X, Y)
    live.model.set_params(estimate="mle").fit(X[:6], Y[:6])
    at[0] = 18
    live.at[0] = 19
    assert_same(live.model, GaussianNB().fit(X, Y))
    assert live.now.at == {0: 17}


# Files


@pytest.mark.parametrize("at", [0, -1, 2**63, "2026-11-22", {"topic": {0: 17}}, ("a", 1.5, None)])
def test_a_position_of_any_kind_is_saved_with_the_model(at: Any, tmp_path: Path) -> None:
    live = Live(GaussianNB().fit(X, Y), at)
    path = tmp_path / "live.bnb"
    live.save(path)
    again = Live.open(path)
    assert again.at == at
    assert type(again.at) is type(at)
    assert_same(again.model, live.model)
    assert_same(load(path), live.model)


def test_what_cannot_be_saved_or_held_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "live.bnb"
    model = GaussianNB().fit(X, Y)
    Live(model, 1).save(path)
    with pytest.raises(ValueError, match=r"note\['at'\]: Timestamp.* cannot be saved"):
        Live(model, pd.Timestamp("2026-11-22")).save(path)
    with pytest.raises(NotFittedError):
        Live(GaussianNB()).save(path)
    with pytest.raises(TypeError, match="expected an estimator of bayesnb"):
        Live("model.bnb")
    assert Live.open(path).at == 1
    model.save(path)
    assert Live.open(path).at is None


def test_every_file_that_is_written_while_it_learns_is_of_one_moment(tmp_path: Path) -> None:
    live = Live(GaussianNB(), at=0)
    path = tmp_path / "live.bnb"
    done = Event()
    found = []
    live.learn(X[:1], Y[:1], grow_classes=True, at=1)
    live.save(path)

    def write() -> None:
        for number in range(1, 20_000):
            live.learn(X[:1], [number % 7], grow_classes=True, at=number + 1)
            if number >= 100 and len({at for at, *_ in found}) > 3:  # readers may come late
                break
        done.set()

    def save() -> None:
        while not done.is_set():
            live.save(path)

    def read() -> None:
        while not done.is_set():
            again = Live.open(path)
            rows = again.model.class_posterior_.concentration.sum() - len(again.model.classes_)
            found.append((again.at, rows, len(again.model.classes_)))

    run_at_once(write, save, save, read)
    assert all(rows == at and classes == min(at, 7) for at, rows, classes in found)
    places = [at for at, *_ in found]
    assert places == sorted(places)  # an older moment never replaces a newer one
    assert len(set(places)) > 3


# The service


@pytest.fixture(scope="module")
def forks() -> Any:
    """Processes that need not import anything: they leave one that has."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.service", "numba"])
    return context


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 3])
def test_a_service_that_is_killed_again_and_again_learns_every_row_once(
    every: int, tmp_path: Path, forks: Any
) -> None:
    path = write_stream(tmp_path)
    model = tmp_path / "model.bnb"
    rng = np.random.default_rng(every)
    known = [0]
    for kill in (True, True, True, False):
        heard, sent = forks.Pipe(duplex=False)
        how = {"every": every, "keep": KEEP}
        child = forks.Process(target=consuming, args=(path, model, sent), kwargs=how, daemon=True)
        child.start()
        sent.close()
        if kill:
            for _ in range(int(rng.integers(2, 10))):
                assert heard.recv() > known[-1]
            time.sleep(rng.random() * 0.01)
            child.kill()
        child.join(120)
        assert child.exitcode == (-9 if kill else 0)
        known.append(Live.open(model).at if model.exists() else 0)
    assert known[-1] == path.stat().st_size
    assert len(set(known)) > 2  # it was killed at several places, and went on from there
    assert_same(load(model), learn_alone(path), batch(30)[0])


def test_a_service_answers_while_it_learns(tmp_path: Path) -> None:
    path = write_stream(tmp_path)
    given = []
    service = Service.started(path, tmp_path / "model.bnb", every=7, keep=KEEP)
    rows, labels, first = next(batches(path, 0))
    service.live.update(lambda model: service.learn(model, rows, labels), at=first)

    def ask() -> None:
        while not service.over.is_set():
            given.append(service.answer(rows.head(2)))

    run_at_once(service.consume, ask)
    assert_same(service.live.model, learn_alone(path), rows)
    assert Live.open(tmp_path / "model.bnb").at == path.stat().st_size
    assert {at for at, _ in given} <= {end for _, _, end in batches(path, 0)}
    for _, found in given:
        assert_allclose(found.probability.sum("class"), 1, rtol=1e-9)


def test_a_batch_that_is_not_written_to_its_end_is_read_later(tmp_path: Path) -> None:
    path = write_stream(tmp_path, 4)
    whole = path.read_bytes()
    for text in (whole[:-9], whole):
        path.write_bytes(text)
        service = Service.started(path, tmp_path / "model.bnb", keep=KEEP)
        service.consume()
        assert service.live.at == text.rindex(b"\n") + 1
    assert_same(service.live.model, learn_alone(path), batch(3)[0])
