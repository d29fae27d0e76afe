"""How a CSV file is written, where that is not the usual way."""

from collections.abc import Iterator
from dataclasses import dataclass
from re import fullmatch
from typing import Any

from unswayed.verify.limits import CertificateError
from unswayed.verify.words import quoted

# A number as in accounts, $1,200 or 13.4% or (1,200), where brackets stand for a minus.
_DRESSED = r"(\(?)\s*([+-]?)\s*([$€£¥]?)\s*([+-]?)([\d.,]+(?:[eE][+-]?\d+)?)\s*([$€£¥%]?)\s*(\)?)"
# What counts as missing in a CSV file. "None" does not: it is a common category.
_MISSING = frozenset(("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"))


@dataclass(frozen=True, slots=True)
class Writing:
    """How cells, numbers and missing values are written in a CSV file."""

    delimiter: str = ","  # The sign between two cells
    # Whether the first row names the columns; if not, they are column1, column2 and so on
    header: bool = True
    # The sign before decimals, a point or a comma; the other one may separate thousands
    decimal: str = "."
    missing: tuple[str, ...] = ()  # Cells that stand for no value, beside the usual ones

    @classmethod
    def of(cls, recipe: Any) -> "Writing":
        """Return how the files of a recipe are written."""
        written = recipe.get("written", {})
        found = cls(**(written | {"missing": tuple(written.get("missing", ()))}))
        if found.delimiter in ("", found.decimal, '"', "\r", "\n"):
            raise CertificateError(
                f"in its recipe, {quoted(found.delimiter)} cannot stand between cells"
            )
        return found

    @property
    def is_usual(self) -> bool:
        """Whether it is as files are written if nothing is said."""
        return self == Writing()

    def is_missing(self, cell: str) -> bool:
        """Return whether a cell stands for no value."""
        return cell in _MISSING or cell in self.missing

    def numeral(self, text: str) -> str:
        """Return a number with a decimal point, without a currency, a percent sign or brackets."""
        dressed = fullmatch(_DRESSED, text)
        if dressed is not None:
            bracket, sign, front, minus, number, back, end = dressed.groups()
            if len(bracket + sign + minus) > 1 or len(front + back) > 1 or len(bracket) != len(end):
                return "no number"
            text = ("-" if bracket else sign + minus) + number
        other = "." if self.decimal == "," else ","
        if other in text:
            grouped = rf"[+-]?[1-9]\d{{0,2}}([{other}]\d{{3}})+([{self.decimal}]\d*)?"
            if not fullmatch(grouped, text):
                return "no number"
            text = text.replace(other, "")
        return text.replace(self.decimal, ".")

    def in_words(self) -> Iterator[str]:
        """Yield a line that says how files are written, if it is not the usual way."""
        if self.is_usual:
            return
        parts = [f"cells separated by {quoted(self.delimiter)}", f"decimals after {self.decimal!r}"]
        if not self.header:
            parts.append("no header, so that columns are column1, column2 and so on")
        if self.missing:
            parts.append(f"no value where a cell is {' or '.join(map(quoted, self.missing))}")
        yield f"files are written with: {'; '.join(parts)}"
