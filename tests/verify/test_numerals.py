"""Numbers as people write them: the checker reads what the engine reads."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unswayed.tables.columns import are_numbers, surely_numbers, texts_as_numbers
from unswayed.verify.document import CertificateError
from unswayed.verify.tables import Writing, value_of

DECIMALS = st.sampled_from([".", ","])


def written(value, decimal):
    text = f"{value:,.2f}"
    return text if decimal == "." else text.translate(str.maketrans(",.", ".,"))


@given(st.floats(-1e12, 1e12), DECIMALS)
def test_thousands_and_decimals_come_back_as_the_number_that_was_written(value, decimal):
    text = written(value, decimal)
    column = pa.chunked_array([[text, None]])
    assert are_numbers(column, decimal).tolist() == [True, False]
    assert texts_as_numbers(column, decimal).to_pylist() == [float(f"{value:.2f}"), None]
    assert value_of(text, float, Writing(delimiter=";", decimal=decimal)) == float(f"{value:.2f}")


@given(st.text("0159.,+-eE ", min_size=1, max_size=12), DECIMALS)
def test_the_checker_reads_the_numbers_that_the_engine_reads(text, decimal):
    column, writing = pa.chunked_array([[text]]), Writing(delimiter=";", decimal=decimal)
    if are_numbers(column, decimal)[0]:
        assert value_of(text, float, writing) == texts_as_numbers(column, decimal)[0].as_py()


@pytest.mark.parametrize("text", ["1,16", "1.169,00", "12,3456", "1,,000", ",123", "1,000,00"])
def test_commas_that_separate_no_thousands_make_no_number(text):
    assert not are_numbers(pa.array([text]))[0]
    with pytest.raises(CertificateError, match="is not a number"):
        value_of(text, float, Writing())


SIGNS = st.sampled_from(["", "", "-", "+", "(", " "])
MARKS = st.sampled_from(["", "", "$", "€ ", "£"])
NUMBERS = st.one_of(
    st.text("0123456789.,", min_size=1, max_size=9),
    st.integers(0, 10**7).map("{:,}".format),
    st.integers(0, 10**7).map(lambda number: f"{number:,}.5".translate(str.maketrans(",.", ".,"))),
)
ENDS = st.sampled_from(["", "", "%", " %", " €", ")", "e3", " "])


@given(st.tuples(SIGNS, MARKS, SIGNS, NUMBERS, ENDS, ENDS).map("".join), st.sampled_from(".,"))
def test_the_checker_reads_numbers_as_in_accounts_as_certify_does(text, decimal):
    texts = pa.chunked_array([[text]])
    try:
        checked = value_of(text, float, Writing(decimal=decimal, delimiter=";"))
    except CertificateError:
        checked = None
    read = texts_as_numbers(texts, decimal)[0].as_py() if are_numbers(texts, decimal)[0] else None
    assert checked == read


@pytest.mark.parametrize(
    ("cells", "sure"),
    [
        (["$1,200", "$1,300"], True),
        (["950", "1,200"], True),
        (["1,234,567", "12"], True),
        (["13.4%", "8%"], True),
        (["(1,200)", "30", None], True),
        (["€1,200", "€1,300"], False),
        (["€1.200", "€950"], False),
        (["1,234", "2,345"], False),
        (["950", "1,234"], False),
        (["0,123", "1,200", "7"], False),
        (["13.4%", "0.08"], False),
        (["$5", "€5"], False),
        (["(1)", "(2)"], False),
        (["(1)", "-2"], False),
        (["12", "13"], False),
        (["$5", "unknown"], False),
    ],
)
def test_texts_are_numbers_only_where_they_can_be_nothing_else(cells, sure):
    assert surely_numbers(pa.chunked_array([cells]), ".") is sure
