"""Architectures: *how* a unit is built, where there is a choice. The operation does not change."""

from dataclasses import dataclass

from fmacost.hw.parts.adders import ADDERS
from fmacost.hw.parts.compress import REDUCTIONS
from fmacost.hw.parts.multiplier import MULTIPLIERS

SHIFTS = ("interleaved", "lzc", "sentinel", "lza")
NORMALISERS = (*SHIFTS, "factors")


@dataclass(frozen=True, slots=True)
class Architecture:
    """The structures of a unit's arithmetic parts.

    Parameters
    ----------
    multiplier : one of ``MULTIPLIERS``, how partial products are made
    reduction : one of ``REDUCTIONS``, how the tree adds them (and an integer's addend)
    adder : one of ``ADDERS``, the adder that finishes the tree
    normalise : one of ``NORMALISERS``: how a float unit finds its normalising shift (one of
        ``SHIFTS``, see ``hw.stages.Normalise``; where no sum is normalised, ``lza`` is
        ``sentinel``), or that a multiplication normalises its factors and not their product
        (``factors``, in other units ``interleaved``)

    Raises
    ------
    ValueError
        If a choice is unknown.
    """

    multiplier: str = "recoded"
    reduction: str = "serial"
    adder: str = "ripple"
    normalise: str = "interleaved"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("multiplier", self.multiplier, MULTIPLIERS),
            ("reduction", self.reduction, REDUCTIONS),
            ("adder", self.adder, ADDERS),
            ("normalise", self.normalise, NORMALISERS),
        ):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not '{value}'")

    def __str__(self) -> str:
        """Return the choices as a report shows them, such as ``recoded, serial, ripple``."""
        names = [self.multiplier, self.reduction, self.adder]
        if self.normalise != NORMALISERS[0]:
            names.append(self.normalise)
        return ", ".join(names)


DEFAULT_ARCHITECTURE = Architecture()
