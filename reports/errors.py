"""What a user did wrong, and how it is said: one line."""


class InputError(ValueError):
    """An argument, option or output path that cannot be used. The message is one line."""


class SweepError(RuntimeError):
    """Why a sweep cannot go on: its store, its cluster. The message is one line."""


class MismatchError(RuntimeError):
    """A mapped netlist that differs from the reference. The message has the operands."""


def printable(text: str) -> str:
    """Return text on one line without control characters, for messages that quote input."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )
