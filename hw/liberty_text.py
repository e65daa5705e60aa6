"""Liberty files as text: groups with their attributes, and errors that say where they are.

A file is never trusted: sizes and depths have limits, and nothing in it is evaluated. Groups of
tables, which are most of a file, are passed over and read only where somebody asks for them.
Syntax: Liberty User Guide, volume 1.

This reader is our own because the parser on PyPI, liberty-parser, is under the GPL-3.0, and this
project is under Apache-2.0.
"""

import gzip
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

_MAX_BYTES = 1 << 28  # of text; the largest open libraries have some 2**26
_7Z = b"7z\xbc\xaf\x27\x1c"  # how such an archive begins; ASAP7 is published in these
_MAX_DEPTH = 100  # of groups in one another

_NAME = re.compile(r"[A-Za-z0-9_]+")
# Commas, and the backslash that continues a line, separate as blanks do.
_GAP = re.compile(r"(?:[\s\\,]++|/\*.*?\*/|//[^\n]*+)*+", re.DOTALL)
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_TOKEN = re.compile(rf'{_STRING}|[(){{}}:;]|(?:[^\s(){{}}:;,"\\/]|/(?![*/]))++', re.DOTALL)
_BRACE = re.compile(rf"{_STRING}|/\*.*?\*/|[{{}}]", re.DOTALL)

# Groups that are passed over: those of tables, and those that nobody here needs.
_CLOSED_GROUPS = frozenset(
    """timing internal_power leakage_power lut pg_pin operating_conditions wire_load
    wire_load_selection wire_load_table ccsn_first_stage ccsn_last_stage receiver_capacitance
    output_current_template normalized_driver_waveform dynamic_current intrinsic_parasitic
    input_voltage output_voltage""".split()  # noqa: SIM905
)


class LibertyError(ValueError):
    """A file that is no Liberty library, or one without the cells that mapping needs. One line."""


@dataclass(slots=True)
class Group:
    """``kind (name) { attributes and groups }``.

    Attributes
    ----------
    position, body : where it starts in the text, and where what is behind its ``{`` starts
    attributes : text and position of each; the arguments of one such as ``values (...);`` are
        joined by commas
    """

    kind: str
    name: str
    position: int
    body: int = 0
    attributes: dict[str, tuple[str, int]] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def has(self, *kinds: str) -> bool:
        """Say whether there is a group of one of these kinds in this one."""
        return any(group.kind in kinds for group in self.groups)

    def of_kind(self, *kinds: str) -> list["Group"]:
        """Return the groups of these kinds in this one."""
        return [group for group in self.groups if group.kind in kinds]

    def text(self, attribute: str) -> str:
        """Return the text of an attribute, "" where it is absent."""
        return self.attributes.get(attribute, ("", 0))[0]

    def is_set(self, attribute: str) -> bool:
        """Say whether a flag is there and not false."""
        return self.text(attribute).lower() not in ("", "false", "none")

    def where(self, attribute: str) -> int:
        """Return the position of an attribute, that of the group where it is absent."""
        return self.attributes.get(attribute, ("", self.position))[1]


