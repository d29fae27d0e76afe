"""Numbers as people write them: the checker reads what the engine reads."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unswayed.numerals import are_numbers, as_numbers
from unswayed.verify.cells import value_of
from unswayed.verify.limits import CertificateError
from unswayed.verify.writing import Writing

DECIMALS = st.sampled_from([".", ","])


def written(value, decimal):
    text = f"{value:,.2f}"
    return text if decimal == "." else text.translate(str.maketrans(",.", ".,"))


@given(st.floats(-1e12, 1e12), DECIMALS)
def test_thousands_and_decimals_come_back_as_the_number_that_was_written(value, decimal):
    text = written(value, decimal)
    column = pa.chunked_array([[text, None]])
    assert are_numbers(column, decimal).tolist() == [True, False]
    assert as_numbers(column, decimal).to_pylist() == [float(f"{value:.2f}"), None]
    assert value_of(text, float, Writing(delimiter=";", decimal=decimal)) == float(f"{value:.2f}")


@given(st.text("0159.,+-eE ", min_size=1, max_size=12), DECIMALS)
def test_the_checker_reads_the_numbers_that_the_engine_reads(text, decimal):
    column, writing = pa.chunked_array([[text]]), Writing(delimiter=";", decimal=decimal)
    if are_numbers(column, decimal)[0]:
        assert value_of(text, float, writing) == as_numbers(column, decimal)[0].as_py()


@pytest.mark.parametrize("text", ["1,16", "1.169,00", "12,3456", "1,,000", ",123", "1,000,00"])
def test_commas_that_separate_no_thousands_make_no_number(text):
    assert not are_numbers(pa.array([text]))[0]
    with pytest.raises(CertificateError, match="is not a number"):
        value_of(text, float, Writing())
