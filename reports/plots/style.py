"""What all plots share: files, colours, axes, labels."""

import importlib.util
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmacost.reports.errors import InputError
from fmacost.reports.export import check_writable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Metadata that would hold the time or the version of the drawing.
_METADATA: Mapping[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
STYLES = (
    ("#0072B2", ""),
    ("#E69F00", "///"),
    ("#009E73", "---"),
    ("#CC79A7", "xxx"),
    ("#56B4E9", "\\\\\\"),
    ("#F0E442", "+++"),
)
MARKERS = ("o", "s", "^", "D", "v", "P")
NOT_VERIFIED = "NOT VERIFIED"
BOX = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85}


def check_plot(path: Path) -> None:
    """Raise InputError unless a plot can be drawn into this file; for use before long work."""
    if path.suffix.lower() not in _METADATA:
        kinds = ", ".join(_METADATA)
        raise InputError(f"cannot plot to {path}: the name must end in one of {kinds}")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("plots need matplotlib: pip install 'fmacost[plot]'")
    check_writable(path)


def render(size: tuple[float, float], paint: Callable[["Figure"], None], suffix: str) -> bytes:
    """Return the content of a plot file.

    Parameters
    ----------
    size : width and height in inches
    paint : draws into an empty figure
    suffix : ``.png``, ``.svg`` or ``.pdf``
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {"svg.hashsalt": "fmacost", "hatch.linewidth": 0.6}
    with mpl.rc_context():
        mpl.rcdefaults()  # nothing of the user's own style
        mpl.rcParams.update(settings)
        figure = Figure(figsize=size, layout="constrained")
        paint(figure)
        out = io.BytesIO()
        figure.savefig(out, format=suffix[1:], dpi=150, metadata=_METADATA[suffix])
    return out.getvalue()


def style(i: int) -> dict[str, Any]:
    """Return how the ``i``-th bar looks; after one round of colours, how it looks paler."""
    colour, hatch = STYLES[i % len(STYLES)]
    is_second = i >= len(STYLES)
    return {
        "color": colour, "hatch": "|||" if is_second else hatch, "alpha": 0.7 if is_second else 1,
        "edgecolor": "black", "linewidth": 0.6,
    }  # fmt: skip


def finish_axes(ax: "Axes", margin: float = 0.12) -> None:
    """Leave room at the top, no frame, and write numbers in full."""
    ax.margins(y=margin)
    ax.spines[["top", "right"]].set_visible(False)
    ax.yaxis.set_major_formatter("{x:,.0f}")


def logarithmic(
    ax: "Axes", axis: str, text: str = "{x:,.0f}", ticks: Sequence[float] = (1, 2, 5)
) -> None:
    """Make an axis (``x`` or ``y``) logarithmic, its ticks plain numbers times powers of ten."""
    from matplotlib.ticker import LogLocator, NullLocator

    getattr(ax, f"set_{axis}scale")("log")
    of = getattr(ax, f"{axis}axis")
    of.set_major_locator(LogLocator(subs=ticks, numticks=20))
    of.set_minor_locator(NullLocator())
    of.set_major_formatter(text)


def label_ends(ax: "Axes", ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write names to the right of where lines end, moved apart where they would overlap.

    Parameters
    ----------
    ends : x, y, name and colour of each line's last point; the limits of the axes are final
    """
    gap = 0.07  # of the height
    to_axes = ax.transData + ax.transAxes.inverted()
    ordered = sorted(ends, key=lambda end: end[1])
    heights: list[float] = []
    for x, y, _, _ in ordered:
        _, height = to_axes.transform((x, y))
        heights.append(max([float(height), *(low + gap for low in heights[-1:])]))
    # half of what the highest was moved up, all that touch it move down
    for i in reversed(range(len(heights))):
        _, own = to_axes.transform(ordered[i][:2])
        limit = (own + heights[i]) / 2 if i + 1 == len(heights) else heights[i + 1] - gap
        heights[i] = min(heights[i], limit)
    for height, (x, y, text, colour) in zip(heights, ordered, strict=True):
        ax.annotate(
            text, (x, y), (1.02, height), textcoords="axes fraction", va="center", ha="left",
            fontsize=8, color=colour,
        )  # fmt: skip
