"""The plane of exponent and fraction bits, its colours the cost of every float."""

import re
from typing import TYPE_CHECKING

import numpy as np

from fmacost.reports.errors import InputError
from fmacost.reports.metrics import metric
from fmacost.reports.plots.style import logarithmic, render
from fmacost.reports.row import Records
from fmacost.reports.widths import Panel, panels
from fmacost.sim.formats import FloatFormat, standard_formats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ISO_BITS = range(2, 25, 2)
_FRAME = "#D55E00"
_NAMES = {  # one of those with the same split, without its special values
    (fmt.exp_bits, fmt.frac_bits): re.sub(r"(e\d+m\d+).*", r"\1", fmt.name)
    for fmt in standard_formats()
    if isinstance(fmt, FloatFormat)
}
_COLOURS = "cividis"  # one way from dark to light for all eyes, and in grey


def draw_heatmap(records: Records, field: str, suffix: str) -> bytes:
    """Return a plot file with a plane for each kind of unit.

    Lines join floats of as many bits; the splits of standard formats are framed.

    Raises
    ------
    InputError
        If the table has no floats, or two for one place.
    """
    chosen = [panel for panel in panels(records) if len(_cells(panel, field)) > 1]
    if not chosen:
        raise InputError("the table has no splits of floats: expected such as 'sweep surface'")
    most = [max(_cells(panel, field)) for panel in chosen]
    columns = max(split[1] for split in (s for p in chosen for s in _cells(p, field))) + 1

    def paint(figure: "Figure") -> None:
        axes = figure.subplots(1, len(chosen), squeeze=False)[0]
        for ax, panel in zip(axes, chosen, strict=True):
            _paint_plane(figure, ax, panel, field)

    height = 1.6 + 0.45 * (max(exp_bits for exp_bits, _ in most) + 1)
    return render(((1.6 + 0.52 * columns) * len(chosen), height), paint, suffix)


def _cells(panel: Panel, field: str) -> dict[tuple[int, int], float]:
    return {
        split: record[field] for floats in panel.floats.values() for split, record in floats.items()
    }


def _paint_plane(figure: "Figure", ax: "Axes", panel: Panel, field: str) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    cells = _cells(panel, field)
    rows, columns = (1 + max(split[i] for split in cells) for i in (0, 1))
    plane = np.full((rows, columns), np.nan)
    for split, cost in cells.items():
        plane[split] = max(cost, 1)
    norm = LogNorm(np.nanmin(plane), max(np.nanmax(plane), 2))
    drawn = ax.imshow(plane, cmap=_COLOURS, norm=norm, origin="lower", aspect="auto")
    for (exp_bits, frac_bits), cost in cells.items():
        ax.text(frac_bits, exp_bits, metric(field).show(cost), ha="center", va="center",
                fontsize=6.5, color=_ink(norm(cost)))  # fmt: skip
    for bits in _ISO_BITS:
        # half a cell beyond both axes
        ax.plot((-0.5, bits - 0.5), (bits - 0.5, -0.5), color="white", linewidth=0.8, alpha=0.7)
        _name_line(ax, bits, rows, columns)
    for (exp_bits, frac_bits), name in _NAMES.items():
        if (exp_bits, frac_bits) in cells:
            corner = frac_bits - 0.5, exp_bits - 0.5
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=_FRAME, linewidth=1.8))
            ink = _ink(norm(cells[exp_bits, frac_bits]))
            ax.text(frac_bits - 0.44, exp_bits + 0.44, name, ha="left", va="top", fontsize=5.5,
                    color=ink)  # fmt: skip
    ax.set_xlim(-0.5, columns - 0.5)
    ax.set_ylim(-0.5, rows - 0.5)
    ax.set_xticks(range(columns))
    ax.tick_params("x", length=0, pad=12)
    ax.set_yticks(range(rows))
    ax.set_xlabel("fraction bits")
    ax.set_ylabel("exponent bits")
    ax.set_title(f"{panel.name}: {metric(field).heading}", pad=16)
    bar = figure.colorbar(drawn, ax=ax, shrink=0.8, pad=0.06)
    logarithmic(bar.ax, "y")


def _ink(brightness: float) -> str:
    return "white" if brightness < 0.5 else "black"


def _name_line(ax: "Axes", bits: int, rows: int, columns: int) -> None:
    """Write how many bits a line stands for, where it leaves the plane between two cells."""
    at_top = bits - 1 - (rows - 0.5)  # fraction bits there
    if bits <= columns:
        place, offset, how = (bits - 0.5, -0.5), (0, -3), ("center", "top")
    elif -0.5 <= at_top <= columns - 0.5:
        place, offset, how = (at_top, rows - 0.5), (0, 2), ("center", "bottom")
    else:
        return
    ax.annotate(f"{bits} bits", place, offset, textcoords="offset points", fontsize=7,
                ha=how[0], va=how[1])  # fmt: skip
