"""Carry-propagate adders made of full-adder cells.

A full adder is an instance of ``FULL_ADDER``. Synthesis maps it to a cell of the technology or
dissolves it into logic, whichever is smaller in the end; where constants reach an input it leaves
a half adder or less, so nothing here treats constants apart.
"""

from amaranth.hdl import Cat, Const, Instance, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

FULL_ADDER = "fmacost_fa"  # ports A, B, CI -> S, CO


def full_adder(m: Module, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """Add three bits in ``m``; return (sum, carry). A mirror adder has 28 transistors."""
    total, carry = Signal(name="fa_s"), Signal(name="fa_co")
    m.submodules += Instance(FULL_ADDER, i_A=a, i_B=b, i_CI=c, o_S=total, o_CO=carry)
    return total, carry


def half_adder(m: Module, a: Value, b: Value) -> tuple[Value, Value]:
    """Add two bits in ``m``; return (sum, carry). 14 transistors as a cell."""
    return full_adder(m, a, b, Const(0, 1))


def extend(word: Value, width: int) -> Value:
    """Return an unsigned word of exactly ``width`` bits; its missing upper bits are zero.

    Raises
    ------
    ValueError
        If the word is wider.
    """
    if len(word) > width:
        raise ValueError(f"a word of {len(word)} bits does not fit {width}")
    return Cat(word, Const(0, width - len(word)))


def ripple_add(m: Module, a: Value, b: Value, carry: Value | int = 0) -> Value:
    """Add two unsigned words and a carry bit by a ripple of full adders.

    Returns one bit more than the longer word. Depth is the width.
    """
    width = max(len(a), len(b))
    a, b = extend(a, width), extend(b, width)
    carry_bit: Value = Const(carry, 1) if isinstance(carry, int) else carry
    bits: list[Value] = []
    for i in range(width):
        total, carry_bit = full_adder(m, a[i], b[i], carry_bit)
        bits.append(total)
    return Cat(*bits, carry_bit)


def ripple_subtract(m: Module, a: Value, b: Value) -> tuple[Value, Value]:
    """Subtract unsigned words; return (difference modulo 2**width, ``a >= b``)."""
    width = max(len(a), len(b))
    total = ripple_add(m, extend(a, width), ~extend(b, width), 1)
    return total[:width], total[width]


def carry_chain(a: Value, b: Value, carry: Value) -> Value:
    """Return the carry out of ``a + b + carry`` for equal widths: a majority a bit, no sums."""
    for i in range(len(a)):
        carry = (a[i] & b[i]) | (carry & (a[i] | b[i]))
    return carry


class RippleAdder(wiring.Component):
    """Add two unsigned words of ``width`` bits and a carry. Combinational, depth ``width``.

    Members
    -------
    a, b : In(width)
    carry : In(1)
    total : Out(width + 1)
    """

    a: Signal
    b: Signal
    carry: Signal
    total: Signal

    def __init__(self, width: int) -> None:
        if width < 1:
            raise ValueError(f"width must be at least 1, not {width}")
        super().__init__({"a": In(width), "b": In(width), "carry": In(1), "total": Out(width + 1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.total.eq(ripple_add(m, self.a, self.b, self.carry))
        return m
