"""Make a built-in table from the Liberty file of its library.

``python -m fmacost.hw.make_table NAME FILE`` rewrites ``hw/technologies/NAME.json``: areas,
capacitances, energies, leakage and setup times as they are in the file, delays fitted by two
parameters an edge. What a Liberty file does not say stays as it is in the table: transistors,
structures, names, source and licence, and how a function is spelled, since results of ABC depend
on that. A table has exactly the cells that ``read_liberty`` keeps, and their larger drives, which
count as many transistors as the smallest one: fingers in parallel are one wide transistor.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from fmacost.hw.characterisation import Arc, Characterisation, Edge, Linear
from fmacost.hw.liberty import LibertyError, read_liberty
from fmacost.hw.static_timing import delay_ps
from fmacost.hw.technology import Technology, TechnologyError, table_path
from fmacost.hw.technology_json import table_text, technology_from_json, technology_to_json
from fmacost.sim.netlist import CellType

_LOADS = (1, 2, 4, 8)  # in inverters: what a cell of a netlist drives
_KEPT = ("name", "description", "source", "licence", "corner")
_DIGITS = 4
# What the fit is judged by: shallow and deep, with and without multiplexers and adders.
JUDGES = (
    *(f"mul:{name}" for name in ("int4", "int8", "uint8", "e2m1fn", "e4m3fn", "e5m2", "fp16")),
    *(f"add:{name}" for name in ("int8", "int16", "int32", "e2m1fn", "e4m3fn", "bf16")),
    *(f"fma:{name}" for name in ("int4", "int8", "int8+int32", "e2m1fn", "e3m2fn", "e4m3fn")),
    "fma:e5m2",
)


def fitted(technology: Technology) -> Technology:
    """Return a technology whose delays are linear in the load.

    The input slew is the one that settles in a chain of inverters that drive four each. An output
    that is slower than that delays the cells behind it: the excess, times how much the cells of
    the library feel a slew, counts as delay of the cell that causes it.

    Raises
    ------
    TechnologyError
        If the technology has no delays and slews.
    """
    known = _characterisation(technology)
    slew_ps = settled_slew_ps(technology)
    loads = [n * technology.inverter_ff for n in _LOADS]
    larger = {cell.name for drives in technology.drives.values() for cell in drives}
    mapped = [arcs for name, arcs in known.arcs.items() if name not in larger]
    felt = _slew_sensitivity(mapped, slew_ps, 4 * technology.inverter_ff)

    def fit(edge: Edge | None) -> Edge | None:
        if edge is None:
            return None
        delays = [
            edge.delay.at(slew_ps, load) + felt * _excess(edge, slew_ps, load) for load in loads
        ]
        return Edge(_line(loads, delays), None)

    arcs = {
        name: tuple(replace(arc, rise=fit(arc.rise), fall=fit(arc.fall)) for arc in found)
        for name, found in known.arcs.items()
    }
    return replace(technology, characterisation=replace(known, arcs=arcs))


def settled_slew_ps(technology: Technology) -> float:
    """Return the slew in a long chain of inverters that drive four each."""
    known = _characterisation(technology)
    (arc,) = known.arcs[technology.inverter]
    load, slew_ps = 4 * technology.inverter_ff, known.fo4_ps
    for _ in range(50):
        slew_ps = fmean(_slew(edge, slew_ps, load) for edge in (arc.rise, arc.fall) if edge)
    return slew_ps


def _characterisation(technology: Technology) -> Characterisation:
    if technology.characterisation is None:
        raise TechnologyError(f"technology {technology.name} has no delays")
    return technology.characterisation


def _slew(edge: Edge, slew_ps: float, load_ff: float) -> float:
    if edge.slew is None:
        raise TechnologyError("a delay without a slew: it is fitted already")
    return edge.slew.at(slew_ps, load_ff)


def _excess(edge: Edge, slew_ps: float, load_ff: float) -> float:
    return _slew(edge, slew_ps, load_ff) - slew_ps


def _slew_sensitivity(arcs: Iterable[Sequence[Arc]], slew_ps: float, load_ff: float) -> float:
    """Return how much longer the delays of a library are for an input slew of 1 ps more."""
    edges = [edge for found in arcs for arc in found for edge in (arc.rise, arc.fall) if edge]
    low, high = 0.5 * slew_ps, 2 * slew_ps
    return median(
        (e.delay.at(high, load_ff) - e.delay.at(low, load_ff)) / (high - low) for e in edges
    )


def _line(x: Sequence[float], y: Sequence[float]) -> Linear:
    """Return the line through points by least squares."""
    mean_x, mean_y = fmean(x), fmean(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    slope /= sum((a - mean_x) ** 2 for a in x)
    return Linear(mean_y - slope * mean_x, slope)


def merged(technology: Technology, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a technology, with what ``table`` knows beside it.

    Raises
    ------
    TechnologyError
        If a cell has no transistors in the table.
    """
    record = _rounded(technology_to_json(technology)) | {name: table[name] for name in _KEPT}
    cells, old = record["cells"], table["cells"]
    if unknown := cells.keys() - old.keys():
        raise TechnologyError(f"the table does not say the transistors of {min(unknown)}")
    record["cells"] = {name: _merged_cell(cells[name], old[name]) for name in old if name in cells}
    for name, facts in record.get("drives", {}).items():
        smallest = {key: value for key, value in old[facts["of"]].items() if key != "stages"}
        record["drives"][name] = {"of": facts["of"]} | _merged_cell(facts, smallest)
    register, of_register = record.get("flip_flop"), table.get("flip_flop")
    if register and of_register and register["cell"] == of_register["cell"]:
        register["transistors"] = of_register["transistors"]
    return record


