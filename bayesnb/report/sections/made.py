"""How the page was made: versions, command, date, and the settings as code that makes the model again."""

import platform
from importlib.metadata import version

from bayesnb.report.facts import Facts
from bayesnb.report.markup import paragraph, table, text
from bayesnb.report.sections.code import code_of, names_in
from bayesnb.report.wording import brief

PARTS = ("bayesnb", "numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")
LETTERS = 20_000  # of code


def made(facts: Facts) -> str:
    """Versions, command, date, code."""
    about = facts.about
    lines = [(part, version(part)) for part in PARTS] + [("Python", platform.python_version())]
    how = f"<p>Made with:</p><pre><code>{text(about.command, 4000)}</code></pre>" if about.command else ""
    return (
        (paragraph(f"Made on {text(about.date)}.") if about.date else "")
        + how
        + paragraph(
            "What chance has a part in has a fixed seed: the same table, settings and versions make the same numbers.",
            "The same model in Python, from the table <code>X</code> and its labels <code>y</code>:",
        )
        + f"<pre><code>{'<br>'.join(text(line, 4000) for line in code(facts))}</code></pre>"
        + table("Versions", ("Part", "Version"), [(name, text(number)) for name, number in lines], "narrow")
    )


def code(facts: Facts) -> list[str]:
    """Lines of Python; of settings that are endless, both ends."""
    model = facts.model
    return [
        f"from bayesnb import {', '.join(names_in(model))}",
        "from bayesnb.report import report",
        "",
        f"model = {brief(code_of(model), LETTERS)}.fit(X, y)",
        "html = report(model, X, y)",
    ]
