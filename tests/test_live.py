"""A model that learns while it answers: no reader sees half a change, and no kill loses a row or learns one twice."""

import copy
import json
import multiprocessing
import pickle
import subprocess
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bayesnb import GaussianNB, Live, MultinomialNB, NaiveBayes, load, persistence
from bayesnb.scale import shard
from tests.service import Service, batches, consuming
from tests.test_storage import DATA, MODELS, REAL, Fitted, Y, alike, golden, same_state

pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.UnseenLevelWarning", "ignore::bayesnb.DrawnWarning")
LINES, ROWS, CHANGES = 40, 5, 24
FEW = ("a mixed frame", "codes", "words", "the law's gaussian", "a threshold", "reserved levels")


@pytest.fixture(autouse=True)
def threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(*works: Callable[[], Any]) -> None:
    """Each on a thread of its own, all starting together; the first error is raised."""
    barrier, errors = Barrier(len(works)), []

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


def batch(number: int, rows: int = ROWS) -> tuple[pd.DataFrame, list[str]]:
    """Rows of a stream in which levels and classes appear that were not there before."""
    rng = np.random.default_rng(number)
    frame = pd.DataFrame(
        {
            "size": rng.normal(number, 3.0, rows),
            "colour": rng.choice([f"c{k}" for k in range(2 + number // 4)], rows),
            "seen": rng.random(rows) < 0.3,
            "rate": rng.random(rows),
        }
    )
    return frame, [f"k{k}" for k in rng.integers(0, 2 + number // 10, rows)]


def stream(folder: Path, lines: int = LINES, rows: int = ROWS) -> Path:
    path = folder / "stream.jsonl"
    with path.open("w") as file:
        for number in range(lines):
            frame, labels = batch(number, rows)
            file.write(json.dumps({"rows": frame.to_dict("records"), "labels": labels}) + "\n")
    return path


# ---- one object, many threads


@pytest.mark.slow
def test_no_answer_is_of_half_a_change() -> None:
    """Every answer is, to the last bit, that of a model that learnt some beginning of the stream, one by one."""
    questions = pd.concat([batch(number)[0].head(1) for number in (0, 9, 20)], ignore_index=True)
    live, given, done, seen = Live(NaiveBayes(), at=0), [], Event(), []
    live.learn(*batch(0), grow_classes=True, at=1)

    def write() -> None:
        try:
            for number in range(1, CHANGES):
                live.learn(*batch(number), grow_classes=True, at=number + 1)
                heard = len(given)
                while len(given) < heard + 2:
                    time.sleep(0)
        finally:
            done.set()

    def ask(question: Callable[[Any], Any]) -> None:
        own = []
        while not done.is_set():
            model, at = live.now
            own.append((at, question, question(model)))
            given.append(at)
        seen.append(own)

    def probabilities(model: Any) -> Any:
        return model.predict_proba(questions), model.classes_

    def intervals(model: Any) -> Any:
        return model.predict_interval(questions[:1], 0.9)

    at_once(write, *(lambda question=question: ask(question) for question in (probabilities, probabilities, intervals)))
    expected, model = {}, NaiveBayes()
    for number in range(CHANGES):
        model.partial_fit(*batch(number), grow_classes=True)
        expected[number + 1] = {probabilities: probabilities(model), intervals: intervals(model)}
    for own in seen:
        places = [at for at, *_ in own]
        assert places == sorted(places)
        for at, question, answer in own:
            right = expected[at][question]
            assert alike(answer, right) if question is probabilities else answer.identical(right)
    assert len({at for own in seen for at, *_ in own}) > CHANGES / 3


def test_changes_of_several_threads_are_all_there() -> None:
    counts = np.random.default_rng(1).integers(0, 9, (4, 20, 3, 5))
    live = Live(MultinomialNB(classes=[0, 1, 2]))

    def write(own: np.ndarray) -> None:
        for part in own:
            live.learn(part, [0, 1, 2])

    at_once(*(lambda own=own: write(own) for own in counts))
    every = MultinomialNB().fit(counts.reshape(-1, 5), np.tile([0, 1, 2], 80))
    assert alike(live.model.stats_.blocks[0].counts, every.stats_.blocks[0].counts)


def test_nobody_waits_for_a_change() -> None:
    live, begun, go_on = Live(GaussianNB().fit(REAL, Y), at=1), Event(), Event()

    def slow(model: Any) -> Any:
        begun.set()
        assert go_on.wait(20)
        return model.partial_fit(REAL, Y)

    writer = Thread(target=live.update, args=(slow, 2), daemon=True)
    writer.start()
    assert begun.wait(20)
    assert live.at == 1
    same_state(live.model, GaussianNB().fit(REAL, Y))
    go_on.set()
    writer.join()
    assert live.at == 2
    same_state(live.model, GaussianNB().fit(REAL, Y).partial_fit(REAL, Y))


def slowly(models: list[Fitted]) -> list[Any]:
    """All of them, most in the slow tests."""
    return [own if own.name in FEW else pytest.param(own, marks=pytest.mark.slow) for own in models]


def questions_of(fitted: Fitted) -> dict[str, Callable[[Any], Any]]:
    X, y = fitted.X, fitted.labels
    few = X[:3]
    return {
        "predict_proba": lambda model: model.predict_proba(X),
        "predict": lambda model: model.predict(X),
        "interval": lambda model: model.predict_interval(few, 0.9),
        "fixed": lambda model: model.predict_interval(few, 0.9, rows="fixed", method="draws", draws=20, rng=1),
        "uncertainty": lambda model: model.uncertainty(few),
        "explain": lambda model: model.explain(X),
        "loo": lambda model: model.loo(X, y, sample_weight=fitted.weight).elpd_i,
        "evidence": lambda model: model.log_evidence_by_feature(),
        "sample": lambda model: model.sample(4, rng=1)[1],
        "density": lambda model: model.log_density(X),
    }


ASKED = [fitted for fitted in MODELS if fitted.name in FEW]


@pytest.mark.slow
@pytest.mark.parametrize("fitted", slowly(MODELS), ids=lambda fitted: fitted.name)
def test_many_threads_get_the_answers_that_one_gets(fitted: Fitted) -> None:
    """Of a model that nobody asked before, so that all that it derives is derived by several threads at once."""
    questions, model = questions_of(fitted), fitted.fit()
    alone = {name: asked(question, copy.deepcopy(model)) for name, question in questions.items()}
    cold = copy.deepcopy(model)
    order = np.random.default_rng(zlib.crc32(fitted.name.encode())).permutation(list(questions)).tolist()

    def ask(first: int) -> None:
        for name in order[first:] + order[:first]:
            assert alike(asked(questions[name], cold), alone[name]), name

    at_once(*(lambda first=first: ask(first) for first in (0, 0, 4)))


def asked(question: Callable[[Any], Any], model: Any) -> Any:
    """The answer as arrays, or why there is none."""
    try:
        found = question(model)
    except ValueError as error:
        return str(error)
    if hasattr(found, "data_vars"):
        return {name: own.values for name, own in found.variables.items()}
    return found.values if hasattr(found, "variable") else found


def test_a_model_that_settles_no_distribution_tells_every_thread_so() -> None:
    for _ in range(40):
        model = GaussianNB(estimate="mle").fit([[1.0] * 50, [1.0] * 50, [2.0] * 50], ["a", "a", "b"])
        told = []

        def ask(model: Any = model, told: list[str] = told) -> None:
            with pytest.raises(ValueError, match="the data do not determine a distribution"):
                model.predict_proba(np.ones((1, 50)))
            told.append("so")

        at_once(ask, ask, ask, ask)
        assert len(told) == 4


def test_a_model_can_be_copied_and_pickled_while_it_answers() -> None:
    fitted = next(fitted for fitted in MODELS if fitted.name == "codes")
    for _ in range(15):
        model, over = fitted.fit(), Event()

        def ask(model: Any = model, over: Event = over) -> None:
            for name in ("predict_proba", "uncertainty", "explain"):
                getattr(model, name)(fitted.X)
            _ = model.log_evidence_
            over.set()

        def send(model: Any = model, over: Event = over) -> None:
            while True:
                last = over.is_set()
                same_state(model, pickle.loads(pickle.dumps(model)))
                same_state(model, copy.deepcopy(model))
                if last:
                    return

        at_once(ask, ask, send)


def test_what_a_model_derives_is_not_pickled() -> None:
    for fitted in ASKED:
        model = fitted.fit()
        before = pickle.dumps(model)
        for question in questions_of(fitted).values():
            asked(question, model)
        assert len(pickle.dumps(model)) == len(before), fitted.name
        pickle.loads(pickle.dumps(model.model_.posterior))


@pytest.mark.slow
@pytest.mark.parametrize("fitted", MODELS, ids=lambda fitted: fitted.name)
def test_what_a_copy_learns_the_original_does_not(fitted: Fitted) -> None:
    model = fitted.fit()
    before, twin = pickle.dumps(model), fitted.fit()
    for change in ("partial_fit", "fit"):
        other = copy.copy(model)
        getattr(other, change)(fitted.X[::-1], fitted.labels[::-1], sample_weight=fitted.weight)
        assert other.model_ is not model.model_
        assert pickle.dumps(model) == before
        same_state(model, twin)


# ---- one object


def test_a_change_that_fails_changes_nothing() -> None:
    live = Live(GaussianNB().fit(REAL, Y), at={"part": 1})
    before = pickle.dumps(live.model)

    def half(model: Any) -> Any:
        model.partial_fit(REAL, Y).set_params(n_jobs=1)
        raise RuntimeError("the other half")

    with pytest.raises(ValueError, match="not among the classes"):
        live.learn(REAL, Y + 1, at={"part": 2})
    with pytest.raises(RuntimeError, match="the other half"):
        live.update(half, at={"part": 2})
    for odd in (lambda model: None, lambda model: GaussianNB, lambda model: model.predict(REAL)):
        with pytest.raises(TypeError, match="the function that changes a model has to return it: expected"):
            live.update(odd, at={"part": 2})
    assert pickle.dumps(live.model) == before
    assert live.at == {"part": 1}
    live.learn(REAL, Y, at={"part": 2})  # the turn was given back
    assert live.at == {"part": 2}


def test_a_model_is_made_ready_before_anybody_sees_it_or_is_refused() -> None:
    asked_of = []

    def ready(model: Any) -> None:
        asked_of.append((live.at, model.stats_.classes.counts.sum()))
        model.predict_proba(REAL[:1])
        if model.stats_.classes.counts[0] > 100:
            raise ValueError("too many of one class")

    live = Live(GaussianNB().fit(REAL, Y), at=1, ready=ready)
    live.learn(REAL, Y, at=2)
    reader = live.model.model_.readers["predictive"]
    live.model.predict_proba(REAL)
    assert live.model.model_.readers["predictive"] is reader
    with pytest.raises(ValueError, match="too many of one class"):
        live.learn(np.repeat(REAL[:1], 500, axis=0), [0] * 500, at=3)
    assert asked_of == [(1, 2 * len(REAL)), (2, 2 * len(REAL) + 500)]
    assert live.at == 2
    assert live.model.stats_.classes.counts.sum() == 2 * len(REAL)


def test_what_is_done_to_a_model_that_was_given_or_taken_does_not_reach_it() -> None:
    given, at = GaussianNB().fit(REAL, Y), {0: 17}
    live = Live(given, at)
    before = pickle.dumps(live.model)
    given.partial_fit(REAL, Y)
    live.model.set_params(estimate="mle").fit(REAL[:6], Y[:6])
    at[0] = 18
    live.at[0] = 19
    assert pickle.dumps(live.model) == before
    assert live.now.at == {0: 17}
    live.learn(REAL, Y, at=at)
    at[0] = 20
    assert live.at == {0: 18}


def test_a_small_batch_of_many_classes_is_no_regression() -> None:
    labels = [f"k{k}" for k in range(30)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        live = Live(GaussianNB())
        live.learn(np.arange(30.0)[:, None], labels, grow_classes=True)
    assert live.model.classes_.tolist() == sorted(labels)


def test_a_position_stays_where_none_is_said() -> None:
    live = Live(GaussianNB(classes=[0, 1, 2]), at=3)
    live.learn(REAL, Y, sample_weight=Y + 1.0)
    assert live.at == 3
    live.update(lambda model: model.partial_fit(REAL, Y), at=0)
    assert live.at == 0
    once = GaussianNB().fit(REAL, Y, sample_weight=Y + 1.0).partial_fit(REAL, Y)
    same_state(live.model.set_params(classes=None), once)


def test_it_holds_an_estimator_of_ours_fitted_or_not(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"expected an estimator of bayesnb such as NaiveBayes\(\), got 'model.bnb'"):
        Live("model.bnb")
    live = Live(GaussianNB(classes=[0, 1, 2]))
    assert live.at is None
    with pytest.raises(NotFittedError):
        live.model.predict(REAL)
    with pytest.raises(NotFittedError):
        live.save(tmp_path / "live.bnb")
    assert not list(tmp_path.iterdir())


# ---- files


POSITIONS = [0, -1, 2**63, "2026-11-22T03:31", {"topic": {0: 17, 1: 2**40}}, ("a.jsonl", 17), [1.5, None, True]]


@pytest.mark.parametrize("at", POSITIONS, ids=repr)
def test_a_position_of_any_kind_is_saved_with_the_model(at: Any, tmp_path: Path) -> None:
    live, path = Live(GaussianNB().fit(REAL, Y), at), tmp_path / "live.bnb"
    live.save(path)
    again = Live.open(path)
    assert alike(again.at, at)
    same_state(again.model, live.model)
    same_state(load(path), live.model)
    again.save(tmp_path / "again.bnb")
    assert path.read_bytes() == (tmp_path / "again.bnb").read_bytes()


def test_a_position_that_is_no_plain_value_cannot_be_saved_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "live.bnb"
    Live(GaussianNB().fit(REAL, Y), 1).save(path)
    with pytest.raises(ValueError, match=r"the note\['at'\]: Timestamp.* cannot be saved"):
        Live(GaussianNB().fit(REAL, Y), pd.Timestamp("2026-11-22")).save(path)
    assert Live.open(path).at == 1


def test_a_file_of_a_model_is_opened_at_no_position(tmp_path: Path) -> None:
    assert Live.open(DATA / "model-1.0.bnb").at is None
    live = Live.open(DATA / "model-1.1.bnb")
    assert live.at == {"stream.jsonl": 17}
    assert alike(live.model.classes_, golden()[0].classes_)
    live.model.save(tmp_path / "model.bnb")
    assert Live.open(tmp_path / "model.bnb").at is None
    persistence.write_shard(shard(GaussianNB(), REAL, Y), tmp_path / "shard.bnb")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="holds a shard, not a model"):
        Live.open(tmp_path / "shard.bnb")


def test_every_file_that_is_written_while_it_learns_is_of_one_moment(tmp_path: Path) -> None:
    live, path, done, found = Live(GaussianNB(), at=0), tmp_path / "live.bnb", Event(), []
    live.learn(REAL[:1], Y[:1], grow_classes=True, at=1)
    live.save(path)

    def write() -> None:
        for number in range(1, 20_000):
            live.learn(REAL[:1], [number % 7], grow_classes=True, at=number + 1)
            if number >= 300 and len({at for at, *_ in found}) > 3:  # on a busy machine readers come late
                break
        done.set()

    def save() -> None:
        while not done.is_set():
            live.save(path)

    def read() -> None:
        while not done.is_set():
            again = Live.open(path)
            found.append((again.at, again.model.stats_.classes.counts.sum(), len(again.model.classes_)))

    at_once(write, save, save, read)
    assert all(rows == at and classes == min(at, 7) for at, rows, classes in found)
    assert [at for at, *_ in found] == sorted(at for at, *_ in found)
    assert len({at for at, *_ in found}) > 3


def test_an_older_moment_never_replaces_a_newer_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live, path = Live(GaussianNB().fit(REAL, Y), at=1), tmp_path / "live.bnb"
    begun, go_on, write = Event(), Event(), persistence.write

    def slow(saved: Any, path: Any) -> None:
        if saved.note["at"] == 1:
            begun.set()
            go_on.wait(20)
        write(saved, path)

    monkeypatch.setattr(persistence, "write", slow)
    first, second = (Thread(target=live.save, args=(path,), daemon=True) for _ in range(2))
    first.start()
    assert begun.wait(20)
    live.learn(REAL, Y, at=2)
    second.start()
    second.join(0.1)
    go_on.set()
    first.join()
    second.join()
    assert Live.open(path).at == 2


# ---- the service


KEEP = 0.97


def learnt_alone(path: Path) -> Any:
    """The stream's model, by a loop without any of this."""
    model = NaiveBayes({"rate": None, "size": "gaussian"}, class_prior=0.5)
    for number, (rows, labels, _) in enumerate(batches(path, 0)):
        if number:
            model.decay(KEEP)
        model.partial_fit(rows, labels, grow_classes=True)
    return model


@pytest.fixture(scope="module")
def forks() -> Any:
    """Processes that need not import anything: they leave one that has."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.service", "numba"])
    return context


def killed_and_restarted(folder: Path, forks: Any, kills: int, every: int, seed: int) -> list[int]:
    """How far the file was whenever the service was killed, until it was let go on to the end."""
    path, model, rng, known = stream(folder, 60), folder / "model.bnb", np.random.default_rng(seed), [0]
    how = {"every": every, "keep": KEEP}
    for kill in range(kills + 1):
        heard, said = forks.Pipe(duplex=False)
        child = forks.Process(target=consuming, args=(path, model, said), kwargs=how, daemon=True)
        child.start()
        said.close()
        if kill < kills:
            for _ in range(int(rng.integers(1, 10))):
                assert heard.recv() > known[-1]
            time.sleep(rng.random() * 0.01)
            child.kill()
        child.join(120)
        assert child.exitcode == (-9 if kill < kills else 0)
        known.append(Live.open(model).at if model.exists() else 0)
    assert known[-1] == path.stat().st_size
    same_state(load(model), learnt_alone(path))
    left = {each.name for each in folder.iterdir()} - {"stream.jsonl", "model.bnb"}
    assert all(name.startswith(".model.bnb.") and name.endswith(".part") for name in left)
    return known


@pytest.mark.slow
def test_a_service_that_is_killed_again_and_again_learns_every_row_once(tmp_path: Path, forks: Any) -> None:
    known = killed_and_restarted(tmp_path, forks, kills=3, every=2, seed=1)
    assert len(set(known)) > 3  # it was killed at several places, and went on from there


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 3, 10])
def test_a_service_that_is_killed_very_often_learns_every_row_once(every: int, tmp_path: Path, forks: Any) -> None:
    killed_and_restarted(tmp_path, forks, kills=6, every=every, seed=every)


@pytest.mark.slow
def test_the_example_runs_as_it_says_and_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    path, model = stream(tmp_path, 100), tmp_path / "model.bnb"
    command = [sys.executable, "-m", "tests.service", str(path), str(model), "--every", "3", "--keep", str(KEEP)]
    asked: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": DATA.parent.parent}
    with subprocess.Popen(command, **asked) as child:
        assert child.stdout is not None
        for _ in range(12):
            child.stdout.readline()
        child.kill()
    known = Live.open(model).at
    assert 0 < known < path.stat().st_size
    done = subprocess.run(command, text=True, check=True, **asked)
    assert known < int(done.stdout.split()[0]) <= int(done.stdout.split()[-1]) == path.stat().st_size
    assert "s of learning" in done.stderr
    same_state(load(model), learnt_alone(path))


def test_a_service_answers_while_it_learns(tmp_path: Path) -> None:
    path = stream(tmp_path)
    service, given = Service.started(path, tmp_path / "model.bnb", every=7, keep=KEEP), []
    rows, labels, first = next(batches(path, 0))
    service.live.update(lambda model: service.learn(model, rows, labels), at=first)
    service.answer(rows.head(2))  # compiles what it needs, in a new folder: that takes longer than the whole stream

    def ask() -> None:
        while not service.over.is_set():
            given.append(service.answer(rows.head(2)))

    at_once(service.consume, ask, ask)
    same_state(service.live.model, learnt_alone(path))
    assert Live.open(tmp_path / "model.bnb").at == path.stat().st_size
    ends = {end for _, _, end in batches(path, 0)}
    assert {at for at, _ in given} <= ends
    assert len({at for at, _ in given}) > 3
    for _, found in given:
        np.testing.assert_allclose(found.probability.sum("class"), 1, rtol=1e-9)
        assert (found.lower <= found.upper).all()


def test_a_batch_that_is_not_written_to_its_end_is_read_later(tmp_path: Path) -> None:
    path = stream(tmp_path, 4)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    service = Service.started(path, tmp_path / "model.bnb", keep=KEEP)
    service.consume()
    assert service.live.at == whole.rindex(b"\n", 0, -1) + 1
    path.write_bytes(whole)
    again = Service.started(path, tmp_path / "model.bnb", keep=KEEP)
    again.consume()
    same_state(again.live.model, learnt_alone(path))
