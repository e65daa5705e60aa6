"""The stages that float units are wired from: each takes and gives plain signals."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fmacost.hw.architecture import SHIFTS, Architecture
from fmacost.hw.parts.adders import carry_chain, extend, ripple_add, ripple_subtract
from fmacost.hw.parts.counters import leading_zeros, sentinel, zeros_indicator
from fmacost.hw.parts.multiplier import MultiplyAdd
from fmacost.hw.parts.shifter import AlignRight, any_bit
from fmacost.hw.raw import RawRange
from fmacost.sim.formats import FixedFormat, FloatFormat, Format, Specials
from fmacost.sim.operation import Operation, Overflow, Rounding


class Decode(wiring.Component):
    """Take a code apart; see ``hw.raw`` for what the parts mean.

    Members
    -------
    code : In(width of the format)
    sign, is_zero, is_inf, is_nan : Out(1); ``significand`` is zero where ``is_zero``
    exponent : Out(exponent bits), at least one; no bits where the exponent is fixed
    significand : Out(precision)
    """

    code: Signal
    sign: Signal
    exponent: Signal
    significand: Signal
    is_zero: Signal
    is_inf: Signal
    is_nan: Signal

    def __init__(self, fmt: Format, *, daz: bool) -> None:
        self.fmt, self.daz = fmt, daz
        fixed = isinstance(fmt, FixedFormat)
        significand = fmt.width if isinstance(fmt, FixedFormat) else fmt.precision
        exponent = 0 if isinstance(fmt, FixedFormat) or fmt.exp_bits < 2 else fmt.exp_bits
        self.is_float = not fixed
        super().__init__(
            {
                "code": In(fmt.width),
                "sign": Out(1),
                "exponent": Out(exponent),
                "significand": Out(significand),
                "is_zero": Out(1),
                "is_inf": Out(1),
                "is_nan": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if isinstance(self.fmt, FixedFormat):
            self._decode_fixed(m, self.fmt)
        else:
            self._decode_float(m, self.fmt)
        m.d.comb += self.is_zero.eq(~any_bit(self.significand))
        return m

    def _decode_fixed(self, m: Module, fmt: FixedFormat) -> None:
        if not fmt.signed:
            m.d.comb += self.significand.eq(self.code)
            return
        negative = self.code[-1]
        inverted = self.code ^ negative.replicate(fmt.width)
        m.d.comb += [
            self.sign.eq(negative),
            self.significand.eq(ripple_add(m, inverted, Const(0, 1), negative)),
        ]

    def _decode_float(self, m: Module, fmt: FloatFormat) -> None:
        x, y = fmt.exp_bits, fmt.frac_bits
        m.d.comb += self.sign.eq(self.code[-1])
        if fmt.is_sign_only:
            m.d.comb += self.significand.eq(1)
            return
        fraction, field = self.code[:y], self.code[y : y + x]
        hidden = any_bit(field)
        kept = fraction & hidden.replicate(y) if self.daz and x else fraction
        m.d.comb += self.significand.eq(Cat(kept, hidden) if x else kept)
        if x > 1:
            m.d.comb += self.exponent.eq(Cat(field[0] | ~hidden, field[1:]))
        magnitude = self.code[:-1]
        match fmt.specials:
            case Specials.IEEE:
                ones = field.all()
                m.d.comb += self.is_inf.eq(ones & ~any_bit(fraction))
                m.d.comb += self.is_nan.eq(ones & any_bit(fraction))
            case Specials.FN:
                m.d.comb += self.is_nan.eq(magnitude.all())
            case Specials.FNUZ:
                m.d.comb += self.is_nan.eq(self.code[-1] & ~any_bit(magnitude))


def significand_multiplier(a_width: int, b_width: int, architecture: Architecture) -> MultiplyAdd:
    """Return a multiplier for two significands, not wired yet."""
    return MultiplyAdd(
        a_width, b_width, 0, a_width + b_width, a_signed=False, b_signed=False,
        multiplier=architecture.multiplier, reduction=architecture.reduction,
        adder=architecture.adder,
    )  # fmt: skip


class AddSigned(wiring.Component):
    """Add two magnitudes with signs: ``|x - y|`` or ``x + y``, and which one was larger.

    A carry chain compares first; an effective subtraction then inverts the smaller term, so that
    the one adder never gives a negative sum. Above ``y`` the sum is ``x``, one more or one less.
    ``sticky`` stands for a part of ``x`` below the window; then ``y`` must be the larger one.

    Members
    -------
    x : In(width)
    y : In(y_width), aligned at bit ``y_place`` of x
    sticky, subtract : In(1)
    magnitude : Out(width), must hold ``x + y``
    x_larger : Out(1), ``x > y``
    """

    x: Signal
    y: Signal
    sticky: Signal
    subtract: Signal
    magnitude: Signal
    x_larger: Signal

    def __init__(self, width: int, y_width: int, y_place: int) -> None:
        if y_place + y_width > width:
            raise ValueError(f"{y_width} bits at bit {y_place} do not fit {width}")
        self.y_place = y_place
        super().__init__(
            {
                "x": In(width),
                "y": In(y_width),
                "sticky": In(1),
                "subtract": In(1),
                "magnitude": Out(width),
                "x_larger": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place, y_end = self.y_place, self.y_place + len(self.y)
        low, middle, high = self.x[:place], self.x[place:y_end], self.x[y_end:]
        compared = carry_chain(middle, ~self.y, any_bit(low))
        m.d.comb += self.x_larger.eq(any_bit(high) | compared)
        invert_x, invert_y = Signal(), Signal()
        m.d.comb += [
            invert_x.eq(self.subtract & ~self.x_larger),
            invert_y.eq(self.subtract & self.x_larger),
        ]
        # Two's complement of x adds one, unless the sticky part below has a say: -x - sticky.
        plus_one = invert_x & ~self.sticky
        low_sum = ripple_add(m, low ^ invert_x.replicate(place), Const(0, 1), plus_one)
        carry = (low_sum[place] if place else plus_one) | invert_y
        middle_sum = ripple_add(
            m, middle ^ invert_x.replicate(len(middle)), self.y ^ invert_y.replicate(len(middle)),
            carry,
        )  # fmt: skip
        # With x inverted its high bits are zero, and so are those of the difference.
        high_carry = middle_sum[-1] & ~invert_x
        high_sum = ripple_add(m, high, invert_y.replicate(len(high)), high_carry)
        m.d.comb += self.magnitude.eq(
            Cat(low_sum[:place], middle_sum[: len(middle)], high_sum[: len(high)])
        )
        return m


class Anticipate(wiring.Component):
    """Mark where the leading one of a signed sum will be, without adding: there or one below.

    Of a difference ``zeros_indicator`` says so. A sum has its leading one at that of its larger
    term or one above, so the mark goes one above.

    Members
    -------
    x : In(width)
    y : In(y_width), aligned at bit ``y_place`` of x
    subtract, x_larger : In(1), as of ``AddSigned``
    indicator : Out(width), its leading one is the mark
    """

    x: Signal
    y: Signal
    subtract: Signal
    x_larger: Signal
    indicator: Signal

    def __init__(self, width: int, y_width: int, y_place: int) -> None:
        self.y_place = y_place
        super().__init__(
            {
                "x": In(width),
                "y": In(y_width),
                "subtract": In(1),
                "x_larger": In(1),
                "indicator": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = len(self.x)
        x, y = self.x, extend(Cat(Const(0, self.y_place), self.y), width)
        larger, smaller = Mux(self.x_larger, x, y), Mux(self.x_larger, y, x)
        either = x | y
        above = Cat(Const(0, 1), either[:-1]) | Cat(Const(0, width - 1), either[-1])
        difference = zeros_indicator(larger, smaller)
        m.d.comb += self.indicator.eq(Mux(self.subtract, difference, above))
        return m


class Normalise(wiring.Component):
    """Shift a window left until its top bit is one, but at most by ``limit``.

    Large shifts go first. Bits that can no longer reach the result become sticky. ``lowest_lead``
    is where the leading one of a non-zero window is at least. One of ``SHIFTS`` says how the
    shift is found:

    - ``interleaved``: each stage shifts if the bits that would leave are zero and the limit allows
      it, which a comparison that runs along with the stages knows.
    - ``lzc``: leading zeros are counted, and the smaller of count and limit is the shift.
    - ``sentinel``: a one at ``limit`` places below the top ends the count there.
    - ``lza``: the same on a word whose leading one is that of the window or one place above; a
      last stage shifts by that place (Schmookler and Nowka 2001).

    Members
    -------
    window : In(width)
    indicator : In(width), only with ``lza``
    limit : In(limit_bits), the exponent of the result if nothing is shifted
    significand : Out(precision)
    guard, sticky : Out(1)
    exponent : Out(limit_bits), ``limit`` less the shift; zero where there is no leading one
    lost : Out(1), a one was shifted out at the top; only with ``fixed``

    With ``fixed`` the shift is ``limit`` whatever the window holds.
    """

    window: Signal
    indicator: Signal
    limit: Signal
    significand: Signal
    guard: Signal
    sticky: Signal
    exponent: Signal
    lost: Signal

    def __init__(
        self,
        width: int,
        precision: int,
        limit_bits: int,
        *,
        lowest_lead: int = 0,
        fixed: bool,
        kind: str = "interleaved",
    ) -> None:
        if width < precision + 1:
            raise ValueError(f"a window needs {precision + 1} bits, not {width}")
        if kind not in SHIFTS:
            raise ValueError(f"kind must be one of {', '.join(SHIFTS)}, not '{kind}'")
        self.fixed, self.kind = fixed, kind
        self._lowest_lead = lowest_lead
        self._max_shift = width - 1 - lowest_lead
        super().__init__(
            {
                "window": In(width),
                **({"indicator": In(width)} if kind == "lza" else {}),
                "limit": In(limit_bits),
                "significand": Out(precision),
                "guard": Out(1),
                "sticky": Out(1),
                "exponent": Out(limit_bits),
                "lost": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = len(self.limit) if self.fixed else self._max_shift.bit_length()
        limit = extend(self.limit, max(count, len(self.limit)))
        word = _Shifted(m, self.window, len(self.significand))
        if self.fixed:
            self._shift(word, limit)
        elif self.kind == "interleaved":
            amount = self._interleaved(word, limit, count)
            rest, _ = ripple_subtract(m, limit, amount)
        else:
            amount = self._counted(m, limit, count)
            rest, _ = ripple_subtract(m, limit, amount)
            self._shift(word, amount, spare=self.kind == "lza")
            if self.kind == "lza":
                below = ~word.bits[-1] & any_bit(rest)
                word.shift(1, below, later=0)
                rest, _ = ripple_subtract(m, rest[: len(limit)], below)
        kept = len(word.bits) - len(self.significand)
        m.d.comb += [
            self.significand.eq(word.bits[kept:]),
            self.guard.eq(word.bits[kept - 1]),
            self.sticky.eq(word.sticky | any_bit(word.bits[: kept - 1])),
            self.lost.eq(word.lost if self.fixed else 0),
        ]
        if not self.fixed:
            # No leading one means a subnormal, of exponent zero already, or an exact zero.
            leading = self.significand[-1].replicate(len(self.exponent))
            m.d.comb += self.exponent.eq(rest & leading)
        return m

    def _shift(self, word: "_Shifted", amount: Value, *, spare: bool = False) -> None:
        """Shift by an amount; with ``spare`` a shift by one more is to come."""
        for i in reversed(range(len(amount))):
            word.shift(1 << i, amount[i], later=(1 << i) - 1 + spare)

    def _interleaved(self, word: "_Shifted", limit: Value, count: int) -> Value:
        """Shift as far as zeros and the limit allow; return by how much."""
        below_limit = any_bit(limit[count:])  # the shift so far is less than the limit's upper bits
        amount: list[Value] = []
        for i in reversed(range(count)):
            shifts = Signal(name=f"shifts_{1 << i}")
            word.m.d.comb += shifts.eq(~word.leaving(1 << i) & (below_limit | limit[i]))
            below_limit = below_limit | (limit[i] & ~shifts)
            word.shift(1 << i, shifts, later=(1 << i) - 1)
            amount.insert(0, shifts)
        return Cat(*amount)

    def _counted(self, m: Module, limit: Value, count: int) -> Value:
        """Return the smaller of the limit and the leading zeros of what is to be shifted."""
        source = self.indicator if self.kind == "lza" else self.window
        upper = source[self._lowest_lead :]
        if self.kind != "lzc":
            return leading_zeros(m, upper | sentinel(limit, len(upper)))
        zeros = leading_zeros(m, upper)
        is_limited = ~carry_chain(limit, ~extend(zeros, len(limit)), Const(1, 1))
        return Mux(is_limited, limit[:count], zeros)


class NormaliseFactor(wiring.Component):
    """Shift a factor's significand left until its top bit is one, and let its exponent fall.

    Members
    -------
    significand : In(precision)
    exponent : In(exponent_bits), above one only where the top bit of the significand is one; no
        bits where it is always one
    normalised : Out(precision), its top bit a constant one; means nothing of a zero
    lowered : Out(lowered_bits), ``exponent`` less the shift, in two's complement
    """

    significand: Signal
    exponent: Signal
    normalised: Signal
    lowered: Signal

    def __init__(self, factor: RawRange, lowered_bits: int) -> None:
        self._stages = factor.normalising_stages
        precision = factor.significand_bits
        super().__init__(
            {
                "significand": In(precision),
                "exponent": In(factor.exponent_bits),
                "normalised": Out(precision),
                "lowered": Out(lowered_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word: Value = self.significand
        amount: list[Value] = []
        for i in reversed(range(self._stages)):
            step = 1 << i
            shifts, stage = Signal(name=f"shifts_{step}"), Signal(len(word), name=f"shift_{step}")
            m.d.comb += [
                shifts.eq(~any_bit(word[-step:])),
                stage.eq(Mux(shifts, Cat(Const(0, step), word[:-step]), word)),
            ]
            word = stage
            amount.insert(0, shifts)
        exponent = extend(self.exponent if len(self.exponent) else Const(1, 1), len(self.lowered))
        if amount:
            # Only an exponent of one falls: to 1 - amount, whose upper bits are -(amount >> 1).
            upper, _ = ripple_subtract(m, Const(0, len(exponent) - 1), Cat(*amount[1:]))
            exponent = Cat(exponent[0] & ~amount[0], exponent[1:] | upper)
        m.d.comb += [self.normalised.eq(Cat(word[:-1], Const(1, 1))), self.lowered.eq(exponent)]
        return m


class NormaliseProduct(wiring.Component):
    """Bring a product of normalised factors to a float: one place left, or right to a subnormal.

    Members
    -------
    product : In(width), a one in one of its two top bits
    exponent : In(exponent_bits), in two's complement: that of the result less one, if the top bit
        is zero; negative for subnormals
    zero : In(1), the product is zero, whatever its bits are
    significand : Out(precision), with a leading one unless subnormal
    guard, sticky : Out(1)
    magnitude : Out(exponent_bits - 1), ``exponent``, zero for subnormals
    doubled : Out(1), the exponent of the result is one more, by a top bit that counts once more
    """

    product: Signal
    exponent: Signal
    zero: Signal
    significand: Signal
    guard: Signal
    sticky: Signal
    magnitude: Signal
    doubled: Signal

    def __init__(self, width: int, precision: int, exponent_bits: int) -> None:
        super().__init__(
            {
                "product": In(width),
                "exponent": In(exponent_bits),
                "zero": In(1),
                "significand": Out(precision),
                "guard": Out(1),
                "sticky": Out(1),
                "magnitude": Out(exponent_bits - 1),
                "doubled": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept = len(self.significand) + 1  # guard too
        product = Cat(Const(0, max(kept + 1 - len(self.product), 0)), self.product)
        negative, normal, window = self.exponent[-1], Signal(), Signal(len(product))
        m.d.comb += [
            normal.eq(~negative & ~self.zero),
            window.eq(Mux(normal & ~product[-1], Cat(Const(0, 1), product[:-1]), product)),
        ]
        # At an exponent of -1 the top bit is in its place. Zero is shifted out.
        exponent = self.exponent[:-1]
        amount = extend(
            ~exponent & negative.replicate(len(exponent)), max(len(exponent), kept.bit_length())
        )
        m.submodules.shifter = shifter = AlignRight(kept, len(amount) + 1, kept)
        m.d.comb += [
            shifter.word.eq(window[-kept:]),
            shifter.amount.eq(Cat(amount, self.zero)),
            self.significand.eq(Cat(shifter.window[1:-1], normal)),
            self.guard.eq(shifter.window[0]),
            self.sticky.eq((any_bit(window[:-kept]) | shifter.sticky) & ~self.zero),
            self.magnitude.eq(exponent & normal.replicate(len(exponent))),
            self.doubled.eq(Mux(normal, product[-1], shifter.window[-1])),
        ]
        return m


class _Shifted:
    """A word on its way through shifting stages, and what left it."""

    def __init__(self, m: Module, bits: Value, precision: int) -> None:
        self.m, self.bits, self._precision = m, bits, precision
        self.sticky: Value = Const(0, 1)
        self.lost: Value = Const(0, 1)

    def leaving(self, step: int) -> Value:
        """Return whether a shift by ``step`` loses a one at the top."""
        return any_bit(self.bits[max(len(self.bits) - step, 0) :])

    def shift(self, step: int, shifts: Value, *, later: int) -> None:
        """Shift left by ``step`` if so told; stages to come shift by at most ``later``."""
        self.lost = self.lost | (shifts & self.leaving(step))
        step = min(step, len(self.bits))
        stage = Signal(len(self.bits))
        shifted = Cat(Const(0, step), self.bits[: len(self.bits) - step])
        self.m.d.comb += stage.eq(Mux(shifts, shifted, self.bits))
        reach = self._precision + 1 + later  # what can come up yet, and guard
        excess = max(len(stage) - reach, 0)
        self.sticky = self.sticky | any_bit(stage[:excess])
        self.bits = stage[excess:]


class Rounder(wiring.Component):
    """Round a normalised number by one bit of guard and one of sticky. One rounder for all units.

    The result is the magnitude code without regard to a largest exponent: the exponent counts
    doublings of the quantum, the leading one of the significand adds one to it, and rounding up
    may carry into it.

    Members
    -------
    exponent : In(exponent_bits), zero where the significand has no leading one
    doubled : In(1), only with ``may_double``: one more for the exponent, not where rounding carries
    significand : In(precision)
    guard, sticky, negative : In(1)
    random : In(random_bits), only with stochastic rounding, where the significand has
        ``random_bits - 1`` more bits, and guard below it
    rounded : Out(exponent_bits + precision + 1)
    """

    exponent: Signal
    doubled: Signal
    significand: Signal
    guard: Signal
    sticky: Signal
    negative: Signal
    random: Signal
    rounded: Signal

    def __init__(
        self,
        exponent_bits: int,
        precision: int,
        rounding: Rounding,
        random_bits: int = 0,
        *,
        may_double: bool = False,
    ) -> None:
        self.rounding, self._may_double = rounding, may_double
        self._more = max(random_bits - 1, 0)
        super().__init__(
            {
                **({"random": In(random_bits)} if random_bits else {}),
                **({"doubled": In(1)} if may_double else {}),
                "exponent": In(exponent_bits),
                "significand": In(precision + self._more),
                "guard": In(1),
                "sticky": In(1),
                "negative": In(1),
                "rounded": Out(max(exponent_bits + precision - 1, precision) + 1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        significand = self.significand[self._more :]
        fraction = ripple_add(m, Const(0, len(significand) - 1), significand[:-1], self._up())
        carry = fraction[-1] | self.doubled if self._may_double else fraction[-1]
        m.d.comb += self.rounded.eq(
            Cat(fraction[:-1], ripple_add(m, self.exponent, significand[-1], carry))
        )
        return m

    def _up(self) -> Value:
        inexact = self.guard | self.sticky
        match self.rounding:
            case Rounding.RNE:
                return self.guard & (self.sticky | self.significand[0])
            case Rounding.RMM:
                return self.guard
            case Rounding.RTZ:
                return Const(0, 1)
            case Rounding.RDN:
                return inexact & self.negative
            case Rounding.RUP:
                return inexact & ~self.negative
            case Rounding.SR:
                dropped = Cat(self.guard, self.significand[: self._more])
                return carry_chain(dropped, self.random, Const(0, 1))


class Pack(wiring.Component):
    """Make the result code of a rounded magnitude: overflow, flush, special values, sign.

    Members
    -------
    rounded : In(rounded_bits), magnitude code as if there were no largest exponent
    too_large : In(1), the magnitude does not fit ``rounded``
    negative : In(1), sign of the number or of the infinity
    is_nan, is_inf : In(1)
    result : Out(width of the result format)
    invalid : Out(1), NaN in a format that has none
    """

    rounded: Signal
    too_large: Signal
    negative: Signal
    is_nan: Signal
    is_inf: Signal
    result: Signal
    invalid: Signal

    def __init__(self, operation: Operation, rounded_bits: int) -> None:
        assert isinstance(operation.result, FloatFormat)
        self.operation = operation
        self.fmt: FloatFormat = operation.result
        super().__init__(
            {
                "rounded": In(rounded_bits),
                "too_large": In(1),
                "negative": In(1),
                "is_nan": In(1),
                "is_inf": In(1),
                "result": Out(self.fmt.width),
                "invalid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self.fmt
        bits = max(fmt.width - 1, 1)
        overflow = self.too_large | exceeds(m, self.rounded, fmt.max_code)
        magnitude = extend(self.rounded, max(bits, len(self.rounded)))[:bits]
        if self.operation.ftz:
            normal = any_bit(magnitude[fmt.frac_bits :])
            magnitude = magnitude & normal.replicate(bits)
        nan: Value = self.is_nan if fmt.has_nan else Const(0, 1)
        if self.operation.overflow is Overflow.SAT or not fmt.has_nan:
            limit = fmt.max_code
        elif fmt.has_infinity:
            limit = fmt.inf_code
        else:
            limit = None
        stays = self._overflow_is_finite()
        if limit is None:
            # No infinity: beyond the range is NaN, unless the rounding direction forbids it.
            magnitude = Mux(overflow & stays, fmt.max_code, magnitude)
            nan = nan | self.is_inf | (overflow & ~stays)
        else:
            largest = Mux(stays & ~self.is_inf, fmt.max_code, limit)
            magnitude = Mux(overflow | self.is_inf, largest, magnitude)
        negative: Value = self.negative
        if fmt.is_sign_only:
            m.d.comb += self.result.eq(self._sign_alone(magnitude))
        else:
            if not fmt.has_negative_zero:
                negative = negative & any_bit(magnitude)
            code = Cat(magnitude[:bits], negative)
            m.d.comb += self.result.eq(Mux(nan, fmt.nan_code, code) if fmt.has_nan else code)
        if self.operation.has_invalid:
            m.d.comb += self.invalid.eq(self.is_nan)
            with m.If(self.is_nan):
                m.d.comb += self.result.eq(0)
        return m

    def _overflow_is_finite(self) -> Value:
        match self.operation.rounding:
            case Rounding.RTZ:
                return Const(1, 1)
            case Rounding.RDN:
                return ~self.negative
            case Rounding.RUP:
                return self.negative
            case _:
                return Const(0, 1)

    def _sign_alone(self, magnitude: Value) -> Value:
        nonzero = any_bit(magnitude)
        match self.operation.rounding:
            case Rounding.RDN:
                return self.negative | ~nonzero
            case Rounding.RUP:
                return self.negative & nonzero
            case _:
                return self.negative


def exceeds(m: Module, word: Value, largest: int) -> Value:
    """Return whether an unsigned word is larger than a constant."""
    if largest >= (1 << len(word)) - 1:
        return Const(0, 1)
    bits = largest.bit_length()
    above = any_bit(word[bits:])
    low = word[:bits]
    greater: Value = Const(0, 1)
    for i in range(bits):  # least significant first: a later difference decides
        greater = (low[i] & greater) if largest >> i & 1 else (low[i] | greater)
    return above | greater
