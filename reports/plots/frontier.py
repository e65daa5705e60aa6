"""Size against delay."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmacost.reports.errors import InputError
from fmacost.reports.facets import facet
from fmacost.reports.metrics import metric
from fmacost.reports.plots.style import MARKERS, STYLES, finish_axes, logarithmic, render
from fmacost.reports.row import Records

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_LINES = 24
_TICKS = (1, 1.5, 2, 3, 5, 7)


def draw_frontier(records: Records, field: str, suffix: str) -> bytes:
    """Return a plot file with a line of points for each unit and technology.

    A line has those points alone that no other of its unit beats in both. Rows at a clock, which
    repeat a point, are left out.

    Raises
    ------
    InputError
        If no row has a delay, or there are too many lines.
    """
    slowness = next((n for n in ("delay_ps", "delay_fo4") if all(n in r for r in records)), None)
    if slowness is None:
        raise InputError(
            "the table has no delays: expected such as 'fmacost curve' exports, rows with delay_ps "
            "or delay_fo4 alone"
        )
    technologies = {facet(record, "technology") for record in records}
    lines: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        name = record["unit"]
        if len(technologies) > 1:
            name += f" {facet(record, 'technology')}"
        lines.setdefault(name, []).append((record[slowness], record[field]))
    if len(lines) > _MAX_LINES:
        raise InputError(
            f"{len(lines)} units, at most {_MAX_LINES} are drawn: choose some with --where"
        )

    def paint(figure: "Figure") -> None:
        ax = figure.subplots()
        for i, (name, points) in enumerate(lines.items()):
            colour, _ = STYLES[i % len(STYLES)]
            times, sizes = zip(*_unbeaten(points), strict=True)
            # what a clock takes: the next smaller delay that is there
            ax.step(times, sizes, where="post", color=colour, linewidth=1.2)
            ax.plot(
                times, sizes, linestyle="none", marker=MARKERS[i % len(MARKERS)],
                color=colour, markeredgecolor="black", markeredgewidth=0.5,
            )  # fmt: skip
            # the fast ends are apart, the small ones often are not
            ax.annotate(
                name, (times[0], sizes[0]), (0, 7), textcoords="offset points",
                ha="center", va="bottom", fontsize=9,
                bbox={"facecolor": "white", "edgecolor": colour, "pad": 1.5, "alpha": 0.85},
            )  # fmt: skip
        unit = metric(slowness).unit
        ax.set_xlabel(f"delay, {unit if slowness == 'delay_ps' else 'FO4'}")
        ax.set_ylabel(metric(field).heading)
        logarithmic(ax, "x", "{x:,.3g}" if slowness == "delay_fo4" else "{x:,.0f}", _TICKS)
        finish_axes(ax)
        ax.margins(x=0.1)
        ax.set_ylim(0, 1.14 * max(size for points in lines.values() for _, size in points))
        ax.set_title(f"Size against delay in {', '.join(sorted(technologies))}")

    return render((7.6, 4.8), paint, suffix)


def _unbeaten(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other one beats, from the fastest to the smallest."""
    kept: list[tuple[float, float]] = []
    for time, size in sorted(points):
        if not kept or size < kept[-1][1]:
            kept.append((time, size))
    return kept
