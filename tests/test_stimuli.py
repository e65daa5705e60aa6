from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest

from fmacost.sim.codec import codes_of, decode
from fmacost.sim.formats import FixedFormat, FloatFormat, parse_format
from fmacost.sim.operation import Kind, Operation, parse_unit
from fmacost.sim.reference import compute
from fmacost.sim.stimuli import classify, corner_codes, sampled

FLOAT_REGIONS = {"cancellation", "ties", "subnormal", "overflow", "special", "zero"}
INT_REGIONS = {"cancellation", "ties", "overflow", "corner", "zero"}

# The regions that the operation does not have, and why.
EMPTY = {
    "mul:fp16": {"cancellation"},
    "fma:bf16": set(),
    "fma:fp16": set(),
    "fma:fp16,rup": set(),
    "fma:fp16,rtz,sat": set(),
    "fma:fp16,daz,ftz": set(),
    "fma:fp32": set(),
    "fma:e4m3fn+fp16": set(),
    "fma:e4m3fn+fp32": {"overflow"},  # a product is below half of the last step of fp32
    "fma:e4m3fn+fp32,rup": set(),  # but it may round up
    "fma:e4m3fn+fp32->bf16": set(),
    "fma:e5m2+fp32": {"overflow"},
    "fma:bf16*int8+fp32": set(),
    "fma:e8m8f": {"special"},
    "fma:e5m2+exact32": {"ties", "subnormal"},  # exact
    "fma:e4m3fn+exact32": {"ties", "subnormal"},
    "fma:e4m3fn+int32": {"subnormal"},
    "add:fp32": set(),
    "add:fp32->bf16": set(),
    "fma:int8+int32": {"ties"},  # exact
    "mul:int16": {"cancellation", "ties", "overflow"},  # the result is wide enough
    "mul:int16->int16": {"cancellation", "ties"},
    "add:int32": {"ties"},
    "add:int64": {"ties"},
    "add:uint32": {"cancellation", "ties"},  # terms have one sign
    "fma:fixed8.8": set(),
}


@pytest.mark.parametrize("unit", EMPTY)
def test_every_region_is_reached(unit: str) -> None:
    operation = parse_unit(unit)
    wanted = 10_000 if unit in ("fma:fp16", "fma:e4m3fn+fp32") else 2_000
    sample = sampled(operation, per_region=wanted)
    names = INT_REGIONS if operation.is_integer else FLOAT_REGIONS
    if isinstance(operation.result, FixedFormat):
        names = names - {"subnormal"}
    assert sample.regions.keys() == names
    for region, count in sample.regions.items():
        assert count == 0 if region in EMPTY[unit] else count >= wanted, region
    assert 0 < len(sample.expected) < 300_000
    assert {len(codes) for codes in sample.operands} == {len(sample.expected)}
    np.testing.assert_array_equal(sample.expected, compute(operation, *sample.operands))


def test_corners_are_in_every_combination() -> None:
    operation = parse_unit("fma:bf16*int8+fp32")
    corners = [corner_codes(fmt) for fmt in operation.operands]
    sample = sampled(operation, per_region=0)
    assert len(sample.expected) == np.prod([len(codes) for codes in corners]) > 1000
    assert len(set(zip(*(c.tolist() for c in sample.operands), strict=True))) == len(
        sample.expected
    )


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        (
            "e4m3fn",
            [0x00, 0x80, 0x01, 0x07, 0x08, 0x37, 0x38, 0x39, 0x3F, 0x40, 0x78, 0x7E, 0x7F, 0xFF],
        ),
        (
            "fp16",
            [
                0x0000,
                0x8000,
                0x0001,
                0x03FF,
                0x0400,
                0x3BFF,
                0x3C00,
                0x7BFF,
                0x7C00,
                0x7E00,
                0xFC00,
            ],
        ),
        ("e4m3fnuz", [0x00, 0x01, 0x07, 0x08, 0x40, 0x7F, 0x80, 0xFF]),
        ("e0m0f", [0, 1]),
        ("e1m0f", [0, 1, 2, 3]),
        ("int8", [0, 1, 0xFF, 0x80, 0x7F, 0x55, 0xAA, 0x40]),
        ("int1", [0, 1]),
        ("uint4", [0, 1, 15, 8, 5, 10]),
        ("fp32", [0x3F800000, 0x7F7FFFFF, 0x7FC00000, 0x7FFFFFFF]),
    ],
)
def test_corner_codes(name: str, codes: list[int]) -> None:
    fmt = parse_format(name)
    corners = corner_codes(fmt)
    assert set(codes) <= set(corners)
    assert corners == sorted(set(corners))
    assert 0 <= min(corners) <= max(corners) < 1 << fmt.width
    assert len(corners) <= 40