def _merged_cell(cell: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    inputs = {pin: cell["inputs"][pin] for pin in old["inputs"]}
    kept = {name: old[name] for name in ("transistors", "stages") if name in old}
    spelled = CellType("old", tuple(inputs), tuple(old["outputs"].items()))
    ours = CellType("new", tuple(inputs), tuple(cell["outputs"].items()))
    outputs = {
        pin: function if spelled.truth_table(pin) == ours.truth_table(pin) else cell["outputs"][pin]
        for pin, function in old["outputs"].items()
    }
    head = {"inputs": inputs, "outputs": outputs, "area_um2": cell["area_um2"], **kept}
    return head | {name: value for name, value in cell.items() if name not in head}


def _rounded(value: Any, name: str = "") -> Any:
    """Return a record with few digits, areas apart."""
    if isinstance(value, Mapping):
        return {key: _rounded(member, key) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(member) for member in value]
    return (
        float(f"{value:.{_DIGITS}g}") if isinstance(value, float) and name != "area_um2" else value
    )


def describe_fit(delays: Sequence[tuple[float, float]]) -> str:
    """Return how far delays of a fit, second in each pair, are from the full library's."""
    errors = [ours / full - 1 for full, ours in delays]
    return f"{min(errors):+.1%} to {max(errors):+.1%} of the full library on {len(delays)} units"


def main(arguments: Sequence[str]) -> None:
    """Rewrite the table of a technology from a Liberty file."""
    from fmacost.hw.synthesis import map_quickly
    from fmacost.hw.units.build import to_rtlil
    from fmacost.sim.operation import parse_unit

    if len(arguments) != 2:
        raise SystemExit("usage: python -m fmacost.hw.make_table NAME FILE")
    path = table_path(arguments[0])
    table = json.loads(path.read_text(encoding="utf-8"))
    try:
        full = read_liberty(Path(arguments[1])).technology
        record = merged(fitted(full), table)
    except (LibertyError, TechnologyError) as error:
        raise SystemExit(str(error)) from None
    made = technology_from_json(record)
    netlists = map_quickly([to_rtlil(parse_unit(unit)) for unit in JUDGES], made)
    record["fit"] = describe_fit([(delay_ps(n, full), delay_ps(n, made)) for n in netlists])
    last = ("flip_flop", "cells", "drives")
    head = {name: record[name] for name in record if name not in last}
    path.write_text(table_text({**head, **record}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
