"""What a sweep measures: patterns, TOML files, shards, and one line for what is wrong."""

from pathlib import Path

import pytest

from fmacost.reports.errors import InputError
from fmacost.reports.grid import (
    Grid,
    Point,
    Shard,
    expand,
    expand_pattern,
    expand_units,
    parse_shard,
    pattern_size,
    read_grid,
)
from fmacost.reports.studies import KINDS, MAX_WIDTH, STUDIES, splits
from fmacost.sim.operation import OperationError, parse_unit


def points(*units: str) -> list[Point]:
    return expand(Grid(units=units), expand_units(units).operations, ["cmos"])


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("mul:int1", ["mul:int1"]),
        ("mul:int{1..3}", ["mul:int1", "mul:int2", "mul:int3"]),
        ("int{1..5..2}", ["int1", "int3", "int5"]),
        ("{a,b}{1,2}", ["a1", "a2", "b1", "b2"]),
        ("{1..2,7}", ["1", "2", "7"]),
        ("x{3..2}", []),
        ("x{}", ["x"]),
    ],
)
def test_a_pattern_stands_for_all_combinations(pattern: str, texts: list[str]) -> None:
    assert list(expand_pattern(pattern)) == texts
    assert pattern_size(pattern) == len(texts)


@pytest.mark.parametrize("pattern", ["int{1..2", "int1}", "{a{b}}", "{1..}", "{1..4..0}"])
def test_braces_that_are_wrong_are_one_line(pattern: str) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+$"):
        list(expand_pattern(pattern))


def test_combinations_that_are_no_unit_are_skipped_and_counted() -> None:
    found = expand_units(["fma:e{0..2}m{0..1}ieee"])
    assert [str(operation) for operation in found.operations] == ["fma:e2m1ieee"]
    assert found.skipped == 5
    assert "e0m0ieee" in found.reason


def test_a_unit_comes_once_however_it_is_spelled() -> None:
    assert len(expand_units(["fma:e4m3fn", "fma:{e4m3fn,fp8_e4m3}"]).operations) == 1


def test_a_pattern_without_units_is_refused() -> None:
    with pytest.raises(InputError, match="stands for no unit"):
        expand_units(["mul:int{3..2}"])
    with pytest.raises(InputError, match="stands for no unit"):
        expand_units(["mul:e{0..1}m1ieee"])
    with pytest.raises(OperationError):
        expand_units(["mul:nonsense"])


def test_patterns_have_a_limit() -> None:
    with pytest.raises(InputError, match=r"1,000,000 are done"):
        expand_units(["fma:int{1..2000}*int{1..2000}"])


def test_a_file_has_the_fields_of_a_grid(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text('units = ["mul:int{1..2}"]\neffort = "quick"\npipeline = [0, 1]\n')
    grid = read_grid(path)
    assert (grid.units, grid.effort, grid.pipeline) == (("mul:int{1..2}",), ("quick",), (0, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('unit = ["mul:int1"]', "unknown key 'unit'; did you mean units"),
        ("", "'units' is missing"),
        ('units = ["mul:int1"]\neffort = "quik"', "did you mean quick"),
        ('units = ["mul:int1"]\nobjective = "speed"', "unknown objective 'speed'"),
        ("units = [1]", "must be a list of texts"),
        ('units = ["mul:int1"]\npipeline = [99]', "pipeline must be in"),
        ("units = [", "is not TOML"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_grid(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_grid(tmp_path / "none.toml")


@pytest.mark.parametrize("count", [1, 2, 7])
def test_each_point_is_in_one_shard(count: int) -> None:
    all_points = points("{mul,add,fma}:int{1..60}")
    shards = [Shard(i + 1, count) for i in range(count)]
    assert len(all_points) == 180
    assert all(sum(point in shard for shard in shards) == 1 for point in all_points)
    assert all(any(point in shard for point in all_points) for shard in shards)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2"])
def test_a_shard_is_i_of_n(text: str) -> None:
    with pytest.raises(InputError, match="--shard must be i/N"):
        parse_shard(text)


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_study_has_points(name: str) -> None:
    grid = STUDIES[name].grid()
    found = expand_units(grid.units)
    assert len(expand(grid, found.operations, grid.technology)) >= 16


def test_widths_has_integers_and_every_split() -> None:
    grid = STUDIES["widths"].grid()
    units = {str(operation) for operation in expand_units(grid.units).operations}
    assert len(units) >= 300
    for kind in KINDS:
        for width in range(1, MAX_WIDTH + 1):
            wanted = {f"{kind}:int{width}", *(f"{kind}:e{e}m{m}f" for e, m in splits(width))}
            assert {str(parse_unit(text)) for text in wanted} <= units
