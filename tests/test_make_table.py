"""Fits of delays: exact where a library is linear, and close to the full libraries."""

import itertools
import json
from dataclasses import replace

import pytest

from fmacost.hw.characterisation import Arc, Characterisation, Edge, Linear, Lookup
from fmacost.hw.make_table import (
    JUDGES,
    describe_fit,
    fitted,
    main,
    merged,
    operating_points,
)
from fmacost.hw.static_timing import delay_ps
from fmacost.hw.synthesis import map_quickly
from fmacost.hw.technology import TECHNOLOGIES, Technology, TechnologyError, table_path
from fmacost.hw.units.build import to_rtlil
from fmacost.sim.netlist import Cell, CellType, Netlist
from fmacost.sim.operation import parse_unit
from tests.test_built_in import NAMES, full_library

SLEWS, LOADS = (0.0, 100.0), (0.0, 100.0)
FELT = 0.25  # of 1 ps more slew


def plane(base: float, of_slew: float, of_load: float) -> Lookup:
    """Return a table that is linear in slew and load."""
    values = tuple(tuple(base + of_slew * s + of_load * c for c in LOADS) for s in SLEWS)
    return Lookup(SLEWS, LOADS, values)


def linear_library() -> Technology:
    """Return an inverter of 2 fF and a NAND2 whose delays and slews are linear."""
    inverter = Edge(plane(5, FELT, 2), plane(4, 0, 3))
    nand = Edge(plane(8, FELT, 2.5), plane(6, 0, 4))
    cells = {
        "INV": CellType("INV", ("A",), (("Y", "~A"),)),
        "NAND2": CellType("NAND2", ("A", "B"), (("Y", "~(A & B)"),)),
    }
    known = Characterisation(
        corner="made up",
        voltage_v=1,
        fo4_ps=5 + FELT * 28 + 2 * 8,
        capacitance_ff={"INV": {"A": 2}, "NAND2": {"A": 2.5, "B": 2.5}},
        arcs={
            "INV": (Arc("A", "Y", "negative", inverter, inverter),),
            "NAND2": tuple(Arc(pin, "Y", "negative", nand, nand) for pin in "AB"),
        },
        leakage_nw={"INV": 1, "NAND2": 1},
        output_energy_fj={"INV": {"Y": 1}, "NAND2": {"Y": 1}},
    )
    return Technology(
        "toy", "", "", "NAND2", cells, {}, area_um2={"INV": 1, "NAND2": 1.5}, characterisation=known
    )


def chain(technology: Technology) -> Netlist:
    """Return five inverters in a row, each of which drives four of its kind."""
    cells = [Cell(f"c{i}", "INV", {"A": 2 + i, "Y": 3 + i}) for i in range(5)]
    cells += [
        Cell(f"l{i}{k}", "INV", {"A": 3 + i, "Y": 100 + 9 * i + k})
        for i in range(4)
        for k in range(3)
    ]
    return Netlist("unit", {"a": (2,)}, {"y": (7,)}, tuple(cells), dict(technology.cells))


def test_points_are_those_of_the_longest_path() -> None:
    full = linear_library()
    settled = 4 + 3 * 8
    points = operating_points([chain(full)] * 2, full)
    assert points == [pytest.approx((settled, 8))] * 10


def test_a_linear_library_is_fitted_exactly() -> None:
    full = linear_library()
    fit = fitted(full, [(10, 1), (20, 2), (40, 2)])
    assert full.characterisation is not None
    assert fit.characterisation is not None
    for name, arcs in full.characterisation.arcs.items():
        for arc, ours in zip(arcs, fit.characterisation.arcs[name], strict=True):
            assert arc.rise and ours.rise and arc.rise.slew and ours.rise.slew
            for slew, load in [(0, 0), (70, 9), (5, 50)]:
                for table, line in (
                    (arc.rise.delay, ours.rise.delay),
                    (arc.rise.slew, ours.rise.slew),
                ):
                    assert isinstance(line, Linear)
                    assert line.at(slew, load) == pytest.approx(table.at(slew, load))
    assert delay_ps(chain(full), fit) == pytest.approx(delay_ps(chain(full), full))


