"""Answers do not change when the code around them does: frozen answers of frozen models, made before a rebuild.

python -m tests.test_frozen      writes the answers anew, which a change of their meaning needs, and nothing else
"""

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

from bayesnb import load, scale
from tests.test_storage import MODELS, Fitted

ANSWERS = Path(__file__).parent / "data" / "frozen.npz"
FILES = Path(__file__).parent / "data" / "older_models.zip"  # of the same models, saved before the rebuild
MADE_BY = "made by"  # processor and libraries: on the same ones nearly all digits are the same
ROWS = 8

LATER = ("waiting", "polya tree", "by default")  # a family of the tests, one that came later, and defaults since
FROZEN = [
    fitted
    for fitted in MODELS
    if not any(name in fitted.name for name in LATER) and fitted.model.temper in (None, "auto")
]  # what exponents mean has changed since

pytestmark = pytest.mark.filterwarnings("ignore")


def maker() -> str:
    import numba

    flags = Path("/proc/cpuinfo")
    avx = "avx512f" in flags.read_text() if flags.exists() else False
    return f"{platform.machine()}, AVX-512 {avx}, NumPy {np.__version__}, Numba {numba.__version__}"


def first(X: Any, rows: int = ROWS) -> Any:
    return X.iloc[:rows] if isinstance(X, pd.DataFrame) else X[:rows]


def answers(fitted: Fitted) -> Iterator[tuple[str, np.ndarray]]:
    """The numbers that a user asks for most, of the first rows that a model has learnt."""
    model = fitted.fit()
    rows = first(fitted.X)
    yield "joint", model.predict_joint_log_proba(rows)
    yield "proba", model.predict_proba(rows)
    if model.estimate == "predictive":
        whole = model.loo(fitted.X, fitted.labels, sample_weight=fitted.weight)
        yield "loo", np.asarray(whole.elpd_i)[:ROWS]
    for kind in ("observed", "fixed"):
        try:
            law = model.predict_interval(rows, rows=kind)
        except ValueError:  # the model has no such distribution, as its own tests say
            continue
        if "drawn" not in str(law.attrs):
            yield (
                f"interval {kind}",
                np.stack([law[name].values for name in ("probability", "median", "lower", "upper")]),
            )
    try:
        yield "evidence", np.asarray(model.log_evidence_)
    except (ValueError, AttributeError):
        return


def write() -> None:
    scale.always_compile()
    kept = {f"{fitted.name}: {what}": array for fitted in FROZEN for what, array in answers(fitted)}
    np.savez_compressed(ANSWERS, **{MADE_BY: np.array(maker())}, **kept)


@pytest.mark.slow
@pytest.mark.parametrize("fitted", FROZEN, ids=lambda fitted: fitted.name)
def test_a_file_of_before_is_read_and_answers_as_then(fitted: Fitted, tmp_path: Path) -> None:
    with ZipFile(FILES) as archive, np.load(ANSWERS) as kept:
        path, expected = tmp_path / "model.bnb", kept[f"{fitted.name}: joint"]
        path.write_bytes(archive.read(f"{fitted.name}.bnb"))
    loaded = load(path)
    np.testing.assert_allclose(loaded.predict_joint_log_proba(first(fitted.X)), expected, rtol=1e-11)


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_always")
@pytest.mark.parametrize("fitted", FROZEN, ids=lambda fitted: fitted.name)
def test_answers_are_those_of_before(fitted: Fitted) -> None:
    with np.load(ANSWERS) as kept:
        same_machine = str(kept[MADE_BY]) == maker()
        expected = {name: kept[name] for name in kept.files if name.startswith(f"{fitted.name}: ")}
    now = {f"{fitted.name}: {what}": array for what, array in answers(fitted)}
    assert now.keys() == expected.keys()
    for name, array in now.items():
        if same_machine:  # rounding may differ
            np.testing.assert_allclose(array, expected[name], rtol=1e-13, atol=1e-15, err_msg=name)
        else:  # other instructions round otherwise; intervals are searched for to 1e-9 on the probability scale
            tolerance = {"rtol": 0, "atol": 1e-9} if "interval" in name else {"rtol": 1e-11}
            np.testing.assert_allclose(array, expected[name], err_msg=name, **tolerance)


if __name__ == "__main__":
    write()
