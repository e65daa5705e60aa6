"""Streams: what they are made of, that they repeat, and files nobody would want to read."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmacost.sim import streams
from fmacost.sim.codec import decode
from fmacost.sim.formats import parse_format
from fmacost.sim.operation import Operation, parse_unit
from fmacost.sim.reference import compute
from fmacost.sim.streams import RUN, STREAMS, StreamError, make_stream, read_stream, scale
from tests.units import tiny_formats

UNITS = (
    "mul:e0m0f", "fma:e0m0f", "mul:int1", "fma:uint2", "add:int3", "fma:e2m1fn", "fma:e4m3fn",
    "fma:e4m3fn+fp32", "fma:e4m3fn+exact32", "fma:int8+int32", "fma:int8", "fma:bf16*int8+fp32",
    "mul:fp16", "add:fp32", "fma:e4m3fn,sr4", "fma:e5m2+fp32->bf16", "mul:fp16->int8",
    "fma:fixed40.40", "mul:int40",
)  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("unit", UNITS)
def test_streams_fit_their_operation_and_repeat(unit: str, name: str) -> None:
    operation = parse_unit(unit)
    stream = make_stream(name, operation, 300, seed=5)
    assert {port: len(codes) for port, codes in stream.items()} == dict.fromkeys(
        operation.input_widths, 300
    )
    compute(operation, *stream.values())  # checks the range of every code
    again = make_stream(name, operation, 300, seed=5)
    other = make_stream(name, operation, 300, seed=6)
    assert all(np.array_equal(stream[port], again[port]) for port in stream)
    assert any(not np.array_equal(stream[port], other[port]) for port in stream)


@pytest.mark.parametrize("fmt", tiny_formats(4), ids=str)
def test_every_tiny_format_has_gaussian_operands(fmt: Any) -> None:
    assert scale(fmt) >= 0
    operation = parse_unit(f"add:{fmt}")
    for name in STREAMS:
        compute(operation, *make_stream(name, operation, 200).values())


def test_uniform_codes_are_every_code() -> None:
    stream = make_stream("uniform", parse_unit("fma:e4m3fn"), 10_000)
    for codes in stream.values():
        counts = np.bincount(codes.astype(int), minlength=256)
        assert counts.min() > 10
        assert counts.max() < 80


@pytest.mark.parametrize(
    ("text", "sigma"),
    [("e4m3fn", 1), ("fp32", 1), ("e2m1fn", 1), ("int8", 128 / 3), ("uint8", 85), ("int1", 1 / 3),
     ("e0m0f", 1 / 3), ("fixed2.6", 2 / 3), ("e2m3b3f", 1.875 / 3)],
)  # fmt: skip
def test_scale_of_gaussian_operands(text: str, sigma: float) -> None:
    assert scale(parse_format(text)) == pytest.approx(sigma)


def values_of(operation: Operation, name: str, count: int = 20_000) -> dict[str, Any]:
    stream = make_stream(name, operation, count)
    formats = dict(zip(operation.input_widths, operation.operands, strict=True))
    return {port: decode(formats[port], codes) for port, codes in stream.items()}


def test_gaussian_operands_have_their_deviation() -> None:
    values = values_of(parse_unit("fma:e4m3fn"), "gaussian")
    assert [np.std(v) for v in values.values()] == pytest.approx([1, 1, 8], rel=0.02)
    integers = values_of(parse_unit("fma:int8+int32"), "gaussian")
    expected = [128 / 3, 128 / 3, 8 * (128 / 3) ** 2]
    assert [np.std(v) for v in integers.values()] == pytest.approx(expected, rel=0.02)
    assert np.corrcoef(integers["a"], integers["b"])[0, 1] == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize("unit", ["fma:e4m3fn", "fma:int8+int32", "fma:e2m1fn", "fma:int4"])
def test_a_stationary_weight_and_a_real_accumulation(unit: str) -> None:
    operation = parse_unit(unit)
    stream = make_stream("stationary", operation, 5 * RUN + 7)
    a, b, c = stream.values()
    results = compute(operation, a, b, c)
    for step in range(1, len(a)):
        if step % RUN:
            assert (a[step], c[step]) == (a[step - 1], results[step - 1])
        else:
            assert c[step] == 0
    assert len(np.unique(a)) > 1
    assert len(np.unique(b[:RUN])) > 4


def test_a_sum_accumulates_and_a_product_only_holds() -> None:
    operation = parse_unit("add:int4+int16")
    a, b = make_stream("stationary", operation, 2 * RUN).values()
    signed = ((a.astype(int) ^ 8) - 8)[:RUN].cumsum()
    assert (b[1:RUN].astype(int) == signed[:-1] & 0xFFFF).all()
    a, b = make_stream("stationary", parse_unit("mul:int8"), 2 * RUN).values()
    assert len(np.unique(a[:RUN])) == 1 < len(np.unique(b[:RUN]))


def test_an_addend_of_another_format_is_gaussian() -> None:
    _, _, c = values_of(parse_unit("fma:e4m3fn+fp32->bf16"), "stationary").values()
    assert np.std(c) == pytest.approx(8, rel=0.02)


def test_unknown_streams_are_refused() -> None:
    with pytest.raises(ValueError, match="stream must be one of uniform, gaussian, stationary"):
        make_stream("laplace", parse_unit("mul:int1"), 10)
    with pytest.raises(ValueError, match="vectors must be at least 1, not 0"):
        make_stream("uniform", parse_unit("mul:int1"), 0)


def save(path: Path, array: Any) -> Path:
    np.save(path / "s.npy", np.asarray(array))
    return path / "s.npy"


@pytest.mark.parametrize("dtype", ["u1", "<i2", ">i8", "u8"])
def test_a_file_is_read_as_it_is(tmp_path: Path, dtype: str) -> None:
    codes = np.array([[1, 2, 3], [0x7F, 0, 0x70], [9, 8, 7]], dtype)
    stream = read_stream(save(tmp_path, codes), parse_unit("fma:e4m3fn"))
    assert [column.tolist() for column in stream.values()] == codes.T.tolist()
    assert all(column.dtype == np.uint64 for column in stream.values())


def test_a_file_has_the_random_bits_last(tmp_path: Path) -> None:
    path = save(tmp_path, [[1, 2, 15], [3, 4, 0]])
    assert read_stream(path, parse_unit("mul:e4m3fn,sr4"))["random"].tolist() == [15, 0]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], "codes must be integers, not float64"),
        ([[True, False], [True, True]], "codes must be integers, not bool"),
        ([["a", "b"], ["c", "d"]], "codes must be integers, not <U1"),
        ([1, 2], r"needs at least 2 vectors of 2 codes \(a, b\), not an array of shape \(2,\)"),
        ([[1, 2]], r"needs at least 2 vectors .* shape \(1, 2\)"),
        ([[1, 2, 3], [4, 5, 6]], r"needs at least 2 vectors .* shape \(2, 3\)"),
        (np.zeros((0, 2), int), r"shape \(0, 2\)"),
        ([[1, 2], [3, 256]], r"codes of b must be in 0\.\.0xff, not 2\.\.256"),
        ([[1, 2], [-1, 3]], r"codes of a must be in 0\.\.0xff, not -1\.\.1"),
        (np.array([[1, 2**63], [0, 2]], np.uint64), r"codes of b must be in 0\.\.0xff"),
    ],
)
def test_arrays_that_are_no_stream(tmp_path: Path, array: Any, message: str) -> None:
    with pytest.raises(StreamError, match=message):
        read_stream(save(tmp_path, array), parse_unit("mul:e4m3fn"))


NPY = b"\x93NUMPY\x01\x00v\x00"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"1,2\n3,4\n",
        pickle.dumps([[1, 2], [3, 4]]),
        b"PK\x03\x04 no archive",
        NPY + b"{'descr': '<i8', 'fortran_order': False, 'shape': (9999999999999, 2)}".ljust(118),
        NPY + b"{'descr': '<i8', 'fortran_order': False, 'shape': (-3, 2)}".ljust(118),
        NPY + b"{'descr': '|O', 'fortran_order': False, 'shape': (2, 2)}".ljust(118) + b"x" * 64,
        NPY + b"__import__('os').abort()".ljust(118),
        NPY + b"{" * 118,
    ],
)
def test_hostile_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.npy"
    path.write_bytes(content)
    with pytest.raises(StreamError, match=r"s\.npy"):
        read_stream(path, parse_unit("mul:e4m3fn"))


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path / "none.npy", tmp_path):
        with pytest.raises(StreamError, match=f"cannot read {path}: no such file"):
            read_stream(path, parse_unit("mul:e4m3fn"))
    monkeypatch.setattr(streams, "MAX_FILE_BYTES", 100)
    with pytest.raises(StreamError, match="is larger than"):
        read_stream(save(tmp_path, [[1, 2], [3, 4]]), parse_unit("mul:e4m3fn"))