def test_a_chain_of_four_is_one_fo4_a_stage() -> None:
    fit = fitted(linear_library(), [(10, 1), (20, 2), (40, 2)])
    assert fit.characterisation is not None
    assert delay_ps(chain(fit), fit) == pytest.approx(5 * fit.characterisation.fo4_ps)


def test_points_that_come_often_weigh_more() -> None:
    curved = Lookup((0.0,), (0.0, 10.0, 20.0), ((10.0, 20.0, 50.0),))
    known = linear_library()
    assert known.characterisation is not None
    arc = Arc("A", "Y", "negative", Edge(curved, curved), None)
    arcs = {**known.characterisation.arcs, "INV": (arc,)}
    bent = replace(known, characterisation=replace(known.characterisation, arcs=arcs))
    low, high = [(10.0, 0.0), (20.0, 10.0)], [(10.0, 20.0)]

    def error(points: list[tuple[float, float]]) -> float:
        fit = fitted(bent, points).characterisation
        assert fit is not None and fit.arcs["INV"][0].rise is not None
        return abs(fit.arcs["INV"][0].rise.delay.at(10, 20) - 50)

    assert error([*low, (0.0, 5.0), *high]) > error([*low, (0.0, 5.0), *high * 9])


def test_what_a_file_does_not_say_is_kept() -> None:
    name = "nangate45"
    technology = TECHNOLOGIES[name]
    table = json.loads(table_path(name).read_text(encoding="utf-8"))
    bare = replace(
        technology, name="other", description="", transistors={}, drive={},
        cells={
            cell: CellType(cell, facts.inputs[::-1], tuple((p, f"({f})") for p, f in facts.outputs))
            for cell, facts in sorted(technology.cells.items(), reverse=True)
        },
    )  # fmt: skip
    record = merged(bare, table)
    assert {key: record[key] for key in table if key != "fit"} == {
        key: table[key] for key in table if key != "fit"
    }
    assert list(record["cells"]) == list(table["cells"])
    with pytest.raises(TechnologyError, match="does not say the transistors of AND2_X1"):
        merged(bare, {**table, "cells": {}})


def test_errors_are_said() -> None:
    assert (
        describe_fit([(100, 99), (100, 104.04)]) == "-1.0% to +4.0% of the full library on 2 units"
    )
    with pytest.raises(SystemExit, match="usage"):
        main([])
    with pytest.raises(SystemExit, match="cannot be read"):
        main(["asap7", "none.lib"])
    with pytest.raises(TechnologyError, match="has no delays"):
        fitted(TECHNOLOGIES["cmos"], [(1, 1)])
    with pytest.raises(TechnologyError, match="fitted already"):
        fitted(TECHNOLOGIES["asap7"], [(1, 1)])


@pytest.mark.slow
@NAMES
def test_delays_are_close_to_those_of_the_full_library(name: str) -> None:
    """Within 3 %, ranked alike, and as the table says."""
    fit, full = TECHNOLOGIES[name], full_library(name)
    if full.characterisation is None:
        pytest.skip("the reader of Liberty files does not read delays")
    netlists = map_quickly([to_rtlil(parse_unit(unit)) for unit in JUDGES], fit)
    pairs = [(delay_ps(netlist, full), delay_ps(netlist, fit)) for netlist in netlists]
    for theirs, ours in pairs:
        assert ours == pytest.approx(theirs, rel=0.03)
    for (theirs, ours), (theirs_2, ours_2) in itertools.combinations(pairs, 2):
        assert (theirs < theirs_2) == (ours < ours_2)
    assert fit.characterisation is not None
    assert fit.characterisation.fit == describe_fit(pairs)
