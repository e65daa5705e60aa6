"""Toggle counts against one vector and one cell at a time, and against Icarus."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fmacost.sim import activity
from fmacost.sim.activity import Activity, replay
from fmacost.sim.netlist import Cell, Netlist
from tests.test_netlist import LIBRARY, adder, awkward, random_netlist
from tests.units import mapped

Values = dict[int, int]


def stream(netlist: Netlist, count: int, seed: int = 0) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    return {
        name: rng.integers(0, 1 << len(nets), count, dtype=np.uint64)
        for name, nets in netlist.inputs.items()
    }


def with_inputs(netlist: Netlist, values: Values, codes: dict[str, NDArray[Any]], j: int) -> Values:
    ports = netlist.inputs.items()
    bits = {net: int(codes[n][j]) >> i & 1 for n, nets in ports for i, net in enumerate(nets)}
    return {**values, 0: 0, 1: 1, **bits}


def next_values(netlist: Netlist, values: Values) -> Values:
    """Return what every net is one unit of time later."""
    new = dict(values)
    for cell in netlist.cells:
        kind = netlist.library[cell.type]
        pattern = sum(values.get(cell.pins[pin], 0) << i for i, pin in enumerate(kind.inputs))
        for pin, _ in kind.outputs:
            new[cell.pins[pin]] = kind.truth_table(pin) >> pattern & 1
    return new


def count_one_by_one(
    netlist: Netlist, codes: dict[str, NDArray[Any]], *, glitches: bool
) -> Activity:
    """Step every cell at every unit of time, for each vector, for longer than it can matter."""
    toggles: Counter[int] = Counter()
    count = len(next(iter(codes.values())))
    settled: Values = {}
    for j in range(count):
        history = [settled, with_inputs(netlist, settled, codes, j)]
        for _ in range(netlist.depth + 1):
            history.append(next_values(netlist, history[-1]))
        settled = history[-1]
        if j == 0:
            continue
        moments = history if glitches else [history[0], settled]
        for a, b in itertools.pairwise(moments):
            toggles.update(net for net in b if a[net] != b[net])
    return Activity(count - 1, dict(toggles))


def without_zeros(counts: dict[int, int]) -> dict[int, int]:
    return {net: count for net, count in counts.items() if count}


def assert_same(found: Activity, expected: Activity) -> None:
    assert found.steps == expected.steps > 0
    assert without_zeros(found.toggles) == without_zeros(expected.toggles)


@pytest.mark.parametrize("glitches", [False, True])
@pytest.mark.parametrize(
    "netlist",
    [adder(), awkward(), *(random_netlist(i, 15 * (i + 1), (4, 3, 0, 2)) for i in range(6))],
    ids=lambda netlist: netlist.name,
)
def test_counts_equal_those_made_one_by_one(netlist: Netlist, glitches: bool) -> None:
    codes = stream(netlist, 150)
    expected = count_one_by_one(netlist, codes, glitches=glitches)
    assert sum(expected.toggles.values()) > 150
    assert_same(replay(netlist, codes, glitches=glitches), expected)


@pytest.mark.parametrize("glitches", [False, True])
@pytest.mark.parametrize("count", [2, 3, 64, 65, 66, 129, 200])
def test_borders_of_words_and_blocks(
    count: int, glitches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "_BLOCK", 64)
    codes = stream(adder(), count, seed=count)
    expected = count_one_by_one(adder(), codes, glitches=glitches)
    assert_same(replay(adder(), codes, glitches=glitches), expected)


HAZARD = Netlist(
    "hazard",
    {"a": (2,)},
    {"y": (5,)},
    (
        Cell("late", "INV", {"A": 2, "Y": 3}),
        Cell("later", "INV", {"A": 3, "Y": 4}),
        Cell("differ", "XNOR2", {"A": 2, "B": 4, "Y": 5}),
    ),
    LIBRARY,
)


def test_a_hazard_worked_by_hand() -> None:
    """A change reaches the XNOR at once and two units later: its output falls and rises again."""
    codes = {"a": np.array([0, 1, 1, 0])}
    settled = replay(HAZARD, codes)
    assert settled.steps == 3
    assert settled.toggles == {0: 0, 1: 0, 2: 2, 3: 2, 4: 2, 5: 0}
    moving = replay(HAZARD, codes, glitches=True)
    assert moving.toggles == {0: 0, 1: 0, 2: 2, 3: 2, 4: 2, 5: 4}


def test_glitches_come_in_pairs() -> None:
    ((_, netlist),) = mapped(["fma:e2m1fn"])
    codes = stream(netlist, 3000)
    settled, moving = (replay(netlist, codes, glitches=g) for g in (False, True))
    surplus = {net: moving.toggles[net] - settled.toggles[net] for net in settled.toggles}
    assert all(count >= 0 and count % 2 == 0 for count in surplus.values())
    assert sum(surplus.values()) > 3000
    assert all(surplus[net] == 0 for nets in netlist.inputs.values() for net in nets)


def test_a_stream_that_stands_still_moves_nothing() -> None:
    codes = {"a": np.full(100, 3), "b": np.full(100, 1)}
    for glitches in (False, True):
        assert not any(replay(adder(), codes, glitches=glitches).toggles.values())


def test_codes_wider_than_a_word() -> None:
    kind = LIBRARY["INV"]
    wide = Netlist(
        "wide", {"a": tuple(range(2, 72))}, {"y": (72,)}, (Cell("u", "INV", {"A": 71, "Y": 72}),),
        {"INV": kind},
    )  # fmt: skip
    codes = np.array([0, 1 << 69, 1, (1 << 70) - 1], object)
    toggles = replay(wide, {"a": codes}).toggles
    assert (toggles[2], toggles[71], toggles[72], toggles[3]) == (1, 3, 3, 1)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ({"a": [1, 2]}, r"inputs must be \['a', 'b'\], not \['a'\]"),
        ({"a": [1], "b": [1]}, r"same number of vectors, at least 2, not \[1\]"),
        ({"a": [1, 2, 3], "b": [1, 2]}, r"same number of vectors, at least 2, not \[2, 3\]"),
        ({"a": [1, 2], "b": [1, 4]}, r"codes must be in 0\.\.2\*\*2 - 1, not 4\.\.4"),
    ],
)
def test_streams_that_do_not_fit(codes: dict[str, list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replay(adder(), {name: np.array(port) for name, port in codes.items()})


# Icarus on the same netlist and vectors.


def with_unit_delays(verilog: str) -> str:
    """Give every cell model one unit of transport delay; the netlist comes first, then models."""
    netlist, end, models = verilog.partition("endmodule")
    models = re.sub(r"  output (\w+);", r"  output reg \1;", models)
    models = re.sub(r"  assign (\w+) = (.*);", r"  always @* \1 <= #1 \2;", models)
    return netlist + end + models


def count_with_icarus(
    netlist: Netlist, codes: dict[str, NDArray[Any]], folder: Path, *, glitches: bool
) -> dict[int, int]:
    """Return the changes of each net in a dump of every net that begins at the first vector."""
    ports = {name: len(nets) for name, nets in netlist.inputs.items() if nets}
    steps = []
    for j in range(len(next(iter(codes.values())))):
        steps += [f"{n}__ = {w}'d{codes[n][j]};" for n, w in ports.items()]
        steps += ["#1000;", *(['$dumpfile("dump.vcd"); $dumpvars(1, dut); #1;'] if j == 0 else [])]
    models = netlist.to_verilog()
    return count_bench(netlist, steps, with_unit_delays(models) if glitches else models, folder)


def count_bench(netlist: Netlist, steps: list[str], verilog: str, folder: Path) -> dict[int, int]:
    """Run steps that drive ``PORT__`` and start a dump of ``dut``; return the changes of nets."""
    ports = {name: len(nets) for name, nets in (netlist.inputs | netlist.outputs).items() if nets}
    declared = [
        f"{'reg' if name in netlist.inputs else 'wire'} [{width - 1}:0] {name}__;"
        for name, width in ports.items()
    ]
    pins = ", ".join(f".{name}({name}__)" for name in ports)
    source = "\n".join(
        ["module bench;", *declared, f"\\{netlist.name} dut({pins});", "initial begin", *steps,
         "end", "endmodule", verilog]
    )  # fmt: skip
    (folder / "bench.v").write_text(source)
    subprocess.run(["iverilog", "-g2012", "-o", "bench", "bench.v"], check=True, cwd=folder)
    subprocess.run(["vvp", "-n", "bench"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return count_dump(netlist, (folder / "dump.vcd").read_text())


def count_dump(netlist: Netlist, dump: str) -> dict[int, int]:
    """Return the changes of each net in a value change dump (IEEE 1364-2005, 18)."""
    nets: dict[str, tuple[int, ...]] = {}
    for _, symbol, name in re.findall(r"\$var (\w+) \d+ (\S+) (\S+)", dump):
        if name in netlist.inputs:
            nets[symbol] = netlist.inputs[name]
        elif match := re.fullmatch(r"n(\d+)", name):
            nets[symbol] = (int(match[1]),)
    toggles: Counter[int] = Counter()
    last: dict[int, str] = {}
    for line in dump.partition("$enddefinitions")[2].splitlines():
        match = re.fullmatch(r"(?:b([01xz]+) |([01xz]))(\S+)", line)
        if match and match[3] in nets:
            wires = nets[match[3]]
            bits = (match[1] or match[2]).rjust(len(wires), "0")[::-1]
            for net, bit in zip(wires, bits, strict=True):
                toggles[net] += last.get(net, bit) != bit
                last[net] = bit
    return dict(toggles)


@pytest.mark.skipif(not shutil.which("iverilog"), reason="needs Icarus Verilog")
@pytest.mark.parametrize("glitches", [False, True])
@pytest.mark.parametrize("unit", ["mul:int1", "fma:e2m1fn", "fma:int4+int16", "fma:e4m3fn"])
def test_counts_equal_those_of_icarus(unit: str, glitches: bool, tmp_path: Path) -> None:
    ((_, netlist),) = mapped([unit])
    assert_same_as_icarus(netlist, tmp_path, glitches=glitches)


@pytest.mark.skipif(not shutil.which("iverilog"), reason="needs Icarus Verilog")
@pytest.mark.parametrize("glitches", [False, True])
@pytest.mark.parametrize("netlist", [adder(), HAZARD])
def test_counts_of_small_circuits_equal_those_of_icarus(
    netlist: Netlist, glitches: bool, tmp_path: Path
) -> None:
    assert_same_as_icarus(netlist, tmp_path, glitches=glitches)


def assert_same_as_icarus(netlist: Netlist, folder: Path, *, glitches: bool) -> None:
    codes = stream(netlist, 1000)
    expected = count_with_icarus(netlist, codes, folder, glitches=glitches)
    found = replay(netlist, codes, glitches=glitches).toggles
    assert sum(expected.values()) > 1000
    assert {net: count for net, count in found.items() if net > 1} == expected


# Planted faults: the comparison one by one must see each of them.


def _count_the_first_net_twice(patch: pytest.MonkeyPatch) -> None:
    true_waves = activity._Machine.waves

    def waves(self: Any, *args: Any) -> Any:
        for changes in true_waves(self, *args):
            yield changes
            yield dict(itertools.islice(changes.items(), 1))

    patch.setattr(activity._Machine, "waves", waves)


def _miss_late_changes(patch: pytest.MonkeyPatch) -> None:
    true_waves = activity._Machine.waves

    def waves(self: Any, *args: Any) -> Any:
        yield from itertools.islice(true_waves(self, *args), 3)

    patch.setattr(activity._Machine, "waves", waves)


def _forget_the_last_step(patch: pytest.MonkeyPatch) -> None:
    true_planes = activity._planes

    def planes(netlist: Netlist, codes: Any, at: slice) -> Any:
        return true_planes(netlist, codes, slice(at.start, at.stop - 1))

    patch.setattr(activity, "_planes", planes)


@pytest.mark.parametrize(
    "plant", [_count_the_first_net_twice, _miss_late_changes, _forget_the_last_step]
)
def test_planted_faults_are_seen(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    netlist = random_netlist(4, 75, (4, 3, 0, 2))
    codes = stream(netlist, 140)
    expected = count_one_by_one(netlist, codes, glitches=True)
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        assert_same(replay(netlist, codes, glitches=True), expected)
