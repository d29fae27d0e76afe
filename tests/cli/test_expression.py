"""The language of --only: what it says, and that it can run nothing."""

import pyarrow as pa
import pytest

from unswayed.audit.expression import select
from unswayed.exceptions import InputError

TABLE = pa.table(
    {
        "sex": ["female", "male", None, "female"],
        "age": [25, 31, 47, None],
        "hourly pay": [10.0, 12.5, 20.0, 8.0],
        "hired": [True, False, True, False],
        "kind": pa.array(["a", "b", "a", "c"]).dictionary_encode(),
    }
)


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        ("sex == 'female'", [0, 3]),
        ("sex == 'female' and age < 30", [0]),
        ("not sex == 'male'", [0, 3]),
        ("20 < age <= 31", [0, 1]),
        ("`hourly pay` * 2 >= 25 or age == 25", [0, 1, 2]),
        ("age - 5 == 20", [0]),
        ("kind in ['a', 'c']", [0, 2, 3]),
        ("kind not in ('a', 'c')", [1]),
        ("hired", [0, 2]),
        ("hired == False and `hourly pay` > -1", [1, 3]),
        ('sex == "fe`male`" or age / 2 > 20', [2]),
    ],
)
def test_an_expression_selects_the_rows_it_describes(expression, rows):
    assert select(expression, TABLE).nonzero()[0].tolist() == rows


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')",
        "sex.__class__",
        "sex[0] == 'f'",
        "(lambda: 1)()",
        "(x := 1) == 1",
        "[x for x in sex]",
        "f'{sex}' == 'a'",
        "sex if hired else sex",
        "age ** 99 > 1",
        "age is None",
        "{'a': 1}",
        "sex in age",
        "sex < 3",
        "sex + 1 == 2",
        "age",
        "1 == 1",
        "nothing == 1",
        "`no such` == 1",
        "sex ==",
        "import os",
        "",
        "(" * 300 + "hired" + ")" * 300,
        "not " * 300 + "hired",
        "hired and " * 400 + "hired",
        "age == 1j",
        "age == ...",
        "age @ age",
        "exec == 1",
    ],
)
def test_anything_else_is_refused(expression):
    with pytest.raises(InputError, match="--only"):
        select(expression, TABLE)
