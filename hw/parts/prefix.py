"""Parallel prefix networks: every adder, incrementer and priority chain that is not a plain ripple.

A network is a list of merges that turns items x0, x1, ... into x0, x1·x0, x2·x1·x0, ... for any
associative operation. The lists differ in depth, size and fan-out, never in the result.
"""

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

PREFIX_KINDS = ("ripple", "brent-kung", "sklansky", "kogge-stone", "carry-increment")


def scan(kind: str, items: list[_T], merge: Callable[[_T, _T], _T]) -> list[_T]:
    """Return all prefixes of the items, the first one included.

    Parameters
    ----------
    kind : one of ``PREFIX_KINDS``
    items : the least significant first
    merge : associative; takes (upper, lower)

    Raises
    ------
    ValueError
        If ``kind`` is unknown.
    """
    done = list(items)
    for upper, lower in merges(kind, len(items)):
        done[upper] = merge(done[upper], done[lower])
    return done


def merges(kind: str, count: int) -> list[tuple[int, int]]:
    """Return the merges (upper, lower) of a network in the order in which they are made.

    ================  =============================  ===========================  ================
    kind              depth in merges                merges                       source
    ================  =============================  ===========================  ================
    ripple            n − 1                          n − 1
    brent-kung        about 2 log2 n − 2             about 2 n − 2 − log2 n       Brent, Kung 1982
    sklansky          log2 n, fan-out up to n / 2    n / 2 log2 n                 Sklansky 1960
    kogge-stone       log2 n, fan-out 2              n log2 n − n + 1             Kogge, Stone 1973
    carry-increment   about sqrt(2 n)                about 2 n − 2 sqrt(2 n)      Tyagi 1993
    ================  =============================  ===========================  ================
    """
    match kind:
        case "ripple":
            return [(i, i - 1) for i in range(1, count)]
        case "brent-kung":
            return _brent_kung(count)
        case "sklansky":
            return [
                (i, (i >> level << level) - 1)
                for level in range((count - 1).bit_length() if count else 0)
                for i in range(count)
                if i >> level & 1
            ]
        case "kogge-stone":
            spans = [1 << level for level in range((count - 1).bit_length() if count else 0)]
            # From the top, so that a merge reads what the level before it left.
            return [(i, i - span) for span in spans for i in reversed(range(span, count))]
        case "carry-increment":
            return _carry_increment(count)
    raise ValueError(f"kind must be one of {', '.join(PREFIX_KINDS)}, not '{kind}'")


def _brent_kung(count: int) -> list[tuple[int, int]]:
    spans = [1 << level for level in range(count.bit_length())]
    up = [(i, i - span) for span in spans for i in range(2 * span - 1, count, 2 * span)]
    down = [(i, i - span) for span in reversed(spans) for i in range(3 * span - 1, count, 2 * span)]
    return up + down


def _carry_increment(count: int) -> list[tuple[int, int]]:
    """Ripple within blocks of 1, 2, 3, ... items; the prefix below a block enters all at once."""
    order: list[tuple[int, int]] = []
    start, size = 0, 1
    while start < count:
        block = range(start, min(start + size, count))
        order += [(i, i - 1) for i in block[1:]]
        if start:
            order += [(i, start - 1) for i in block]
        start, size = start + size, size + 1
    return order
