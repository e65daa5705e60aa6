"""The built-in tables: facts that agree with one another and with the libraries they are from."""

import json
import os
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fmacost.hw.liberty import read_liberty
from fmacost.hw.static_timing import delay_ps, fan_out_of_four_surroundings, settle
from fmacost.hw.synthesis import Recipe, synthesise
from fmacost.hw.technology import TECHNOLOGIES, Technology, TechnologyError, table_path
from fmacost.hw.technology_json import table_text, technology_from_json, technology_to_json
from fmacost.hw.timing import delay_fo4
from fmacost.sim.check import verify
from fmacost.sim.netlist import Cell, CellType, Netlist
from fmacost.sim.operation import parse_unit
from tests.units import assert_exact

# Built-in name: the library's file in the folder FMACOST_LIBERTY, and its full adder.
TABLES = {
    "nangate45": ("nangate45/nangate45.compact.lib.gz", "FA_X1"),
    "sky130hd": ("sky130_fd_sc_hd/sky130_fd_sc_hd.compact.lib.gz", "sky130_fd_sc_hd__fa_1"),
    "asap7": ("asap7/asap7.compact.lib.gz", "FAx1_ASAP7_75t_R"),
    "gf180mcu": ("gf180mcu/gf180mcu_7t_3v3.compact.lib.gz", "gf180mcu_fd_sc_mcu7t5v0__addf_1"),
    "ihp_sg13g2": ("ihp_sg13g2/ihp_sg13g2.compact.lib.gz", None),
    "gt2n": ("gt2n/gt2n_w31_lvt.compact.lib.gz", None),
}
NAMES = pytest.mark.parametrize("name", TABLES)


