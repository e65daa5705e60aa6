"""Leading-zero counters, anticipators and one-hot words as mapped netlists, on every input."""

import numpy as np
import pytest
from amaranth.lib import wiring
from numpy.typing import NDArray

from fmacost.hw.parts.counters import (
    LeadingZeroAnticipator,
    LeadingZeros,
    PriorityOneHot,
    Sentinel,
)
from fmacost.hw.parts.prefix import PREFIX_KINDS
from tests.test_adders import SideBySide, outputs_of, random_inputs
from tests.test_parts import Ports, every_input

WIDTHS = (2, 3, 4, 5, 8, 9)


def zeros(word: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    return width - np.frexp(word.astype(float))[1].astype(np.int64)


def check_anticipated(ports: Ports, out: Ports, width: int) -> None:
    a, b = ports["a"], ports["b"]
    larger = a > b
    missing = zeros(a - b, width)[larger] - out.get("count", np.zeros(len(a), np.int64))[larger]
    assert set(missing.tolist()) <= {0, 1}
    if width > 2:
        assert set(missing.tolist()) == {0, 1}


@pytest.mark.parametrize("widths", [WIDTHS, pytest.param((16, 19, 20), marks=pytest.mark.slow)])
def test_leading_zeros(widths: tuple[int, ...]) -> None:
    parts: list[wiring.Component] = [LeadingZeros(width) for width in widths]
    for part, (ports, out) in zip(parts, every_input(parts), strict=True):
        assert isinstance(part, LeadingZeros)
        width, largest = len(part.word), (1 << len(part.count)) - 1
        expected = np.minimum(zeros(ports["word"], width), largest)
        np.testing.assert_array_equal(out["count"], expected)


@pytest.mark.parametrize("widths", [WIDTHS[:-1], pytest.param((10,), marks=pytest.mark.slow)])
def test_anticipated_zeros_are_right_or_one_too_few(widths: tuple[int, ...]) -> None:
    parts: list[wiring.Component] = [LeadingZeroAnticipator(width) for width in widths]
    for width, (ports, out) in zip(widths, every_input(parts), strict=True):
        check_anticipated(ports, out, width)


def test_anticipated_zeros_of_wide_words() -> None:
    ((ports, out),) = random_inputs([LeadingZeroAnticipator(30)])
    check_anticipated(ports, out, 30)


def test_priority_one_hot() -> None:
    parts: list[wiring.Component] = [
        SideBySide([PriorityOneHot(width, kind) for kind in PREFIX_KINDS])
        for width in (1, 2, 5, 8, 13)
    ]
    for ports, out in every_input(parts):
        word = ports["word"]
        expected = np.where(word > 0, 1 << (np.frexp(word.astype(float))[1] - 1).clip(0), 0)
        for i in range(len(PREFIX_KINDS)):
            np.testing.assert_array_equal(outputs_of(out, i)["leading"], expected)


def test_sentinel() -> None:
    shapes = [(1, 1), (1, 2), (2, 3), (3, 8), (4, 9), (4, 16), (5, 6)]
    parts: list[wiring.Component] = [Sentinel(*shape) for shape in shapes]
    for (_, width), (ports, out) in zip(shapes, every_input(parts), strict=True):
        np.testing.assert_array_equal(out["mark"], 1 << (width - 1) >> ports["limit"])


def test_counters_refuse_impossible_arguments() -> None:
    for part in (LeadingZeros, LeadingZeroAnticipator):
        with pytest.raises(ValueError, match="at least 1, not 0"):
            part(0)
    with pytest.raises(ValueError, match=r"kind must be one of ripple, .*, not 'fast'"):
        PriorityOneHot(4, "fast")
