"""Functions of Liberty cells, translated to Verilog expressions.

Syntax: Liberty Reference Manual, ``function`` attribute (inversion first, then XOR, then AND, then
OR).
"""

import re

from fmacost.hw.liberty_text import shown
from fmacost.sim.netlist import CellType

_MAX_DEPTH = 100  # of parentheses
_NAME = re.compile(r"[A-Za-z0-9_]+")
_FUNCTION_TOKEN = re.compile(r"[A-Za-z0-9_]+|\S")


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
            raise ValueError(f"expected an operator, not {shown(self._tokens[-1])}")
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
            what = shown(token) if token else "the end"
            raise ValueError(f"expected a pin, '!' or '(', not {what}")
        while self._tokens[-1] == "'":
            self._tokens.pop()
            inverted = not inverted
        return f"~{operand}" if inverted else operand