def table(name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(table_path(name).read_text(encoding="utf-8"))
    return record


def test_every_technology_with_areas_has_a_table() -> None:
    assert set(TECHNOLOGIES) == {"cmos", "cmos2", *TABLES}
    assert {path.stem for path in table_path("x").parent.iterdir()} == set(TABLES)
    for name, technology in TECHNOLOGIES.items():
        assert technology.name == name
        assert name in TECHNOLOGIES
    assert "sky130" not in TECHNOLOGIES
    with pytest.raises(KeyError):
        TECHNOLOGIES["../asap7"]


@NAMES
def test_a_table_is_written_as_it_is_read(name: str) -> None:
    assert table_path(name).read_text(encoding="utf-8") == table_text(table(name))
    technology = TECHNOLOGIES[name]
    again = technology_from_json(json.loads(json.dumps(technology_to_json(technology))))
    assert again.characterisation == technology.characterisation
    assert again.flip_flop == technology.flip_flop
    assert (again.cells, again.area_um2) == (technology.cells, technology.area_um2)
    assert again.drives == technology.drives


@NAMES
def test_every_cell_has_every_fact(name: str) -> None:
    technology = TECHNOLOGIES[name]
    known = technology.characterisation
    assert known is not None
    assert technology.licence in ("Apache-2.0", "BSD-3-Clause")
    assert technology.flip_flop is not None
    assert technology.flip_flop.area_um2 is not None
    assert technology.area_um2 is not None
    register = technology.flip_flop.cell
    sized = technology.sized_cells
    assert set(technology.transistors) == set(technology.area_um2) == set(sized)
    assert set(technology.cells) < set(sized)
    assert register not in technology.cells
    assert known.setup_ps[register] > 0
    clocked = {(arc.source, arc.sink) for arc in known.arcs[register]}
    pins = technology.flip_flop.pins
    assert clocked == {(pins["CLK"], sink) for _, sink in clocked}
    assert (pins["CLK"], pins["Q"]) in clocked
    tied = set(known.capacitance_ff[register]) - {pins["D"], pins["CLK"]}
    assert set(technology.flip_flop.tied) == tied
    for cell, facts in sized.items():
        outputs = {pin for pin, _ in facts.outputs}
        # ASAP7's adders have arcs from carry to sum as well.
        arcs = [arc for arc in known.arcs[cell] if arc.source not in outputs]
        paths = {(arc.source, arc.sink) for arc in arcs}
        assert paths == {(pin, output) for pin in facts.inputs for output in outputs}
        assert set(known.capacitance_ff[cell]) == set(facts.inputs)
        assert min(known.capacitance_ff[cell].values()) > 0
        assert set(known.output_energy_fj[cell]) == outputs
        assert known.leakage_nw[cell] > 0


@NAMES
def test_senses_are_those_of_the_functions(name: str) -> None:
    technology = TECHNOLOGIES[name]
    assert technology.characterisation is not None
    for cell in technology.cells.values():
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for arc in technology.characterisation.arcs[cell.name]:
            if arc.source in cell.inputs:
                found[arc.source, arc.sink].add(arc.sense)
        for (source, sink), senses in found.items():
            one = senses.pop() if len(senses) == 1 else "both"  # an arc for each way
            assert one == sense(cell, source, sink), (cell.name, source, sink)


def sense(cell: CellType, source: str, sink: str) -> str:
    """Return how an output follows an input, from the truth table."""
    bit, table_bits = 1 << cell.inputs.index(source), cell.truth_table(sink)
    pairs = {
        (table_bits >> low & 1, table_bits >> (low | bit) & 1)
        for low in range(1 << len(cell.inputs))
        if not low & bit
    }
    rises, falls = (0, 1) in pairs, (1, 0) in pairs
    return "both" if rises and falls else "positive" if rises else "negative"


@NAMES
def test_an_inverter_that_drives_four_takes_one_fo4(name: str) -> None:
    technology = TECHNOLOGIES[name]
    known = technology.characterisation
    assert known is not None
    (inverter,) = (
        cell
        for cell in technology.cells.values()
        if len(cell.inputs) == 1 and cell.truth_table(cell.outputs[0][0]) == 1
    )
    (arc,) = known.arcs[inverter.name]
    stage = settle((arc,), technology.inverter_ff)
    assert stage.delay_ps == pytest.approx(known.fo4_ps, rel=0.04)


@NAMES
def test_adders_are_found(name: str) -> None:
    technology, cell = TECHNOLOGIES[name], TABLES[name][1]
    assert (technology.full_adder and technology.full_adder.cell) == cell
    assert (technology.half_adder is None) == (cell is None)
    for adder, tables in (
        (technology.full_adder, (0b10010110, 0b11101000)),
        (technology.half_adder, (0b0110, 0b1000)),
    ):
        if adder is not None:
            assert adder.inverted == (("S", "CO") if name == "asap7" else ())
            flip = (1 << 2 ** len(technology.cells[adder.cell].inputs)) - 1
            for pin, truth in zip(("S", "CO"), tables, strict=True):
                wanted = truth ^ flip if adder.inverted else truth
                assert technology.cells[adder.cell].truth_table(adder.pins[pin]) == wanted


def full_library(name: str) -> Technology:
    folder = os.environ.get("FMACOST_LIBERTY")
    if not folder:
        pytest.skip("FMACOST_LIBERTY, a folder of Liberty files, is not set")
    return read_liberty(Path(folder) / TABLES[name][0]).technology


@NAMES
def test_cells_and_areas_are_those_of_the_liberty_file(name: str) -> None:
    built_in, full = TECHNOLOGIES[name], full_library(name)
    assert built_in.area_um2 == full.area_um2
    assert built_in.nand2 == full.nand2
    assert built_in.full_adder == full.full_adder
    assert built_in.half_adder == full.half_adder
    assert built_in.drives.keys() == full.drives.keys()
    for cell in full.sized_cells.values():
        ours = built_in.sized_cells[cell.name]
        assert set(ours.inputs) == set(cell.inputs)
        for pin, _ in cell.outputs:
            same_order = CellType(cell.name, cell.inputs, ours.outputs)
            assert same_order.truth_table(pin) == cell.truth_table(pin), cell.name


@NAMES
@pytest.mark.parametrize("unit", ["fma:int4", "fma:e2m1fn"])
def test_units_are_exact(name: str, unit: str) -> None:
    operation, technology = parse_unit(unit), TECHNOLOGIES[name]
    made = synthesise(operation, technology, effort="quick")
    assert_exact(operation, verify(operation, made.netlist))
    assert made.candidates[0].delay_fo4 > 5


def test_adders_with_inverted_outputs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    operation, technology = parse_unit("mul:int4"), TECHNOLOGIES["asap7"]
    (member,) = [(a, Recipe("kept", r.script)) for a, r in _quick(technology)]
    monkeypatch.setattr("fmacost.hw.synthesis.portfolio", lambda *_: (member,))
    made = synthesise(operation, technology)
    assert made.netlist.count()["FAx1_ASAP7_75t_R"] > 4
    assert_exact(operation, verify(operation, made.netlist))


def _quick(technology: Technology) -> tuple[Any, ...]:
    from fmacost.hw.synthesis import portfolio

    return portfolio(technology, "area", "quick")


def test_a_delay_by_hand() -> None:
    """An inverter before a NAND2: the output falls last, or rises last, whichever is slower."""
    technology = TECHNOLOGIES["sky130hd"]
    known = technology.characterisation
    assert known is not None
    inverter, nand = "sky130_fd_sc_hd__inv_1", "sky130_fd_sc_hd__nand2_1"
    cells = (
        Cell("i", inverter, {"A": 2, "Y": 4}),
        Cell("n", nand, {"A": 4, "B": 3, "Y": 5}),
    )
    circuit = Netlist("unit", {"a": (2, 3)}, {"y": (5,)}, cells, dict(technology.cells))
    (first,) = known.arcs[inverter]
    second = next(arc for arc in known.arcs[nand] if arc.source == "A")
    rising, falling = known.edge_capacitance_ff[nand]["A"]
    around = fan_out_of_four_surroundings(technology)
    slew, behind = around.input_slew_ps, around.output_load_ff
    assert first.rise and first.fall and second.rise and second.fall
    assert first.rise.slew and first.fall.slew
    rise, fall = first.rise.slew.at(slew, rising), first.fall.slew.at(slew, falling)
    by_hand = max(
        first.rise.delay.at(slew, rising) + second.fall.delay.at(rise, behind),
        first.fall.delay.at(slew, falling) + second.rise.delay.at(fall, behind),
    )
    assert delay_ps(circuit, technology) == pytest.approx(by_hand)
    assert delay_fo4(circuit, technology) == pytest.approx(by_hand / known.fo4_ps)
    assert technology.leakage_nw(circuit) == known.leakage_nw[inverter] + known.leakage_nw[nand]
    assert TECHNOLOGIES["cmos"].leakage_nw(circuit) is None
    with pytest.raises(TechnologyError, match="cmos has no delays of"):
        delay_ps(circuit, TECHNOLOGIES["cmos"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cells": None}, "AttributeError"),
        ({"cells": {"X": {}}}, "inputs"),
        ({"cells": {"X": {"inputs": {"A": 1}, "outputs": {"Y": "A;"}}}}, "malformed"),
        ({"cells": {"X; shell": {"inputs": {}, "outputs": {}}}}, "not 'X; shell'"),
        ({"fo4_ps": 1}, "KeyError"),
    ],
)
def test_a_malformed_record_is_one_line(change: dict[str, Any], message: str) -> None:
    record = technology_to_json(TECHNOLOGIES["cmos2"])
    with pytest.raises(TechnologyError, match=message) as caught:
        technology_from_json({**record, **change})
    assert "\n" not in str(caught.value)


@NAMES
def test_areas_of_units_are_exact(name: str) -> None:
    technology = TECHNOLOGIES[name]
    made = synthesise(parse_unit("mul:int2"), technology, effort="quick")
    assert technology.area_um2 is not None
    exact = sum(
        Fraction(str(technology.area_um2[cell])) * n for cell, n in made.netlist.count().items()
    )
    assert Fraction(str(technology.area(made.netlist))) == exact
