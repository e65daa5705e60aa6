"""Carry-save compression of columns of bits, and the adder that finishes it."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fmacost.hw.parts.adders import add, full_adder, half_adder

Columns = list[list[Value]]  # columns[i] holds the bits of weight 2**i

REDUCTIONS = ("serial", "dadda", "wallace", "compress-4-2", "array")


def reduce(m: Module, columns: Columns, *, kind: str) -> Columns:
    """Compress columns to at most two bits each, modulo ``2**len(columns)``.

    Every full adder takes one bit away, so that all kinds need about bits - columns of them; they
    differ in depth, and in the half adders that keep the columns level.

    ============  ==========================  ==================================================
    kind          depth in full adders        what it does
    ============  ==========================  ==================================================
    serial        width + height              column by column to a single bit each: the fewest
                                              adders of all, and no final adder
    dadda         log1.5(height / 2)          as late as possible (Dadda 1965)
    wallace       log1.5(height / 2)          as early as possible (Wallace 1964), without half
                                              adders (as Waters, Swartzlander 2010)
    compress-4-2  2 log2(height / 2)          rows of 4:2 compressors (Weinberger 1981)
    array         height - 2                  row by row (Braun 1963)
    ============  ==========================  ==================================================

    Raises
    ------
    ValueError
        If ``kind`` is unknown.
    """
    match kind:
        case "serial":
            return serial(m, columns)
        case "dadda":
            return dadda(m, columns)
        case "wallace":
            return wallace(m, columns)
        case "compress-4-2":
            return four_to_two(m, columns)
        case "array":
            return array(m, columns)
    raise ValueError(f"kind must be one of {', '.join(REDUCTIONS)}, not '{kind}'")


def finish(m: Module, columns: Columns, *, kind: str) -> Value:
    """Add columns of at most two bits by any kind of adder; one bit a column (modulo).

    Single bits at the right end pass by the adder. Raises ValueError as ``add``.
    """
    if kind == "ripple":
        return ripple_finish(m, columns)
    start = next((i for i, column in enumerate(columns) if len(column) > 1), len(columns))
    rows = [[*column, Const(0, 1), Const(0, 1)][:2] for column in columns]
    passed = Cat(*(row[0] for row in rows[:start]))
    if start == len(columns):
        return passed
    a, b = (Cat(*(row[i] for row in rows[start:])) for i in (0, 1))
    return Cat(passed, add(m, a, b, kind=kind)[: len(a)])


def serial(m: Module, columns: Columns) -> Columns:
    """Compress columns to a single bit each, from the right, each by a chain of full adders.

    A column of n bits, carries included, passes on n // 2 carries: no structure of adders has
    fewer cells. Carries enter first and sums wait behind all other bits. So a constant one meets
    two bits of the column, where the full adder becomes an XNOR and an OR, and not the last sum.
    """
    waiting = [list(column) for column in columns]
    reduced: Columns = []
    for i, bits in enumerate(waiting):
        while len(bits) > 1:
            taken = [*bits[:3], Const(0, 1)][:3]
            total, carry = full_adder(m, *taken)
            bits = [*bits[3:], total]
            if i + 1 < len(waiting):
                waiting[i + 1].insert(0, carry)
        reduced.append(bits)
    return reduced


def dadda(m: Module, columns: Columns) -> Columns:
    """Compress columns to at most two bits each, with as few adder cells as Dadda's rule needs.

    Carries out of the last column are dropped: sums are modulo ``2**len(columns)``.
    """
    for target in _dadda_heights(max(map(len, columns), default=0)):
        columns = _reduce(m, columns, target)
    return columns


def _dadda_heights(tallest: int) -> list[int]:
    heights = [2]
    while heights[-1] < tallest:
        heights.append(heights[-1] * 3 // 2)
    return [h for h in reversed(heights) if h < tallest]


def _reduce(m: Module, columns: Columns, target: int) -> Columns:
    reduced: Columns = [[] for _ in columns]
    for i, column in enumerate(columns):
        bits = reduced[i] + column  # carries that came in from the right count too
        reduced[i] = []
        while len(bits) > target:
            cell_inputs = 3 if len(bits) > target + 1 else 2
            taken, bits = bits[:cell_inputs], bits[cell_inputs:]
            total, carry = (
                full_adder(m, *taken) if cell_inputs == 3 else half_adder(m, taken[0], taken[1])
            )
            bits.append(total)
            if i + 1 < len(columns):
                reduced[i + 1].append(carry)
        reduced[i] = bits
    return reduced


def wallace(m: Module, columns: Columns) -> Columns:
    """Compress columns to at most two bits; in each level every three bits meet in an adder."""
    while max(map(len, columns), default=0) > 2:
        reduced: Columns = [[] for _ in range(len(columns) + 1)]
        for i, column in enumerate(columns):
            for place in range(0, len(column) - 2, 3):
                total, carry = full_adder(m, *column[place : place + 3])
                reduced[i].append(total)
                reduced[i + 1].append(carry)
            reduced[i] += column[len(column) // 3 * 3 :]
        columns = reduced[:-1]
    return columns


def compress_4_2(
    m: Module, bits: list[Value], carry_in: Value
) -> tuple[Value, tuple[Value, Value]]:
    """Add four bits and a carry; return (sum, (carry, carry out)), carries of twice the weight.

    Two full adders. The carry out does not depend on the carry in, so that a row of compressors
    is three XORs deep and not a ripple.
    """
    first, second, third, last = bits
    half, carry_out = full_adder(m, first, second, third)
    total, carry = full_adder(m, half, last, carry_in)
    return total, (carry, carry_out)


def four_to_two(m: Module, columns: Columns) -> Columns:
    """Compress columns to at most two bits by rows of 4:2 compressors, of 3:2 where three meet."""
    while max(map(len, columns), default=0) > 2:
        reduced: Columns = [[] for _ in range(len(columns) + 1)]
        sideways: list[Value] = []  # carries out of the column on the right
        for i, column in enumerate(columns):
            bits, received, sideways = column, sideways, []
            while len(bits) >= 4:
                carry_in = received.pop(0) if received else Const(0, 1)
                total, (carry, carry_out) = compress_4_2(m, bits[:4], carry_in)
                bits = bits[4:]
                reduced[i].append(total)
                reduced[i + 1].append(carry)
                sideways.append(carry_out)
            bits = bits + received
            if len(bits) >= 3:
                total, carry = full_adder(m, *bits[:3])
                reduced[i].append(total)
                reduced[i + 1].append(carry)
                bits = bits[3:]
            reduced[i] += bits
        columns = reduced[:-1]
    return columns


def array(m: Module, columns: Columns) -> Columns:
    """Compress columns to at most two bits by adding one row after the other, carries saved."""
    saved: Columns = [column[:2] for column in columns]
    for row in range(2, max(map(len, columns), default=0)):
        added: Columns = []
        carry: list[Value] = []  # at most one, from the column on the right
        for kept, column in zip(saved, columns, strict=True):
            bits = kept + column[row : row + 1]
            arrived, carry = carry, []
            if len(bits) == 3 or (len(bits) == 2 and arrived):
                total, out = full_adder(m, *[*bits, Const(0, 1)][:3])
                bits, carry = [total], [out]
            added.append(bits + arrived)
        saved = added
    return saved


def ripple_finish(m: Module, columns: Columns) -> Value:
    """Add columns of at most two bits; the result has one bit a column (modulo)."""
    carry: Value = Const(0, 1)
    bits: list[Value] = []
    for column in columns:
        x, y = [*column, Const(0, 1), Const(0, 1)][:2]
        total, carry = full_adder(m, x, y, carry)
        bits.append(total)
    return Cat(*bits)


def add_constant(columns: Columns, constant: int) -> None:
    """Put the one bits of a constant, modulo ``2**len(columns)``, into the columns."""
    for i, column in enumerate(columns):
        if constant >> i & 1:
            column.append(Const(1, 1))


class Summation(wiring.Component):
    """Add unsigned words of ``width`` bits modulo 2**width: a reduction, then an adder.

    Members
    -------
    word_0, word_1, ... : In(width)
    total : Out(width)
    """

    total: Signal

    def __init__(self, count: int, width: int, *, reduction: str, adder: str) -> None:
        if count < 1 or width < 1:
            raise ValueError(f"count and width must be at least 1, not {count} and {width}")
        self.count, self.reduction, self.adder = count, reduction, adder
        words = {f"word_{i}": In(width) for i in range(count)}
        super().__init__({**words, "total": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words: list[Signal] = [getattr(self, f"word_{i}") for i in range(self.count)]
        columns: Columns = [[word[i] for word in words] for i in range(len(self.total))]
        columns = reduce(m, columns, kind=self.reduction)
        m.d.comb += self.total.eq(finish(m, columns, kind=self.adder))
        return m
