"""Energies by hand on a small circuit, and against OpenSTA on a multiplier."""

import gzip
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmacost.hw.characterisation import Characterisation
from fmacost.hw.liberty import translate_function
from fmacost.hw.power import energy_fj, switched_capacitance
from fmacost.hw.technology import Technology, TechnologyError, get_technology
from fmacost.hw.yosys import Job, run_yosys
from fmacost.sim.activity import replay
from fmacost.sim.netlist import Cell, CellType, Netlist
from fmacost.sim.operation import parse_unit
from fmacost.sim.streams import make_stream

CMOS = get_technology("cmos")

INVENTED = replace(
    CMOS,
    name="invented",
    characterisation=Characterisation(
        corner="invented",
        voltage_v=2.0,
        fo4_ps=1.0,
        capacitance_ff={"INV": {"A": 1}, "NAND2": {"A": 1.5, "B": 1.25}, "XOR2": {"A": 3, "B": 4}},
        arcs={},
        leakage_nw={"INV": 0.5, "NAND2": 0.75, "XOR2": 2.0},
        output_energy_fj={"INV": {"Y": 0.25}, "NAND2": {"Y": 0.5}, "XOR2": {"Y": 1.0}},
        input_energy_fj={"NAND2": {"A": 0.125}, "XOR2": {"A": 0.375}},
    ),
)  # fmt: skip

# n4 = ~(a & b), n5 = ~a, y = n4 ^ n5. Of the two codes ports, a is net 2 and b is net 3.
CIRCUIT = Netlist(
    "circuit",
    {"a": (2,), "b": (3,)},
    {"y": (6,)},
    (
        Cell("nand", "NAND2", {"A": 2, "B": 3, "Y": 4}),
        Cell("inv", "INV", {"A": 2, "Y": 5}),
        Cell("xor", "XOR2", {"A": 4, "B": 5, "Y": 6}),
    ),
    dict(CMOS.cells),
)

#        a b | n4 n5 y
#        0 0 |  1  1 0
#        1 0 |  1  0 1    a, n5, y change
#        1 1 |  0  0 0    b, n4, y
#        0 0 |  1  1 0    a, b, n4, n5
CODES = {"a": np.array([0, 1, 1, 0]), "b": np.array([0, 0, 1, 0])}


def test_energy_worked_by_hand() -> None:
    """Half of C V² is 2 C. Changes: a 2, b 2, n4 2, n5 2, y 2.

    - a leads to 1.5 + 1.0 fF, b to 1.25 fF: 2 * 2 * 2.5 + 2 * 2 * 1.25 = 15 fJ
    - n4 leads to 3 fF, n5 to 4 fF, y to nothing: 2 * 2 * 3 + 2 * 2 * 4 = 28 fJ
    - outputs of NAND 2 * 0.5, inverter 2 * 0.25, XOR 2 * 1; pin A of the NAND 2 * 0.125, pin A
      of the XOR 2 * 0.375: 4.5 fJ
    """
    activity = replay(CIRCUIT, CODES)
    assert [activity.toggles[net] for net in (2, 3, 4, 5, 6)] == [2, 2, 2, 2, 2]
    spent = energy_fj(CIRCUIT, INVENTED, activity.toggles)
    assert (spent.inputs, spent.nets, spent.internal) == (15, 28, 4.5)
    assert spent.total == 47.5


def test_glitches_worked_by_hand() -> None:
    """With unit delays n4 and n5 still change at the same time, one unit after a and b.

    Nothing glitches, so what is spent is the same.
    """
    activity = replay(CIRCUIT, CODES, glitches=True)
    assert energy_fj(CIRCUIT, INVENTED, activity.toggles).total == 47.5


def test_capacitance_worked_by_hand() -> None:
    """INV 1, NAND2 4/3 each, XOR2 of its own structure: NOR2 5/3 and an AND-OR-inverter 2."""
    xor = CMOS.drive["XOR2"].load
    assert xor == pytest.approx({"A": 11 / 3, "B": 11 / 3})
    spent = switched_capacitance(CIRCUIT, CMOS, replay(CIRCUIT, CODES).toggles)
    assert spent.inputs == pytest.approx(2 * (4 / 3 + 1) + 2 * 4 / 3)
    assert spent.nets == pytest.approx(2 * 11 / 3 + 2 * 11 / 3)
    assert spent.internal is None
    assert spent.total == pytest.approx(spent.inputs + spent.nets)


def test_leakage_worked_by_hand() -> None:
    assert INVENTED.leakage_nw(CIRCUIT) == 0.5 + 0.75 + 2.0
    assert CMOS.leakage_nw(CIRCUIT) is None
    assert INVENTED.characterisation is not None
    silent = dict.fromkeys(INVENTED.characterisation.leakage_nw, 0.0)
    known = replace(INVENTED.characterisation, leakage_nw=silent)
    assert replace(INVENTED, characterisation=known).leakage_nw(CIRCUIT) is None


def test_energy_grows_with_the_square_of_the_voltage_but_not_inside_of_cells() -> None:
    assert INVENTED.characterisation is not None
    doubled = replace(INVENTED, characterisation=replace(INVENTED.characterisation, voltage_v=4.0))
    activity = replay(CIRCUIT, CODES)
    spent = energy_fj(CIRCUIT, doubled, activity.toggles)
    assert (spent.inputs, spent.nets, spent.internal) == (60, 112, 4.5)


