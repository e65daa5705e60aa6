"""Planted faults in the units: the check of the netlist must see every one of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from amaranth.hdl import Cat, Const, Mux, Signal, Value

from fmacost.hw import align, stages
from fmacost.hw.parts import adders, compress, multiplier, shifter
from fmacost.hw.synthesis import map_quickly
from fmacost.hw.units import fixed_unit, float_unit
from fmacost.hw.units.build import to_rtlil
from fmacost.sim.check import verify
from fmacost.sim.formats import FloatFormat
from fmacost.sim.operation import parse_unit
from tests.units import CMOS

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Mutant:
    fault: str
    unit: str
    plant: Callable[[Patch], None]


def _drop_sticky(patch: Patch) -> None:
    patch.setattr(stages.Rounder, "_up", lambda self: self.guard & self.significand[0])


def _swap_guard_and_sticky(patch: Patch) -> None:
    patch.setattr(
        stages.Rounder, "_up", lambda self: self.sticky & (self.guard | self.significand[0])
    )


def _ties_away(patch: Patch) -> None:
    patch.setattr(stages.Rounder, "_up", lambda self: self.guard)


def _chance_too_high(patch: Patch) -> None:
    def up(self: Any) -> Value:
        dropped = Cat(self.guard, self.significand[: len(self.random) - 1])
        return adders.carry_chain(dropped, self.random, Const(1, 1))

    patch.setattr(stages.Rounder, "_up", up)


def _chance_upside_down(patch: Patch) -> None:
    def up(self: Any) -> Value:
        dropped = Cat(self.guard, self.significand[: len(self.random) - 1])
        return adders.carry_chain(dropped, Cat(*reversed(self.random)), Const(0, 1))

    patch.setattr(stages.Rounder, "_up", up)


def _plan(patch: Patch, **changes: Callable[[Any], object]) -> None:
    true_plan = align.plan_window

    def plan(*args: Any) -> align.Window:
        window = true_plan(*args)
        return replace(window, **{name: f(window) for name, f in changes.items()})  # type: ignore[arg-type]

    patch.setattr(float_unit, "plan_window", plan)


def _shift_one_less(patch: Patch) -> None:
    _plan(patch, shift_offset=lambda w: w.shift_offset - 1)


def _zero_product_shifts_the_addend(patch: Patch) -> None:
    _plan(patch, zero_product_shifts=lambda _: False)


def _no_clamp(patch: Patch) -> None:
    _plan(patch, lowest_shift=lambda _: 0)


def _wrong_nan(patch: Patch) -> None:
    patch.setattr(FloatFormat, "nan_code", property(lambda self: self.inf_code | 1))


def _overflow_one_too_late(patch: Patch) -> None:
    true_exceeds = stages.exceeds
    patch.setattr(stages, "exceeds", lambda m, word, largest: true_exceeds(m, word, largest + 1))


def _overflow_one_too_early(patch: Patch) -> None:
    true_exceeds = stages.exceeds
    patch.setattr(stages, "exceeds", lambda m, word, largest: true_exceeds(m, word, largest - 1))


def _subnormals_with_a_hidden_bit(patch: Patch) -> None:
    true_any = shifter.any_bit
    patch.setattr(stages, "any_bit", lambda word: Const(1, 1) if len(word) == 3 else true_any(word))


def _sticky_lost_in_alignment(patch: Patch) -> None:
    true_elaborate = shifter.AlignRight.elaborate

    def elaborate(self: shifter.AlignRight, platform: object) -> object:
        self.sticky = Signal(name="unread")
        return true_elaborate(self, platform)

    patch.setattr(shifter.AlignRight, "elaborate", elaborate)


def _no_largest_shift(patch: Patch) -> None:
    true_init = stages.Normalise.__init__

    def init(self: stages.Normalise, *args: Any, **options: Any) -> None:
        true_init(self, *args, **options)
        self._max_shift //= 2

    patch.setattr(stages.Normalise, "__init__", init)


def _limit_one_too_high(patch: Patch) -> None:
    true_top = float_unit.FloatUnit._window_top

    def top(self: float_unit.FloatUnit, *args: int) -> tuple[int, int]:
        width, offset = true_top(self, *args)
        return width, offset + 1

    patch.setattr(float_unit.FloatUnit, "_window_top", top)


def _sign_of_cancellation(patch: Patch) -> None:
    true_special = float_unit.FloatUnit._special

    def special(self: Any, m: Any, *args: Any) -> None:
        cast(Any, true_special)(self, m, *args[:-1], Const(0, 1))

    patch.setattr(float_unit.FloatUnit, "_special", special)


def _compare_low(patch: Patch) -> None:
    chain = adders.carry_chain
    patch.setattr(stages, "carry_chain", lambda a, b, carry: chain(a, b, Const(0, 1)))


def _no_baugh_wooley_constant(patch: Patch) -> None:
    patch.setattr(multiplier, "add_constant", lambda columns, constant: None)


def _sign_bit_counts_positive(patch: Patch) -> None:
    patch.setattr(fixed_unit, "add_constant", lambda columns, constant: None)


def _carry_out_of_place(patch: Patch) -> None:
    def swapped(m: Any, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
        total, carry = adders.full_adder(m, a, b, c)
        return total, total & carry

    patch.setattr(compress, "full_adder", swapped)


def _saturates_at_minus_max(patch: Patch) -> None:
    def fit(self: Any, m: Any, total: Signal) -> Value:
        width = self.fmt.width
        above, negative = total[width - 1 :], total[-1]
        limit = Cat(~negative, *[~negative] * (width - 2), negative) | negative
        return Mux(above.all() | ~above.any(), total[:width], limit)

    patch.setattr(fixed_unit.FixedUnit, "_fit", fit)


MUTANTS = [
    Mutant("rounding forgets sticky", "fma:e3m2ieee", _drop_sticky),
    Mutant("guard and sticky swapped", "fma:e3m2ieee", _swap_guard_and_sticky),
    Mutant("ties away instead of to even", "mul:e3m2ieee", _ties_away),
    Mutant("random number too high by one", "fma:e2m2f,sr3", _chance_too_high),
    Mutant("random bits in reverse", "mul:e2m2f,sr2", _chance_upside_down),
    Mutant("alignment shift off by one", "fma:e3m2ieee", _shift_one_less),
    Mutant("zero product moves the addend", "fma:e4m2ieee", _zero_product_shifts_the_addend),
    Mutant("negative alignment not held at zero", "fma:e3m2ieee", _no_clamp),
    Mutant("another NaN code", "fma:e3m2ieee", _wrong_nan),
    Mutant("overflow one code too late", "mul:e2m3f", _overflow_one_too_late),
    Mutant("overflow one code too early", "fma:e3m2ieee", _overflow_one_too_early),
    Mutant("hidden bit for subnormals", "fma:e3m2ieee", _subnormals_with_a_hidden_bit),
    Mutant("alignment drops sticky", "fma:e3m2ieee", _sticky_lost_in_alignment),
    Mutant("normalisation lacks its largest shift", "fma:e3m2ieee", _no_largest_shift),
    Mutant("exponent of the window off by one", "fma:e3m2ieee", _limit_one_too_high),
    Mutant("x - x is -0 when rounding to nearest", "fma:e3m2ieee", _sign_of_cancellation),
    Mutant("comparison ignores bits below the product", "fma:e3m2ieee", _compare_low),
    Mutant("product without the constants of its signs", "mul:int4", _no_baugh_wooley_constant),
    Mutant("addend's sign bit counts positive", "fma:int4+int12", _sign_bit_counts_positive),
    Mutant("carries lost in the tree", "fma:int4+int12", _carry_out_of_place),
    Mutant("saturates at -max", "fma:int4,sat", _saturates_at_minus_max),
]


def test_every_mutant_is_caught() -> None:
    assert len(MUTANTS) >= 12
    rtls = []
    for mutant in MUTANTS:
        with pytest.MonkeyPatch.context() as patch:
            mutant.plant(patch)
            rtls.append(to_rtlil(parse_unit(mutant.unit)))
    survivors = []
    for mutant, netlist in zip(MUTANTS, map_quickly(rtls, CMOS), strict=True):
        verification = verify(parse_unit(mutant.unit), netlist)
        assert verification.vectors > 0
        if verification.mismatches == 0:
            survivors.append(mutant.fault)
    assert survivors == []


def test_the_unmutated_units_are_exact() -> None:
    units = sorted({mutant.unit for mutant in MUTANTS})
    for unit, netlist in zip(
        units, map_quickly([to_rtlil(parse_unit(u)) for u in units], CMOS), strict=True
    ):
        assert verify(parse_unit(unit), netlist).mismatches == 0
