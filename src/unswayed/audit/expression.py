"""The language of ``--only``: comparisons of columns, and nothing that could run anything.

It is parsed as a Python expression, but only the nodes listed here are understood: names of
columns (in backquotes where they hold spaces), numbers, texts, True and False, comparisons,
``in`` a list, ``and``, ``or``, ``not``, and + - * /. Missing values compare as false.
"""

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import BoolArray
from unswayed.audit.words import shorten, suggest
from unswayed.exceptions import InputError

_LONGEST = 2000
_DEEPEST = 40
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`([^`]*)`""")

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: pc.equal,
    ast.NotEq: pc.not_equal,
    ast.Lt: pc.less,
    ast.LtE: pc.less_equal,
    ast.Gt: pc.greater,
    ast.GtE: pc.greater_equal,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: pc.add,
    ast.Sub: pc.subtract,
    ast.Mult: pc.multiply,
    ast.Div: pc.divide,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: pc.negate, ast.Not: pc.invert}
_ALLOWED = (
    "names of columns, numbers, quoted texts, comparisons, in [...], and, or, not, + - * / "
    "and brackets"
)


def select(expression: str, table: pa.Table) -> BoolArray:
    """Mask of the rows of `table` for which `expression` holds.

    Examples
    --------
    >>> table = pa.table({"sex": ["female", "male", "female"], "age": [25, 25, 40]})
    >>> select("sex == 'female' and age < 30", table).tolist()
    [True, False, False]
    """
    found = _Reader(expression, table).read()
    if isinstance(found, pa.Scalar) or not pa.types.is_boolean(found.type):
        raise InputError(
            f"--only {shorten(expression)!r} is not a condition on rows; compare a column with "
            "something, for example \"sex == 'female'\""
        )
    return np.asarray(pc.fill_null(found, fill_value=False)).astype(bool)


class _Reader:
    """Reads one expression over one table."""

    def __init__(self, expression: str, table: pa.Table) -> None:
        self.expression = expression
        self.table = table
        self.quoted: dict[str, str] = {}  # stand-in names of backquoted columns

    def wrong(self, what: str, advice: str) -> InputError:
        return InputError(f"--only {shorten(self.expression)!r}: {what}; {advice}")

    def read(self) -> Any:
        if len(self.expression) > _LONGEST:
            raise self.wrong("the expression is too long", f"at most {_LONGEST} characters")
        try:
            tree = ast.parse(_QUOTED.sub(self._stand_in, self.expression).strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self.wrong("cannot be read", f"it may hold {_ALLOWED}") from None
        return self._value(tree.body, 0)

    def _stand_in(self, match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        name = f"column_{len(self.quoted)}_in_backquotes"
        self.quoted[name] = match[1]
        return name

    def _value(self, node: ast.expr, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self.wrong("is nested too deeply", "write it with fewer brackets")
        match node:
            case ast.Name():
                return self._column(self.quoted.get(node.id, node.id))
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return pa.scalar(float(value) if type(value) is int else value)
            case ast.UnaryOp() if type(node.op) in _UNARY:
                return self._apply(_UNARY[type(node.op)], self._value(node.operand, depth + 1))
            case ast.BoolOp():
                return self._joined(node, depth)
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                sides = [self._value(side, depth + 1) for side in (node.left, node.right)]
                return self._apply(_ARITHMETIC[type(node.op)], *sides)
            case ast.Compare():
                return self._compared(node, depth)
        raise self.wrong(f"a {_in_words(node)} is not allowed here", f"it may hold {_ALLOWED}")

    def _column(self, name: str) -> Any:
        names = self.table.column_names
        if name not in names:
            raise self.wrong(f"there is no column {shorten(name)!r}", suggest(name, names))
        column = self.table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_integer(column.type) or pa.types.is_decimal(column.type):
            column = column.cast(pa.float64(), safe=False)
        return column

    def _apply(self, function: Callable[..., Any], *sides: Any) -> Any:
        try:
            return function(*sides)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            kinds = " with ".join(str(side.type) for side in sides)
            raise self.wrong(
                f"cannot combine {kinds}", "texts go with texts and numbers with numbers"
            ) from None

    def _joined(self, node: ast.BoolOp, depth: int) -> Any:
        join = pc.and_kleene if isinstance(node.op, ast.And) else pc.or_kleene
        found = self._value(node.values[0], depth + 1)
        for value in node.values[1:]:
            found = self._apply(join, found, self._value(value, depth + 1))
        return found

    def _compared(self, node: ast.Compare, depth: int) -> Any:
        found = None
        left = self._value(node.left, depth + 1)
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                step = self._contained(left, right, depth)
                step = pc.invert(step) if isinstance(op, ast.NotIn) else step
            elif type(op) in _COMPARE:
                value = self._value(right, depth + 1)
                step = self._apply(_COMPARE[type(op)], left, value)
                left = value
            else:
                raise self.wrong("'is' is not allowed", "compare with == or !=")
            found = step if found is None else self._apply(pc.and_kleene, found, step)
        return found

    def _contained(self, left: Any, node: ast.expr, depth: int) -> Any:
        if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
            raise self.wrong("'in' needs a list", "write for example race in ['a', 'b']")
        found = None
        for element in node.elts:
            step = self._apply(pc.equal, left, self._value(element, depth + 1))
            found = step if found is None else pc.or_kleene(found, step)
        return found


def _in_words(node: ast.AST) -> str:
    names = {
        ast.Call: "call",
        ast.Attribute: "dot",
        ast.Subscript: "subscript",
        ast.Lambda: "lambda",
        ast.NamedExpr: "assignment",
    }
    return names.get(type(node), type(node).__name__)
