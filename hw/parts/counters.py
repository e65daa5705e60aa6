"""Counting leading zeros, predicting their count, and one-hot words."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fmacost.hw.parts.adders import extend, net
from fmacost.hw.parts.prefix import PREFIX_KINDS, scan
from fmacost.hw.parts.shifter import any_bit


def leading_zeros(m: Module, word: Value) -> Value:
    """Count the zeros above the leading one of a word, in the bits that ``len(word) - 1`` needs.

    Of an all-zero word the count is the width, or the width less one where that does not fit.

    Binary search: is the upper half empty, then look into the lower one. Depth: for each bit of
    the count an OR tree and a multiplexer; size: about an OR and a multiplexer a bit of the word.
    """
    bits = (len(word) - 1).bit_length() if len(word) else 0
    # Ones below the word end the count of an all-zero word.
    missing = (1 << bits) - len(word)
    rest = Cat(Const((1 << missing) - 1, missing), word)
    count: list[Value] = []
    for i in reversed(range(bits)):
        upper, lower = rest[1 << i :], rest[: 1 << i]
        empty = net(m, ~any_bit(upper), f"empty_{1 << i}")
        rest = Signal(1 << i, name=f"rest_{1 << i}")
        m.d.comb += rest.eq(Mux(empty, lower, upper))
        count.insert(0, empty)
    return Cat(*count)


def priority_one_hot(m: Module, word: Value, *, kind: str) -> Value:
    """Return the leading one of a word alone; nothing of an all-zero word.

    A bit stays if no bit above it is set: a prefix network of ORs, one of ``PREFIX_KINDS``, and
    a NOR a bit. Depth and size are those of the network (see ``merges``).
    """
    falling = [word[i] for i in reversed(range(len(word)))]
    above = [Const(0, 1), *scan(kind, falling, lambda a, b: net(m, a | b, "seen"))]
    leading = [bit & ~seen for bit, seen in zip(falling, above, strict=False)]
    return Cat(*reversed(leading))


def sentinel(limit: Value, width: int) -> Value:
    """Return a word of one bit: ``limit`` places below the top, none if that is below the word.

    ORed into a word it ends a count of leading zeros, or a normalisation, at ``limit``. A decoder:
    an AND of the bits of ``limit`` for each bit.
    """
    if not width:
        return Const(0, 0)
    return Cat(*(limit == width - 1 - i for i in range(width)))


def zeros_indicator(a: Value, b: Value) -> Value:
    """Return a word whose leading one is that of ``a - b``, or one place above it; a >= b.

    The digits a - b of −1, 0, 1 start with zeros, a one and a run of −1: together a one at the
    end of the run. There the digit is not zero and the next is not −1, and nowhere above. What
    follows takes less than one unit away, so the leading one is there or one place lower. This is
    the case of a positive result in Schmookler and Nowka (2001, III.B); two gates a bit, no carry.
    """
    width = max(len(a), len(b))
    a, b = extend(a, width), extend(b, width)
    return (a ^ b) & ~Cat(Const(0, 1), ~a & b)[:width]


class LeadingZeros(wiring.Component):
    """Count the leading zeros of a word; see ``leading_zeros``.

    Members
    -------
    word : In(width)
    count : Out(bits of width - 1)
    """

    word: Signal
    count: Signal

    def __init__(self, width: int) -> None:
        _check(width)
        super().__init__({"word": In(width), "count": Out((width - 1).bit_length())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.count.eq(leading_zeros(m, self.word))
        return m


class LeadingZeroAnticipator(wiring.Component):
    """Predict the leading zeros of ``a - b``, a > b, without subtracting: right or one too few.

    A counter behind ``zeros_indicator``. Where ``a = b`` the count is that of an all-zero word.

    Members
    -------
    a, b : In(width)
    count : Out(bits of width - 1)
    """

    a: Signal
    b: Signal
    count: Signal

    def __init__(self, width: int) -> None:
        _check(width)
        bits = (width - 1).bit_length()
        super().__init__({"a": In(width), "b": In(width), "count": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        indicator = Signal(len(self.a))
        m.d.comb += [
            indicator.eq(zeros_indicator(self.a, self.b)),
            self.count.eq(leading_zeros(m, indicator)),
        ]
        return m


class PriorityOneHot(wiring.Component):
    """Keep the leading one of a word; see ``priority_one_hot``.

    Members
    -------
    word : In(width)
    leading : Out(width)
    """

    word: Signal
    leading: Signal

    def __init__(self, width: int, kind: str) -> None:
        _check(width)
        if kind not in PREFIX_KINDS:
            raise ValueError(f"kind must be one of {', '.join(PREFIX_KINDS)}, not '{kind}'")
        self.kind = kind
        super().__init__({"word": In(width), "leading": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.leading.eq(priority_one_hot(m, self.word, kind=self.kind))
        return m


class Sentinel(wiring.Component):
    """Mark the place ``limit`` below the top of a word; see ``sentinel``.

    Members
    -------
    limit : In(limit_bits)
    mark : Out(width)
    """

    limit: Signal
    mark: Signal

    def __init__(self, limit_bits: int, width: int) -> None:
        _check(width)
        super().__init__({"limit": In(limit_bits), "mark": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.mark.eq(sentinel(self.limit, len(self.mark)))
        return m


def _check(width: int) -> None:
    if width < 1:
        raise ValueError(f"width must be at least 1, not {width}")
