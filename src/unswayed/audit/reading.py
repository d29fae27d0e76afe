"""Reading: how a CSV file writes its cells, where that is not the usual way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from unswayed.exceptions import InputError

# What counts as missing in a CSV file. "None" does not: it is a common category.
_MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


@dataclass(frozen=True, slots=True)
class Reading:
    """How a CSV file is written: by default commas, a header and decimal points.

    Attributes
    ----------
    delimiter : str
        The sign between two cells.
    header : bool
        Whether the first record names the columns; if not, they are column1, column2 and so on.
    decimal : {".", ","}
        The sign before the decimals of a number.
    missing : tuple of str
        Texts that stand for a missing value, beside the usual ones.
    """

    delimiter: str = ","
    header: bool = True
    decimal: Literal[".", ","] = "."
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise InputError(
                f"--delimiter {self.delimiter!r} is not a sign that can stand between cells; pass "
                "one sign such as ';', or tab"
            )
        if self.delimiter == self.decimal:
            raise InputError(
                f"--delimiter and --decimal are both {self.decimal!r}, so nobody could tell where "
                "a cell ends; pass the sign that stands between cells, such as --delimiter ';'"
            )

    @classmethod
    def of(
        cls,
        delimiter: str | None = None,
        *,
        header: bool = True,
        decimal: Literal[".", ","] = ".",
        missing: Sequence[str] = (),
    ) -> "Reading":
        """Make it of the values of options.

        Parameters
        ----------
        delimiter : str, optional
            One sign, or its name, such as "tab". By default a comma, or a semicolon where commas
            are decimal.
        header : bool
        decimal : {".", ","}
        missing : sequence of str

        Returns
        -------
        Reading

        Raises
        ------
        InputError
            If the delimiter is not one sign, or is the decimal sign.
        """
        given = (";" if decimal == "," else ",") if delimiter is None else delimiter
        return cls(_NAMES.get(given, given), header, decimal, tuple(dict.fromkeys(missing)))

    @property
    def is_usual(self) -> bool:
        """Whether files are read as they are without any option."""
        return self == Reading()

    def document(self) -> dict[str, Any]:
        """Return it as a certificate file has it.

        Returns
        -------
        dict
            "missing" has the texts beside the usual ones.
        """
        return {
            "delimiter": self.delimiter,
            "header": self.header,
            "decimal": self.decimal,
            "missing": [text for text in self.missing_cells() if text not in _MISSING],
        }

    def missing_cells(self) -> list[str]:
        """Return the texts of a cell that stand for a missing value.

        Returns
        -------
        list of str
            The usual ones and those that were named, these also with a space on either side, as
            files have it that put one after every comma.
        """
        named = [f"{left}{text}{right}" for text in self.missing for left in ("", " ")
                 for right in ("", " ")]  # fmt: skip
        return list(dict.fromkeys([*_MISSING, *named]))
