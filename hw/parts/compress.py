"""Carry-save compression of columns of bits (Dadda 1965), finished by a ripple adder."""

from amaranth.hdl import Cat, Const, Module, Value

from fmacost.hw.parts.adders import full_adder, half_adder

Columns = list[list[Value]]  # columns[i] holds the bits of weight 2**i


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
