"""Float multiply, add and fused multiply-add for any formats, rounded once."""

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fmacost.hw.align import Align, ExponentAdd, Kept, plan_window
from fmacost.hw.architecture import Architecture
from fmacost.hw.parts.adders import extend
from fmacost.hw.raw import Case, RawRange, raw_range
from fmacost.hw.stages import (
    AddSigned,
    Anticipate,
    Decode,
    Normalise,
    NormaliseFactor,
    NormaliseProduct,
    Pack,
    Rounder,
    significand_multiplier,
)
from fmacost.sim.formats import FloatFormat
from fmacost.sim.operation import Kind, Operation, Rounding

_CHEAP_ZEROS = 3  # zeros at the top of a window that cost less than adding a constant
_ONE = RawRange(1, 0, 0, 0, Case(0, 0), None)  # the factor that turns an addition into an FMA


class FloatUnit(wiring.Component):
    """Compute ``a*b``, ``a+b`` or ``a*b+c`` with one rounding into a float. Combinational.

    Decode, multiply, align, add, normalise, round and pack are stages of their own. An addition
    is the FMA with a second factor of one; a multiplication has no align and add.

    Members
    -------
    a, b, c : In(width of the operand)
    random : In(random_bits), only with stochastic rounding
    result : Out(width of the result)
    invalid : Out(1), only where ``operation.has_invalid``
    """

    random: Signal
    result: Signal
    invalid: Signal

    def __init__(self, operation: Operation, architecture: Architecture) -> None:
        if not isinstance(operation.result, FloatFormat):
            raise ValueError(f"{operation} has no float result")
        self.operation, self.architecture = operation, architecture
        self.fmt: FloatFormat = operation.result
        # Rounding by chance looks at more bits than guard.
        more = max(operation.random_bits - 1, 0)
        self._kept = Kept(self.fmt.precision + more, self.fmt.quantum_exponent - more)
        ports = {name: In(width) for name, width in operation.input_widths.items()}
        ports["result"] = Out(self.fmt.width)
        if operation.has_invalid:
            ports["invalid"] = Out(1)
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        decoded = self._decode(m)
        if self.operation.kind is Kind.MUL:
            self._multiply(m, *decoded)
        else:
            self._fused(m, decoded)
        return m

    def _decode(self, m: Module) -> list[Decode]:
        decoders = []
        for name, fmt in zip("abc", self.operation.operands, strict=False):
            decoder = Decode(fmt, daz=self.operation.daz)
            m.submodules[f"decode_{name}"] = decoder
            m.d.comb += decoder.code.eq(getattr(self, name))
            decoders.append(decoder)
        return decoders

    def _ranges(self) -> list[RawRange]:
        return [raw_range(f, daz=self.operation.daz) for f in self.operation.operands]

    def _product(self, m: Module, a: Value, b: Value) -> Value:
        m.submodules.multiply = multiplier = significand_multiplier(
            len(a), len(b), self.architecture
        )
        m.d.comb += [multiplier.a.eq(a), multiplier.b.eq(b)]
        narrow = min(len(a), len(b)) == 1
        return multiplier.total[:-1] if narrow else multiplier.total

    def _multiply(self, m: Module, a: Decode, b: Decode) -> None:
        sign = a.sign ^ b.sign
        if self.architecture.normalise == "factors" and self._may_normalise_factors():
            self._multiply_normalised(m, a, b, sign)
        else:
            self._multiply_as_decoded(m, a, b, sign)
        m.d.comb += [
            self._pack.is_nan.eq(
                a.is_nan | b.is_nan | (a.is_inf & b.is_zero) | (a.is_zero & b.is_inf)
            ),
            self._pack.is_inf.eq(a.is_inf | b.is_inf),
            self._pack.negative.eq(sign),
        ]

    def _may_normalise_factors(self) -> bool:
        """Return whether no product of normalised factors rounds up to four or more.

        True unless the result has fewer digits than the factors, or a fixed grid.
        """
        a, b = self._ranges()
        width = a.significand_bits + b.significand_bits
        least = (1 << width) - (1 << max(width - self.fmt.precision, 0))
        return self.fmt.exp_bits > 1 and a.max_significand * b.max_significand < least

    def _multiply_normalised(self, m: Module, a: Decode, b: Decode, sign: Value) -> None:
        """Multiply normalised factors: a subnormal result is all that is left to shift for."""
        a_range, b_range = self._ranges()
        width = a_range.significand_bits + b_range.significand_bits
        offset = a_range.quantum + b_range.quantum + width - 3
        offset -= self._kept.quantum_exponent + self._kept.precision
        exponents = zip(a_range.normalised_exponents, b_range.normalised_exponents, strict=True)
        lowest, highest = (x + y + offset for x, y in exponents)
        bits = max(highest, ~lowest).bit_length() + 1
        factors = []
        for name, operand, its_range in (("a", a, a_range), ("b", b, b_range)):
            m.submodules[f"normalise_{name}"] = factor = NormaliseFactor(its_range, bits)
            m.d.comb += [
                factor.significand.eq(operand.significand),
                factor.exponent.eq(operand.exponent),
            ]
            factors.append(factor)
        product = self._product(m, factors[0].normalised, factors[1].normalised)
        m.submodules.exponent_add = exponent = ExponentAdd(bits, bits, offset, bits)
        m.submodules.normalise = normalise = NormaliseProduct(width, self._kept.precision, bits)
        rounder = self._round(m, normalise, normalise.sticky, sign, bits - 1, may_double=True)
        m.d.comb += [
            exponent.a.eq(factors[0].lowered),
            exponent.b.eq(factors[1].lowered),
            normalise.product.eq(extend(product, width)),
            normalise.exponent.eq(exponent.total),
            normalise.zero.eq(a.is_zero | b.is_zero),
            rounder.exponent.eq(normalise.magnitude),
            rounder.doubled.eq(normalise.doubled),
        ]

    def _multiply_as_decoded(self, m: Module, a: Decode, b: Decode, sign: Value) -> None:
        ranges = self._ranges()
        product = self._product(m, a.significand, b.significand)
        quantum = ranges[0].quantum + ranges[1].quantum
        # Zeros below, for guard and precision.
        pad = max(self._kept.precision + 1 - len(product), 0)
        lowest = (ranges[0].exponent_bits > 0) + (ranges[1].exponent_bits > 0)
        highest = lowest + ranges[0].top + ranges[1].top - quantum
        width, offset = self._window_top(len(product) + pad, quantum - lowest - pad, lowest)
        limit = Signal((highest + offset).bit_length())
        m.submodules.exponent_add = exponent = ExponentAdd(
            len(a.exponent), len(b.exponent), offset, len(limit)
        )
        m.d.comb += [
            exponent.a.eq(a.exponent),
            exponent.b.eq(b.exponent),
            limit.eq(exponent.total),
        ]
        window = Signal(width)
        m.d.comb += window.eq(product << pad)
        self._finish(m, window, pad, Const(0, 1), limit, sign)

    def _fused(self, m: Module, decoded: list[Decode]) -> None:
        a, c = decoded[0], decoded[-1]
        b = decoded[1] if self.operation.kind is Kind.FMA else None
        ranges = self._ranges()
        a_range, c_range = ranges[0], ranges[-1]
        b_range = ranges[1] if b is not None else _ONE
        product = self._product(m, a.significand, b.significand) if b is not None else a.significand
        plan = plan_window(a_range, b_range, c_range, self._kept)
        pad = max(self._kept.precision + 1 - plan.width, 0)
        width, offset = self._window_top(plan.width + pad, plan.base - pad, plan.lowest)

        m.submodules.align = align = Align(plan, a_range, b_range, c_range, offset)
        product_sign = a.sign ^ b.sign if b is not None else a.sign
        product_zero = a.is_zero | b.is_zero if b is not None else a.is_zero
        m.d.comb += [
            align.a_exponent.eq(a.exponent),
            align.b_exponent.eq(b.exponent if b is not None else 0),
            align.c_exponent.eq(c.exponent),
            align.c_significand.eq(c.significand),
            align.product_zero.eq(product_zero),
            align.addend_zero.eq(c.is_zero),
        ]
        m.submodules.add = add = AddSigned(plan.width, len(product), plan.product_place)
        subtract = product_sign ^ c.sign
        m.d.comb += [
            add.x.eq(align.aligned),
            add.y.eq(product),
            add.sticky.eq(align.sticky),
            add.subtract.eq(subtract),
        ]
        window = Signal(width)
        m.d.comb += window.eq(add.magnitude << pad)
        sign = Signal()
        m.d.comb += sign.eq(c.sign ^ (subtract & ~add.x_larger))
        lead = plan.lowest_lead + pad
        indicator = None
        if self.architecture.normalise == "lza":
            m.submodules.anticipate = anticipate = Anticipate(
                plan.width, len(product), plan.product_place
            )
            m.d.comb += [
                anticipate.x.eq(align.aligned),
                anticipate.y.eq(product),
                anticipate.subtract.eq(subtract),
                anticipate.x_larger.eq(add.x_larger),
            ]
            indicator = anticipate.indicator << pad
        exact_zero = self._finish(m, window, lead, align.sticky, align.limit, sign, indicator)
        self._special(m, a, b, c, product_sign, product_zero, sign, subtract & exact_zero)

    def _special(
        self, m: Module, a: Decode, b: Decode | None, c: Decode, product_sign: Value,
        product_zero: Value, sign: Value, cancelled: Value,
    ) -> None:  # fmt: skip
        """Wire NaN, infinity and the sign: IEEE 754-2019, 6.1, 6.3 and 7.2."""
        product_inf = a.is_inf | b.is_inf if b is not None else a.is_inf
        nan = a.is_nan | c.is_nan | (product_inf & c.is_inf & (product_sign ^ c.sign))
        if b is not None:
            nan = nan | b.is_nan | (a.is_inf & b.is_zero) | (b.is_inf & a.is_zero)
        zero_sign = Const(self.operation.rounding is Rounding.RDN, 1)
        has_inf = any(f.has_infinity for f in self.operation.operands)
        finite_sign = (sign & ~cancelled) | (zero_sign & cancelled)
        negative = finite_sign
        if has_inf:
            inf_sign = (product_inf & product_sign) | (c.is_inf & c.sign)
            is_inf = product_inf | c.is_inf
            negative = (is_inf & inf_sign) | (~is_inf & finite_sign)
            m.d.comb += self._pack.is_inf.eq(is_inf)
        m.d.comb += [self._pack.is_nan.eq(nan), self._pack.negative.eq(negative)]

    def _window_top(self, width: int, base: int, lowest: int) -> tuple[int, int]:
        """Return the window's width with room at the top, and the offset of the limit.

        With ``exponent`` at least ``lowest``, bit 0 of the window has the exponent ``base +
        exponent`` and the limit is ``exponent + offset``: at a limit of zero the top bits of the
        window are the result's subnormal bits. Zeros at the top make the limit positive, and a
        few more of them cost less than an adder for a negative offset.
        """
        offset = base + width - self.fmt.precision - self.fmt.quantum_exponent
        room = max(-lowest - offset, 0)
        if _CHEAP_ZEROS >= -(offset + room) > 0:
            room = -offset
        return width + room, offset + room

    def _finish(
        self, m: Module, window: Signal, lead: int, sticky: Value, limit: Value, sign: Value,
        indicator: Value | None = None,
    ) -> Value:  # fmt: skip
        """Normalise, round and pack; return whether the window and sticky are all zero.

        ``indicator`` anticipates the leading one of the window, see ``Normalise``.
        """
        fixed = self.fmt.exp_bits <= 1
        kind = self.architecture.normalise
        if kind == "factors":
            kind = "interleaved"
        if kind == "lza" and (fixed or indicator is None):
            kind = "sentinel"
        m.submodules.normalise = normalise = Normalise(
            len(window), self._kept.precision, len(limit), lowest_lead=lead, fixed=fixed, kind=kind
        )
        if kind == "lza":
            m.d.comb += normalise.indicator.eq(indicator)
        exponent_bits = 0 if fixed else len(limit)
        rounder = self._round(m, normalise, normalise.sticky | sticky, sign, exponent_bits)
        m.d.comb += [
            normalise.window.eq(window),
            normalise.limit.eq(limit),
            rounder.exponent.eq(normalise.exponent if exponent_bits else 0),
            self._pack.too_large.eq(normalise.lost),
        ]
        return ~(
            normalise.significand.any()
            | normalise.guard
            | normalise.sticky
            | normalise.lost
            | sticky
        )

    def _round(
        self, m: Module, normalise: Normalise | NormaliseProduct, sticky: Value, sign: Value,
        exponent_bits: int, *, may_double: bool = False,
    ) -> Rounder:  # fmt: skip
        """Round what is normalised, but for its exponent, and pack it."""
        m.submodules.round = rounder = Rounder(
            exponent_bits,
            self.fmt.precision,
            self.operation.rounding,
            self.operation.random_bits,
            may_double=may_double,
        )
        if self.operation.random_bits:
            m.d.comb += rounder.random.eq(self.random)
        m.submodules.pack = self._pack = Pack(self.operation, len(rounder.rounded))
        m.d.comb += [
            rounder.significand.eq(normalise.significand),
            rounder.guard.eq(normalise.guard),
            rounder.sticky.eq(sticky),
            rounder.negative.eq(sign),
            self._pack.rounded.eq(rounder.rounded),
            self.result.eq(self._pack.result),
        ]
        if self.operation.has_invalid:
            m.d.comb += self.invalid.eq(self._pack.invalid)
        return rounder
