"""Logarithmic shifters."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


def any_bit(word: Value) -> Value:
    """Return the OR of a word, of no bits too."""
    return word.any() if len(word) else Const(0, 1)


class AlignRight(wiring.Component):
    """Shift a word right from the top of a window; what falls out below becomes sticky.

    Small shifts go first, so that the early stages are hardly wider than the word.

    Members
    -------
    word : In(word_width), placed at the top of the window when ``amount`` is zero
    amount : In(amount_width), any value
    window : Out(width)
    sticky : Out(1), OR of all bits of the word that fell out
    """

    word: Signal
    amount: Signal
    window: Signal
    sticky: Signal

    def __init__(self, word_width: int, amount_width: int, width: int) -> None:
        if width < word_width:
            raise ValueError(f"a window of {width} bits cannot hold {word_width}")
        self.width = width
        super().__init__(
            {
                "word": In(word_width),
                "amount": In(amount_width),
                "window": Out(width),
                "sticky": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # ``word`` holds the top ``len(word)`` bits of an endless window.
        word: Value = self.word
        sticky: Value = Const(0, 1)
        beyond: Value = Const(0, 1)
        for i in range(len(self.amount)):
            step = 1 << i
            if step >= self.width:  # the whole word leaves the window
                beyond = beyond | self.amount[i]
                continue
            stage = Signal(len(word) + step, name=f"shift_{step}")
            m.d.comb += stage.eq(
                Mux(self.amount[i], Cat(word, Const(0, step)), Cat(Const(0, step), word))
            )
            excess = max(len(stage) - self.width, 0)
            sticky = sticky | any_bit(stage[:excess])
            word = stage[excess:]
        sticky = sticky | (beyond & any_bit(word))
        m.d.comb += [
            self.window.eq(Mux(beyond, 0, Cat(Const(0, self.width - len(word)), word))),
            self.sticky.eq(sticky),
        ]
        return m
