"""Gate and transistor counts of multiply-add units, on netlists proven bit-exact.

``compare``, ``synth``, ``verify`` and ``sweep`` are the commands of these names for programs and
notebooks; each returns a ``Table``.

Three rooms, imported one way only: ``fmacost.sim`` (what the numbers are), ``fmacost.hw`` (what is
built) and ``fmacost.reports`` (what it costs). This module imports none of them before it is asked
for something, so that start-up stays short.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fmacost.reports.api import Table, compare, sweep, synth, verify

__version__ = "0.1.0"
__all__ = ["Table", "compare", "sweep", "synth", "verify"]


def __getattr__(name: str) -> Any:
    """Import what is asked for (PEP 562)."""
    if name in __all__:
        from fmacost.reports import api

        return getattr(api, name)
    raise AttributeError(f"module 'fmacost' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
