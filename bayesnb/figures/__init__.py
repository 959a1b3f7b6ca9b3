"""Figures. The only room that knows matplotlib; it leaves pyplot and its state alone."""

from bayesnb.figures.beliefs import counts, densities, levels
from bayesnb.figures.calibration import plot_calibration
from bayesnb.figures.confusion import plot_confusion
from bayesnb.figures.doubt import plot_uncertainty
from bayesnb.figures.nomogram import plot_nomogram
from bayesnb.figures.structure import plot_dependence, plot_relevance
from bayesnb.figures.style import COLOURS, DASHES, INK, MOST_CLASSES, new_axes, svg
from bayesnb.figures.waterfall import plot_waterfall

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
    "plot_confusion",
    "plot_dependence",
    "plot_nomogram",
    "plot_relevance",
    "plot_uncertainty",
    "plot_waterfall",
    "svg",
]
