"""Arithmetic parts as mapped netlists, on every input."""

from collections.abc import Mapping

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.lib import wiring
from numpy.typing import NDArray

from fmacost.hw.architecture import SHIFTS
from fmacost.hw.parts.adders import RippleAdder
from fmacost.hw.parts.shifter import AlignRight
from fmacost.hw.raw import raw_range
from fmacost.hw.stages import (
    AddSigned,
    Anticipate,
    Normalise,
    NormaliseFactor,
    NormaliseProduct,
    Rounder,
)
from fmacost.hw.synthesis import map_quickly
from fmacost.hw.units.build import TOP
from fmacost.sim.evaluate import Program, exhaustive_planes, unpack_planes
from fmacost.sim.formats import parse_format
from fmacost.sim.operation import DETERMINISTIC, Rounding
from tests.units import CMOS

Ports = Mapping[str, NDArray[np.int64]]


def every_input(parts: list[wiring.Component]) -> list[tuple[Ports, Ports]]:
    """Map parts and run each on all values of its inputs; return inputs and outputs."""
    texts = [rtlil.convert(part, name=TOP, emit_src=False) for part in parts]
    runs: list[tuple[Ports, Ports]] = []
    for netlist in map_quickly(texts, CMOS):
        widths = {name: len(nets) for name, nets in netlist.inputs.items()}
        count = 1 << sum(widths.values())
        planes = exhaustive_planes(sum(widths.values()), 0, max(count // 64, 1))
        given, start, index = {}, 0, np.arange(count)
        inputs = {}
        for name, width in widths.items():
            given[name] = planes[start : start + width]
            inputs[name] = index >> start & ((1 << width) - 1)
            start += width
        outputs = Program.compile(netlist).run(given)
        runs.append(
            (inputs, {k: unpack_planes(v, count).astype(np.int64) for k, v in outputs.items()})
        )
    return runs


def test_ripple_adder() -> None:
    for ports, out in every_input([RippleAdder(width) for width in (1, 2, 3, 6)]):
        np.testing.assert_array_equal(out["total"], ports["a"] + ports["b"] + ports["carry"])


def test_align_right_keeps_sticky() -> None:
    shapes = [(1, 2, 1), (2, 3, 4), (4, 5, 7), (3, 4, 3)]
    parts: list[wiring.Component] = [AlignRight(*shape) for shape in shapes]
    for (word, _, width), (ports, out) in zip(shapes, every_input(parts), strict=True):
        placed = ports["word"] << (width - word)
        expected = placed >> ports["amount"]
        np.testing.assert_array_equal(out["window"], expected)
        np.testing.assert_array_equal(out["sticky"], expected << ports["amount"] != placed)


def test_add_signed() -> None:
    shapes = [(3, 2, 0), (5, 2, 2), (6, 3, 1)]
    parts: list[wiring.Component] = [AddSigned(*shape) for shape in shapes]
    for (width, _, place), (ports, out) in zip(shapes, every_input(parts), strict=True):
        x, y = ports["x"], ports["y"] << place
        subtract, sticky = ports["subtract"] == 1, ports["sticky"] == 1
        allowed = (y > x) | ~sticky
        allowed &= subtract | (x + y < 1 << width)
        total = np.where(subtract, np.where(x > y, x - y, y - x - sticky), x + y)
        assert allowed.sum() > 0
        np.testing.assert_array_equal(out["magnitude"][allowed], total[allowed])
        np.testing.assert_array_equal(out["x_larger"], x > y)


@pytest.mark.parametrize("kind", SHIFTS)
def test_normalise(kind: str) -> None:
    shapes = [(2, 1, 1), (4, 3, 3), (6, 2, 3), (5, 4, 1)]
    shapes += [(9, 3, 4)] if kind != "lza" else []
    parts: list[wiring.Component] = [Normalise(*s, fixed=False, kind=kind) for s in shapes]
    for (width, precision, _), (ports, out) in zip(shapes, every_input(parts), strict=True):
        window, limit = ports["window"], ports["limit"]
        zeros = width - np.frexp(window.astype(float))[1]
        shift = np.minimum(zeros, limit)
        shifted = np.where(window == 0, 0, window << shift)
        kept = width - precision
        leading = shifted >> (width - 1) == 1
        expected = {
            "significand": shifted >> kept,
            "guard": shifted >> (kept - 1) & 1,
            "sticky": (shifted & ((1 << (kept - 1)) - 1)) != 0,
            "exponent": np.where(leading, limit - shift, 0),
        }
        allowed = np.ones(len(window), np.bool_)
        if kind == "lza":  # its leading one is the window's or one place above
            ahead = zeros - (width - np.frexp(ports["indicator"].astype(float))[1])
            allowed = (window == 0) | (ahead == 0) | (ahead == 1)
            assert (ahead[allowed] == 1).any()
        for name, values in expected.items():
            np.testing.assert_array_equal(out[name][allowed], values[allowed], err_msg=name)


def test_anticipation_is_right_or_one_too_high() -> None:
    shapes = [(3, 2, 0), (5, 2, 2), (6, 3, 1)]
    parts: list[wiring.Component] = [Anticipate(*shape) for shape in shapes]
    for (width, _, place), (ports, out) in zip(shapes, every_input(parts), strict=True):
        x, y = ports["x"], ports["y"] << place
        subtract = ports["subtract"] == 1
        total = np.where(subtract, np.abs(x - y), x + y)
        allowed = (ports["x_larger"] == (x > y)) & (total > 0) & (total < 1 << width)
        assert allowed.any()
        ahead = np.frexp(out["indicator"].astype(float))[1] - np.frexp(total.astype(float))[1]
        assert set(ahead[allowed].tolist()) == {0, 1}


def test_normalise_by_a_fixed_amount() -> None:
    ((ports, out),) = every_input([Normalise(6, 3, 4, fixed=True)])
    shifted = ports["window"] << ports["limit"]
    np.testing.assert_array_equal(out["significand"], (shifted & 63) >> 3)
    np.testing.assert_array_equal(out["lost"], shifted > 63)


def test_normalised_factors_keep_their_value() -> None:
    formats = ["e2m1fn", "e3m2fn", "e2m4f", "e0m3f", "e3m0f", "uint5"]
    ranges = [raw_range(parse_format(text), daz=False) for text in formats]
    parts: list[wiring.Component] = [NormaliseFactor(r, 6) for r in ranges]
    for r, (ports, out) in zip(ranges, every_input(parts), strict=True):
        significand = ports["significand"]
        exponent = ports["exponent"] if r.exponent_bits else np.ones_like(significand)
        is_normal = significand >> (r.significand_bits - 1) == 1
        allowed = (significand > 0) & (exponent > 0) & ((exponent == 1) | is_normal)
        lowered = out["lowered"] - (out["lowered"] >> 5 << 6)
        least, most = r.normalised_exponents
        assert least <= lowered[allowed].min() and lowered[allowed].max() == most
        assert (out["normalised"] >> (r.significand_bits - 1) == 1).all()
        got, expected = np.ldexp(out["normalised"], lowered), np.ldexp(significand, exponent)
        np.testing.assert_array_equal(got[allowed], expected[allowed])


def test_normalise_a_product() -> None:
    shapes = [(4, 3, 3), (6, 3, 4), (3, 1, 3), (2, 4, 3)]
    parts: list[wiring.Component] = [NormaliseProduct(*shape) for shape in shapes]
    for (width, precision, bits), (ports, out) in zip(shapes, every_input(parts), strict=True):
        exponent = ports["exponent"] - (ports["exponent"] >> (bits - 1) << bits)
        top = ports["product"] >> (width - 1)
        wide = np.where(ports["zero"] == 1, 0, ports["product"]) << 16
        normal = (exponent >= 0) & (ports["zero"] == 0)
        shifted = np.where(exponent >= 0, wide << (1 - top), wide >> np.maximum(-1 - exponent, 0))
        below = width + 16 - precision
        code = shifted >> below
        code += np.where(normal, (exponent + top) << (precision - 1), 0)
        allowed = ports["product"] >> (width - 2) > 0
        got = ((out["magnitude"] + out["doubled"]) << (precision - 1)) + out["significand"]
        np.testing.assert_array_equal(got[allowed], code[allowed])
        for name, expected in (
            ("guard", shifted >> (below - 1) & 1),
            ("sticky", (shifted & ((1 << (below - 1)) - 1)) != 0),
        ):
            np.testing.assert_array_equal(out[name][allowed], expected[allowed], err_msg=name)


def test_rounder_doubles() -> None:
    ((ports, out),) = every_input([Rounder(2, 3, Rounding.RNE, may_double=True)])
    up = ports["guard"] & (ports["sticky"] | ports["significand"])
    carries = (ports["significand"] & 3) + up == 4
    allowed = (ports["doubled"] == 0) | ~carries
    expected = ((ports["exponent"] + ports["doubled"]) << 2) + ports["significand"] + up
    np.testing.assert_array_equal(out["rounded"][allowed], expected[allowed])


@pytest.mark.parametrize("rounding", DETERMINISTIC)
def test_rounder(rounding: Rounding) -> None:
    for exponent_bits, precision in ((0, 1), (0, 3), (3, 1), (2, 4)):
        ((ports, out),) = every_input([Rounder(exponent_bits, precision, rounding)])
        exponent = ports.get("exponent", np.zeros(1, np.int64))
        significand = ports["significand"]
        tail = ports["guard"] * 2 + ports["sticky"]  # in quarters
        sign = 1 - 2 * ports["negative"]
        exact = sign * (significand + tail / 4)
        match rounding:
            case Rounding.RNE:
                rounded = np.rint(np.where(tail == 3, sign * (significand + 0.75), exact))
            case Rounding.RTZ:
                rounded = np.trunc(exact)
            case Rounding.RDN:
                rounded = np.floor(exact)
            case Rounding.RUP:
                rounded = np.ceil(exact)
            case Rounding.RMM:
                rounded = sign * np.floor(np.abs(exact) + 0.5)
        expected = (exponent << (precision - 1)) + np.abs(rounded).astype(np.int64)
        np.testing.assert_array_equal(out["rounded"], expected)


def test_parts_refuse_impossible_widths() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        RippleAdder(0)
    with pytest.raises(ValueError, match="cannot hold"):
        AlignRight(5, 2, 4)
    with pytest.raises(ValueError, match="do not fit"):
        AddSigned(4, 3, 2)
    with pytest.raises(ValueError, match="needs 5 bits"):
        Normalise(4, 4, 2, fixed=False)
    with pytest.raises(ValueError, match="kind must be one of interleaved, lzc, sentinel, lza"):
        Normalise(6, 4, 2, fixed=False, kind="guess")
