"""The language of ``--only`` and ``--only-rows``: comparisons of columns, and no code.

It is parsed as a Python expression, but only the nodes listed here are understood: names of
columns (in backquotes where they hold spaces, or are one of the language's own words), numbers,
texts, True and False, comparisons, ``in`` a list, ``and``, ``or``, ``not``, and + - * /. Missing
values compare as false.

Python's parser never sees the name of a column: it would write some in another way (ﬁ as fi) and
refuse others (class). Every name is replaced by a stand-in first.

Whole numbers stay whole, so that identifiers beyond 2⁵³ are told apart; they are decimals here, of
38 digits, which hold every integer type. Beside a fraction, and divided, they are doubles; a
comparison of the two is exact all the same.
"""

import ast
import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import BoolArray
from unswayed.exceptions import InputError
from unswayed.words import shorten, suggest

_LONGEST = 2000
_DEEPEST = 40
_WHOLE = pa.decimal128(38, 0)
_TOKEN = re.compile(
    r"""
    '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*"  # texts
    | [0-9][\w.]*(?:(?<=[eE])[+-][0-9]+)?    # numbers, exponents included
    | `(?P<quoted>(?:[^`]|``)*)`             # a backquote inside is written twice
    | (?P<name>(?:[A-Za-z_]|[^\x00-\x7f\s])(?:\w|[^\x00-\x7f\s])*)
    """,
    re.VERBOSE,
)
_QUOTED = re.compile(
    r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`]|``)*` | .""", re.VERBOSE | re.DOTALL
)
_WORDS = frozenset({"and", "or", "not", "in", "is", "True", "False"})

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: pc.equal,
    ast.NotEq: pc.not_equal,
    ast.Lt: pc.less,
    ast.LtE: pc.less_equal,
    ast.Gt: pc.greater,
    ast.GtE: pc.greater_equal,
}
_MIRRORED = {
    pc.less: pc.greater,
    pc.less_equal: pc.greater_equal,
    pc.greater: pc.less,
    pc.greater_equal: pc.less_equal,
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


def select(expression: str, table: pa.Table, option: str = "--only") -> BoolArray:
    """Return which rows of a table meet a condition.

    Examples
    --------
    >>> table = pa.table({"sex": ["female", "male", "female"], "age": [25, 25, 40]})
    >>> select("sex == 'female' and age < 30", table).tolist()
    [True, False, False]
    """
    found = _Reader(expression, table, option).read()
    if isinstance(found, pa.Scalar) or not pa.types.is_boolean(found.type):
        raise InputError(
            f"{option} {shorten(expression)!r} is not a condition on rows; compare a column with "
            "something, for example \"sex == 'female'\""
        )
    return np.asarray(pc.fill_null(found, fill_value=False)).astype(bool)


def columns_of(expression: str) -> list[str]:
    """Return the names of the columns that a condition looks at.

    Examples
    --------
    >>> columns_of("sex == 'female' and `job title` != 'x'")
    ['sex', 'job title']
    """
    reader = _Reader(expression, None)
    _TOKEN.sub(reader._stand_in, expression)
    return list(dict.fromkeys(reader.columns.values()))


def split_outside(text: str, sign: str) -> list[str]:
    """Cut a text at a sign, but not within quotes.

    Examples
    --------
    >>> split_outside("city == 'a;b': 5; rest: 1", ";")
    ["city == 'a;b': 5", ' rest: 1']
    """
    parts = [""]
    for match in _QUOTED.finditer(text):
        if match[0] == sign:
            parts.append("")
        else:
            parts[-1] += match[0]
    return parts


class _Reader:
    """Evaluates one expression over one table."""

    def __init__(self, expression: str, table: pa.Table, option: str = "--only") -> None:
        self.expression = expression
        self.option = option
        self.table = table
        self.columns: dict[str, str] = {}  # by their stand-ins

    def wrong(self, what: str, advice: str) -> InputError:
        return InputError(f"{self.option} {shorten(self.expression)!r}: {what}; {advice}")

    def read(self) -> Any:
        if len(self.expression) > _LONGEST:
            raise self.wrong("the expression is too long", f"at most {_LONGEST} characters")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a backslash in a text is no reason to speak up
                tree = ast.parse(_TOKEN.sub(self._stand_in, self.expression).strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self.wrong("cannot be read", f"it may hold {_ALLOWED}") from None
        return self._value(tree.body, 0)

    def _stand_in(self, match: re.Match[str]) -> str:
        quoted, name = match["quoted"], match["name"]
        if quoted is None and (name is None or name in _WORDS):
            return match[0]
        stand_in = f"c{len(self.columns)}"
        self.columns[stand_in] = name if quoted is None else quoted.replace("``", "`")
        return f" {stand_in} "  # a name next to a quote is not the prefix of a text

    def _value(self, node: ast.expr, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self.wrong("is nested too deeply", "write it with fewer brackets")
        match node:
            case ast.Name():
                return self._column(self.columns[node.id])
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return self._whole(value) if type(value) is int else pa.scalar(value)
            case ast.UnaryOp() if type(node.op) in _UNARY:
                return self._apply(_UNARY[type(node.op)], self._value(node.operand, depth + 1))
            case ast.BoolOp():
                return self._joined(node, depth)
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                sides = [self._value(side, depth + 1) for side in (node.left, node.right)]
                return self._computed(_ARITHMETIC[type(node.op)], *sides)
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
        kind = column.type
        if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale <= 0):
            try:
                return column.cast(_WHOLE)
            except pa.ArrowInvalid:
                raise self.wrong(
                    f"column {shorten(name)!r} holds whole numbers of more than 38 digits",
                    "make them texts",
                ) from None
        if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
            column = column.cast(pa.float64(), safe=False)
        return column

    def _whole(self, value: int) -> Any:
        if abs(value) >= 10**_WHOLE.precision:
            raise self.wrong("a whole number is too long", "write it as 1e40, or compare texts")
        return pa.scalar(Decimal(value), _WHOLE)

    def _computed(self, function: Callable[..., Any], left: Any, right: Any) -> Any:
        """Add, subtract, multiply, divide: in whole numbers where all of them are."""
        if not (_is_whole(left) and _is_whole(right)) or function is pc.divide:
            return self._apply(function, *map(_as_double, (left, right)))
        digits = [_digits(side) for side in (left, right)]
        if (sum(digits) if function is pc.multiply else max(digits)) >= _WHOLE.precision:
            raise self.wrong("whole numbers become too long", "multiply by 1.0 to round them")
        # Arrow sees by the digits of its types whether a result has room.
        sides = [
            side.cast(pa.decimal128(each, 0))
            for side, each in zip((left, right), digits, strict=True)
        ]
        return self._apply(function, *sides).cast(_WHOLE)

    def _ordered(self, compare: Callable[..., Any], left: Any, right: Any) -> Any:
        """Compare two values; whole numbers and doubles exactly."""
        if _is_whole(left) == _is_whole(right) or not (_is_number(left) and _is_number(right)):
            return self._apply(compare, left, right)
        if _is_whole(right):
            return self._ordered(_MIRRORED.get(compare, compare), right, left)
        if not isinstance(left, pa.Scalar):
            return _compared_exactly(compare, left, right)
        if int(_as_double(left).as_py()) != left.as_py():
            raise self.wrong(
                f"the column that is compared with {left.as_py()} holds floating-point numbers, "
                "and none of them is that number",
                "pass it as whole numbers (a Parquet file can), or compare with a range",
            )
        return compare(_as_double(left), right)

    def _apply(self, function: Callable[..., Any], *sides: Any) -> Any:
        try:
            return function(*sides)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            kinds = " with ".join(map(_kind, sides))
            raise self.wrong(
                f"cannot combine {kinds}", "texts go with texts and numbers with numbers"
            ) from None

    def _joined(self, node: ast.BoolOp, depth: int) -> Any:
        join = pc.and_kleene if isinstance(node.op, ast.And) else pc.or_kleene
        values = (self._value(value, depth + 1) for value in node.values)
        return reduce(partial(self._apply, join), values)

    def _compared(self, node: ast.Compare, depth: int) -> Any:
        left, steps = self._value(node.left, depth + 1), []
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                step = self._contained(left, right, depth)
                step = pc.invert(step) if isinstance(op, ast.NotIn) else step
            elif type(op) in _COMPARE:
                value = self._value(right, depth + 1)
                step = self._ordered(_COMPARE[type(op)], left, value)
                left = value
            else:
                raise self.wrong("'is' is not allowed", "compare with == or !=")
            steps.append(step)
        return reduce(partial(self._apply, pc.and_kleene), steps)

    def _contained(self, left: Any, node: ast.expr, depth: int) -> Any:
        if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
            raise self.wrong("'in' needs a list", "write for example race in ['a', 'b']")
        values = (self._value(element, depth + 1) for element in node.elts)
        return reduce(pc.or_kleene, (self._ordered(pc.equal, left, value) for value in values))


def _in_words(node: ast.AST) -> str:
    names = {
        ast.Call: "call",
        ast.Attribute: "dot",
        ast.Subscript: "subscript",
        ast.Lambda: "lambda",
        ast.NamedExpr: "assignment",
    }
    return names.get(type(node), type(node).__name__)


# --- numbers --------------------------------------------------------------------------------


def _is_whole(value: Any) -> bool:
    return bool(pa.types.is_decimal(value.type))


def _is_number(value: Any) -> bool:
    return _is_whole(value) or bool(pa.types.is_floating(value.type))


def _as_double(value: Any) -> Any:
    return value.cast(pa.float64()) if _is_whole(value) else value


def _kind(value: Any) -> str:
    return "whole numbers" if _is_whole(value) else str(value.type)


def _digits(whole: Any) -> int:
    """Return the number of digits of the longest of some whole numbers."""
    some = [whole] if isinstance(whole, pa.Scalar) else pc.min_max(whole).values()
    return max(len(str(abs(int(each.as_py() or 0)))) for each in some)


def _compared_exactly(compare: Callable[..., Any], whole: Any, double: Any) -> Any:
    """Compare a column of whole numbers with doubles.

    Rounding keeps the order: where a whole number, rounded, is not the double, it is on the same
    side of it as its rounded copy. Where it is, what rounding took away decides.
    """
    rounded, rest = _rounded(whole)
    tie = pc.equal(rounded, double)

    def beside(side: Callable[..., Any]) -> Any:
        return pc.or_kleene(side(rounded, double), pc.and_kleene(tie, side(rest, 0)))

    equal = pc.and_kleene(tie, pc.equal(rest, 0))
    if compare in (pc.equal, pc.not_equal):
        return equal if compare is pc.equal else pc.invert(equal)
    found = beside(pc.less if compare in (pc.less, pc.less_equal) else pc.greater)
    return pc.or_kleene(found, equal) if compare in (pc.less_equal, pc.greater_equal) else found


def _rounded(whole: Any) -> tuple[Any, Any]:
    """Round whole numbers to the nearest doubles; also the sign of what that takes away."""
    near = _as_double(whole)
    rounded = np.asarray(pc.fill_null(near, fill_value=0.0)).copy()
    sign = np.zeros(len(rounded), dtype=np.int8)
    for at in np.flatnonzero(np.abs(rounded) >= 2.0**53):  # smaller ones are doubles themselves
        number = int(whole[int(at)].as_py())
        rounded[at] = float(number)
        rest = number - int(rounded[at])
        sign[at] = (rest > 0) - (rest < 0)
    return pa.array(rounded, mask=np.asarray(pc.is_null(near))), pa.array(sign)
