"""Adders, incrementers, comparators as mapped netlists; prefix networks as lists of merges."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.hdl import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from fmacost.hw.parts.adders import (
    ADDERS,
    AbsoluteDifference,
    Adder,
    Comparator,
    Incrementer,
    Subtractor,
    add,
    carry_out,
)
from fmacost.hw.parts.prefix import PREFIX_KINDS, merges, scan
from fmacost.hw.synthesis import map_quickly
from fmacost.hw.units.build import TOP
from fmacost.sim.evaluate import Program, pack_planes, unpack_planes
from tests.test_parts import Ports, every_input
from tests.units import CMOS

Maker = Callable[[int, str], wiring.Component]
Check = Callable[[Ports, Ports, int], None]


def random_inputs(parts: list[wiring.Component], count: int = 1 << 14) -> list[tuple[Ports, Ports]]:
    """Map parts and run each on random values of all lengths; return inputs and outputs."""
    rng = np.random.default_rng(1)
    texts = [rtlil.convert(part, name=TOP, emit_src=False) for part in parts]
    runs: list[tuple[Ports, Ports]] = []
    for netlist in map_quickly(texts, CMOS):
        inputs = {}
        for name, nets in netlist.inputs.items():
            values = rng.integers(0, 1 << len(nets), count)
            # Long runs of zeros and ones, where carries travel far.
            short = values >> rng.integers(0, len(nets) + 1, count)
            flipped = short ^ -rng.integers(0, 2, count) & ((1 << len(nets)) - 1)
            inputs[name] = np.where(rng.integers(0, 2, count) == 1, flipped, values)
        given = {k: pack_planes(v, len(netlist.inputs[k])) for k, v in inputs.items()}
        outputs = Program.compile(netlist).run(given)
        runs.append(
            (inputs, {k: unpack_planes(v, count).astype(np.int64) for k, v in outputs.items()})
        )
    return runs


class SideBySide(wiring.Component):
    """Parts with the same inputs as one netlist, which saves most of the time that mapping takes.

    The inputs are those of each part; ``total`` of part 2 is the output ``total_2``.
    """

    def __init__(self, parts: Sequence[wiring.Component]) -> None:
        self.parts = parts
        ports = dict(parts[0].signature.members)
        for i, part in enumerate(parts):
            members = dict(part.signature.members)
            outputs = {k: v for k, v in members.items() if v.flow == Out}
            assert all(v == ports[k] for k, v in members.items() if k not in outputs)
            ports |= {f"{k}_{i}": v for k, v in outputs.items()}
        for name in [k for k, v in parts[0].signature.members.items() if v.flow == Out]:
            del ports[name]
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for i, part in enumerate(self.parts):
            m.submodules += part
            for name, member in part.signature.members.items():
                if member.flow == Out:
                    m.d.comb += getattr(self, f"{name}_{i}").eq(getattr(part, name))
                else:
                    m.d.comb += getattr(part, name).eq(getattr(self, name))
        return m


def outputs_of(out: Ports, part: int) -> Ports:
    """Return the outputs of one part of ``SideBySide``, under their own names."""
    return {
        name.rpartition("_")[0]: value
        for name, value in out.items()
        if name.rpartition("_")[2] == str(part)
    }


def check_sum(ports: Ports, out: Ports, width: int) -> None:
    np.testing.assert_array_equal(out["total"], ports["a"] + ports["b"] + ports["carry"])


def check_increment(ports: Ports, out: Ports, width: int) -> None:
    np.testing.assert_array_equal(out["total"], ports["word"] + ports["up"])


def check_difference(ports: Ports, out: Ports, width: int) -> None:
    difference = ports["a"] - ports["b"] & ((1 << width) - 1)
    np.testing.assert_array_equal(out["difference"], difference)
    check_comparison(ports, out, width)


def check_comparison(ports: Ports, out: Ports, width: int) -> None:
    np.testing.assert_array_equal(out["not_less"], ports["a"] >= ports["b"])


def check_distance(ports: Ports, out: Ports, width: int) -> None:
    a, b = ports["a"], ports["b"]
    np.testing.assert_array_equal(out["distance"], abs(a - b))
    np.testing.assert_array_equal(out["larger"], a > b)


@pytest.mark.parametrize("kind", PREFIX_KINDS)
def test_networks_merge_neighbours_into_prefixes_of_any_length(kind: str) -> None:
    def joined(high: tuple[int, int], low: tuple[int, int]) -> tuple[int, int]:
        assert high[1] == low[0] + 1  # runs of items (top, bottom) that touch
        return high[0], low[1]

    for count in range(70):
        runs = scan(kind, [(i, i) for i in range(count)], joined)
        assert runs == [(i, 0) for i in range(count)]


@pytest.mark.parametrize(
    ("kind", "depth", "size"),
    [
        ("ripple", 31, 31),
        ("brent-kung", 8, 57),
        ("sklansky", 5, 80),
        ("kogge-stone", 5, 129),
        ("carry-increment", 8, 55),
    ],
)
def test_depth_and_size_of_networks_of_32(kind: str, depth: int, size: int) -> None:
    assert len(merges(kind, 32)) == size
    assert max(scan(kind, [0] * 32, lambda high, low: max(high, low) + 1)) == depth


def test_adders_and_comparators_on_every_input() -> None:
    makers: list[tuple[Maker, Check]] = [
        (Adder, check_sum),
        (Incrementer, check_increment),
        (Subtractor, check_difference),
        (Comparator, check_comparison),
        (AbsoluteDifference, check_distance),
    ]
    cases = [(width, *case) for width in (1, 2, 3, 5) for case in makers]
    benches: list[wiring.Component] = [
        SideBySide([make(width, kind) for kind in ADDERS]) for width, make, _ in cases
    ]
    for (width, _, check), (ports, out) in zip(cases, every_input(benches), strict=True):
        for i in range(len(ADDERS)):
            check(ports, outputs_of(out, i), width)


def test_adders_on_random_inputs_of_real_widths() -> None:
    runs = random_inputs(
        [part(24, kind) for kind in ADDERS for part in (Adder, AbsoluteDifference)]
    )
    for added, distance in zip(runs[::2], runs[1::2], strict=True):
        check_sum(*added, 24)
        check_distance(*distance, 24)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ADDERS)
def test_adders_on_up_to_a_million_inputs(kind: str) -> None:
    parts: list[wiring.Component] = [
        Adder(9, kind), Incrementer(19, kind), Subtractor(10, kind), Comparator(10, kind),
        AbsoluteDifference(10, kind),
    ]  # fmt: skip
    added, counted, subtracted, compared, distance = every_input(parts)
    check_sum(*added, 9)
    check_increment(*counted, 19)
    check_difference(*subtracted, 10)
    check_comparison(*compared, 10)
    check_distance(*distance, 10)


def test_words_of_unlike_width_are_zero_extended() -> None:
    for kind, (a, b) in product(ADDERS, [(3, 0), (0, 2), (0, 0), (1, 4)]):
        total = add(Module(), Const(0, a), Const(0, b), kind=kind)
        assert len(total) == max(a, b) + 1


def test_adders_refuse_what_they_do_not_know() -> None:
    bit = Const(0, 1)
    with pytest.raises(ValueError, match=r"kind must be one of ripple, .*, not 'fast'"):
        add(Module(), bit, bit, kind="fast")
    with pytest.raises(ValueError, match="not 'fast'"):
        carry_out(Module(), bit, bit, kind="fast")
    with pytest.raises(ValueError, match="not 'fast'"):
        Adder(4, "fast")
    for part in (Adder, Incrementer, Subtractor, Comparator, AbsoluteDifference):
        with pytest.raises(ValueError, match="at least 1, not 0"):
            part(0, "ripple")
