"""A minimal reader of Liberty cell libraries: areas and combinational functions.

Timing and power tables are not read. Cells that a mapper cannot use (registers, tristate drivers,
``dont_use``) are skipped, and of cells with one function the smallest is kept. A file is never
trusted: names are plain identifiers or the cell is skipped, sizes and depths have limits, and
nothing in it is evaluated. Syntax: Liberty User Guide, volume 1; functions: Reference Manual,
``function`` attribute (inversion first, then XOR, then AND, then OR).
"""

import gzip
import itertools
import math
import re
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from fmacost.hw.technology import (
    TECHNOLOGIES,
    AdderCell,
    Technology,
    adder_cell,
    adder_cells,
)
from fmacost.sim.netlist import CellType

_MAX_BYTES = 1 << 28  # of text; the largest open libraries have some 2**26
_MAX_DEPTH = 100  # of groups, and of parentheses in a function
_MAX_INPUTS = 6  # more are no use to a mapper

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9_]+")
# Commas, and the backslash that continues a line, separate as blanks do.
_GAP = re.compile(r"(?:[\s\\,]++|/\*.*?\*/|//[^\n]*+)*+", re.DOTALL)
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_TOKEN = re.compile(rf'{_STRING}|[(){{}}:;]|(?:[^\s(){{}}:;,"\\/]|/(?![*/]))++', re.DOTALL)
_BRACE = re.compile(rf"{_STRING}|/\*.*?\*/|[{{}}]", re.DOTALL)
_FUNCTION_TOKEN = re.compile(r"[A-Za-z0-9_]+|\S")

# Groups that hold nothing a reader of functions needs: most of a file.
_UNREAD_GROUPS = frozenset(
    """timing internal_power leakage_power lut pg_pin lu_table_template power_lut_template
    operating_conditions wire_load wire_load_selection wire_load_table ccsn_first_stage
    ccsn_last_stage receiver_capacitance output_current_template normalized_driver_waveform
    dynamic_current intrinsic_parasitic input_voltage output_voltage""".split()  # noqa: SIM905
)
_SEQUENTIAL_GROUPS = ("ff", "ff_bank", "latch", "latch_bank", "statetable", "memory", "test_cell")
_SPECIAL_FLAGS = (
    "dont_use",
    "clock_gating_integrated_cell",
    "is_isolation_cell",
    "is_level_shifter",
    "is_macro_cell",
    "pad_cell",
    "physical_only",
    "retention_cell",
)
# Names that would clash in synthesis: constants of ABC's library, our module names.
_RESERVED = re.compile(r"ZERO|ONE|CONST[01]|GATE|PIN|LATCH|unit|fmacost_.*")

# A function: the number of inputs, then the truth tables of the outputs, smallest first.
_Function = tuple[int, ...]
_NOT, _NAND2 = (1, 0b01), (2, 0b0111)


class LibertyError(ValueError):
    """A file that is no Liberty library, or one without the cells that mapping needs. One line."""


@dataclass(frozen=True, slots=True)
class Library:
    """A technology read from a file, and why each other cell of the file is not in it."""

    technology: Technology
    skipped: dict[str, str]


def read_liberty(path: Path) -> Library:
    """Read a Liberty file, plain or compressed by gzip (told by its content, not its name).

    The technology is named after the library (with ``_liberty`` if that is a built-in one), and
    knows areas but no transistors. Full and half adders are kept as
    ``arithmetic`` cells; other cells of several outputs are skipped. Skipped cells whose names are
    not printable are listed with escapes.

    Raises
    ------
    LibertyError
        Naming the file, and the line where there is one.
    """
    return _Reader(path.name, _read_text(path)).library()


