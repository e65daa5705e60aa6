"""The named studies: grids that answer one question each.

All are at effort quick: one recipe for every unit, and minutes for all of them together. What a
higher effort changes is a matter of docs/numbers.md.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmacost.reports.errors import InputError
from fmacost.reports.grid import Grid, near, read_grid
from fmacost.sim.formats import MAX_EXP_BITS, standard_formats
from fmacost.sim.operation import DETERMINISTIC

KINDS = ("mul", "add", "fma")
EFFORT = ("quick",)
MAX_WIDTH = 16
MAX_FIXED_WIDTH = 8  # of operands with a fixed accumulator
ACCUMULATED = ("int8", "e4m3fn", "e5m2", "e3m4f", "e2m1fn", "int4")
COMPARED = ("int4", "e2m1fn", "int8", "e4m3fn", "e5m2", "int16", "fp16", "bf16")


@dataclass(frozen=True, slots=True)
class Study:
    """A grid with a name.

    Attributes
    ----------
    question : one line, as help shows it
    """

    name: str
    question: str
    grid: Callable[[], Grid]


def splits(width: int) -> Iterator[tuple[int, int]]:
    """Yield exponent and fraction bits of every float of a width, its sign counted."""
    for exp_bits in range(min(width - 1, MAX_EXP_BITS) + 1):
        yield exp_bits, width - 1 - exp_bits


def _floats(width: int) -> list[str]:
    return [f"e{e}m{m}f" for e, m in splits(width)]


def _widths() -> Grid:
    units = [
        f"{kind}:{fmt}"
        for kind in KINDS
        for width in range(1, MAX_WIDTH + 1)
        for fmt in (f"int{width}", *_floats(width))
    ]
    for width in range(1, MAX_FIXED_WIDTH + 1):
        units.append(f"fma:int{width}+{{int16,int32}}")
        units += [f"fma:{fmt}+{{fp16,fp32}}" for fmt in _floats(width)]
    return Grid(units=tuple(units), effort=EFFORT)


def _surface() -> Grid:
    return Grid(units=("{mul,fma}:e{0..8}m{0..10}f",), effort=EFFORT)


def _fp8() -> Grid:
    names = [f"e{e}m{m}" for e, m in splits(8) if 1 <= e <= 7]
    units = [f"{{mul,add,fma}}:{name}{{f,fn,fnuz,ieee}}" for name in names]
    return Grid(units=("{mul,add,fma}:int8", *units), effort=EFFORT)


def _accumulators() -> Grid:
    addends = "{int16,int32,fp16,bf16,fp32,exact1,exact32,exact4096}"
    return Grid(units=tuple(f"fma:{fmt}+{addends}" for fmt in ACCUMULATED), effort=EFFORT)


def _rounding() -> Grid:
    modes = ",".join(map(str, DETERMINISTIC))
    formats = "{e2m1fn,e4m3fn,e5m2,bf16,fp16}"
    return Grid(
        units=(f"fma:{formats},{{{modes},sr4,sr8}}", f"fma:{formats},daz,ftz"), effort=EFFORT
    )


def _technologies() -> Grid:
    from fmacost.hw.technology import TECHNOLOGIES

    units = tuple(f"{{mul,fma}}:{name}" for name in COMPARED)
    return Grid(units=units, technology=tuple(TECHNOLOGIES), effort=EFFORT)


def _versions() -> Grid:
    names = ",".join(fmt.name for fmt in standard_formats() if fmt.width <= MAX_WIDTH)
    return Grid(units=(f"{{mul,add,fma}}:{{{names}}}",), effort=EFFORT)


STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        Study("widths", "int N against every float of N bits, N = 1 to 16", _widths),
        Study("surface", "every float of up to 8 exponent and 10 fraction bits", _surface),
        Study("fp8", "every 8-bit float, with and without special values", _fp8),
        Study("accumulators", "formats of operands against those of the addend", _accumulators),
        Study("rounding", "what rounding modes and subnormals cost", _rounding),
        Study("technologies", "the same units in every technology", _technologies),
        Study("versions", "standard formats: which digits moved with versions", _versions),
    )
}


def find_grid(what: str | None, units: Sequence[str] | None) -> Grid:
    """Return the grid of a study, of a TOML file or of patterns of units.

    Raises
    ------
    InputError
        Unless exactly one of the two is given, or if there is no such study or file.
    """
    if (what is None) == (not units):
        raise InputError("a sweep needs a study, a TOML file or --units, and one of them alone")
    if what is None:
        return Grid(units=tuple(units or ()))
    if what in STUDIES:
        return STUDIES[what].grid()
    if what.endswith(".toml"):
        return read_grid(Path(what))
    raise InputError(f"unknown study '{what}'{near(what, list(STUDIES))}, or a .toml file")
