"""The gate model of Chen et al. 2025: its formulas, worked by hand."""

import pytest

from fmacost.hw.technology import get_technology
from fmacost.reports.analytic import (
    E4M3,
    INT8,
    LANES,
    TABLE_5_AREA_RATIO,
    Shape,
    aligner_width,
    cost,
    counts,
    multiplier_cost,
    unit_ratio,
)

ONES = dict.fromkeys(("AND2", "FA", "XOR2", "OR2", "MUX2"), 1.0)


@pytest.mark.parametrize(
    ("shape", "width"),
    [(E4M3, 24), (Shape(2, 1), 10), (Shape(2, 3), 14), (Shape(3, 2), 20), (INT8, 16)],
)
def test_the_aligner_is_as_wide_as_the_products_reach(shape: Shape, width: int) -> None:
    assert aligner_width(shape) == width  # min(2^(x+1) + 2y, 24)


def test_the_blocks_of_integers() -> None:
    assert counts(INT8, 32) == {"multiplier": 32 * 64, "adder": 32 * 16}


def test_the_blocks_of_floats() -> None:
    assert counts(Shape(2, 4), 2) == {
        "multiplier": 2 * 25,
        "adder": 2 * 16,
        "exponent adder": 4,
        "exponent subtractor": 4,
        "comparator": 4,
        "aligner": 2 * 16 * 4,
        "normalizer": 16 * 4,
    }


def test_costs_add_the_main_cells() -> None:
    assert cost(counts(INT8, 1), ONES) == 64 * 2 + 16
    assert cost({"comparator": 2, "normalizer": 3, "exponent subtractor": 5}, ONES) == 6 + 6 + 10
    assert multiplier_cost(E4M3, ONES) == 16 * 2 + 4
    assert multiplier_cost(INT8, ONES) == 128


def test_shared_blocks_weigh_less_in_more_lanes() -> None:
    cells = get_technology("cmos").transistors
    ratios = [unit_ratio(lanes, cells) for lanes in (1, 2, 8, LANES)]
    assert ratios == sorted(ratios, reverse=True)
    assert 1 < ratios[-1] < TABLE_5_AREA_RATIO  # theirs has an accumulator and other cells


@pytest.mark.parametrize("bits", [(-1, 3), (4, -1), (0, 0)])
def test_impossible_shapes_are_refused(bits: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=f"not {bits[0]} and {bits[1]}"):
        Shape(*bits)


def test_no_lanes_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        counts(E4M3, 0)
