"""Figures. The only room that knows matplotlib; it leaves pyplot and its state alone."""

from bayesnb.figures.beliefs import counts, densities, levels
from bayesnb.figures.calibration import plot_calibration
from bayesnb.figures.column import plot_column
from bayesnb.figures.nomogram import plot_nomogram
from bayesnb.figures.structure import plot_dependence, plot_relevance
from bayesnb.figures.style import COLOURS, DASHES, INK, MOST_CLASSES, new_axes, svg
from bayesnb.figures.waterfall import plot_waterfall
from bayesnb.figures.words import plot_words

__all__ = [
    "COLOURS",
    "DASHES",
    "INK",
    "MOST_CLASSES",
    "counts",
    "densities",
    "levels",
    "new_axes",
    "plot_calibration",
    "plot_column",
    "plot_dependence",
    "plot_nomogram",
    "plot_relevance",
    "plot_waterfall",
    "plot_words",
    "svg",
]
