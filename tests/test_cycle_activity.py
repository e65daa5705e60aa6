"""Toggle counts of netlists with registers: one cycle and cell at a time, by hand, by Icarus."""

from __future__ import annotations

import itertools
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fmacost.hw.pe import processing_element
from fmacost.hw.pipeline import pipelined
from fmacost.hw.power import energy_fj, switched_capacitance
from fmacost.sim import activity
from fmacost.sim.activity import Activity, replay, replay_cycles
from fmacost.sim.netlist import Cell, CellType, Netlist
from fmacost.sim.operation import parse_unit
from tests import fake_hw
from tests.test_activity import Values, count_bench, with_inputs, with_unit_delays
from tests.test_energy import INVENTED
from tests.test_netlist import LIBRARY
from tests.units import CMOS, mapped

Codes = dict[str, NDArray[Any]]


def pipeline_of(unit: str, ranks: int) -> Netlist:
    return pipelined(fake_hw.build(parse_unit(unit), CMOS), CMOS, ranks).netlist


def element_of(unit: str) -> Netlist:
    return processing_element(parse_unit(unit), fake_hw.build(parse_unit(unit), CMOS), CMOS)


def stream_of(netlist: Netlist, cycles: int, seed: int = 0) -> Codes:
    """Return random codes; where there is ``clear``, it is set in the first of them."""
    rng = np.random.default_rng(seed)
    codes = {
        name: rng.integers(0, 1 << len(nets), cycles, dtype=np.uint64)
        for name, nets in netlist.inputs.items()
        if name != netlist.clock
    }
    if "clear" in codes:
        codes["clear"] = (rng.integers(0, 9, cycles) == 0).astype(np.uint64)
        codes["clear"][0] = 1
    return codes


def starts_of(codes: Codes, every: int = 7) -> NDArray[np.int64]:
    if "clear" in codes:
        return codes["clear"].nonzero()[0]
    return np.arange(0, len(codes["a"]), every)


def count_one_by_one(netlist: Netlist, codes: Codes, latency: int, *, glitches: bool) -> Activity:
    """Step every cell at every unit of time in each cycle, for longer than it can matter."""
    toggles: Counter[int] = Counter()
    cycles = len(codes["a"])
    settled: Values = {}
    for j in range(cycles):
        held = {
            cell.pins[pin]: value_of(netlist, cell, pin, settled)
            for cell in netlist.registers
            for pin, _ in netlist.library[cell.type].outputs
        }
        ports = {n: c for n, c in codes.items()} | {"clk": np.zeros(cycles, np.uint64)}
        history = [settled, {**with_inputs(netlist, settled, ports, j), **held}]
        for _ in range(netlist.depth + 1):
            now, new = history[-1], dict(history[-1])
            for cell in netlist.cells:
                for pin, _ in netlist.library[cell.type].outputs:
                    if cell not in netlist.registers:
                        new[cell.pins[pin]] = value_of(netlist, cell, pin, now)
            history.append(new)
        settled = history[-1]
        for a, b in itertools.pairwise(history if glitches else [history[0], settled]):
            toggles.update(net for net in b if j > latency and a[net] != b[net])
    steps = cycles - 1 - latency
    return Activity(steps, {**toggles, **dict.fromkeys(netlist.inputs["clk"], 2 * steps)})


def value_of(netlist: Netlist, cell: Cell, pin: str, values: Values) -> int:
    kind = netlist.library[cell.type]
    pattern = sum(values.get(cell.pins[p], 0) << i for i, p in enumerate(kind.inputs))
    return kind.truth_table(pin) >> pattern & 1


def without_zeros(counts: dict[int, int]) -> dict[int, int]:
    return {net: count for net, count in counts.items() if count}


