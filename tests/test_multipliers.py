"""Reductions and multipliers as mapped netlists."""

from itertools import cycle, product

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from numpy.typing import NDArray

from fmacost.hw.parts.adders import ADDERS
from fmacost.hw.parts.compress import REDUCTIONS, Columns, Summation, reduce
from fmacost.hw.parts.multiplier import (
    MULTIPLIERS,
    MultiplyAdd,
    product_columns,
    recoded_columns,
)
from tests.test_adders import SideBySide, outputs_of, random_inputs
from tests.test_parts import Ports, every_input

SIGNS = [(False, False), (False, True), (True, False), (True, True)]


def multiplier(
    a: int, b: int, c: int = 0, width: int = 0, *, signs: tuple[bool, bool] = (True, True),
    kind: str = "recoded", reduction: str = "serial", adder: str = "ripple",
) -> MultiplyAdd:  # fmt: skip
    return MultiplyAdd(
        a, b, c, width or a + b, a_signed=signs[0], b_signed=signs[1],
        multiplier=kind, reduction=reduction, adder=adder,
    )  # fmt: skip


def check(part: MultiplyAdd, ports: Ports, out: Ports) -> None:
    a = value(ports["a"], len(part.a), part.a_signed)
    b = value(ports["b"], len(part.b), part.b_signed)
    c = ports.get("c", np.zeros(1, np.int64))
    expected = a * b + c & ((1 << len(part.total)) - 1)
    np.testing.assert_array_equal(out["total"], expected, f"{part.multiplier} {part.reduction}")


def value(code: NDArray[np.int64], width: int, signed: bool) -> NDArray[np.int64]:
    return code - ((code >> (width - 1) & 1) << width) * signed


def check_all(parts: list[MultiplyAdd]) -> None:
    for part, run in zip(parts, every_input(list(parts)), strict=True):
        check(part, *run)


def check_all_kinds(shapes: list[tuple[int, ...]]) -> None:
    """Check all kinds, signed and unsigned, of each shape in one netlist."""
    benches = [
        [multiplier(*shape, signs=signs, kind=kind) for kind in MULTIPLIERS for signs in SIGNS]
        for shape in shapes
    ]
    runs = every_input([SideBySide(parts) for parts in benches])
    for parts, (ports, out) in zip(benches, runs, strict=True):
        for i, part in enumerate(parts):
            check(part, ports, outputs_of(out, i))


def test_multipliers_on_every_input() -> None:
    check_all_kinds([(1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (3, 3)])


def test_multiply_add_on_every_input() -> None:
    """Addends narrow and wide, sums modulo less and more than the product needs."""
    check_all_kinds([(1, 1, 2, 1), (2, 2, 1, 3), (3, 2, 5, 4), (2, 3, 3, 8)])


@pytest.mark.slow
def test_wider_multipliers_on_every_input() -> None:
    check_all_kinds([(4, 3), (3, 4), (4, 4), (3, 5), (5, 6), (6, 5), (3, 3, 4, 9), (4, 4, 8, 10)])


def test_reductions_on_every_input() -> None:
    shapes = [(1, 3), (2, 3), (3, 1), (3, 4), (5, 2), (7, 2), (4, 3), (9, 1)]
    pairs = list(zip(REDUCTIONS, ADDERS, strict=True))
    benches: list[wiring.Component] = [
        SideBySide([Summation(*shape, reduction=r, adder=a) for r, a in pairs]) for shape in shapes
    ]
    for (_, width), (ports, out) in zip(shapes, every_input(benches), strict=True):
        for i in range(len(pairs)):
            total = outputs_of(out, i)["total"]
            np.testing.assert_array_equal(total, sum(ports.values()) & ((1 << width) - 1))


def test_8_by_8_bits_on_every_input() -> None:
    check_all(
        [
            multiplier(8, 8, kind=kind, reduction=reduction, adder=adder)
            for kind, reduction, adder in zip(MULTIPLIERS, REDUCTIONS, ADDERS, strict=False)
        ]
    )


@pytest.mark.slow
def test_8_by_8_bits_of_all_structures_on_every_input() -> None:
    """Every multiplier with every reduction, and with every adder; the sweep has all three."""
    structures = [
        (kind, reduction, ADDERS[(i + j) % len(ADDERS)])
        for i, kind in enumerate(MULTIPLIERS)
        for j, reduction in enumerate(REDUCTIONS)
    ]
    check_all([multiplier(8, 8, kind=k, reduction=r, adder=a) for k, r, a in structures])
    check_all([multiplier(8, 8, kind=k, signs=signs) for k in MULTIPLIERS for signs in SIGNS])


def test_multiply_accumulate_on_random_inputs() -> None:
    parts = [multiplier(8, 8, 32, 32, kind=kind) for kind in MULTIPLIERS]
    for part, run in zip(parts, random_inputs(list(parts)), strict=True):
        check(part, *run)


@pytest.mark.slow
def test_wide_multipliers_on_random_inputs() -> None:
    shapes = [(24, 24), (11, 11), (17, 13), (12, 16)]
    parts = [
        multiplier(*shape, signs=SIGNS[(i + j) % len(SIGNS)], kind=kind)
        for i, shape in enumerate(shapes)
        for j, kind in enumerate(MULTIPLIERS)
    ]
    for part, run in zip(parts, random_inputs(list(parts)), strict=True):
        check(part, *run)


MILLION = [(10, 10), (11, 9), (7, 12), (5, 5, 10, 12), (6, 4, 9, 16)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", MULTIPLIERS)
def test_multipliers_on_up_to_a_million_inputs(kind: str) -> None:
    signs = cycle(SIGNS[MULTIPLIERS.index(kind) :] + SIGNS)
    check_all([multiplier(*s, signs=next(signs), kind=kind) for s in MILLION])


@pytest.mark.sweep
@pytest.mark.parametrize("kind", MULTIPLIERS)
def test_8_by_8_bits_of_all_combinations_on_every_input(kind: str) -> None:
    structures = product(REDUCTIONS, ADDERS)
    check_all([multiplier(8, 8, kind=kind, reduction=r, adder=a) for r, a in structures])


@pytest.mark.sweep
@pytest.mark.parametrize("kind", MULTIPLIERS)
def test_multipliers_of_all_signs_on_up_to_a_million_inputs(kind: str) -> None:
    check_all([multiplier(*s, signs=signs, kind=kind) for s in MILLION for signs in SIGNS])


def test_every_reduction_leaves_at_most_two_bits_and_serial_one() -> None:
    for kind, height, width in product(REDUCTIONS, (1, 2, 3, 6, 13), (1, 2, 7)):
        word = Signal(width)
        columns: Columns = [[word[i]] * height for i in range(width)]
        reduced = reduce(Module(), columns, kind=kind)
        assert len(reduced) == width
        assert max(map(len, reduced)) <= (1 if kind == "serial" else 2)
        assert all(len(column) == height for column in columns), "the argument was changed"


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"kind must be one of serial, .*, not 'tree'"):
        reduce(Module(), [], kind="tree")
    with pytest.raises(ValueError, match=r"kind must be one of recoded, .*, not 'karatsuba'"):
        product_columns(
            Module(), Signal(2), Signal(2), a_signed=True, b_signed=True, width=4, kind="karatsuba"
        )
    with pytest.raises(ValueError, match="exact must be 0, 1 or 2, not 3"):
        recoded_columns(
            Module(), Signal(2), Signal(2), a_signed=True, b_signed=True, width=4, exact=3
        )
    with pytest.raises(ValueError, match="at least 1"):
        Summation(0, 4, reduction="dadda", adder="ripple")
