"""A figure appears once in a notebook, whether pyplot was asked for or not; figures of a page do not appear besides."""

import subprocess
import sys

import nbformat
import pytest
from matplotlib.figure import Figure
from nbclient import NotebookClient

import bayesnb as nb
from bayesnb.plots import new_axes, off_screen

START = """
import bayesnb as nb
from bayesnb.datasets import dogs
table = dogs()
X, y = table.drop(columns="breed"), table["breed"]
model = nb.NaiveBayes().fit(X, y)
"""
CELLS = {
    "a plot whose axes are kept": ("ax = nb.plot_relevance(nb.relevance(model))", 1),
    "a plot as the last line": ("nb.plot_waterfall(model.explain(X))", 1),
    "a figure of several axes": ("axes = nb.plot_nomogram(model)", 1),
    "axes that are changed afterwards": ("ax = nb.plot_relevance(nb.relevance(model)); ax.set_title('mine')", 1),
    "two plots": ("one = nb.plot_nomogram(model); other = nb.plot_waterfall(model.explain(X))", 2),
    "a plot when pyplot is there": ("import matplotlib.pyplot as plt; ax = nb.plot_relevance(nb.relevance(model))", 1),
    "a plot on axes of pyplot": ("figure, ax = plt.subplots(); nb.plot_waterfall(model.explain(X), ax=ax)", 1),
    "a plot that is shown": ("ax = nb.plot_relevance(nb.relevance(model)); plt.show()", 1),
    "a page": ("nb.report.report(model, X, y)", 0),
    "a comparison's plot": ("ax = nb.compare_smoothing(model, X, y, smoothing=(1, 2)).plot()", 1),
}  # fmt: skip


@pytest.mark.slow  # a kernel
def test_a_notebook_shows_each_figure_once_and_a_page_in_a_frame() -> None:
    codes = [START, *(code for code, _ in CELLS.values())]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    outputs = dict(zip(CELLS, (cell.outputs for cell in book.cells[1:]), strict=True))
    shown = {name: sum("image/png" in output.get("data", {}) for output in found) for name, found in outputs.items()}
    assert shown == {name: count for name, (_, count) in CELLS.items()}
    (page,) = outputs["a page"]
    assert page["data"]["text/html"].startswith(
        '<iframe title="Model report" sandbox="allow-scripts allow-downloads" srcdoc="&lt;!doctype'
    )
    assert len(page["data"]["text/plain"]) < 120


@pytest.mark.slow
def test_figures_load_matplotlib_when_they_are_asked_for_and_pyplot_has_them_only_if_it_was_there() -> None:
    code = (
        "import sys, bayesnb as nb; from bayesnb import NaiveBayes; assert 'matplotlib' not in sys.modules; "
        "model = nb.GaussianNB().fit([[1.0], [2.0], [3.0]], [0, 0, 1]); found = model.explain([[1.0]]); "
        "nb.plot_nomogram(model); nb.plot_waterfall(found); assert 'matplotlib.pyplot' not in sys.modules; "
        "import matplotlib; matplotlib.use('agg'); import matplotlib.pyplot as plt; assert plt.get_fignums() == []; "
        "ax = nb.plot_waterfall(found); assert plt.get_fignums() == [1]; assert plt.gcf() is ax.get_figure(); "
        "nb.plot_waterfall(found, ax=ax); assert plt.get_fignums() == [1]; plt.close('all'); "
        "from bayesnb.plots import off_screen\n"
        "with off_screen(): nb.plot_waterfall(found)\n"
        "assert not plt.get_fignums()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_figure_off_screen_is_only_a_figure() -> None:
    with off_screen():
        assert type(new_axes().get_figure()) is Figure
    with pytest.raises(ZeroDivisionError), off_screen():
        _ = 1 / 0
    assert nb.plot_waterfall(nb.GaussianNB().fit([[1.0], [2.0]], [0, 1]).explain([[1.0]])).get_figure() is not None