@pytest.mark.parametrize("glitches", [False, True])
@pytest.mark.parametrize(
    ("netlist", "latency"),
    [
        (pipeline_of("mul:int2", 1), 1),
        (pipeline_of("fma:int2", 3), 3),
        (element_of("fma:int2"), 2),
        (element_of("fma:e1m0f+int3"), 2),
    ],
)
def test_counts_equal_those_made_one_by_one(netlist: Netlist, latency: int, glitches: bool) -> None:
    codes = stream_of(netlist, 150)
    expected = count_one_by_one(netlist, codes, latency, glitches=glitches)
    found = replay_cycles(netlist, codes, starts_of(codes), latency, glitches=glitches)
    assert len(netlist.registers) > 2
    assert sum(expected.toggles.values()) > 500
    assert found.steps == expected.steps == 149 - latency
    assert without_zeros(found.toggles) == without_zeros(expected.toggles)


@pytest.mark.parametrize("glitches", [False, True])
@pytest.mark.parametrize("every", [1, 3, 64, 99, 1000])
def test_where_a_stream_is_cut_does_not_matter(
    every: int, glitches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    netlist = pipeline_of("fma:int2", 2)
    codes = stream_of(netlist, 100)
    whole = replay_cycles(netlist, codes, [0], 2, glitches=glitches)
    monkeypatch.setattr(activity, "_BLOCK", 256)
    cut = replay_cycles(netlist, codes, range(0, 100, every), 2, glitches=glitches)
    assert cut == whole


def test_a_cut_where_the_past_matters_shows() -> None:
    """An accumulator that is cut anywhere but at a clear starts from noise."""
    netlist = element_of("fma:int2")
    codes = stream_of(netlist, 200)
    true = replay_cycles(netlist, codes, starts_of(codes), 2)
    assert replay_cycles(netlist, codes, range(0, 200, 5), 2).toggles != true.toggles


def test_a_pipeline_without_ranks_is_its_logic() -> None:
    netlist = fake_hw.build(parse_unit("mul:int2"), CMOS)
    codes = stream_of(netlist, 200)
    assert replay_cycles(netlist, codes, range(0, 200, 64), 0) == replay(netlist, codes)


def test_settled_counts_of_a_pipeline_are_those_of_its_logic_later() -> None:
    logic = fake_hw.build(parse_unit("fma:int2"), CMOS)
    netlist = pipelined(logic, CMOS, 2).netlist
    codes = stream_of(netlist, 300)
    last = {name: np.append(port, port[-1:].repeat(2)) for name, port in codes.items()}
    found = replay_cycles(netlist, last, [0], 2).toggles
    first = {name: np.append(port[:1].repeat(2), port) for name, port in codes.items()}
    found_first = replay_cycles(netlist, first, [0], 2).toggles
    expected = replay(logic, codes).toggles
    outputs = [net for nets in netlist.outputs.values() for net in nets]
    inputs = [net for name in codes for net in netlist.inputs[name]]
    logic_outputs = [net for nets in logic.outputs.values() for net in nets]
    assert [found[n] for n in outputs] == [expected[n] for n in logic_outputs]
    assert [found_first[n] for n in inputs] == [expected[n] for n in inputs]


def test_too_few_cycles_are_refused() -> None:
    netlist = pipeline_of("fma:int2", 2)
    assert replay_cycles(netlist, stream_of(netlist, 4), [0], 2).steps == 1
    with pytest.raises(ValueError, match="3 cycles are too few for a latency of 2"):
        replay_cycles(netlist, stream_of(netlist, 3), [0], 2)


# Energy by hand: an inverter between two registers.

FF = CellType("DFF", ("D", "CLK"), (("Q", "D"),), clock="CLK")
SHIFT = Netlist(
    "shift",
    {"a": (2,), "clk": (3,)},
    {"y": (6,)},
    (
        Cell("first", "DFF", {"D": 2, "CLK": 3, "Q": 4}),
        Cell("not", "INV", {"A": 4, "Y": 5}),
        Cell("second", "DFF", {"D": 5, "CLK": 3, "Q": 6}),
    ),
    {"INV": LIBRARY["INV"], "DFF": FF},
)


def test_energies_of_registers_worked_by_hand() -> None:
    codes = {"a": np.array([0, 1, 0, 1, 1, 1, 1], np.uint64)}
    found = replay_cycles(SHIFT, codes, [0], 2)
    assert found.steps == 4
    # From the third cycle on: the input changes once, the nets behind it 2, 2 and 3 times.
    assert without_zeros(found.toggles) == {2: 1, 3: 8, 4: 2, 5: 2, 6: 3}
    facts = INVENTED.characterisation
    assert facts is not None
    known = replace(
        INVENTED,
        characterisation=replace(
            facts,
            capacitance_ff={"INV": {"A": 1.0}, "DFF": {"D": 3.0, "CLK": 5.0}},
            leakage_nw={"INV": 0.0, "DFF": 0.0},
            output_energy_fj={"INV": {"Y": 7.0}, "DFF": {"Q": 11.0}},
            input_energy_fj={"DFF": {"D": 13.0, "CLK": 17.0}},
        ),
    )
    spent = energy_fj(SHIFT, known, found.toggles)
    half_v2 = 2.0
    assert spent.inputs == 1 * 3 * half_v2
    assert spent.nets == 2 * 1 * half_v2
    assert spent.internal == 2 * 7
    assert spent.registers == 2 * 3 * half_v2 + (1 + 2) * 13 + (2 + 3) * 11
    assert spent.clock == 2 * 8 * (5 * half_v2 + 17)
    assert spent.total == sum(
        (spent.inputs, spent.nets, spent.internal, spent.registers, spent.clock)
    )
    assert spent.per(4).clock == spent.clock / 4
    in_cmos = switched_capacitance(SHIFT, CMOS, found.toggles)
    pin = CMOS.drive["DFF"].load
    assert in_cmos.registers == pytest.approx(2 * pin["D"])
    assert in_cmos.clock == pytest.approx(16 * pin["CLK"])
    assert in_cmos.inputs == pytest.approx(pin["D"])
    assert in_cmos.internal is None


# Icarus on the same netlist and stream.


def count_with_icarus(
    netlist: Netlist, codes: Codes, latency: int, folder: Path, *, glitches: bool
) -> dict[int, int]:
    """Return the changes of each net; the dump begins when the state is known."""
    ports = {name: len(nets) for name, nets in netlist.inputs.items()}
    steps = ["clk__ = 0; #1000;"]
    for j in range(len(codes["a"])):
        steps.append("clk__ = 1;")  # registers and inputs change together after this
        steps += [f"{name}__ <= {ports[name]}'d{port[j]};" for name, port in codes.items()]
        steps.append("#1000 clk__ = 0; #1000;")
        if j == latency:
            steps.append('$dumpfile("dump.vcd"); $dumpvars(1, dut); #1;')
    models = netlist.to_verilog()
    return count_bench(netlist, steps, with_delays(models) if glitches else models, folder)


def with_delays(verilog: str) -> str:
    """Give cells one unit of delay; registers change at the clock edge."""
    netlist, *models = re.findall(r"module .*?endmodule\n", verilog, re.DOTALL)
    parts = [m if "posedge" in m else with_unit_delays(f"endmodule{m}")[9:] for m in models]
    return "\n".join([netlist, *parts])


@pytest.mark.skipif(not shutil.which("iverilog"), reason="needs Icarus Verilog")
@pytest.mark.parametrize("glitches", [False, True])
@pytest.mark.parametrize(
    ("unit", "ranks"),
    [("fma:int2", 3), ("fma:e2m1fn", 2), ("fma:int2", None), ("fma:e2m1fn", None)],
)
def test_counts_equal_those_of_icarus(
    unit: str, ranks: int | None, glitches: bool, tmp_path: Path
) -> None:
    ((operation, logic),) = mapped([unit])
    if ranks is None:
        netlist, latency = processing_element(operation, logic, CMOS), 2
    else:
        netlist, latency = pipelined(logic, CMOS, ranks).netlist, ranks
    codes = stream_of(netlist, 700)
    expected = count_with_icarus(netlist, codes, latency, tmp_path, glitches=glitches)
    found = replay_cycles(netlist, codes, starts_of(codes), latency, glitches=glitches)
    assert expected[netlist.inputs["clk"][0]] == 2 * found.steps
    assert sum(expected.values()) > 5000
    assert {net: count for net, count in found.toggles.items() if net > 1} == expected
