"""Made notebooks/front.svg, README's picture: `uv run python -m tests.make_front`. Nothing in it is
drawn at random.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.naive_bayes import GaussianNB as Plain

from bayesnb import GaussianNB
from bayesnb.datasets import penguins
from bayesnb.plots import COLOURS

GOAL = Path(__file__).parents[1] / "notebooks" / "front.svg"
FEW = 4
DEPTH = 18.4  # mm, usual for both species
GRID = np.linspace(32, 58, 261)
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def birds() -> Any:
    """Adelies and Chinstraps, whose bills differ in length and are alike in depth."""
    table = penguins()[["species", "bill_length_mm", "bill_depth_mm"]].dropna()
    return table[table["species"] != "Gentoo"]


def few(table: Any) -> Any:
    """Four of each species, at the middles of the quarters of its lengths."""
    ordered = table.sort_values(["species", "bill_length_mm", "bill_depth_mm"])
    species = ordered.groupby("species")["species"]
    place = species.cumcount()
    size = species.transform("size")
    return ordered[sum(place == (2 * k + 1) * size // (2 * FEW) for k in range(FEW)) > 0]


def draw(ax: Axes, table: Any) -> None:
    X = table[["bill_length_mm", "bill_depth_mm"]].to_numpy()
    y = table["species"].to_numpy()
    rows = np.column_stack([GRID, np.full_like(GRID, DEPTH)])
    law = (
        GaussianNB()
        .fit(X, y)
        .predict_interval(rows, rows="fixed", ci_prob=0.89)
        .sel({"class": "Chinstrap"})
    )
    ax.fill_between(
        GRID,
        law["lower"],
        law["upper"],
        color=COLOURS[0],
        alpha=0.2,
        linewidth=0,
        label="89 % interval",
    )
    ax.plot(GRID, law["probability"], color=COLOURS[0], linewidth=2, label="bayesnb")
    ax.plot(
        GRID,
        Plain().fit(X, y).predict_proba(rows)[:, 1],
        "--",
        color=COLOURS[1],
        label="scikit-learn",
    )
    for place, name in ((-0.05, "Adelie"), (1.05, "Chinstrap")):
        ax.plot(
            X[y == name, 0], np.full((y == name).sum(), place), "|", color="#444444", markersize=7
        )
    ax.set_xlabel("bill length, mm")
    ax.set_ylim(-0.1, 1.1)


def main() -> None:
    table = birds()
    with rc_context({**STYLE, "svg.hashsalt": "bayesnb"}):
        figure = Figure(figsize=(9, 3.5), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        for ax, own in zip(axes, (few(table), table), strict=True):
            draw(ax, own)
            ax.set_title(f"learnt from {len(own)} penguins", loc="left")
        axes[0].set_ylabel("probability of a Chinstrap")
        axes[0].set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
        axes[1].legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.1))
        figure.savefig(GOAL, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
