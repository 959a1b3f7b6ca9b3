"""Tables whose pages are opened in a browser: an ordinary one, texts, many classes, many columns, and hostile names."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

import bayesnb as nb
from bayesnb.datasets import penguins
from bayesnb.report import About, Page, report
from bayesnb.results.display import environment

ARABIC = "\u0639\u0645\u0648\u062f \u0627\u0644\u0648\u0632\u0646"
HEBREW = "\u05e9\u05dc\u05d5\u05dd abc 123 \u05e2\u05d5\u05dc\u05dd"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f3f3\ufe0f\u200d\U0001f308"
SCRIPT = "<script>document.title = 'hacked'; console.log('hacked')</script>"
ENDS = "</style></title></script></svg><img src=x onerror=\"document.title='hacked'\">"
VALUE = '" data-value="9e99" onclick="document.title=\'hacked\'" style="position:fixed'
HIDDEN = "zero\u200bwidth\u202eright to left\u2066and\ufeffmore"
ENDLESS = 10_000 * "x"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]], kind: str = "") -> Markup:
    """A table as the templates of the report make it."""
    return environment().get_template("macros.html").module.table(caption, head, rows, kind)


def birds() -> Page:
    table = penguins()
    model = nb.NaiveBayes({"year": None})
    about = About(label="species", source="penguins", notes=("A note.",), command="bayesnb report", date="1 May 2026")
    return report(model, table.drop(columns="species"), table["species"], about=about)


def texts() -> Page:
    """Words of mails."""
    rng = np.random.default_rng(0)
    words = ("money", "meeting", "report", "cheap", "project", "hello")
    names = tuple(f"{words[j % 6]}{j}" for j in range(200))
    theta = rng.dirichlet(np.full(200, 0.2), 2)
    y = np.arange(120) % 3 // 2
    X = pd.DataFrame([rng.multinomial(60, theta[k]) for k in y], columns=names)
    return report(nb.NaiveBayes({names: nb.Multinomial()}), X, np.array(["ham", "spam"])[y])


def many_classes() -> Page:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 600)
    table = {f"measure {j}": rng.normal(3 * rng.normal(size=20)[y], 1) for j in range(4)}
    table["kind"] = np.array(list("abcdefghijkl"))[(y + rng.integers(0, 3, 600)) % 12]
    return report(nb.NaiveBayes(), pd.DataFrame(table), np.array([f"class number {k + 1}" for k in range(20)])[y])


def many_columns() -> Page:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = pd.DataFrame(rng.normal(size=(200, 500)) + 0.3 * (y[:, None] * rng.normal(size=500)))
    X.columns = [f"a sensor with quite a long name, number {j}" if j % 7 == 0 else f"sensor{j}" for j in range(500)]
    return report(nb.NaiveBayes(), X, np.array(["low", "middle", "high"])[y])


def hostile() -> Page:
    """Markup, endless words, emoji, right to left and what cannot be seen: as columns, labels and levels."""
    rng, odd = np.random.default_rng(0), [SCRIPT, ENDS, VALUE, ENDLESS, FAMILY, ARABIC, HEBREW, HIDDEN]
    y = rng.integers(0, 4, 200)
    table: dict[str, np.ndarray] = {name: rng.normal(y, 1) for name in odd}
    table["levels"] = np.array(odd)[(rng.integers(0, 5, 200) + 2 * y) % 8]
    table["count of " + ARABIC] = rng.poisson(3 + y)
    families = {"count of " + ARABIC: nb.Poisson()}
    about = About(label=SCRIPT, source=ENDS, notes=(VALUE, ARABIC), command=ENDLESS, date=HEBREW)
    labels = np.array([SCRIPT, ENDLESS, ARABIC, FAMILY])[y]
    return report(nb.NaiveBayes(families), pd.DataFrame(table), labels, about=about)


PAGES: dict[str, Callable[[], Page]] = {
    "penguins": birds,
    "texts": texts,
    "20 classes": many_classes,
    "500 columns": many_columns,
    "hostile": hostile,
}
