"""Gate and transistor counts of multiply-add units, on netlists proven bit-exact.

Three rooms, imported one way only: ``fmacost.sim`` (what the numbers are), ``fmacost.hw`` (what is
built) and ``fmacost.reports`` (what it costs). This module imports none of them, so that start-up
stays short.
"""

__version__ = "0.1.0"
