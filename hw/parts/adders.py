"""Carry-propagate adders: a ripple of full-adder cells, or a parallel prefix network.

A full adder is an instance of ``FULL_ADDER``. Synthesis maps it to a cell of the technology or
dissolves it into logic, whichever is smaller in the end; where constants reach an input it leaves
a half adder or less, so nothing here treats constants apart.
"""

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Instance, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fmacost.hw.parts.prefix import PREFIX_KINDS, scan

FULL_ADDER = "fmacost_fa"  # ports A, B, CI -> S, CO
ADDERS = PREFIX_KINDS


def net(m: Module, value: Value, name: str) -> Value:
    """Give a bit a wire of its own, so that its logic is written out once."""
    wire = Signal(name=name)
    m.d.comb += wire.eq(value)
    return wire


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


def add(m: Module, a: Value, b: Value, carry: Value | int = 0, *, kind: str) -> Value:
    """Add two unsigned words and a carry bit; return one bit more than the longer word.

    ``ripple`` is a chain of full-adder cells, 28 transistors a bit and the smallest. The other
    kinds are prefix adders: a gate for generate and propagate, AND-OR nodes (see ``merges`` for
    depth and size), an XOR. A carry enters at bit 0, which costs one AND-OR.

    Parameters
    ----------
    kind : one of ``ADDERS``

    Raises
    ------
    ValueError
        If ``kind`` is unknown.
    """
    if kind == "ripple":
        return ripple_add(m, a, b, carry)
    width = max(len(a), len(b))
    carry_in = _bit(carry)
    nodes = _nodes(m, extend(a, width), extend(b, width), carry_in)
    halves = [node.propagate for node in nodes]
    carries = [carry_in, *(node.generate for node in scan(kind, nodes, _merge_in(m)))]
    return Cat(*(half ^ c for half, c in zip(halves, carries, strict=False)), carries[-1])


def subtract(m: Module, a: Value, b: Value, *, kind: str) -> tuple[Value, Value]:
    """Subtract unsigned words; return (difference modulo 2**width, ``a >= b``).

    The adder of the kind, fed with ``~b`` and a carry. Its carry out is the comparison, so the
    comparison alone is ``carry_out``.
    """
    width = max(len(a), len(b))
    total = add(m, extend(a, width), ~extend(b, width), 1, kind=kind)
    return total[:width], total[width]


def increment(m: Module, word: Value, up: Value | int, *, kind: str) -> Value:
    """Add one bit to an unsigned word; return one bit more than the word.

    Half adders in a chain (``ripple``), or an XOR a bit behind a prefix network of ANDs.
    """
    carries = [_bit(up)]
    if kind == "ripple":
        return ripple_add(m, word, Const(0, 1), carries[0])
    bits = [word[i] for i in range(len(word))]
    ones = scan(kind, bits, lambda high, low: net(m, high & low, "ones"))
    carries += [net(m, one & carries[0], "carry") for one in ones]
    return Cat(*(bit ^ c for bit, c in zip(bits, carries, strict=False)), carries[-1])


def carry_out(m: Module, a: Value, b: Value, carry: Value | int = 0, *, kind: str) -> Value:
    """Return the carry out of ``a + b + carry`` alone: with ``~b`` for b and 1 it is ``a >= b``.

    ``ripple`` is a majority a bit (12 transistors). Any other kind is a balanced tree of AND-OR
    nodes, log2 of the width deep, because a single carry needs no prefixes below it.
    """
    width = max(len(a), len(b))
    a, b = extend(a, width), extend(b, width)
    if kind == "ripple":
        return carry_chain(a, b, _bit(carry))
    if kind not in ADDERS:
        raise ValueError(f"kind must be one of {', '.join(ADDERS)}, not '{kind}'")
    nodes = _nodes(m, a, b, _bit(carry), exact=False)
    merge = _merge_in(m)
    while len(nodes) > 1:
        pairs = zip(nodes[1::2], nodes[::2], strict=False)
        nodes = [merge(high, low) for high, low in pairs] + nodes[len(nodes) & ~1 :]
    return nodes[0].generate if nodes else _bit(carry)


def absolute_difference(m: Module, a: Value, b: Value, *, kind: str) -> tuple[Value, Value]:
    """Return (``|a - b|``, ``a > b``) of unsigned words, with an end-around carry.

    ``a + ~b`` carries out if ``a > b``; then the difference is that sum and one more, else it is
    the inverse of the sum. A prefix adder (Zimmermann 1997, 3.4) adds the end-around carry behind
    its network, one AND-OR a bit. The ripple compares first, because a ripple that ran twice
    around would be a combinational loop.
    """
    width = max(len(a), len(b))
    a, b = extend(a, width), ~extend(b, width)
    if kind == "ripple":
        larger = net(m, carry_chain(a, b, Const(0, 1)), "larger")
        total = ripple_add(m, a, b, larger)[:width]
        return total ^ (~larger).replicate(width), larger
    nodes = _nodes(m, a, b, Const(0, 1))
    prefixes = scan(kind, nodes, _merge_in(m))
    larger = prefixes[-1].generate if prefixes else Const(0, 1)
    around = [larger, *(p.generate | (p.propagate & larger) for p in prefixes)]
    bits = (node.propagate ^ c ^ ~larger for node, c in zip(nodes, around, strict=False))
    return Cat(*bits), larger


