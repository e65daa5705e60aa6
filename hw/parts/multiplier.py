"""Partial products of multipliers: AND gates, radix-4 Booth digits, radix-4 digits with a carry.

All give columns of bits, to be compressed and added, with other terms if there are any.
"""

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fmacost.hw.parts.adders import net
from fmacost.hw.parts.compress import (
    Columns,
    add_constant,
    finish,
    reduce,
)

MULTIPLIERS = ("recoded", "recoded-mac", "booth", "baugh-wooley")


def product_columns(
    m: Module, a: Value, b: Value, *, a_signed: bool, b_signed: bool, width: int, kind: str
) -> Columns:
    """Return columns that add up to ``a * b`` modulo ``2**width``.

    Parameters
    ----------
    kind : one of ``MULTIPLIERS``

    Raises
    ------
    ValueError
        If ``kind`` is unknown.
    """
    match kind:
        case "recoded" | "recoded-mac":
            exact = 2 if kind == "recoded" else 0
            return recoded_columns(
                m, a, b, a_signed=a_signed, b_signed=b_signed, width=width, exact=exact
            )
        case "booth":
            return booth_columns(m, a, b, a_signed=a_signed, b_signed=b_signed, width=width)
        case "baugh-wooley":
            return partial_products(a, b, a_signed=a_signed, b_signed=b_signed, width=width)
    raise ValueError(f"kind must be one of {', '.join(MULTIPLIERS)}, not '{kind}'")


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


def booth_columns(
    m: Module, a: Value, b: Value, *, a_signed: bool, b_signed: bool, width: int
) -> Columns:
    """Return the columns of ``a * b`` from digits −2 ... 2 of b (Booth 1951, MacSorley 1961).

    Half as many rows as bits of b, at 18 transistors a bit: AOI22 selects a or 2a, XOR negates.
    A digit is three neighbouring bits of b, so nothing ripples. Its negation is b's upper bit as
    it is: 111 gives minus zero, all ones and one more, which is right too and needs no gate.
    """
    rows = _Rows(m, a, a_signed, width, exact=1)
    size = len(b)
    below: Value = Const(0, 1)
    for place in range(0, size, 2):
        upper = b[place + 1] if place + 1 < size else b[-1] if b_signed else Const(0, 1)
        rows.add_booth(place, b[place], upper, below)
        below = b[place + 1] if place + 1 < size else Const(0, 1)
    if not b_signed and size % 2 == 0:
        rows.add_single(size, below)
    return rows.columns()


def recoded_columns(
    m: Module, a: Value, b: Value, *, a_signed: bool, b_signed: bool, width: int, exact: int = 2
) -> Columns:
    """Return the columns of ``a * b`` from digits −1, 0, 1, 2 of b (Ercegovac, Lang 2004, 4.2).

    Two bits of b and a carry: 3 is −1 and a carry, 4 is 0 and a carry. A digit has only four
    values, so that a bit of a row is AOI221 and NOR2, 14 transistors; in exchange the carry
    ripples through the digits, two gates each. The smallest multiplier there is here.

    The top digit takes the sign and gives no carry: −2 ... 2 of two bits, −1 ... 1 of one. An
    unsigned b ends in one bit, 0 ... 2, and if it has an even number of bits it also starts with
    one: the same number of rows as for pairs and a last carry.

    Parameters
    ----------
    exact : 0, 1 or 2, the low bits of ``-a`` that are computed, once for all rows. The correction
        of an inverted row enters above them. With 2 that is where the next row starts: below the
        top of the first row no column has an even number of bits, and none needs a half adder.
        Where an addend joins the columns it is 0 that makes them odd.
    """
    if exact not in (0, 1, 2):
        raise ValueError(f"exact must be 0, 1 or 2, not {exact}")
    rows = _Rows(m, a, a_signed, width, exact)
    size = len(b)
    place = 0
    if not b_signed and size % 2 == 0:
        rows.add_single(0, b[0])
        place = 1
    carry: Value = Const(0, 1)
    while place + 2 < size:
        carry = rows.add_recoded(place, b[place], b[place + 1], carry)
        place += 2
    if place + 2 == size:
        rows.add_booth(place, b[place], b[place + 1], carry)
    elif b_signed:
        rows.add_minus_one_to_one(place, b[place], carry)
    else:
        rows.add_zero_to_two(place, b[place], carry)
    return rows.columns()


