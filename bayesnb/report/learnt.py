"""What was learnt about each feature."""

from bayesnb.report.facts import Facts
from bayesnb.report.markup import named, paragraph, text
from bayesnb.report.pictures import portrait, shown_classes
from bayesnb.report.words import INTERVAL, percent


def learnt(facts: Facts) -> str:
    """A picture and a table for each feature."""
    shown = shown_classes(facts)
    left = len(facts.classes) - len(shown)
    key = "".join(f"<li>{named(c, facts.classes[k])}</li>" for c, k in enumerate(shown))
    intro = paragraph(
        "For every column, what the model expects of a new row of each class: lines and bars are its predictions, "
        "shaded areas, ticks and dots the rows it learnt from.",
        "Where the classes overlap, the column cannot tell them apart.",
        f"An interval holds the true value with a probability of {percent(INTERVAL, 0)}, if the assumptions are right.",
    )
    rest = paragraph(f"The {len(shown)} most frequent classes are drawn, {left} are not.") if left else ""
    parts = (f"<h3>{text(f.name)}</h3>{portrait(f.posterior, f, facts)}" for f in facts.features)
    return intro + rest + f"<ul class='key'>{key}</ul>" + "".join(f"<section>{part}</section>" for part in parts)