def _read_text(path: Path) -> str:
    name = ascii(path.name)[1:-1]
    try:
        with path.open("rb") as file:
            magic = file.read(2)
            file.seek(0)
            if magic == b"\x1f\x8b":
                with gzip.GzipFile(fileobj=file) as unpacked:
                    content = unpacked.read(_MAX_BYTES + 1)
            else:
                content = file.read(_MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LibertyError(f"{name}: the gzip file is damaged or cut short: {error}") from None
    except OSError as error:
        raise LibertyError(f"{name}: cannot be read: {error.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise LibertyError(f"{name}: more than {_MAX_BYTES >> 20} MiB of text")
    return content.decode("utf-8-sig", errors="replace")


# From text to groups.


@dataclass(slots=True)
class _Group:
    """``kind (name) { attributes and groups }``."""

    kind: str
    name: str
    position: int
    attributes: dict[str, tuple[str, int]] = field(default_factory=dict)
    groups: list["_Group"] = field(default_factory=list)

    def has(self, *kinds: str) -> bool:
        return any(group.kind in kinds for group in self.groups)

    def text(self, attribute: str) -> str:
        return self.attributes.get(attribute, ("", 0))[0]

    def is_set(self, attribute: str) -> bool:
        return self.text(attribute).lower() not in ("", "false", "none")


class _Unusable(Exception):
    """Why a cell is skipped."""


class _Reader:
    """One file: its text, and errors that say where they are in it."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text, self._position = name, text, 0

    def library(self) -> Library:
        if self._next() != "library" or self._next() != "(":
            raise self._error("expected 'library (NAME) {'", 0)
        group = self._group("library", 0, 1)
        if self._next():
            raise self._error("expected the end of the file after the library")
        if not _NAME.fullmatch(group.name):
            raise self._error(f"the library's name must be letters, digits, _, not {group.name!r}")
        cells: list[_LibertyCell] = []
        skipped: dict[str, str] = {}
        seen: set[str] = set()
        for child in (child for child in group.groups if child.kind == "cell"):
            try:
                if child.name in seen:
                    raise self._error(f"cell {child.name} appears twice", child.position)
                seen.add(child.name)
                cells.append(self._cell(child))
            except _Unusable as reason:
                skipped[ascii(child.name)[1:-1]] = str(reason)
        return self._technology(group.name, cells, skipped)

    def _error(self, message: str, position: int | None = None) -> LibertyError:
        at = self._position if position is None else position
        line = self._text.count("\n", 0, at) + 1
        # Names come from the file: no line breaks, no terminal escapes.
        return LibertyError(ascii(f"{self._name}:{line}: {message}")[1:-1].replace("\\'", "'"))

    def _next(self) -> str:
        """Return the next token, a string in its quotes, or "" at the end of the file."""
        gap = _GAP.match(self._text, self._position)
        self._position = gap.end() if gap else self._position
        token = _TOKEN.match(self._text, self._position)
        if token is None:
            if self._position < len(self._text):
                raise self._error("this string or comment does not end")
            return ""
        self._position = token.end()
        return token[0]

    def _group(self, kind: str, position: int, depth: int) -> _Group:
        """Read a group from behind its ``(``."""
        if depth > _MAX_DEPTH:
            raise self._error(f"more than {_MAX_DEPTH} groups in one another")
        group = _Group(kind, _unquoted(" ".join(self._arguments())), position)
        if self._next() != "{":
            raise self._error(f"expected '{{' after '{kind} ({group.name})'")
        while (word := self._next()) != "}":
            if word == ";":
                continue
            if not _NAME.fullmatch(word):
                raise self._error(f"expected an attribute, a group or '}}', not {_shown(word)}")
            start = self._position
            punctuation = self._next()
            if punctuation == ":":
                group.attributes[word] = (self._value(), start)
            elif punctuation == "(":
                self._member(group, word, start, depth)
            else:
                raise self._error(f"expected ':' or '(' after {word}, not {_shown(punctuation)}")
        return group

    def _member(self, group: _Group, word: str, start: int, depth: int) -> None:
        """Read a group, or skip a complex attribute such as ``values (...);``."""
        inside = self._position
        self._arguments()
        after = self._position
        if self._next() != "{":
            self._position = after
        elif word in _UNREAD_GROUPS:
            self._skip_group()
        else:
            self._position = inside
            group.groups.append(self._group(word, start, depth + 1))

    def _arguments(self) -> list[str]:
        arguments = []
        while (token := self._next()) != ")":
            if token in ("", "{", "}", ";", "("):
                raise self._error(f"expected ')', not {_shown(token)}")
            arguments.append(token)
        return arguments

    def _value(self) -> str:
        """Read the value of an attribute up to its ``;``, which some files leave out."""
        words: list[str] = []
        line_end = self._text.find("\n", self._position)
        while True:
            before = self._position
            token = self._next()
            if token == ";":
                break
            if token in ("", "{", "}") or (words and self._position > line_end >= 0):
                self._position = before
                break
            words.append(token)
        if not words:
            raise self._error("expected a value after ':'")
        return _unquoted(" ".join(words))

    def _skip_group(self) -> None:
        start, open_groups = self._position, 1
        while open_groups:
            match = _BRACE.search(self._text, self._position)
            if match is None:
                raise self._error("this group does not end", start)
            self._position = match.end()
            open_groups += {"{": 1, "}": -1}.get(match[0], 0)

    # From groups to cells.

    def _cell(self, group: _Group) -> "_LibertyCell":
        _check_name("cell", group.name)
        for flag in _SPECIAL_FLAGS:
            if group.is_set(flag):
                raise _Unusable(flag)
        if group.has(*_SEQUENTIAL_GROUPS):
            raise _Unusable("sequential")
        if group.has("bus", "bundle"):
            raise _Unusable("has a bus")
        inputs, outputs = [], []
        for pin in group.groups:
            if pin.kind == "pin":
                _check_name("pin", pin.name)
                direction = pin.text("direction")
                if direction == "input":
                    inputs.append(pin.name)
                elif direction == "output":
                    outputs.append(pin)
                elif direction != "internal":
                    raise _Unusable(f"pin {pin.name} is neither input nor output")
        if not 1 <= len(inputs) <= _MAX_INPUTS or not outputs:
            raise _Unusable(f"has {len(inputs)} inputs and {len(outputs)} outputs")
        if len({*inputs, *(pin.name for pin in outputs)}) < len(inputs) + len(outputs):
            raise _Unusable("two of its pins have one name")
        functions = tuple((pin.name, self._function(pin, inputs)) for pin in outputs)
        try:
            cell = CellType(group.name, tuple(inputs), functions)
        except ValueError as error:
            raise _Unusable(str(error)) from None
        unused = [pin for i, pin in enumerate(inputs) if not _depends(cell, i)]
        if unused:
            raise _Unusable(f"no output depends on {unused[0]}")
        return _LibertyCell(cell, self._area(group))

    def _function(self, pin: _Group, inputs: list[str]) -> str:
        if pin.is_set("three_state"):
            raise _Unusable("tristate")
        if "function" not in pin.attributes:
            raise _Unusable(f"output {pin.name} has no function")
        text, position = pin.attributes["function"]
        try:
            return translate_function(text, inputs)
        except KeyError as unknown:
            raise _Unusable(f"output {pin.name} depends on more than inputs: {unknown}") from None
        except ValueError as error:
            raise self._error(f"function of pin {pin.name}: {error}", position) from None

    def _area(self, group: _Group) -> float:
        text, position = group.attributes.get("area", ("", 0))
        if not text:
            raise _Unusable("has no area")
        try:
            area = float(text)
        except ValueError:
            area = math.nan
        if not 0 <= area < math.inf:
            raise self._error(f"area of cell {group.name} must be a number, not {text!r}", position)
        if area == 0:
            raise _Unusable("has no area")
        return area

    def _technology(
        self, name: str, cells: list["_LibertyCell"], skipped: dict[str, str]
    ) -> Library:
        kept: dict[_Function, _LibertyCell] = {}
        for cell in sorted(cells, key=lambda cell: (cell.area, len(cell.name), cell.name)):
            if cell.adder is None and len(cell.type.outputs) > 1:
                skipped[cell.name] = "has several outputs and is no adder"
            elif (best := kept.setdefault(cell.function, cell)) is not cell:
                skipped[cell.name] = f"has the function of {best.name}, which is not larger"
        for function, what in ((_NOT, "inverter"), (_NAND2, "two-input NAND")):
            if function not in kept:
                raise LibertyError(f"{ascii(self._name)[1:-1]}: library {name} has no {what}")
        adders = adder_cells(cell.type for cell in kept.values())
        used = []
        for cell in sorted(kept.values(), key=lambda cell: cell.name):
            if cell.adder in (None, *adders.values()):
                used.append(cell)
            else:
                skipped[cell.name] = (
                    "is an adder with inverted outputs; there is one with true ones"
                )
        technology = Technology(
            name=f"{name}_liberty" if name in TECHNOLOGIES else name,
            description=f"cells of the Liberty library {name}, smallest of each function",
            source=ascii(self._name)[1:-1],
            nand2=kept[_NAND2].name,
            cells={cell.name: cell.type for cell in used},
            transistors={},
            arithmetic=tuple(adder.cell for adder in adders.values()),
            area_um2={cell.name: cell.area for cell in used},
            full_adder=adders.get(3),
            half_adder=adders.get(2),
        )
        return Library(technology, skipped)


@dataclass(frozen=True)
class _LibertyCell:
    type: CellType
    area: float

    @property
    def name(self) -> str:
        return self.type.name

    @property
    def function(self) -> _Function:
        """What the cell computes, the same for every order of its pins."""
        tables = tuple(self.type.truth_table(pin) for pin, _ in self.type.outputs)
        return _canonical(len(self.type.inputs), tables)

    @property
    def adder(self) -> AdderCell | None:
        """The pins, if the cell is a full or half adder."""
        return adder_cell(self.type)


def _check_name(kind: str, name: str) -> None:
    if not _IDENTIFIER.fullmatch(name):
        raise _Unusable(f"{kind} name {_shown(name)} is not letters, digits and _")
    if _RESERVED.fullmatch(name):
        raise _Unusable(f"{kind} name {name} has a meaning in synthesis")


@lru_cache(maxsize=1024)  # the variants of a cell, which differ in strength, have one table
def _canonical(count: int, tables: tuple[int, ...]) -> _Function:
    """Return the smallest of what the tables are for any order of ``count`` inputs."""
    return count, *min(_reorder(order, tables) for order in itertools.permutations(range(count)))


def _reorder(order: tuple[int, ...], tables: tuple[int, ...]) -> tuple[int, ...]:
    """Return truth tables for the inputs in another order, smallest first."""
    patterns = [0]
    for old in order:
        patterns += [pattern | 1 << old for pattern in patterns]
    return tuple(
        sorted(sum((table >> p & 1) << i for i, p in enumerate(patterns)) for table in tables)
    )


def _depends(cell: CellType, i: int) -> bool:
    """Say whether an output depends on the input of index ``i``."""
    tables = [cell.truth_table(pin) for pin, _ in cell.outputs]
    patterns = range(1 << len(cell.inputs))
    return any(table >> p & 1 != table >> (p ^ 1 << i) & 1 for table in tables for p in patterns)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _shown(text: str) -> str:
    return ascii(text[:40]) if text else "the end of the file"


# Functions.


def translate_function(text: str, inputs: list[str]) -> str:
    """Return a Liberty function as an expression of ``~ & |`` and parentheses.

    Liberty has ``!A`` and ``A'``, ``A*B``, ``A&B`` and ``A B``, ``A+B`` and ``A|B``, ``A^B``, 0, 1.
    A function with ``^`` comes out as a sum of products: ABC's genlib has no other XOR.

    Raises
    ------
    KeyError
        With a name that is none of ``inputs``.
    ValueError
        If the function is malformed.
    """
    function = _FunctionParser(text, inputs).parse()
    return _sum_of_products(function, inputs) if "^" in function else function


def _sum_of_products(function: str, inputs: list[str]) -> str:
    table = CellType("function", tuple(inputs), (("Y_", function),)).truth_table("Y_")
    products = [
        " & ".join(pin if i >> bit & 1 else f"~{pin}" for bit, pin in enumerate(inputs))
        for i in range(1 << len(inputs))
        if table >> i & 1
    ]
    return " | ".join(f"({product})" for product in products) or "1'b0"


class _FunctionParser:
    """Recursive descent; operators as the keys of ``_OPERATORS``, from weakest to strongest."""

    _OPERATORS = (("|", "+|"), ("&", "*&"), ("^", "^"))

    def __init__(self, text: str, inputs: list[str]) -> None:
        self._inputs = inputs
        self._tokens = ["", *reversed(_FUNCTION_TOKEN.findall(text))]
        self._depth = 0

    def parse(self) -> str:
        function = self._expression(0)
        if self._tokens[-1]:
            raise ValueError(f"expected an operator, not {_shown(self._tokens[-1])}")
        return function

    def _expression(self, strength: int) -> str:
        if strength == len(self._OPERATORS):
            return self._operand()
        operator, spellings = self._OPERATORS[strength]
        parts = [self._expression(strength + 1)]
        while token := self._tokens[-1]:
            if token in spellings:
                self._tokens.pop()
            elif operator != "&" or not (token[0].isalnum() or token[0] in "_(!"):
                break  # else: two operands side by side
            parts.append(self._expression(strength + 1))
        return parts[0] if len(parts) == 1 else f"({f' {operator} '.join(parts)})"

    def _operand(self) -> str:
        token = self._tokens.pop()
        inverted = False
        while token == "!":
            inverted, token = not inverted, self._tokens.pop()
        if token == "(":
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise ValueError(f"more than {_MAX_DEPTH} parentheses")
            operand = self._expression(0)
            if self._tokens.pop() != ")":
                raise ValueError("expected ')'")
        elif token in ("0", "1"):
            operand = f"1'b{token}"
        elif _NAME.fullmatch(token):
            if token not in self._inputs:
                raise KeyError(token)
            operand = token
        else:
            what = _shown(token) if token else "the end"
            raise ValueError(f"expected a pin, '!' or '(', not {what}")
        while self._tokens[-1] == "'":
            self._tokens.pop()
            inverted = not inverted
        return f"~{operand}" if inverted else operand
