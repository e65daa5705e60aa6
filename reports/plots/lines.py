"""Integers against floats of as many bits: costs above, ratios below."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fmacost.reports.errors import InputError
from fmacost.reports.metrics import metric
from fmacost.reports.plots.style import (
    MARKERS,
    STYLES,
    finish_axes,
    label_ends,
    logarithmic,
    render,
)
from fmacost.reports.row import Records
from fmacost.reports.widths import FLOATING, SMALLEST, USUAL, Panel, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INTEGER = "black"
_BAND = "0.85"
_SENSES = {  # colour, marker, size of the marker: where lines meet, all are seen
    SMALLEST: (STYLES[2][0], MARKERS[3], 6),
    FLOATING: (STYLES[1][0], MARKERS[2], 4),
    USUAL: (STYLES[0][0], MARKERS[1], 3),
}
_SHORT = {USUAL: "usual split", FLOATING: "smallest, E ≥ 2", SMALLEST: "smallest"}


def draw_lines(records: Records, field: str, suffix: str) -> bytes:
    """Return a plot file: for each kind of unit the costs by width, below the ratios to integers.

    The grey band has all splits of a width.

    Raises
    ------
    InputError
        If there are no two widths with an integer and a float, or two rows for one place.
    """
    chosen = [panel for panel in panels(records) if len(panel.widths) > 1]
    if not chosen:
        raise InputError(
            "the table has no integers and floats of as many bits, of two widths or more: "
            "expected such as 'sweep widths'"
        )

    def paint(figure: "Figure") -> None:
        axes = figure.subplots(2, len(chosen), squeeze=False, sharex="col")
        for i, panel in enumerate(chosen):
            _paint_costs(axes[0][i], panel, field)
            _paint_ratios(axes[1][i], panel, field)
            axes[0][i].set_title(panel.name)
            axes[1][i].set_xlabel("bits of an operand")
        axes[0][0].set_ylabel(f"{metric(field).heading} (logarithmic)")
        axes[1][0].set_ylabel("float / integer (logarithmic)")

    return render((4.1 * len(chosen), 7.2), paint, suffix)


def _paint_costs(ax: "Axes", panel: Panel, field: str) -> None:
    widths = panel.widths
    costs = [panel.integers[n][field] for n in widths]
    logarithmic(ax, "y")
    _paint_floats(ax, panel, field, lambda n, cost: cost)
    ax.plot(widths, costs, color=_INTEGER, marker=MARKERS[0], markersize=4)
    _finish(ax, panel, field, costs, "integer", lambda n, cost: cost)


def _paint_ratios(ax: "Axes", panel: Panel, field: str) -> None:
    logarithmic(ax, "y", "{x:.3g}x", (1, 1.5, 2, 3, 5, 7))
    ax.axhline(1, color=_INTEGER, linewidth=1)

    def ratio(width: int, cost: float) -> float:
        return float(cost / max(panel.integers[width][field], 1))

    _paint_floats(ax, panel, field, ratio)
    _finish(ax, panel, field, [1.0], "integer", ratio)
    ax.yaxis.set_major_formatter("{x:.3g}x")


def _paint_floats(
    ax: "Axes", panel: Panel, field: str, shown: Callable[[int, float], float]
) -> None:
    widths = panel.widths
    of_width = [[r[field] for r in panel.floats[n].values()] for n in widths]
    lows, highs = (
        [shown(n, edge(costs)) for n, costs in zip(widths, of_width, strict=True)]
        for edge in (min, max)
    )
    ax.fill_between(widths, lows, highs, color=_BAND)
    for sense, (colour, marker, size) in _SENSES.items():
        places = [(n, found[1][field]) for n in widths if (found := panel.best(n, sense, field))]
        if places:
            ax.plot([n for n, _ in places], [shown(n, cost) for n, cost in places],
                    color=colour, marker=marker, markersize=size, linewidth=1.2)  # fmt: skip


def _finish(
    ax: "Axes",
    panel: Panel,
    field: str,
    integers: Sequence[float],
    name: str,
    shown: Callable[[int, float], float],
) -> None:
    """Write the names of the lines at their ends."""
    last = panel.widths[-1]
    finish_axes(ax, 0.05)
    ends = [(last, integers[-1], name, _INTEGER)]
    for sense, (colour, *_) in _SENSES.items():
        found = panel.best(last, sense, field)
        if found is not None:
            ends.append((last, shown(last, found[1][field]), _SHORT[sense], colour))
    ax.autoscale_view()
    label_ends(ax, ends)
