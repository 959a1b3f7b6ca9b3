"""What the page says, computed once, before or when a section first asks for it."""

from bayesnb.report.facts.gathered import About, Facts, gather

__all__ = ["About", "Facts", "gather"]
