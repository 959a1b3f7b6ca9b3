"""Text without characters that a terminal obeys instead of showing: labels and names of columns come from files."""

import re

# C0 but the tab, delete, C1, marks of direction, ends of lines and paragraphs, halves of surrogate pairs.
CONTROLS = re.compile(
    "[\\x00-\\x08\\n-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def visible(text: str) -> str:
    """Return the text with each control character as its escape, such as `\\x1b`."""
    return CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