@dataclass(frozen=True, slots=True)
class _Node:
    """What a run of bits does with a carry: makes one, or passes one on."""

    generate: Value
    propagate: Value


def _nodes(m: Module, a: Value, b: Value, carry: Value, *, exact: bool = True) -> list[_Node]:
    """Return the node of each bit. ``exact`` propagates are XORs, which sums need, else ORs."""
    nodes: list[_Node] = []
    for i in range(len(a)):
        generate = net(m, a[i] & b[i], "generate")
        # An XOR made of the AND shares it: NAND and OAI21, ten transistors.
        either = a[i] | b[i]
        propagate = net(m, either & ~generate if exact else either, "propagate")
        if i == 0:
            generate = net(m, generate | (propagate & carry), "generate")
        nodes.append(_Node(generate, propagate))
    return nodes


def _merge_in(m: Module) -> Callable[[_Node, _Node], _Node]:
    def merge(high: _Node, low: _Node) -> _Node:
        return _Node(
            net(m, high.generate | (high.propagate & low.generate), "generate"),
            net(m, high.propagate & low.propagate, "propagate"),
        )

    return merge


def _bit(carry: Value | int) -> Value:
    return Const(carry, 1) if isinstance(carry, int) else carry


class Adder(wiring.Component):
    """Add two unsigned words of ``width`` bits and a carry by any kind of adder.

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

    def __init__(self, width: int, kind: str) -> None:
        _check(width, kind)
        self.kind = kind
        super().__init__({"a": In(width), "b": In(width), "carry": In(1), "total": Out(width + 1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.total.eq(add(m, self.a, self.b, self.carry, kind=self.kind))
        return m


class Incrementer(wiring.Component):
    """Add a bit to an unsigned word of ``width`` bits.

    Members
    -------
    word : In(width)
    up : In(1)
    total : Out(width + 1)
    """

    word: Signal
    up: Signal
    total: Signal

    def __init__(self, width: int, kind: str) -> None:
        _check(width, kind)
        self.kind = kind
        super().__init__({"word": In(width), "up": In(1), "total": Out(width + 1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.total.eq(increment(m, self.word, self.up, kind=self.kind))
        return m


class Subtractor(wiring.Component):
    """Subtract unsigned words of ``width`` bits and compare them.

    Members
    -------
    a, b : In(width)
    difference : Out(width), modulo 2**width
    not_less : Out(1), ``a >= b``
    """

    a: Signal
    b: Signal
    difference: Signal
    not_less: Signal

    def __init__(self, width: int, kind: str) -> None:
        _check(width, kind)
        self.kind = kind
        super().__init__(
            {"a": In(width), "b": In(width), "difference": Out(width), "not_less": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        difference, not_less = subtract(m, self.a, self.b, kind=self.kind)
        m.d.comb += [self.difference.eq(difference), self.not_less.eq(not_less)]
        return m


class Comparator(wiring.Component):
    """Compare unsigned words of ``width`` bits.

    Members
    -------
    a, b : In(width)
    not_less : Out(1), ``a >= b``
    """

    a: Signal
    b: Signal
    not_less: Signal

    def __init__(self, width: int, kind: str) -> None:
        _check(width, kind)
        self.kind = kind
        super().__init__({"a": In(width), "b": In(width), "not_less": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.not_less.eq(carry_out(m, self.a, ~self.b, 1, kind=self.kind))
        return m


class AbsoluteDifference(wiring.Component):
    """Return how far two unsigned words of ``width`` bits are apart, and which is larger.

    Members
    -------
    a, b : In(width)
    distance : Out(width), ``|a - b|``
    larger : Out(1), ``a > b``
    """

    a: Signal
    b: Signal
    distance: Signal
    larger: Signal

    def __init__(self, width: int, kind: str) -> None:
        _check(width, kind)
        self.kind = kind
        super().__init__({"a": In(width), "b": In(width), "distance": Out(width), "larger": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        distance, larger = absolute_difference(m, self.a, self.b, kind=self.kind)
        m.d.comb += [self.distance.eq(distance), self.larger.eq(larger)]
        return m


def _check(width: int, kind: str) -> None:
    if width < 1:
        raise ValueError(f"width must be at least 1, not {width}")
    if kind not in ADDERS:
        raise ValueError(f"kind must be one of {', '.join(ADDERS)}, not '{kind}'")