class _Rows:
    """The rows of digits times a multiplicand, in columns.

    Rows are not sign-extended. A sign bit of weight −2**i is its inverse of weight 2**i and a
    constant, as in Baugh and Wooley's array; the constants of all rows are collected into one.
    A negative multiple is the one's complement, and a correction bit.
    """

    def __init__(self, m: Module, a: Value, signed: bool, width: int, exact: int) -> None:
        self.m, self.a, self.signed, self.exact = m, a, signed, exact
        self.bits: Columns = [[] for _ in range(width)]
        self.constant = 0
        # Bits 0 and 1 of -a; by the number of exact bits, what the correction adds above them.
        first, second = self._a(0), self._a(1)
        self.negated = [first, net(m, first ^ second, "negated")]
        self.rest = [Const(1, 1), ~first, net(m, ~(first | second), "low_zero")]

    def columns(self) -> Columns:
        """Return all rows with their constant."""
        add_constant(self.bits, self.constant % (1 << len(self.bits)))
        return self.bits

    def add_single(self, place: int, bit: Value) -> None:
        """Add ``bit * a * 2**place``."""
        self._put(place, [self._a(j) & bit for j in range(len(self.a))], self.signed)

    def add_zero_to_two(self, place: int, bit: Value, carry: Value) -> None:
        """Add ``(bit + carry) * a * 2**place``."""
        one = net(self.m, bit ^ carry, "one")
        two = net(self.m, bit & carry, "two")
        row = [(self._a(j) & one) | (self._a(j - 1) & two) for j in range(len(self.a) + 1)]
        self._put(place, row, self.signed)

    def add_minus_one_to_one(self, place: int, bit: Value, carry: Value) -> None:
        """Add ``(carry - bit) * a * 2**place``."""
        plus = net(self.m, carry & ~bit, "plus_one")
        minus = net(self.m, bit & ~carry, "minus_one")
        size = len(self.a) + (not self.signed)
        row = [(self._a(j) & plus) | (~self._a(j) & minus) for j in range(size)]
        self._put(place, row, signed=True)
        self._put(place, [minus], signed=False)

    def add_recoded(self, place: int, low: Value, high: Value, carry: Value) -> Value:
        """Add a digit of ``2 * high + low + carry``, less four if above two; return the carry."""
        m = self.m
        odd = net(m, low ^ carry, "odd")
        one = net(m, odd & ~high, "plus_one")
        minus = net(m, odd & high, "minus_one")
        two = net(m, (high ^ low) & ~odd, "plus_two")
        size = len(self.a) + 1 + (not self.signed)
        exact = min(self.exact, size - 1)  # the sign bit stays an inverse
        row: list[Value] = []
        for j in range(size):
            inverse = self.negated[j] if j < exact else ~self._a(j)
            row.append((self._a(j) & one) | (self._a(j - 1) & two) | (inverse & minus))
        if exact:
            row[0] = self._a(0) & odd
        self._put(place, row, signed=True)
        self._put(place + exact, [minus & self.rest[exact]], signed=False)
        return net(m, high & (low | carry), "carry")

    def add_booth(self, place: int, low: Value, high: Value, carry: Value) -> None:
        """Add ``(-2 * high + low + carry) * a * 2**place``.

        The lowest bit of a row is that of a where the digit is odd, whatever the sign; so the
        correction can enter one place higher.
        """
        m = self.m
        one = net(m, low ^ carry, "one")
        two = net(m, (high ^ low) & ~one, "two")
        size = len(self.a) + 1 + (not self.signed)
        row = [((self._a(j) & one) | (self._a(j - 1) & two)) ^ high for j in range(size)]
        correction = high
        if self.exact:
            row[0] = net(m, self._a(0) & one, "lowest")
            correction = high & ~row[0]
        self._put(place, row, signed=True)
        self._put(place + (self.exact > 0), [correction], signed=False)

    def _a(self, i: int) -> Value:
        """Return a bit of the multiplicand as if it had no ends."""
        if i < 0:
            return Const(0, 1)
        if i < len(self.a):
            return self.a[i]
        return self.a[-1] if self.signed else Const(0, 1)

    def _put(self, place: int, row: list[Value], signed: bool) -> None:
        """Put the bits of a row, which ends in a sign bit if ``signed``, into the columns."""
        for i, bit in enumerate(row, place):
            negative = signed and i == place + len(row) - 1
            if i < len(self.bits):
                self.bits[i].append(~bit if negative else bit)
                self.constant -= negative << i


class MultiplyAdd(wiring.Component):
    """Multiply two words, add a third to the columns of the product, modulo 2**width.

    Members
    -------
    a : In(a_width)
    b : In(b_width)
    c : In(c_width), unsigned; none if the width is zero, as for a plain product
    total : Out(width)
    """

    a: Signal
    b: Signal
    c: Signal
    total: Signal

    def __init__(
        self, a_width: int, b_width: int, c_width: int, width: int, *,
        a_signed: bool, b_signed: bool, multiplier: str, reduction: str, adder: str,
    ) -> None:  # fmt: skip
        self.a_signed, self.b_signed = a_signed, b_signed
        self.multiplier, self.reduction, self.adder = multiplier, reduction, adder
        super().__init__(
            {"a": In(a_width), "b": In(b_width), "c": In(c_width), "total": Out(width)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        columns = product_columns(
            m, self.a, self.b, a_signed=self.a_signed, b_signed=self.b_signed,
            width=len(self.total), kind=self.multiplier,
        )  # fmt: skip
        for i in range(min(len(self.c), len(columns))):
            columns[i].append(self.c[i])
        columns = reduce(m, columns, kind=self.reduction)
        m.d.comb += self.total.eq(finish(m, columns, kind=self.adder))
        return m
