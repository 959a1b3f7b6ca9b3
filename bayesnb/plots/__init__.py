"""Figures. Only this room imports matplotlib.

Without `ax`, a function makes a new pyplot figure, which a notebook shows once.
"""

from bayesnb.plots.boundary_plot import plot_boundary
from bayesnb.plots.check_plot import plot_check
from bayesnb.plots.column_plot import plot_column
from bayesnb.plots.dependence_plot import plot_dependence, plot_relevance
from bayesnb.plots.performance_plots import plot_calibration, plot_confusion
from bayesnb.plots.row_plots import plot_uncertainty, plot_waterfall
from bayesnb.plots.style import COLOURS
from bayesnb.plots.words_plot import plot_words

__all__ = [
    "COLOURS",
    "plot_boundary",
    "plot_calibration",
    "plot_check",
    "plot_column",
    "plot_confusion",
    "plot_dependence",
    "plot_relevance",
    "plot_uncertainty",
    "plot_waterfall",
    "plot_words",
]
