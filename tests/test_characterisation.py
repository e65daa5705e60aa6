import pytest

from fmacost.hw.characterisation import Linear, Lookup

TABLE = Lookup((10.0, 20.0), (1.0, 3.0), ((100.0, 120.0), (110.0, 150.0)))


@pytest.mark.parametrize(
    ("slew_ps", "load_ff", "expected"),
    [
        (10, 1, 100),
        (20, 3, 150),
        (15, 1, 105),
        (10, 2, 110),
        (15, 2, 120),  # the mean of the corners
        (0, 1, 90),  # outside, the outermost cells go on
        (10, 5, 140),
        (30, 5, 240),
    ],
)
def test_lookup_is_bilinear(slew_ps: float, load_ff: float, expected: float) -> None:
    assert TABLE.at(slew_ps, load_ff) == pytest.approx(expected)


def test_an_axis_of_one_value_does_not_matter() -> None:
    assert Lookup((0.0,), (1.0, 3.0), ((4.0, 8.0),)).at(99, 2) == 6
    assert Lookup((0.0,), (0.0,), ((4.0,),)).at(99, 2) == 4


def test_linear_depends_on_the_load_alone() -> None:
    assert Linear(10, 2.5).at(1, 4) == Linear(10, 2.5).at(99, 4) == 20
