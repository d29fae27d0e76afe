"""Personal columns: those whose cells say who a person is, so that no example of them is shown.

Judged by name and cells, rather too often than too rarely: a hidden example costs little.
"""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unswayed.audit import suspicion
from unswayed.cells import is_text

_MOST = 0.6  # of the texts looked at: so many of a kind say what the column is
_LOOKED_AT = 200

# What a column is called, word by word or in one.
_CALLED = {
    "e-mail addresses": "email emails mail mails emailaddress",
    "phone numbers": "phone phones telephone tel mobile cellphone fax phonenumber",
    "dates of birth": "dob birth birthday birthdate dateofbirth born geburtsdatum naissance",
    "addresses": "address addresses addr street strasse straße rue residence homeaddress ip",
    "names": "name names firstname lastname surname forename fullname middlename maiden "
    "username login vorname nachname nom prenom prénom apellido apellidos nombre person_name",
    "ids": "id ids uid uuid guid rowid ssn passport iban mrn nhs vin licence license "
    "socialsecurity personnummer",
}
_BY_NAME = {word: kind for kind, words in _CALLED.items() for word in words.split()}
_NOT_OF_BIRTH = frozenset("weight height length order rate rates place country".split())
_BY_CELL = {
    "e-mail addresses": re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+"),
    "phone numbers": re.compile(r"(?:\+|00|\()[\d\s()./-]{6,}|\d{2,4}(?:[ ()./-]+\d{2,5}){2,4}"),
    "addresses": re.compile(
        r"\d+[a-zA-Z]?,? +[^\W\d][\w .'-]+"
        r"|[^\W\d][\w .'-]*(?:str\.|straße|strasse|street|road|avenue|lane|weg),? +\d+.*",
        re.IGNORECASE,
    ),
    "names": re.compile(r"[^\W\d_a-z][\w.'’-]*(?:,? +[^\W\d_a-z][\w.'’-]*){1,3}"),
}
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[ T].*)?")


def not_shown(name: str, values: pa.ChunkedArray, n_distinct: int) -> str | None:
    """Return why no cell of a column is shown; None if examples may be.

    Examples
    --------
    >>> not_shown("applicant name", pa.chunked_array([["x", "y"]]), 2)
    'looks like names'
    >>> not_shown("contact", pa.chunked_array([["ann@example.org", "bo@example.org"]]), 2)
    'looks like e-mail addresses'
    """
    kind = _by_name(name)
    if kind is None and is_text(values.type):
        kind = _by_cells(values, n_distinct)
    if kind is not None:
        return f"looks like {kind}"
    n_there = len(values) - values.null_count
    if is_text(values.type):
        alone = suspicion.texts_are_ids(n_distinct, n_there)
        return "differs in every row" if alone else None
    whole = suspicion.whole_numbers(values)
    if whole is not None and suspicion.looks_like_ids(name, whole, n_distinct):
        return "looks like ids"
    return None


def _by_name(name: str) -> str | None:
    """Return what the name of a column says that its cells are."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = [word.casefold() for word in re.split(r"[\W\d_]+", apart) if word]
    if _NOT_OF_BIRTH.intersection(words):
        words = [word for word in words if word not in ("birth", "born")]
    for word in ("".join(words), *reversed(words)):
        if word in _BY_NAME:
            return _BY_NAME[word]
    return None


def _by_cells(values: pa.ChunkedArray, n_distinct: int) -> str | None:
    """Return what the texts of a column are, if most of them look so."""
    some: list[Any] = pc.unique(values.slice(0, 10 * _LOOKED_AT)).drop_null().to_pylist()
    texts = [text.strip() for text in some[:_LOOKED_AT]]
    if not texts:
        return None
    for kind, pattern in _BY_CELL.items():
        alike = sum(bool(pattern.fullmatch(text)) and not _DATE.fullmatch(text) for text in texts)
        # Two capitalised words may be a place or a job; names of people hardly repeat.
        repeated = kind == "names" and 2 * n_distinct < len(values)
        if alike >= _MOST * len(texts) and not repeated:
            return kind
    return None