def test_facts_that_are_missing_are_named() -> None:
    toggles = dict.fromkeys(range(7), 1)
    with pytest.raises(TechnologyError, match="technology cmos has no energies"):
        energy_fj(CIRCUIT, CMOS, toggles)
    assert INVENTED.characterisation is not None
    no_energies = {name: {"Y": 0.0} for name in INVENTED.characterisation.output_energy_fj}
    fields = {
        "capacitance_ff": "input capacitance",
        "output_energy_fj": "internal energy",
    }
    for field, what in fields.items():
        table: Any = {
            name: fact
            for name, fact in getattr(INVENTED.characterisation, field).items()
            if name != "INV"
        }
        lacking: Any = {field: table}
        poor = replace(INVENTED, characterisation=replace(INVENTED.characterisation, **lacking))
        with pytest.raises(TechnologyError, match=f"technology invented: no {what} of INV"):
            energy_fj(CIRCUIT, poor, toggles)
    for lacking, what in (
        ({"voltage_v": 0.0}, "no energies at 0 V"),
        ({"output_energy_fj": no_energies, "input_energy_fj": {}}, "states no energy inside"),
    ):
        poor = replace(INVENTED, characterisation=replace(INVENTED.characterisation, **lacking))
        with pytest.raises(TechnologyError, match=f"technology invented.* {what}"):
            energy_fj(CIRCUIT, poor, toggles)
    bare = replace(CMOS, drive={})
    with pytest.raises(TechnologyError, match="no input capacitance of INV, NAND2, XOR2"):
        switched_capacitance(CIRCUIT, bare, toggles)


# A multiplier in real libraries, which are not part of the project.

MULTIPLIER = """
module top (input signed [7:0] a, b, output signed [15:0] result);
  assign result = a * b;
endmodule
"""
BOOTH = """
read_verilog multiplier.v
synth -flatten -noabc -booth -top top
abc -liberty cells.lib -script "+strash;ifraig;scorr;dc2;strash;&get,-n;&dch,-f;&nf;&put;topo"
opt_clean -purge
write_json netlist.json
"""


def read_facts(path: Path) -> Technology:
    """Return a technology made of the facts of a ``.table.json``, every drive of every cell."""
    facts = json.loads(path.read_text())
    usable = {
        name: cell
        for name, cell in facts["cells"].items()
        if all(set(re.findall(r"\w+", o["f"])) <= cell["in"].keys() for o in cell["out"].values())
    }
    cells = {}
    for name, cell in usable.items():
        pins = tuple(cell["in"])
        outputs = ((pin, translate_function(o["f"], list(pins))) for pin, o in cell["out"].items())
        cells[name] = CellType(name, pins, tuple(outputs))
    known = Characterisation(
        corner=facts["name"],
        voltage_v=facts["voltage"],
        fo4_ps=facts["fo4_ps"],
        capacitance_ff={name: cell["in"] for name, cell in usable.items()},
        arcs={},
        leakage_nw={name: cell["leak_nW"] for name, cell in usable.items()},
        output_energy_fj={
            name: {pin: output["e_fJ"] for pin, output in cell["out"].items()}
            for name, cell in usable.items()
        },
        input_energy_fj={name: cell.get("e_in_fJ", {}) for name, cell in usable.items()},
    )
    return Technology(
        facts["name"], "facts", "facts", facts["nand2"], cells, {}, characterisation=known
    )


def liberty_file(name: str) -> Path:
    folder = os.environ.get("FMACOST_LIBERTY")
    if not folder:
        pytest.skip("FMACOST_LIBERTY is not set")
    return Path(folder, name)


@pytest.mark.parametrize(
    ("name", "internal_fj", "nets_fj", "leakage"),
    [
        ("nangate45/nangate45", 276.0, 256.9, 8056),
        ("sky130_fd_sc_hd/sky130_fd_sc_hd", 1018.0, 984.3, 0.5908),
        ("asap7/asap7", 23.4, 32.6, 11.14),
        ("ihp_sg13g2/ihp_sg13g2", 574.2, 560.6, 36.86),
        ("gf180mcu/gf180mcu_7t_3v3", 7028.5, 6324.1, 16.32),
        ("gt2n/gt2n_w31_lvt", 17.6, 30.0, 3822),
    ],
)
def test_a_multiplier_takes_what_opensta_says(
    name: str, internal_fj: float, nets_fj: float, leakage: float
) -> None:
    """OpenSTA 3.1 on the full tables, same circuit (Booth, &nf), 2000 other random vectors.

    OpenSTA takes the larger pin capacitance of rise and fall, the facts have their mean.
    """
    technology = read_facts(liberty_file(f"{name}.table.json"))
    library = gzip.decompress(liberty_file(f"{name}.compact.lib.gz").read_bytes()).decode()
    files = {"multiplier.v": MULTIPLIER, "cells.lib": library}
    (finished,) = run_yosys([Job(BOOTH, files, ("netlist.json",))], parallel=1, timeout_s=300)
    document = json.loads(finished.outputs["netlist.json"])
    netlist = Netlist.from_yosys_json(document, technology.cells, "top")
    assert technology.leakage_nw(netlist) == pytest.approx(leakage, rel=1e-3)
    activity = replay(netlist, make_stream("uniform", parse_unit("mul:int8"), 2001))
    spent = energy_fj(netlist, technology, activity.toggles)
    assert spent.internal is not None
    assert spent.internal / activity.steps == pytest.approx(internal_fj, rel=0.05)
    assert spent.nets / activity.steps == pytest.approx(nets_fj, rel=0.05)
