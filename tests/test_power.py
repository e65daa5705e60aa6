"""Energies by hand on a small circuit, and against OpenSTA on a multiplier."""

from dataclasses import replace

import numpy as np
import pytest

from fmacost.hw.characterisation import Characterisation
from fmacost.hw.power import energy_fj, leakage_nw, switched_capacitance
from fmacost.hw.technology import TechnologyError, get_technology
from fmacost.sim.activity import replay
from fmacost.sim.netlist import Cell, Netlist

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
#        1 0 |  1  0 1    a, n5, y change; no output follows pin A of the NAND
#        1 1 |  0  0 0    b, n4, y
#        0 0 |  1  1 0    a, b, n4, n5
CODES = {"a": np.array([0, 1, 1, 0]), "b": np.array([0, 0, 1, 0])}


def test_energy_worked_by_hand() -> None:
    """Half of C V² is 2 C. Changes: a 2, b 2, n4 2, n5 2, y 2.

    - a leads to 1.5 + 1.0 fF, b to 1.25 fF: 2 * 2 * 2.5 + 2 * 2 * 1.25 = 15 fJ
    - n4 leads to 3 fF, n5 to 4 fF, y to nothing: 2 * 2 * 3 + 2 * 2 * 4 = 28 fJ
    - NAND 2 * 0.5, inverter 2 * 0.25, XOR 2 * 1, and what nothing follows: pin A of the NAND
      once, 0.125, and pin A of the XOR once (last line), 0.375: 4 fJ
    """
    activity = replay(CIRCUIT, CODES)
    assert [activity.toggles[net] for net in (2, 3, 4, 5, 6)] == [2, 2, 2, 2, 2]
    spent = energy_fj(CIRCUIT, INVENTED, activity.toggles, activity.idle)
    assert (spent.inputs, spent.nets, spent.internal) == (15, 28, 4)
    assert spent.total == 47


def test_glitches_worked_by_hand() -> None:
    """With unit delays n4 and n5 still change at the same time, one unit after a and b.

    Nothing glitches, so what is spent is the same.
    """
    activity = replay(CIRCUIT, CODES, glitches=True)
    assert energy_fj(CIRCUIT, INVENTED, activity.toggles, activity.idle).total == 47


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
    assert leakage_nw(CIRCUIT, INVENTED) == 0.5 + 0.75 + 2.0


def test_energy_grows_with_the_square_of_the_voltage_but_not_inside_of_cells() -> None:
    assert INVENTED.characterisation is not None
    doubled = replace(INVENTED, characterisation=replace(INVENTED.characterisation, voltage_v=4.0))
    activity = replay(CIRCUIT, CODES)
    spent = energy_fj(CIRCUIT, doubled, activity.toggles, activity.idle)
    assert (spent.inputs, spent.nets, spent.internal) == (60, 112, 4)


def test_facts_that_are_missing_are_named() -> None:
    toggles = dict.fromkeys(range(7), 1)
    with pytest.raises(TechnologyError, match="technology cmos has no energies"):
        energy_fj(CIRCUIT, CMOS, toggles, {})
    with pytest.raises(TechnologyError, match="technology cmos has no energies"):
        leakage_nw(CIRCUIT, CMOS)
    assert INVENTED.characterisation is not None
    for field, what in (
        ("capacitance_ff", "input capacitance"),
        ("output_energy_fj", "internal energy"),
        ("leakage_nw", "leakage"),
    ):
        table = {k: v for k, v in getattr(INVENTED.characterisation, field).items() if k != "INV"}
        poor = replace(
            INVENTED, characterisation=replace(INVENTED.characterisation, **{field: table})
        )
        with pytest.raises(TechnologyError, match=f"technology invented: no {what} of INV"):
            energy_fj(CIRCUIT, poor, toggles, {})
    bare = replace(CMOS, drive={})
    with pytest.raises(TechnologyError, match="no input capacitance of INV, NAND2, XOR2"):
        switched_capacitance(CIRCUIT, bare, toggles)
