"""Figures. The only room that knows matplotlib; it leaves pyplot and its state alone."""

from bayesnb.figures.beliefs import counts, densities, levels
from bayesnb.figures.style import COLOURS, DASHES, INK, MOST_CLASSES, new_axes, svg

__all__ = ["COLOURS", "DASHES", "INK", "MOST_CLASSES", "counts", "densities", "levels", "new_axes", "svg"]
