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

from fmacost.hw.parts.adders import extend, ripple_add
from fmacost.hw.parts.shifter import AlignRight
from fmacost.hw.raw import Case, RawRange


@dataclass(frozen=True, slots=True)
class Kept:
    """The bits of a result that rounding looks at, sticky aside.

    Attributes
    ----------
    precision : the significand and what stochastic rounding takes of the bits below it
    quantum_exponent : exponent of the lowest of these bits at the smallest exponent
    """

    precision: int
    quantum_exponent: int


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
    lowest, highest : range of the larger one of ``ec`` and ``ea + eb + shift_offset``, or of the
        one that belongs to the term that is not zero
    base : exponent of bit 0 of the window less that one
    lowest_lead : lowest place in the window of the leading one of a sum that is not zero
    """

    width: int
    product_place: int
    addend_place: int
    shift_offset: int
    lowest_shift: int
    highest_shift: int
    zero_product_shifts: bool
    zero_addend_clamps: bool
    lowest: int
    highest: int
    base: int
    lowest_lead: int

    @property
    def clamps(self) -> bool:
        """Whether the shift can be negative."""
        return self.lowest_shift < 0


def plan_window(a: RawRange, b: RawRange, c: RawRange, result: Kept) -> Window:
    """Return the window of ``a*b + c`` of which ``result`` is kept."""
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
    c_first = int(c.exponent_bits > 0)
    product_first = (a.exponent_bits > 0) + (b.exponent_bits > 0)
    offset = place - below - (c.quantum - quantum) - product_first + c_first
    # A factor of zero has the smallest exponent, so a zero product shifts less far.
    zero_shift = place - below - c.quantum + max(a.quantum + b.top, a.top + b.quantum)
    zero_product_shifts = zero_shift > place
    zero_addend_clamps = lowest_shift < 0 and c.quantum - result.quantum_exponent > gap - 2
    # The larger one, unless the term that it belongs to is zero and must not count.
    lowest = max(c_first, product_first + offset)
    if zero_product_shifts:
        lowest = c_first
    if zero_addend_clamps:
        lowest = min(c_first, product_first + offset)
    lead = min(_lowest_lead(a, b, c, below), place if zero_product_shifts else place - zero_shift)
    return Window(
        width=width,
        product_place=below,
        addend_place=place,
        shift_offset=offset,
        lowest_shift=lowest_shift,
        highest_shift=highest_shift,
        zero_product_shifts=zero_product_shifts,
        zero_addend_clamps=zero_addend_clamps,
        lowest=lowest,
        highest=max(c_first + c.top - c.quantum, product_first + offset + top - quantum),
        base=c.quantum - place - c_first,
        lowest_lead=max(lead, 0),
    )


def _lowest_lead(a: RawRange, b: RawRange, c: RawRange, below: int) -> int:
    """Return a place that the leading one of a non-zero sum does not fall below.

    Sums are multiples of the lower one of the two lowest bits. An addend that reaches below the
    product by ``t`` places is either so small that the sum keeps the product's leading one, or it
    may cancel down to its own lowest bit, no lower than ``lead - significand bits``.
    """
    leads = [
        max(x.lead + y.lead - c.significand_bits, c.quantum - x.top - y.top, -below)
        for x in a.cases
        for y in b.cases
    ]
    return below + min([0, *leads])


def _room_below(a: RawRange, b: RawRange, c: RawRange, result: Kept) -> int:
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


def _room_above(c: RawRange, result: Kept) -> int:
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
    limit : Out(limit_bits), ``ec`` or ``ea + eb + shift_offset``, which is larger, plus
        ``limit_offset``: the exponent of the result if its leading one is at the window's top
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
                "limit": Out((window.highest + limit_offset).bit_length()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        window = self.window
        product, shift, negative = self._exponents(m)
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
        ]
        highest = product
        if window.clamps or window.zero_product_shifts:
            highest = Mux(hold, extend(self.c_exponent, len(product)), product)
        m.d.comb += self.limit.eq(add_constant(m, highest, self.limit_offset, len(self.limit)))
        return m

    def _exponents(self, m: Module) -> tuple[Value, Value, Value]:
        """Return ``ea + eb + offset`` (two's complement), it less ``ec`` without sign, the sign."""
        window, c_bits = self.window, self.c.exponent_bits
        low, high = window.lowest_shift, max(window.highest_shift + 1, window.highest)
        negative_bits = (-low - 1).bit_length() if low < 0 else 0
        width = max(high.bit_length(), negative_bits, len(self.limit)) + 1
        m.submodules.exponent_add = exponent_add = ExponentAdd(
            self.a.exponent_bits, self.b.exponent_bits, window.shift_offset, width
        )
        m.d.comb += [
            exponent_add.a.eq(self.a_exponent),
            exponent_add.b.eq(self.b_exponent),
        ]
        product: Value = exponent_add.total
        shift = product
        if c_bits:
            inverted = ~extend(self.c_exponent, width)
            shift = ripple_add(m, product, inverted, 1)[:width]
        kept = max(window.highest_shift.bit_length(), negative_bits)
        return product, shift[:kept], shift[kept]


class ExponentAdd(wiring.Component):
    """Add the exponents of two factors and a constant: the exponent of their product.

    Members
    -------
    a : In(a_width)
    b : In(b_width)
    total : Out(width), ``a + b + offset`` modulo ``2**width``
    """

    a: Signal
    b: Signal
    total: Signal

    def __init__(self, a_width: int, b_width: int, offset: int, width: int) -> None:
        self.offset = offset
        super().__init__({"a": In(a_width), "b": In(b_width), "total": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total = ripple_add(m, self.a, self.b)
        m.d.comb += self.total.eq(add_constant(m, total, self.offset, len(self.total)))
        return m


def add_constant(m: Module, word: Value, constant: int, width: int) -> Value:
    """Add a constant of any sign to an unsigned word, modulo ``2**width``."""
    word = Cat(word, Const(0, max(width - len(word), 0)))[:width]
    if constant == 0:
        return word
    return ripple_add(m, word, Const(constant % (1 << width), width))[:width]
