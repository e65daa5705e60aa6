"""From an operation to the unit that computes it, and to RTLIL."""

from amaranth.back import rtlil
from amaranth.lib import wiring

from fmacost.hw.architecture import DEFAULT_ARCHITECTURE, Architecture
from fmacost.hw.units.fixed_unit import FixedUnit
from fmacost.hw.units.float_unit import FloatUnit
from fmacost.sim.formats import FixedFormat
from fmacost.sim.operation import Operation

TOP = "unit"


def build_unit(
    operation: Operation, architecture: Architecture = DEFAULT_ARCHITECTURE
) -> wiring.Component:
    """Return the component of an operation, ports ``a``, ``b``, ``c``, ``result``, ``invalid``."""
    if isinstance(operation.result, FixedFormat):
        return FixedUnit(operation, architecture)
    return FloatUnit(operation, architecture)


def to_rtlil(
    operation: Operation, architecture: Architecture = DEFAULT_ARCHITECTURE, name: str = TOP
) -> str:
    """Return the unit of an operation as RTLIL, its top module named ``name``."""
    text: str = rtlil.convert(build_unit(operation, architecture), name=name, emit_src=False)
    return text
