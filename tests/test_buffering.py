"""Buffers make wide nets faster, and nothing else."""

import numpy as np
import pytest

from fmacost.hw.buffering import buffered
from fmacost.hw.technology import get_technology
from fmacost.hw.timing import delay_fo4
from fmacost.sim.netlist import Cell, Netlist

CMOS = get_technology("cmos")


def wide(count: int, outputs: tuple[int, ...] = ()) -> Netlist:
    """Return an inverter that drives ``count`` inverters, the first of them a chain of five."""
    pins = [(2, 10), *((10, 20 + i) for i in range(count))]
    pins += [(20 * 2**i, 40 * 2**i) for i in range(4)]
    cells = tuple(Cell(str(i), "INV", {"A": a, "Y": y}) for i, (a, y) in enumerate(pins))
    ends = (*outputs, *range(21, 20 + count), 320)
    return Netlist("unit", {"a": (2,)}, {"y": ends}, cells, dict(CMOS.cells))


def test_a_wide_net_becomes_faster() -> None:
    before = wide(12)
    after = buffered(before, CMOS)
    assert delay_fo4(after, CMOS) < delay_fo4(before, CMOS)
    assert set(after.count()) == {"INV", "BUF"}
    assert after.count()["INV"] == before.count()["INV"]
    assert (after.inputs, after.outputs) == (before.inputs, before.outputs)


def test_a_port_on_the_net_stays() -> None:
    before = wide(12, outputs=(10,))
    after = buffered(before, CMOS)
    assert delay_fo4(after, CMOS) < delay_fo4(before, CMOS)
    assert after.outputs["y"][0] == 10


def test_narrow_nets_are_left_alone() -> None:
    assert buffered(wide(2), CMOS).count() == wide(2).count()


def test_weighing_the_cost_takes_fewer_buffers() -> None:
    def product(netlist: Netlist) -> float:
        return CMOS.cost(netlist) * delay_fo4(netlist, CMOS)

    before = wide(18)
    fast, lean = buffered(before, CMOS), buffered(before, CMOS, weigh_cost=True)
    assert delay_fo4(fast, CMOS) <= delay_fo4(lean, CMOS)
    assert product(lean) <= min(product(fast), product(before))


@pytest.mark.parametrize("seed", range(20))
def test_random_netlists_keep_their_function_and_are_no_slower(seed: int) -> None:
    from fmacost.sim.evaluate import Program, exhaustive_planes

    rng = np.random.default_rng(seed)
    types = [t for t in CMOS.cells.values() if t.name not in ("FA", "HA")]
    nets, cells = list(range(2, 10)), []
    for i in range(60):
        kind = types[rng.integers(len(types))]
        # Early nets are taken often: some become wide.
        picked = [nets[int(len(nets) * rng.random() ** 3)] for _ in kind.inputs]
        cells.append(
            Cell(
                f"buffer{i}",
                kind.name,
                {**dict(zip(kind.inputs, picked, strict=True)), "Y": 100 + i},
            )
        )
        nets.append(100 + i)
    before = Netlist(
        "unit", {"a": tuple(range(2, 10))}, {"y": tuple(nets[-12:])}, tuple(cells), dict(CMOS.cells)
    )
    after = buffered(before, CMOS)
    assert delay_fo4(after, CMOS) <= delay_fo4(before, CMOS) + 1e-9
    planes = {"a": exhaustive_planes(8, 0, 4)}
    for old, new in zip(
        Program.compile(before).run(planes).values(),
        Program.compile(after).run(planes).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(old, new)


def test_a_technology_without_buffers_gives_the_netlist_back() -> None:
    cmos2 = get_technology("cmos2")
    cells = (Cell("i", "NOT", {"A": 2, "Y": 3}),)
    netlist = Netlist("unit", {"a": (2,)}, {"y": (3,)}, cells, dict(cmos2.cells))
    assert buffered(netlist, cmos2) is netlist
