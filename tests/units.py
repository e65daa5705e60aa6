"""Map and check units in bulk, for the tests of the hardware."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from fmacost.hw import synthesis
from fmacost.hw.synthesis import map_quickly
from fmacost.hw.technology import TECHNOLOGIES
from fmacost.hw.units.build import to_rtlil
from fmacost.sim.check import Verification, verify
from fmacost.sim.formats import (
    FixedFormat,
    FloatFormat,
    Format,
    FormatError,
    Specials,
    float_format,
)
from fmacost.sim.netlist import Netlist
from fmacost.sim.operation import Operation, parse_unit

CMOS = TECHNOLOGIES["cmos"]


def mapped(units: Sequence[str | Operation]) -> list[tuple[Operation, Netlist]]:
    """Return the netlist of each unit, by the quick recipe."""
    operations = [u if isinstance(u, Operation) else parse_unit(u) for u in units]
    return list(zip(operations, map_quickly([to_rtlil(o) for o in operations], CMOS), strict=True))


def check_units(units: Sequence[str | Operation]) -> int:
    """Check every unit, on every input where that is feasible; return the vectors that ran."""
    total = 0
    for operation, netlist in mapped(units):
        verification = verify(operation, netlist)
        assert_exact(operation, verification)
        total += verification.vectors
    return total


def assert_exact(operation: Operation, verification: Verification) -> None:
    assert verification.vectors > 0
    assert verification.mismatches == 0, f"{operation}: {verification.counterexample}"


def few_turns(patch: pytest.MonkeyPatch) -> None:
    """Refine netlists for two turns, which units of few inputs have many of."""
    plan = synthesis._schedule

    def schedule(effort: str, input_bits: int) -> synthesis._Schedule:
        return replace(plan(effort, input_bits), turns=2, patience=2)

    patch.setattr(synthesis, "_schedule", schedule)


def tiny_formats(max_bits: int) -> list[Format]:
    """Return every float in every suffix and every integer of at most ``max_bits`` bits."""
    formats: list[Format] = [
        FixedFormat(bits, signed=signed)
        for bits in range(1, max_bits + 1)
        for signed in (True, False)
    ]
    floats: dict[FloatFormat, None] = {}
    for exp_bits, frac_bits in product(range(max_bits), repeat=2):
        if 1 + exp_bits + frac_bits > max_bits:
            continue
        for specials in Specials:
            try:
                floats[float_format(exp_bits, frac_bits, specials)] = None
            except FormatError:
                continue
    return formats + list(floats)
