"""Multiply, add and multiply-add into integers and fixed point, from any operands.

Everything is summed in one carry-save tree, partial products and addend alike, so that an
integer multiply-accumulate has a single carry-propagate adder. Float operands are shifted to
their place on the grid of the exact sum (Kulisch's accumulator). Partial products, compression
and final addition are submodules so that each can be counted by itself.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fmacost.hw.architecture import Architecture
from fmacost.hw.parts.adders import net, ripple_add
from fmacost.hw.parts.compress import Columns, add_constant, finish, reduce
from fmacost.hw.parts.multiplier import product_columns
from fmacost.hw.parts.shifter import any_bit
from fmacost.hw.raw import raw_range
from fmacost.hw.stages import Decode, significand_multiplier
from fmacost.sim.formats import FixedFormat, Format
from fmacost.sim.operation import Operation, Overflow, Rounding


class FixedUnit(wiring.Component):
    """Compute ``a*b``, ``a+b`` or ``a*b+c`` into two's complement. Combinational.

    Members
    -------
    a, b, c : In(width of the operand)
    result : Out(width of the result)
    invalid : Out(1), only where ``operation.has_invalid``: an operand is NaN or infinite
    """

    result: Signal
    invalid: Signal

    def __init__(self, operation: Operation, architecture: Architecture) -> None:
        if not isinstance(operation.result, FixedFormat):
            raise ValueError(f"{operation} has no fixed-point result")
        self.operation, self.architecture = operation, architecture
        self.fmt: FixedFormat = operation.result
        ports = {name: In(width) for name, width in operation.input_widths.items()}
        ports["result"] = Out(self.fmt.width)
        if operation.has_invalid:
            ports["invalid"] = Out(1)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.compress = tree = Module()
        m.submodules.final_add = final = Module()
        decoders: list[Decode] = []
        columns: Columns = [[] for _ in range(self._sum_width())]
        terms = list(zip("abc", self.operation.operands, strict=False))
        if self.operation.product is not None:
            self._add_product(m, columns, terms[:2], decoders)
            terms = terms[2:]
        for name, fmt in terms:
            self._add_term(m, columns, name, fmt, decoders)
        total = Signal(len(columns))
        columns = reduce(tree, columns, kind=self.architecture.reduction)
        final.d.comb += total.eq(finish(final, columns, kind=self.architecture.adder))
        result = self._fit(m, total)
        if self.operation.has_invalid:
            invalid = Signal()
            special = [bit for d in decoders for bit in (d.is_nan, d.is_inf)]
            m.d.comb += invalid.eq(Cat(*special).any())
            m.d.comb += self.invalid.eq(invalid)
            result = result & (~invalid).replicate(self.fmt.width)
        m.d.comb += self.result.eq(result)
        return m

    def _wraps(self) -> bool:
        return self.operation.overflow is Overflow.WRAP

    def _dropped(self) -> int:
        """Bits of the exact sum below the result's last; negative: zeros that the result adds."""
        return self.fmt.quantum_exponent - self.operation.grid_exponent

    def _sum_width(self) -> int:
        modular = self.fmt.width + self._dropped()
        if self._wraps() and not self._rounds_by_sign():
            return max(modular, 1)
        tops = [
            raw.top + raw.significand_bits
            for raw in (raw_range(f, daz=self.operation.daz) for f in self.operation.operands)
        ]
        if self.operation.product is not None:
            tops = [tops[0] + tops[1], *tops[2:]]
        # One bit more than the result has: an unsigned result must see the sign of the sum.
        return max(max(tops) + 2 - self.operation.grid_exponent, modular + 1)

    def _rounds_by_sign(self) -> bool:
        """Whether rounding looks at the sign of the exact sum, which a modular sum has not."""
        return self._dropped() > 0 and self.operation.rounding in (Rounding.RTZ, Rounding.RMM)

    def _add_product(
        self, m: Module, columns: Columns, terms: list[tuple[str, Format]], decoders: list[Decode]
    ) -> None:
        (a_name, a_fmt), (b_name, b_fmt) = terms
        place = a_fmt.quantum_exponent + b_fmt.quantum_exponent - self.operation.grid_exponent
        if isinstance(a_fmt, FixedFormat) and isinstance(b_fmt, FixedFormat):
            m.submodules.partial_products = products = Module()
            rows = product_columns(
                products, getattr(self, a_name), getattr(self, b_name),
                a_signed=a_fmt.signed, b_signed=b_fmt.signed,
                width=max(len(columns) - place, 0), kind=self.architecture.multiplier,
            )  # fmt: skip
            for i, column in enumerate(rows):
                columns[place + i].extend(_net_in(products, bit, "partial") for bit in column)
            return
        a, b = self._decode(m, a_name, a_fmt), self._decode(m, b_name, b_fmt)
        decoders += [a, b]
        m.submodules.multiply = multiplier = significand_multiplier(
            len(a.significand), len(b.significand), self.architecture
        )
        m.d.comb += [multiplier.a.eq(a.significand), multiplier.b.eq(b.significand)]
        m.submodules.exponent_add = adder = Module()
        m.submodules.align_product = align = Module()
        exponent = ripple_add(adder, a.exponent, b.exponent)
        steps = (len(a.exponent) > 0) + (len(b.exponent) > 0)
        self._place(align, columns, multiplier.total, exponent, steps, a.sign ^ b.sign, place)

    def _add_term(
        self, m: Module, columns: Columns, name: str, fmt: Format, decoders: list[Decode]
    ) -> None:
        place = fmt.quantum_exponent - self.operation.grid_exponent
        if isinstance(fmt, FixedFormat):
            code: Signal = getattr(self, name)
            for i in range(min(fmt.width, len(columns) - place)):
                negative = fmt.signed and i == fmt.width - 1
                columns[place + i].append(~code[i] if negative else code[i])
            if fmt.signed:  # -s * 2**i is (1 - s) * 2**i - 2**i
                add_constant(columns, -(1 << (place + fmt.width - 1)) % (1 << len(columns)))
            return
        decoder = self._decode(m, name, fmt)
        decoders.append(decoder)
        steps = int(len(decoder.exponent) > 0)
        m.submodules[f"align_{name}"] = align = Module()
        self._place(
            align, columns, decoder.significand, decoder.exponent, steps, decoder.sign, place
        )  # fmt: skip

    def _decode(self, m: Module, name: str, fmt: Format) -> Decode:
        decoder = Decode(fmt, daz=self.operation.daz)
        m.submodules[f"decode_{name}"] = decoder
        m.d.comb += decoder.code.eq(getattr(self, name))
        return decoder

    def _place(
        self, m: Module, columns: Columns, word: Value, exponent: Value, steps: int,
        negative: Value, place: int,
    ) -> None:  # fmt: skip
        """Add ``±word * 2**(exponent - steps)`` to the columns: shift left, negate."""
        if len(exponent) and steps:
            exponent = ripple_add(m, exponent, Const(-steps % (1 << len(exponent)), len(exponent)))[
                : len(exponent)
            ]
        room = max(len(columns) - place, 0)
        for i in range(len(exponent)):  # small shifts first: the word stays narrow for long
            step = 1 << i
            stage = Signal(min(len(word) + step, room), name=f"place_{step}")
            m.d.comb += stage.eq(Mux(exponent[i], Cat(Const(0, step), word), word))
            word = stage
        word = word[:room]
        for i in range(len(columns) - place):
            bit = word[i] ^ negative if i < len(word) else negative
            columns[place + i].append(_net_in(m, bit, "placed"))
        if place < len(columns):
            columns[place].append(negative)

    def _fit(self, m: Module, total: Signal) -> Value:
        """Round the exact sum to the result's grid, then wrap or saturate."""
        dropped, width = self._dropped(), self.fmt.width
        rounded: Value = total
        if dropped < 0:
            rounded = Cat(Const(0, -dropped), total)
        elif dropped > 0:
            kept = Cat(total[dropped:], total[-1])
            up = self._round_up(total, dropped)
            rounded = ripple_add(m, kept, Const(0, 1), up)[: len(kept)]
        if self._wraps():
            return rounded[:width]
        negative = rounded[-1]
        if self.fmt.signed:
            above = rounded[width - 1 :]
            fits = above.all() | ~above.any()
            limit = Cat((~negative).replicate(width - 1), negative)
        else:
            fits = ~any_bit(rounded[width:])
            limit = (~negative).replicate(width)
        return Mux(fits, rounded[:width], limit)

    def _round_up(self, total: Signal, dropped: int) -> Value:
        guard, sticky = total[dropped - 1], any_bit(total[: dropped - 1])
        negative = total[-1]
        match self.operation.rounding:  # of the floor, which two's complement truncates to
            case Rounding.RNE:
                lsb = total[dropped] if dropped < len(total) else negative
                return guard & (sticky | lsb)
            case Rounding.RMM:
                return guard & (sticky | ~negative)
            case Rounding.RTZ:
                return (guard | sticky) & negative
            case Rounding.RDN:
                return Const(0, 1)
            case Rounding.RUP:
                return guard | sticky
            case Rounding.SR:
                raise ValueError("stochastic rounding is for float results only")


def _net_in(m: Module, bit: Value, name: str) -> Value:
    """Compute a bit in a submodule, so that its logic counts there; constants stay constants."""
    return bit if isinstance(bit, Const) else net(m, bit, name)
