"""How the page was made: versions, command, date."""

import platform
from importlib.metadata import version

from bayesnb.report.facts import Facts
from bayesnb.report.markup import paragraph, table, text

PARTS = ("bayesnb", "numpy", "scipy", "scikit-learn", "matplotlib")


def made(facts: Facts) -> str:
    """Versions, command, date."""
    about = facts.about
    lines = [(part, version(part)) for part in PARTS] + [("Python", platform.python_version())]
    how = f"<p>Made with:</p><pre><code>{text(about.command)}</code></pre>" if about.command else ""
    return (
        (paragraph(f"Made on {text(about.date)}.") if about.date else "")
        + how
        + paragraph(
            "Nothing on this page was drawn at random: the same table, settings and versions make the same numbers.",
            f"Settings of the model: <code>{text(facts.model)}</code>.",
        )
        + table("Versions", ("Part", "Version"), [(name, text(number)) for name, number in lines], "narrow")
    )
