"""Streams: operands that follow one another, as units meet them, for counting what switches.

Three kinds are made here, the same for the same seed; a fourth is read from a file.

- ``uniform``: every code of every operand as likely, infinities and NaNs of floats included.
- ``gaussian``: normally distributed factors, independent, rounded to the format. Floats have a
  standard deviation of 1, others (and floats that do not reach from 1 to 3) a third of the
  largest magnitude, so that few saturate; unsigned formats take the magnitude. An addend is
  distributed as the sum of ``RUN`` products, with at most a third of its own largest magnitude.
- ``stationary``: a weight-stationary trace. The first factor is held for ``RUN`` steps while the
  second one is new at each; both are Gaussian. Where the result has the addend's format, the
  addend is the last result, zero at each new weight: a real accumulation, exact reference
  included. A sum accumulates its first operand in the same way.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fmacost.sim.codec import Codes
from fmacost.sim.formats import FixedFormat, Format
from fmacost.sim.operation import Kind, Operation
from fmacost.sim.reference import compute
from fmacost.sim.stimuli import nearest_codes, random_codes

STREAMS = ("uniform", "gaussian", "stationary")
RUN = 64  # steps for which a weight is held, products in an accumulation
MAX_FILE_BYTES = 1 << 28

Stream: TypeAlias = dict[str, Codes]


class StreamError(ValueError):
    """A file that is no stream of an operation. The message is one line."""


def make_stream(name: str, operation: Operation, vectors: int, seed: int = 0) -> Stream:
    """Return the codes of each input port of an operation's unit, in the order of time.

    Random bits of stochastic rounding are uniform in every stream.

    Parameters
    ----------
    name : one of ``STREAMS``
    vectors : how many, at least 1

    Raises
    ------
    ValueError
        If the name is unknown or ``vectors`` is not positive.
    """
    if name not in STREAMS:
        raise ValueError(f"stream must be one of {', '.join(STREAMS)}, not {name}")
    if vectors < 1:
        raise ValueError(f"vectors must be at least 1, not {vectors}")
    rng = np.random.default_rng(seed)
    random = [random_codes(rng, f, vectors) for f in operation.inputs[len(operation.operands) :]]
    match name:
        case "uniform":
            operands = [random_codes(rng, f, vectors) for f in operation.operands]
        case "gaussian":
            operands = _gaussian(operation, vectors, rng)
        case _:
            operands = _stationary(operation, vectors, rng, random)
    return dict(zip(operation.input_widths, [*operands, *random], strict=True))


def accumulating(stream: Stream) -> Stream:
    """Return a stream of an FMA for its processing element: ``clear`` before every ``RUN`` steps.

    The addends are not used: they are the sums.
    """
    steps = np.arange(len(stream["a"]))
    clear = (steps % RUN == 0).astype(np.uint64)
    return {"a": stream["a"], "b": stream["b"], "clear": clear}


def read_stream(path: Path, operation: Operation, *, accumulates: bool = False) -> Stream:
    """Read a stream from a ``.npy`` file of integer codes, shape (vectors, operands).

    The columns are the input ports in their order, random bits last; where the operation
    ``accumulates`` in a processing element they are ``a``, ``b`` and ``clear``.

    Raises
    ------
    StreamError
        If the file is missing, too large or no such array, or a code is out of range.
    """
    array = _load(path)
    names: Mapping[str, int] = operation.input_widths
    if accumulates:
        names = {"a": names["a"], "b": names["b"], "clear": 1}
    if array.ndim != 2 or array.shape[1] != len(names) or len(array) < 2:
        raise StreamError(
            f"{path}: {operation} needs at least 2 vectors of {len(names)} codes "
            f"({', '.join(names)}), not an array of shape {array.shape}"
        )
    stream = {}
    for column, (name, width) in zip(array.T, names.items(), strict=True):
        low, high = int(column.min()), int(column.max())
        if low < 0 or high >> width:
            raise StreamError(
                f"{path}: codes of {name} must be in 0..{(1 << width) - 1:#x}, not {low}..{high}"
            )
        stream[name] = column.astype(object if width > 64 else np.uint64)
    return stream


def _load(path: Path) -> NDArray[Any]:
    """Return the array of a file, which is not read but mapped into memory."""
    try:
        if not path.is_file():
            raise StreamError(f"cannot read {path}: no such file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise StreamError(f"{path} is larger than the {MAX_FILE_BYTES >> 20} MiB of a stream")
        array = np.lib.format.open_memmap(path, mode="r")  # refuses pickled objects
    except StreamError:
        raise
    except OSError as error:
        raise StreamError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # whatever NumPy meets in a file that is none of its own
        raise StreamError(f"{path} is no .npy file of numbers: {error}") from None
    if array.dtype.kind not in "iu":
        raise StreamError(f"{path}: codes must be integers, not {array.dtype}")
    return array


def scale(fmt: Format) -> float:
    """Return the standard deviation of Gaussian operands."""
    if isinstance(fmt, FixedFormat) or fmt.min_positive is None or fmt.min_positive > 1:
        return _third(fmt)
    return min(1.0, _third(fmt))


def _third(fmt: Format) -> float:
    """Return a third of the value that is furthest from zero."""
    if isinstance(fmt, FixedFormat):
        furthest = max(fmt.max_integer, -fmt.min_integer)
        return math.ldexp(furthest / 3, fmt.quantum_exponent)
    return float(fmt.max_value) / 3


def _addend_scale(operation: Operation) -> float:
    *factors, addend = operation.operands
    products = math.prod(scale(f) for f in factors) * math.sqrt(RUN)
    return min(products, _third(addend))


def _normal(fmt: Format, sigma: float, count: int, rng: np.random.Generator) -> Codes:
    values = sigma * rng.standard_normal(count)
    is_unsigned = isinstance(fmt, FixedFormat) and not fmt.signed
    return nearest_codes(fmt, abs(values) if is_unsigned else values)


def _gaussian(operation: Operation, count: int, rng: np.random.Generator) -> list[Codes]:
    scales = [scale(f) for f in operation.operands]
    if operation.kind is Kind.FMA:
        scales[-1] = _addend_scale(operation)
    return [_normal(f, s, count, rng) for f, s in zip(operation.operands, scales, strict=True)]


def _stationary(
    operation: Operation, count: int, rng: np.random.Generator, random: Sequence[Codes]
) -> list[Codes]:
    operands = _gaussian(operation, count, rng)
    if operation.product:
        operands[0] = operands[0][np.arange(count) // RUN * RUN]
    if operation.addend is None or operation.addend != operation.result:
        return operands
    addends = operands[-1]
    addends[::RUN] = nearest_codes(operation.addend, np.zeros(1))
    for first in range(1, RUN):  # all runs at once, step by step
        steps = np.arange(first, count, RUN)
        last = [codes[steps - 1] for codes in (*operands, *random)]
        addends[steps] = compute(operation, *last) & ((1 << operation.addend.width) - 1)
    return operands
