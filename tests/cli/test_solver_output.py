"""Standard output is for answers: what a compiled solver prints goes elsewhere."""

import ctypes
import os

import pytest

from unswayed.cli.together import solver_output


@pytest.mark.skipif(os.name != "posix", reason="C's own output is found in another way there")
def test_what_compiled_code_prints_is_no_part_of_the_answer(capfd):
    library = ctypes.CDLL(None)
    print("before")
    with solver_output():
        library.puts(b"a solver's word")
    print("after")
    out, error = capfd.readouterr()
    assert out.split() == ["before", "after"]
    assert error.strip() == "a solver's word"
