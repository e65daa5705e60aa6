"""Make a built-in table from the Liberty file of its library.

``python -m fmacost.hw.make_table NAME FILE`` rewrites ``hw/technologies/NAME.json``: areas,
capacitances, energies, leakage and setup times as they are in the file. Delays and slews are linear
in load and input slew, by three parameters that are fitted at the slews and loads which occur on
the longest paths of ``JUDGES``. What a Liberty file does not say stays as it is in the table:
transistors, structures, names, source and licence, and how a function is spelled, since results of
ABC depend on that. A table has exactly the cells that ``read_liberty`` keeps, and their larger
drives, which count as many transistors as the smallest one: fingers in parallel are one wide
transistor.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fmacost.hw.characterisation import Edge, Linear, Lookup, Quantity
from fmacost.hw.liberty import LibertyError, read_liberty
from fmacost.hw.static_timing import critical_path_ps, delay_ps, fan_out_of_four_surroundings
from fmacost.hw.technology import Technology, TechnologyError, table_path
from fmacost.hw.technology_json import table_text, technology_from_json, technology_to_json
from fmacost.sim.netlist import CellType, Netlist

Point = tuple[float, float]  # an input slew in ps, a load in fF

_KEPT = ("name", "description", "source", "licence", "corner")
_DIGITS = 4
_NEAR_ZERO = 0.05  # of the median: errors of smaller delays count as if they were so large
_TINY_PS = 1e-6  # where all are zero
# What the fit is made on and judged by: shallow and deep, with and without multiplexers and adders.
JUDGES = (
    *(f"mul:{name}" for name in ("int4", "int8", "uint8", "e2m1fn", "e4m3fn", "e5m2", "fp16")),
    *(f"add:{name}" for name in ("int8", "int16", "int32", "e2m1fn", "e4m3fn", "bf16")),
    *(f"fma:{name}" for name in ("int4", "int8", "int8+int32", "e2m1fn", "e3m2fn", "e4m3fn")),
    "fma:e5m2",
)


def operating_points(netlists: Iterable[Netlist], technology: Technology) -> list[Point]:
    """Return the input slew (ps) and the load (fF) of each cell on the longest paths of netlists.

    Raises
    ------
    TechnologyError
        If the technology has no delays.
    """
    points = []
    for netlist in netlists:
        slew_ps = fan_out_of_four_surroundings(technology).input_slew_ps
        for step in critical_path_ps(netlist, technology):
            points.append((slew_ps, step.load_ff))
            slew_ps = step.slew_ps
    return points


def fitted(technology: Technology, points: Sequence[Point]) -> Technology:
    """Return a technology whose delays and slews are linear in input slew and load.

    Parameters
    ----------
    points : where tables are fitted, by least squares of the relative errors, so that the few
        slow nets do not bend what all others are given by; each counts as often as it is there

    Raises
    ------
    TechnologyError
        If the technology has no delays and slews.
    """
    known = technology.characterisation
    if known is None:
        raise TechnologyError(f"technology {technology.name} has no delays")
    terms = np.array([(1.0, load, slew) for slew, load in points])

    def linear(table: Quantity | None) -> Linear:
        if not isinstance(table, Lookup):
            raise TechnologyError("delays without tables: they are fitted already")
        values = np.array([table.at(slew, load) for slew, load in points])
        sizes = np.abs(values)
        weights = 1 / np.maximum(sizes, _NEAR_ZERO * np.median(sizes) + _TINY_PS)
        solution, *_ = np.linalg.lstsq(terms * weights[:, None], values * weights)
        return Linear(*map(float, solution))

    def fit(edge: Edge | None) -> Edge | None:
        return edge and Edge(linear(edge.delay), linear(edge.slew))

    arcs = {
        name: tuple(replace(arc, rise=fit(arc.rise), fall=fit(arc.fall)) for arc in found)
        for name, found in known.arcs.items()
    }
    return replace(technology, characterisation=replace(known, arcs=arcs))


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
    rtls = [to_rtlil(parse_unit(unit)) for unit in JUDGES]
    try:
        full = read_liberty(Path(arguments[1])).technology
        points = operating_points(map_quickly(rtls, full), full)
        record = merged(fitted(full, points), table)
    except (LibertyError, TechnologyError) as error:
        raise SystemExit(str(error)) from None
    made = technology_from_json(record)
    netlists = map_quickly(rtls, made)
    record["fit"] = describe_fit([(delay_ps(n, full), delay_ps(n, made)) for n in netlists])
    last = ("flip_flop", "cells", "drives")
    head = {name: record[name] for name in record if name not in last}
    path.write_text(table_text({**head, **record}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
