"""Figures. The only room that knows matplotlib.

A function that is given no `ax` makes a figure of its own. pyplot hears of it only where it is loaded already, or where
a notebook runs, so that a figure appears once, as with other libraries; else pyplot and its state are left alone.
"""

from bayesnb.figures.beliefs import counts, densities, levels
from bayesnb.figures.boundary import plot_boundary
from bayesnb.figures.calibration import plot_calibration
from bayesnb.figures.column import plot_column
from bayesnb.figures.confusion import plot_confusion
from bayesnb.figures.doubt import plot_uncertainty
from bayesnb.figures.nomogram import plot_nomogram
from bayesnb.figures.structure import plot_dependence, plot_relevance
from bayesnb.figures.style import COLOURS, DASHES, INK, MOST_CLASSES, new_axes, off_screen, svg
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
    "off_screen",
    "plot_boundary",
    "plot_calibration",
    "plot_column",
    "plot_confusion",
    "plot_dependence",
    "plot_nomogram",
    "plot_relevance",
    "plot_uncertainty",
    "plot_waterfall",
    "plot_words",
    "svg",
]