class LibertyFile:
    """One file: its text, which is read into groups, and errors that say where they are in it."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self._text, self._position = name, text, 0

    def library(self) -> Group:
        """Return the only group of the outermost level.

        Raises
        ------
        LibertyError
            If the file is malformed, or holds anything else.
        """
        if self._next() != "library" or self._next() != "(":
            raise self.error("expected 'library (NAME) {'", 0)
        group = Group("library", " ".join(self._arguments()), 0)
        if self._next() != "{":
            raise self.error(f"expected '{{' after 'library ({group.name})'")
        self._inside(group, 1)
        if self._next():
            raise self.error("expected the end of the file after the library")
        if not _NAME.fullmatch(group.name):
            raise self.error(f"the library's name must be letters, digits, _, not {group.name!r}")
        return group

    def opened(self, group: Group) -> Group:
        """Read a group that was passed over, with all that is in it; raise as ``library``."""
        self._position = group.body
        return self._inside(Group(group.kind, group.name, group.position, group.body), 1)

    def error(self, message: str, position: int | None = None) -> LibertyError:
        """Return an error at a position of the text; None is where reading has come to."""
        at = self._position if position is None else position
        return error_in(f"{self.name}:{self._text.count(chr(10), 0, at) + 1}", message)

    def _next(self) -> str:
        """Return the next token, a string in its quotes, or "" at the end of the file."""
        gap = _GAP.match(self._text, self._position)
        self._position = gap.end() if gap else self._position
        token = _TOKEN.match(self._text, self._position)
        if token is None:
            if self._position < len(self._text):
                raise self.error("this string or comment does not end")
            return ""
        self._position = token.end()
        return token[0]

    def _inside(self, group: Group, depth: int) -> Group:
        """Read a group from behind its ``{``."""
        if depth > _MAX_DEPTH:
            raise self.error(f"more than {_MAX_DEPTH} groups in one another")
        while (word := self._next()) != "}":
            if word == ";":
                continue
            if not _NAME.fullmatch(word):
                raise self.error(f"expected an attribute, a group or '}}', not {shown(word)}")
            start = self._position
            punctuation = self._next()
            if punctuation == ":":
                group.attributes[word] = (self._value(), start)
            elif punctuation == "(":
                self._member(group, word, start, depth)
            else:
                raise self.error(f"expected ':' or '(' after {word}, not {shown(punctuation)}")
        return group

    def _member(self, group: Group, word: str, start: int, depth: int) -> None:
        """Read a group, or a complex attribute such as ``values (...);``, from behind its ``(``."""
        arguments = self._arguments()
        after = self._position
        if self._next() != "{":
            self._position = after
            group.attributes[word] = (",".join(arguments), start)
            return
        inner = Group(word, " ".join(arguments), start, self._position)
        group.groups.append(inner)
        if word in _CLOSED_GROUPS:
            self._pass_over()
        else:
            self._inside(inner, depth + 1)

    def _arguments(self) -> list[str]:
        arguments = []
        while (token := self._next()) != ")":
            if token in ("", "{", "}", ";", "("):
                raise self.error(f"expected ')', not {shown(token)}")
            arguments.append(_unquoted(token))
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
            raise self.error("expected a value after ':'")
        return _unquoted(" ".join(words))

    def _pass_over(self) -> None:
        start, open_groups = self._position, 1
        while open_groups:
            match = _BRACE.search(self._text, self._position)
            if match is None:
                raise self.error("this group does not end", start)
            self._position = match.end()
            open_groups += {"{": 1, "}": -1}.get(match[0], 0)


def read_text(path: Path) -> str:
    """Return the text of a file, plain or compressed by gzip (told by its content, not its name).

    Raises
    ------
    LibertyError
        If it cannot be read, is damaged, or is too long.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_7Z))
            file.seek(0)
            if magic == _7Z:
                raise error_in(path.name, "is a 7z archive: unpack it first, by 7z x FILE")
            if magic.startswith(b"\x1f\x8b"):
                with gzip.GzipFile(fileobj=file) as unpacked:
                    content = unpacked.read(_MAX_BYTES + 1)
            else:
                content = file.read(_MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise error_in(path.name, f"the gzip file is damaged or cut short: {error}") from None
    except OSError as error:
        raise error_in(path.name, f"cannot be read: {error.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise error_in(path.name, f"more than {_MAX_BYTES >> 20} MiB of text")
    return content.decode("utf-8-sig", errors="replace")


def error_in(place: str, message: str) -> LibertyError:
    """Return an error. Names come from the file: no line breaks, no terminal escapes."""
    return LibertyError(ascii(f"{place}: {message}")[1:-1].replace("\\'", "'"))


def shown(text: str) -> str:
    """Return what an error shows of a token."""
    return ascii(text[:40]) if text else "the end of the file"


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
