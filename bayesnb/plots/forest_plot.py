"""Links between columns as a forest: one row for each column, below the column that it hangs on.

A tree is written from its root like an outline, each level further to the right, so lines of the forest do not cross
and names have a list of their own. Further links are dashed arcs on top of that.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from bayesnb.families.base import Array
from bayesnb.formatting import shorten
from bayesnb.plots.log_odds_axis import nats
from bayesnb.plots.style import COLOURS, INK, WIDTH, add_legend, add_title, new_axes

NAMES, LISTED = 30, 24  # letters: of a column, and of one that is only listed
MOST_COLUMNS = 60  # that a picture has room for
ROW, BETWEEN = 0.25, 0.6  # inches of a row, and rows between two trees
WIDEST, THINNEST, FURTHER = 5.0, 0.8, 1.6  # points
BULGE = 0.22  # of its length, of an arc
LETTERS, MOST_LISTED = 58, 2  # letters of a line below the picture; and such lines of names
ACROSS = 70, 8  # letters of a line of the legend, and of a mark


@dataclass(frozen=True, eq=False)
class Forest:
    """Links from a parent to a child, places among the columns, with their nats; and which of them are the forest."""

    columns: Sequence[Hashable]
    ends: Sequence[tuple[int, int]]
    nats: Array
    in_forest: Array
    unlinked: Sequence[Hashable] = ()
    hidden: int = 0  # links that there is no room for

    @cached_property
    def parent(self) -> dict[int, int]:
        """Link of the forest by which a column hangs on its parent."""
        return {child: link for link, (_, child) in enumerate(self.ends) if self.in_forest[link]}

    @cached_property
    def walk(self) -> list[tuple[int, int]]:
        """Columns and their depths, tree by tree, each column before those that hang on it.

        Of these the one with the fewest below it comes first, so that lines are short; of equals the strongest link.
        """
        below: dict[int, list[int]] = {}
        for child, link in sorted(self.parent.items(), key=lambda pair: -self.nats[pair[1]]):
            below.setdefault(self.ends[link][0], []).append(child)
        size = np.ones(len(self.columns), int)
        for child in self.parent:
            above = self.parent.get(child)
            while above is not None:
                size[self.ends[above][0]] += 1
                above = self.parent.get(self.ends[above][0])
        below = {
            column: sorted(each, key=lambda child: int(size[child]))
            for column, each in below.items()
        }
        waiting = [(k, 0) for k in range(len(self.columns)) if k not in self.parent][::-1]
        walked = []
        while waiting:
            column, depth = waiting.pop()
            walked.append((column, depth))
            waiting += [(child, depth + 1) for child in below.get(column, [])[::-1]]
        return walked

    @property
    def places(self) -> Array:
        """Depth and height of each column, `(f, 2)`, the first at height 0, the others below."""
        places, height = np.zeros((len(self.columns), 2)), -1.0
        for at, (column, depth) in enumerate(self.walk):
            height += 1 + BETWEEN * (depth == 0 and at > 0)
            places[column] = depth, height
        return places


def forest_of(links: Any, columns: Sequence[Hashable]) -> Forest:
    """Return the forest of a Dataset of links: all of them or, among very many columns, the strongest."""
    first, second = links["first"].values.tolist(), links["second"].values.tolist()
    weight, in_forest = links["log_bayes_factor"].values, links["in_forest"].values.astype(bool)
    kept: list[int] = []
    shown: set[Hashable] = set()
    for link in np.lexsort([-weight, ~in_forest]).tolist():
        both = shown | {first[link], second[link]}
        if len(both) <= MOST_COLUMNS:
            shown = both
            kept.append(link)
    place = {name: k for k, name in enumerate(name for name in columns if name in shown)}
    return Forest(
        list(place),
        [(place[first[link]], place[second[link]]) for link in kept],
        weight[kept],
        in_forest[kept],
        [name for name in columns if name not in {*first, *second}],
        len(first) - len(kept),
    )


def draw_forest(forest: Forest, ax: Axes | None) -> Axes:
    """Draw a row for each column and a line for each link, as wide as its evidence is strong."""
    places, lines = forest.places, _below(forest)
    high = places[:, 1].max(initial=0.0)
    outside = ax is None
    ax = ax or new_axes(0.65 + 0.2 * len(lines) + ROW * (high + 1), WIDTH)
    ax.spines[:].set_visible(False)
    deep = max(places[:, 0].max(initial=0.0), 1.0)
    ax.set(xticks=[], xlim=(-0.08 * deep, 1.3 * deep), ylim=(high + 0.5, -0.5))
    ax.set_yticks(places[:, 1], [shorten(str(name), NAMES) for name in forest.columns])
    largest = max(float(forest.nats.max(initial=0.0)), 1.0)
    for (one, two), value, solid in zip(
        forest.ends, forest.nats.tolist(), forest.in_forest.tolist(), strict=True
    ):
        ends, share = places[[one, two]], np.sqrt(max(value, 0.0) / largest)
        if solid:
            width = THINNEST + (WIDEST - THINNEST) * share
            ax.plot(*ends.T, color=COLOURS[0], linewidth=width, solid_capstyle="round", zorder=2)
            ax.text(
                1.02,
                ends[1, 1],
                nats(value),
                transform=ax.get_yaxis_transform(),
                va="center",
                fontsize="small",
            )
        else:
            ax.add_patch(
                _arc(ends[np.argsort(ends[:, 1])], THINNEST + (FURTHER - THINNEST) * share)
            )
    ax.plot(*places.T, "o", color=INK, markersize=5, zorder=3)
    ax.set_xlabel("\n".join(lines))
    add_title(ax, "Links between columns")
    if not forest.in_forest.all():
        keys = [_key("forest", linewidth=3, color=COLOURS[0])]
        keys.append(_key(f"{(~forest.in_forest).sum():,} further links", **_look(1.2)))
        add_legend(ax, keys, ACROSS, outside=outside)
    return ax


def _look(width: float) -> dict[str, Any]:
    return {"linewidth": width, "linestyle": (0, (4, 3)), "color": COLOURS[1]}


def _arc(ends: Array, width: float) -> FancyArrowPatch:
    """Return an arc between two nodes, the upper first, that bulges to the right, away from the names."""
    bend = f"arc3,rad={-BULGE}"
    return FancyArrowPatch(
        *ends, arrowstyle="-", connectionstyle=bend, shrinkA=0, shrinkB=0, zorder=1, **_look(width)
    )


def _key(label: str, **look: Any) -> Line2D:
    return Line2D([], [], label=label, **look)


def _below(forest: Forest) -> list[str]:
    """Return the lines below the picture."""
    if not forest.ends:
        return [f"no link between the {len(forest.unlinked):,} columns"]
    lines = ["numbers and widths: log Bayes factor in nats", "of the link to the column above it"]
    if forest.hidden:
        lines.append(f"{forest.hidden:,} other links are not drawn")
    if forest.unlinked:
        names = "no link: " + ", ".join(shorten(str(name), LISTED) for name in forest.unlinked)
        listed = wrap(names, LETTERS)
        lines += (
            listed
            if len(listed) <= MOST_LISTED
            else [f"no link: {len(forest.unlinked):,} other columns"]
        )
    return lines
