"""Synthesis: the portfolio, the counts that the project promises, and technologies."""

import pytest

from fmacost.hw import synthesis
from fmacost.hw.synthesis import portfolio, recipe_text, synthesise
from fmacost.hw.technology import TECHNOLOGIES, TechnologyError, get_technology
from fmacost.hw.units.build import to_rtlil
from fmacost.hw.yosys import YosysError, run_yosys
from fmacost.sim.check import verify
from fmacost.sim.operation import parse_unit
from tests.units import assert_exact, few_turns

CMOS = TECHNOLOGIES["cmos"]


@pytest.mark.parametrize(
    ("unit", "technology", "limit"),
    [
        ("fma:e4m3fn", "cmos", 2279),
        pytest.param("fma:e5m2", "cmos", 2130, marks=pytest.mark.slow),
        ("fma:int8+int32", "cmos", 2110),
        pytest.param("mul:int8", "cmos", 1360, marks=pytest.mark.sweep),
        pytest.param("mul:e4m3fn", "cmos", 821, marks=pytest.mark.sweep),
        ("fma:e4m3fn", "cmos2", 4300),
    ],
)
def test_proven_counts_stay_small(unit: str, technology: str, limit: int) -> None:
    operation, tech = parse_unit(unit), get_technology(technology)
    result = synthesise(operation, tech)
    assert_exact(operation, verify(operation, result.netlist))
    count = tech.transistor_count(result.netlist)
    assert count <= limit
    assert count == min(candidate.cost for candidate in result.candidates)
    refined = [c for c in result.candidates if c.recipe.endswith("+resubstitution")]
    assert len(refined) == (0 if technology == "cmos2" else 2)
    tried = len(portfolio(tech, "area", "normal"))
    assert 0.7 * tried <= len(result.candidates) - len(refined) <= tried
    assert result.recipe in {candidate.recipe for candidate in result.candidates}
    assert result.architecture in {candidate.architecture for candidate in result.candidates}
    assert recipe_text(result.recipe)


def test_every_recipe_of_the_portfolio_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    few_turns(monkeypatch)
    operation = parse_unit("fma:int3+int5")
    for technology in TECHNOLOGIES.values():
        for effort in ("quick", "normal") if technology.name in ("cmos", "asap7") else ("quick",):
            assert_exact(
                operation,
                verify(operation, synthesise(operation, technology, effort=effort).netlist),
            )


def test_the_same_unit_gives_the_same_netlist(monkeypatch: pytest.MonkeyPatch) -> None:
    few_turns(monkeypatch)
    first, second = (synthesise(parse_unit("fma:e1m1f"), CMOS) for _ in range(2))
    assert first.netlist == second.netlist
    assert first.candidates == second.candidates


def test_kept_adders_are_cells() -> None:
    rtl = to_rtlil(parse_unit("mul:int8"))
    recipe = synthesis.Recipe("kept", "amap")
    (done,) = run_yosys([synthesis._job([rtl], CMOS, [recipe])], parallel=1, timeout_s=60)
    counts = synthesis._read_netlist(done.outputs[recipe.file(0)], CMOS).count()
    assert counts["FA"] > 20


def test_a_unit_with_constant_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    few_turns(monkeypatch)
    operation = parse_unit("mul:e1m0fn")  # zeros and NaNs only
    assert_exact(operation, verify(operation, synthesise(operation, CMOS).netlist))


def test_unknown_effort() -> None:
    with pytest.raises(ValueError, match="effort must be one of quick, normal"):
        synthesise(parse_unit("mul:int2"), CMOS, effort="heroic")


def test_a_time_limit_is_kept() -> None:
    with pytest.raises(YosysError, match="longer than"):
        synthesise(parse_unit("mul:e4m3fn"), CMOS, timeout_s=0.02)


def test_unknown_technology_has_a_near_name() -> None:
    with pytest.raises(TechnologyError, match="did you mean cmos2"):
        get_technology("kmos2")


def test_cells_agree_with_the_published_counts() -> None:
    expected = {"INV": 2, "NAND2": 4, "AOI21": 6, "AOI22": 8, "XOR2": 10, "MUX2": 12}
    expected |= {"MUXI2": 10, "MAJI3": 10, "HA": 14, "FA": 28, "AND2": 6, "BUF": 4}
    assert {name: CMOS.transistors[name] for name in expected} == expected
    assert CMOS.cells["FA"].truth_table("S") == 0b10010110
    assert CMOS.cells["FA"].truth_table("CO") == 0b11101000
    assert len({technology.digest for technology in TECHNOLOGIES.values()}) == len(TECHNOLOGIES)


def test_inverting_cells_cost_what_their_networks_have() -> None:
    """A static gate without inverters has two transistors an input."""
    for name in CMOS.cells:
        if name.startswith(("NAND", "NOR", "AOI", "OAI")) and not name.endswith("B"):
            assert CMOS.transistors[name] == 2 * len(CMOS.cells[name].inputs)