@pytest.mark.parametrize("unit", ["fma:bf16", "mul:int16", "fma:e5m2+exact32"])
def test_samples_depend_on_the_seed_alone(unit: str) -> None:
    operation = parse_unit(unit)
    first, same, other = (sampled(operation, seed, 200) for seed in (7, 7, 8))
    for x, y in zip(
        (*first.operands, first.expected), (*same.operands, same.expected), strict=True
    ):
        np.testing.assert_array_equal(x, y)
    assert first.regions == same.regions
    assert any(
        not np.array_equal(x, y) for x, y in zip(first.operands, other.operands, strict=True)
    )


def test_a_negative_minimum_is_refused() -> None:
    with pytest.raises(ValueError, match="per_region must be at least 0, not -1"):
        sampled(parse_unit("fma:fp16"), per_region=-1)


@pytest.mark.parametrize("unit", ["mul:e1m0f", "fma:e0m0f", "fma:int1", "add:e2m1fn", "mul:uint2"])
def test_tiny_formats_are_sampled_too(unit: str) -> None:
    assert len(sampled(parse_unit(unit), per_region=100).expected) > 100


# A model apart from the reference and from ``classify``: exact values, and the result by search.

MODELLED = [
    "fma:e2m1fn", "fma:e1m1f", "mul:e3m2fn", "fma:e2m1ieee", "mul:e4m3fn", "add:e5m2", "add:e4m3fn",
    "mul:e4m3fn*e2m1fn->e5m2", "fma:e2m0fn*e1m1f+e2m1ieee", "add:e3m1fn", "mul:e5m2->e4m3fn",
]  # fmt: skip


def steps(fmt: FloatFormat) -> list[Fraction]:
    """Return the finite magnitudes by their code, and the next one, which does not exist."""
    values = [Fraction(float(v)) for v in decode(fmt, codes_of(fmt)[: fmt.max_code + 1])]
    return [*values, values[-1] + Fraction(2) ** fmt.max_exponent]


def model(operation: Operation, codes: tuple[int, ...]) -> tuple[int | None, set[str]]:
    """Return result and regions of one input, rounded to nearest even.

    The result is None where an operand is special, and for zeros a positive one.
    """
    result = operation.result
    assert isinstance(result, FloatFormat)
    values = [
        float(decode(f, np.array([c], np.uint64))[0])
        for f, c in zip(operation.operands, codes, strict=True)
    ]
    if not np.isfinite(values).all():
        return None, {"special"}
    x, *rest = [Fraction(v) for v in values]
    if operation.kind is not Kind.ADD:
        x *= rest.pop(0)
    exact = sum(rest, x)
    regions = set()
    if rest and x and rest[0] and 2 * abs(exact) <= max(abs(x), abs(rest[0])):
        regions.add("cancellation")
    grid = steps(result)
    place = bisect_left(grid, abs(exact))
    if place < len(grid) and grid[place] != abs(exact):
        below, above = abs(exact) - grid[place - 1], grid[place] - abs(exact)
        regions |= {"ties"} if below == above else set()
        place -= below < above or (below == above and place % 2 == 1)
    if place == 0:
        return 0, regions | {"zero"}
    if place > result.max_code:
        regions.add("overflow")
        if result.has_nan and not result.has_infinity:
            return result.nan_code, regions
        place = result.inf_code if result.has_infinity else result.max_code
    if place < 1 << result.frac_bits and result.has_subnormals:
        regions.add("subnormal")
    return place | (exact < 0) << (result.width - 1), regions


@pytest.mark.parametrize("unit", MODELLED)
def test_reference_and_regions_equal_exact_fractions(unit: str) -> None:
    operation = parse_unit(unit)
    result = operation.result
    assert isinstance(result, FloatFormat)
    rng = np.random.default_rng(0)
    count = 600
    operands = tuple(
        rng.integers(0, 1 << f.width, count, dtype=np.uint64) for f in operation.operands
    )
    got = compute(operation, *operands)
    masks = classify(operation, operands, got)
    seen: set[str] = set()
    for i, codes in enumerate(zip(*(c.tolist() for c in operands), strict=True)):
        expected, regions = model(operation, codes)
        assert {region for region, mask in masks.items() if mask[i]} == regions, codes
        code = int(got[i]) & ~(("zero" in regions) << (result.width - 1))
        assert expected in (None, code), codes
        seen |= regions
    assert seen >= {"zero"}
