"""From the records of a table to its picture: what ``plot`` draws, and every ``--plot``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fmacost.reports.errors import InputError, printable
from fmacost.reports.facets import facet
from fmacost.reports.grid import near
from fmacost.reports.metrics import METRICS, Better
from fmacost.reports.options import PlotKind
from fmacost.reports.plots.bars import draw_bars, draw_energies, draw_stages
from fmacost.reports.plots.frontier import draw_frontier
from fmacost.reports.plots.heatmap import draw_heatmap
from fmacost.reports.plots.lines import draw_lines
from fmacost.reports.row import Record, Records


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How a plot is wanted; None leaves it to the kind.

    Attributes
    ----------
    metric : field whose numbers are drawn
    x, series : names of ``facets.FACETS``
    base : one of the series: all are drawn as ratios to it
    is_share : parts on top of each other are drawn as shares of their sum
    """

    metric: str | None = None
    x: str | None = None
    series: str | None = None
    base: str | None = None
    is_share: bool = False


def _bars(records: Records, wish: Wish, suffix: str) -> bytes:
    if any("stage" in record for record in records):
        return draw_stages(records, suffix, is_share=wish.is_share)
    x, series = wish.x, wish.series
    if x is None and series is None and any("accumulator" in record for record in records):
        x, series = "accumulator", "operands"
    x, series = x or "unit", series or "technology"
    apart: dict[str, list[Record]] = {}
    for record in records:
        technology = "" if "technology" in (x, series) else facet(record, "technology")
        apart.setdefault(technology, []).append(record)
    tables = [_with(part, wish) for part in apart.values()]
    return draw_bars(tables, suffix, x=x, series=series, base=wish.base)


def _lines(records: Records, wish: Wish, suffix: str) -> bytes:
    return draw_lines(*_with(records, wish), suffix)


def _heatmap(records: Records, wish: Wish, suffix: str) -> bytes:
    return draw_heatmap(*_with(records, wish), suffix)


def _frontier(records: Records, wish: Wish, suffix: str) -> bytes:
    return draw_frontier(*_with(records, wish), suffix)


def _energy(records: Records, wish: Wish, suffix: str) -> bytes:
    return draw_energies(records, suffix, is_share=wish.is_share)


_DRAWERS: Mapping[PlotKind, Callable[[Records, Wish, str], bytes]] = {
    PlotKind.BARS: _bars,
    PlotKind.LINES: _lines,
    PlotKind.HEATMAP: _heatmap,
    PlotKind.FRONTIER: _frontier,
    PlotKind.ENERGY: _energy,
}


def draw_table(records: Records, kind: PlotKind, suffix: str, wish: Wish | None = None) -> bytes:
    """Return the content of a plot file.

    Parameters
    ----------
    records : of ``saved.read_table``
    suffix : ``.png``, ``.svg`` or ``.pdf``

    Raises
    ------
    InputError
        If the table lacks what the kind needs.
    """
    known = [record for record in records if "error" not in record]
    if not known:
        raise InputError("the table has no row with numbers")
    return _DRAWERS[kind](known, wish or Wish(), suffix)


def _with(records: Records, wish: Wish) -> tuple[Records, str]:
    """Return the records that have the metric, and its name."""
    name = wish.metric or size_field(records)
    known = numbers_in(records)
    if name not in known:
        raise InputError(printable(f"the table has no numbers called '{name}'{near(name, known)}"))
    return [record for record in records if record.get(name) is not None], name


def numbers_in(records: Records) -> list[str]:
    """Return the fields of a table that rank."""
    ranked = [m.name for m in METRICS if m.better is not Better.NONE]
    return [name for name in ranked if any(r.get(name) is not None for r in records)]


def size_field(records: Records) -> str:
    """Return the field that says how large units are: the first that all rows have."""

    def is_known(name: str) -> bool:
        return all(record.get(name) is not None for record in records)

    return next(filter(is_known, ("area_um2", "transistors", "gates_ge")), "transistors")
