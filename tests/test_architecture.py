"""Every architecture option is exact where every input can be tried."""

from dataclasses import replace
from itertools import product

import pytest

from fmacost.hw import synthesis
from fmacost.hw.architecture import NORMALISERS, Architecture
from fmacost.hw.parts.adders import ADDERS
from fmacost.hw.parts.compress import REDUCTIONS
from fmacost.hw.parts.multiplier import MULTIPLIERS
from fmacost.hw.synthesis import OBJECTIVES, map_quickly, portfolio, synthesise
from fmacost.hw.units.build import to_rtlil
from fmacost.sim.check import verify
from fmacost.sim.operation import parse_unit
from tests.units import CMOS, assert_exact, few_turns

FACTORS = Architecture("baugh-wooley", "dadda", normalise="factors")


def _check(unit: str, architectures: list[Architecture]) -> None:
    operation = parse_unit(unit)
    rtls = [to_rtlil(operation, architecture) for architecture in architectures]
    for netlist in map_quickly(rtls, CMOS):
        assert_exact(operation, verify(operation, netlist))


def test_options_on_small_units() -> None:
    every = [Architecture(*choice) for choice in product(MULTIPLIERS, REDUCTIONS, ADDERS)]
    assert len(every) == 100
    for unit in ("fma:int3+int5", "mul:e2m2f"):
        _check(unit, every[::7])
    normalisers = [Architecture(normalise=kind) for kind in NORMALISERS]
    for unit in ("fma:e2m1fn", "fma:e2m2f+e3m3ieee", "add:e3m0f", "mul:e2m2f", "fma:e0m1f"):
        _check(unit, normalisers)


def test_normalised_factors() -> None:
    """Formats that differ, results without subnormals or with hardly anything else, roundings."""
    units = ["mul:e3m1fn,rup", "mul:e3m1ieee,daz,rdn", "mul:e2m2f,sr2", "mul:e2m1fn*e3m2fn->e4m4f"]
    units += ["mul:e3m0f", "mul:e0m3f*e3m2fn->e4m3fn", "mul:int4*e3m2fn->e4m3fn"]
    units += ["mul:e2m1b9f*e3m2fn->e4m3fn", "mul:e2m1b-9f*e3m2fn->e4m3fn"]
    operations = [parse_unit(unit) for unit in units]
    rtls = [to_rtlil(operation, FACTORS) for operation in operations]
    for operation, netlist in zip(operations, map_quickly(rtls, CMOS), strict=True):
        assert_exact(operation, verify(operation, netlist))


def test_a_choice_without_effect_is_not_tried_twice() -> None:
    members = portfolio(CMOS, "area", "normal")
    for unit, count in (("fma:e3m2fn", 12), ("mul:e3m2fn", 16)):
        rtls = {a: to_rtlil(parse_unit(unit), a) for a, _ in members}
        assert len(synthesis._distinct(members, rtls)) == count
    # Results of fewer digits than the factors would round up to four.
    for unit in ("mul:e3m3f->e4m2f", "mul:e2m1fn->e1m3f"):
        operation, other = parse_unit(unit), replace(FACTORS, normalise="interleaved")
        assert to_rtlil(operation, FACTORS) == to_rtlil(operation, other)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["fma:e4m3fn", "mul:e4m3fn", "fma:int8"])
def test_every_option_of_eight_bit_units(unit: str) -> None:
    options = [Architecture(multiplier=m, reduction=r) for m, r in product(MULTIPLIERS, REDUCTIONS)]
    options += [Architecture(reduction="dadda", adder=adder) for adder in ADDERS]
    options += [Architecture(normalise=kind) for kind in NORMALISERS]
    _check(unit, options)


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_get_what_they_ask_for(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few_turns(monkeypatch)
    operation = parse_unit("fma:e1m1f")
    made = synthesise(operation, CMOS, objective=objective)
    assert_exact(operation, verify(operation, made.netlist))
    area = min(c.cost for c in made.candidates)
    delay = min(c.delay_fo4 for c in made.candidates)
    product_ = min(c.cost * c.delay_fo4 for c in made.candidates)
    won = next(
        c for c in made.candidates if (c.recipe, c.architecture) == (made.recipe, made.architecture)
    )
    best = {"area": won.cost == area, "delay": won.delay_fo4 == delay}
    assert best.get(objective, won.cost * won.delay_fo4 == product_)


def test_delay_costs_area_and_buys_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    few_turns(monkeypatch)
    operation = parse_unit("mul:e2m2f")
    small, fast = (synthesise(operation, CMOS, objective=o) for o in ("area", "delay"))
    costs = [min(c.cost for c in made.candidates) for made in (small, fast)]
    delays = [min(c.delay_fo4 for c in made.candidates) for made in (small, fast)]
    assert costs[0] < costs[1]
    assert delays[1] <= 0.6 * delays[0]


@pytest.mark.slow
def test_max_effort_is_the_smallest_and_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    few_turns(monkeypatch)
    operation = parse_unit("mul:e2m1fn")
    results = [synthesise(operation, CMOS, effort=e) for e in ("quick", "normal", "max")]
    for made in results:
        assert_exact(operation, verify(operation, made.netlist))
    costs = [CMOS.cost(made.netlist) for made in results]
    assert costs == sorted(costs, reverse=True)


def test_unknown_choices_are_named() -> None:
    with pytest.raises(ValueError, match="multiplier must be one of recoded"):
        Architecture(multiplier="karatsuba")
    with pytest.raises(ValueError, match="normalise must be one of interleaved, lzc"):
        Architecture(normalise="guess")
    with pytest.raises(ValueError, match="objective must be one of area, delay, adp, not 'speed'"):
        portfolio(CMOS, "speed", "normal")
