"""Alignment: bring a product and an addend into one window, losing nothing that rounding needs.

The product keeps its place in the window and the addend is shifted right from the top. An addend
so large that the product is only sticky stays at the top, whatever its exponent; one so small
that it is only sticky itself leaves at the bottom. ``Window`` derives, from the ranges of the
operands alone, how much room either side needs.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fmacost.hw.parts.adders import ripple_add
from fmacost.hw.parts.shifter import AlignRight
from fmacost.hw.raw import Case, RawRange
from fmacost.sim.formats import FloatFormat


@dataclass(frozen=True, slots=True)
class Window:
    """The places of product and addend in the window, bit 0 the lowest.

    Attributes
    ----------
    width : bits of the window
    product_place : place of the product's lowest bit
    addend_place : place of the addend's lowest bit when it is not shifted
    shift_offset : the addend is shifted right by ``ea + eb - ec + shift_offset``, at least 0
    lowest_shift, highest_shift : range of that sum; where negative, it is held at zero
    zero_product_shifts : whether a product of zero would shift an addend out of the window
    zero_addend_clamps : whether an addend of zero must not hold the product at the bottom
    base : lowest exponent that bit 0 of the window can have
    span : how far the window's exponent can rise above ``base``
    """

    width: int
    product_place: int
    addend_place: int
    shift_offset: int
    lowest_shift: int
    highest_shift: int
    zero_product_shifts: bool
    zero_addend_clamps: bool
    base: int
    span: int

    @property
    def clamps(self) -> bool:
        """Whether the shift can be negative."""
        return self.lowest_shift < 0


def plan_window(a: RawRange, b: RawRange, c: RawRange, result: FloatFormat) -> Window:
    """Return the window of ``a*b + c`` rounded to ``result``."""
    product_bits = a.significand_bits + b.significand_bits
    if b.significand_bits == 1 or a.significand_bits == 1:
        product_bits -= 1
    below = _room_below(a, b, c, result)
    quantum, top = a.quantum + b.quantum, a.top + b.top
    # The addend's highest place: above the product by what rounding needs, or all it can reach.
    gap = _room_above(c, result)
    place = max(min(below + product_bits + gap, below + c.top - quantum), 0)
    largest = (c.max_significand << place) + (a.max_significand * b.max_significand << below)
    width = largest.bit_length()
    # In the addend's units (ec = 1 or fixed): shift = place - below - (qc - qp).
    highest_shift = place - below - (c.quantum - top)
    lowest_shift = place - below - (c.top - quantum)
    exponents = (a.exponent_bits > 0) + (b.exponent_bits > 0) - (c.exponent_bits > 0)
    # A factor of zero has the smallest exponent, so a zero product shifts less far.
    zero_shift = place - below - c.quantum + max(a.quantum + b.top, a.top + b.quantum)
    zero_addend_clamps = lowest_shift < 0 and c.quantum - result.quantum_exponent > gap - 2
    base = c.quantum - place
    if zero_addend_clamps:
        base = min(base, quantum - below)
    return Window(
        width=width,
        product_place=below,
        addend_place=place,
        shift_offset=place - below - (c.quantum - quantum) - exponents,
        lowest_shift=lowest_shift,
        highest_shift=highest_shift,
        zero_product_shifts=zero_shift > place,
        zero_addend_clamps=zero_addend_clamps,
        base=base,
        span=max(c.top - place, top - below) - base,
    )


def _room_below(a: RawRange, b: RawRange, c: RawRange, result: FloatFormat) -> int:
    """Return the bits needed below the product so that an addend below them is only sticky.

    The last kept bit of the result must lie above the lowest bit of the window, also after an
    effective subtraction has moved the leading one down by one place, and the product must be
    the larger term. ``lead`` is where the product's leading one is at least.
    """
    needs = [0]
    for x in a.cases:
        for y in b.cases:
            lead, top = x.lead + y.lead, x.top + y.top
            rounding = min(result.precision + 1 - lead, 1 - (result.quantum_exponent - top))
            need = max(rounding, c.significand_bits - lead)
            needs.append(min(need, top - c.quantum))  # never shifted further than that
    return max(needs)


def _room_above(c: RawRange, result: FloatFormat) -> int:
    """Return the zeros needed between a clamped addend and the product below it."""

    def place(case: Case) -> int:  # of the result's last bit, from the addend's lowest bit
        return max(case.lead - result.precision, result.quantum_exponent - case.top)

    return max([0, *(1 - place(case) for case in c.cases)])


class Align(wiring.Component):
    """Shift the addend to its place under the product and find the exponent of the window.

    Members
    -------
    a_exponent, b_exponent, c_exponent : In(exponent bits of the operands)
    c_significand : In(significand bits)
    product_zero, addend_zero : In(1)
    aligned : Out(window width)
    sticky : Out(1)
    limit : Out(limit_bits), exponent of the result if its leading one is at the window's top
    """

    a_exponent: Signal
    b_exponent: Signal
    c_exponent: Signal
    c_significand: Signal
    product_zero: Signal
    addend_zero: Signal
    aligned: Signal
    sticky: Signal
    limit: Signal

    def __init__(
        self, window: Window, a: RawRange, b: RawRange, c: RawRange, limit_offset: int
    ) -> None:
        self.window, self.a, self.b, self.c = window, a, b, c
        self.limit_offset = limit_offset
        super().__init__(
            {
                "a_exponent": In(a.exponent_bits),
                "b_exponent": In(b.exponent_bits),
                "c_exponent": In(c.exponent_bits),
                "c_significand": In(c.significand_bits),
                "product_zero": In(1),
                "addend_zero": In(1),
                "aligned": Out(window.width),
                "sticky": Out(1),
                "limit": Out((window.span + limit_offset).bit_length()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        window = self.window
        product = ripple_add(m, self.a_exponent, self.b_exponent)
        shift, negative = self._shift(m, product)
        hold: Value = Const(0, 1)
        if window.clamps:
            hold = negative & ~self.addend_zero if window.zero_addend_clamps else negative
        if window.zero_product_shifts:
            hold = hold | self.product_zero
        m.submodules.shifter = shifter = AlignRight(
            self.c.significand_bits, len(shift), window.addend_place + self.c.significand_bits
        )
        m.d.comb += [
            shifter.word.eq(self.c_significand),
            shifter.amount.eq(shift & (~hold).replicate(len(shift))),
            self.aligned.eq(shifter.window),
            self.sticky.eq(shifter.sticky),
            self.limit.eq(self._limit(m, product, hold)),
        ]
        return m

    def _shift(self, m: Module, product: Value) -> tuple[Value, Value]:
        """Return ``ea + eb - ec + offset`` without its sign, and its sign."""
        low, high = self.window.lowest_shift, self.window.highest_shift
        width = max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) + 1
        offset = self.window.shift_offset
        product = Cat(product, Const(0, width))[:width]
        if len(self.c_exponent):
            inverted = ~Cat(self.c_exponent, Const(0, width))[:width]
            # x - ec = x + ~ec + 1; the offset takes the one along where it is not zero.
            if offset == 0:
                total = ripple_add(m, product, inverted, 1)[:width]
            else:
                difference = ripple_add(m, product, inverted, 0)[:width]
                total = ripple_add(m, difference, Const((offset + 1) % (1 << width), width))
        else:
            total = ripple_add(m, product, Const(offset % (1 << width), width))
        return total[: width - 1], total[width - 1]

    def _limit(self, m: Module, product: Value, hold: Value) -> Value:
        """Return the exponent of the window's top, counted from the result's smallest."""
        window, bits = self.window, len(self.limit)
        exponents = (self.a.exponent_bits > 0) + (self.b.exponent_bits > 0)
        quantum = self.a.quantum + self.b.quantum
        by_product = quantum - exponents - window.product_place - window.base + self.limit_offset
        by_addend = self.c.quantum - (self.c.exponent_bits > 0) - window.addend_place
        by_addend += self.limit_offset - window.base
        difference = by_addend - by_product
        if not (window.clamps or window.zero_product_shifts):
            return _plus(m, product, by_product, bits)
        # Both come to the same sum: choose first, then add the constant once.
        chosen = Mux(hold, _plus(m, self.c_exponent, difference, bits + 1), product)
        return _plus(m, chosen, by_product, bits)


def _plus(m: Module, word: Value, constant: int, width: int) -> Value:
    """Add a constant of any sign to an unsigned word, modulo ``2**width``."""
    word = Cat(word, Const(0, max(width - len(word), 0)))[:width]
    if constant == 0:
        return word
    return ripple_add(m, word, Const(constant % (1 << width), width))[:width]
