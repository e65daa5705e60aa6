"""Multipliers from rows of AND gates: unsigned, and Baugh-Wooley for two's complement."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fmacost.hw.parts.compress import Columns, add_constant, dadda, ripple_finish


def partial_products(a: Value, b: Value, *, a_signed: bool, b_signed: bool, width: int) -> Columns:
    """Return the columns of ``a * b`` modulo ``2**width`` (Baugh and Wooley 1973).

    Products with a sign bit have negative weight. ``-p * 2**i`` is ``(1 - p) * 2**i - 2**i``: the
    bit is inverted and the constants are collected into one.
    """
    columns: Columns = [[] for _ in range(width)]
    constant = 0
    for i in range(len(a)):
        for j in range(len(b)):
            if i + j >= width:
                continue
            negative = (a_signed and i == len(a) - 1) != (b_signed and j == len(b) - 1)
            bit = a[i] & b[j]
            columns[i + j].append(~bit if negative else bit)
            constant -= negative << (i + j)
    add_constant(columns, constant % (1 << width))
    return columns


class Multiplier(wiring.Component):
    """Multiply two words exactly: Dadda tree, ripple finish.

    Members
    -------
    a : In(a_width)
    b : In(b_width)
    product : Out(a_width + b_width), two's complement if a factor is signed
    """

    a: Signal
    b: Signal
    product: Signal

    def __init__(
        self, a_width: int, b_width: int, *, a_signed: bool = False, b_signed: bool = False
    ) -> None:
        self.a_signed, self.b_signed = a_signed, b_signed
        width = a_width + b_width
        super().__init__({"a": In(a_width), "b": In(b_width), "product": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        columns = partial_products(
            self.a, self.b,
            a_signed=self.a_signed, b_signed=self.b_signed, width=len(self.product),
        )  # fmt: skip
        m.d.comb += self.product.eq(ripple_finish(m, dadda(m, columns)))
        return m
