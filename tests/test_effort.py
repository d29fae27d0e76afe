"""What waits for CI=1 is what THOROUGH.md lists, and the list is true."""

import re

from tests.effort import TESTS, covering, values_of, waiting

SOURCES = {
    path.relative_to(TESTS).as_posix(): path.read_text(encoding="utf-8")
    for path in TESTS.rglob("*.py")
    if path.name not in ("effort.py", "conftest.py", "test_effort.py")
}
LISTED = waiting()


def test_every_listed_test_is_there_and_listed_once_with_a_reason():
    assert len(LISTED) >= 10
    assert len({(each.file, each.function) for each in LISTED}) == len(LISTED)
    for each in LISTED:
        assert each.why
        names = [each.function] if each.function else [*each.always]
        for name in names:
            wanted = rf"^def {name.partition('[')[0]}\("
            assert re.search(wanted, SOURCES[each.file], re.M), name


def test_the_cases_that_are_always_run_are_there(request):
    """Of all tests that this run has collected."""
    there = {}
    for item in request.session.items:
        if hasattr(item, "callspec") and item.path.is_relative_to(TESTS):
            file = item.path.relative_to(TESTS).as_posix()
            there.setdefault((file, item.originalname), set()).add(item.callspec.id)
    for each in LISTED:
        if each.function:
            cases = there.get((each.file, each.function))
            assert cases is None or cases >= set(each.always), (each, sorted(cases))


def test_nothing_waits_that_is_not_listed():
    assert [name for name, text in SOURCES.items() if "mark.thorough" in text] == []
    assert [name for name, text in SOURCES.items() if re.search(r"""["']CI["']""", text)] == []


def test_every_file_that_tries_fewer_cases_is_listed():
    text = (TESTS / "THOROUGH.md").read_text(encoding="utf-8").partition("\n## Fewer cases")[2]
    fewer = {name for name, text in SOURCES.items() if re.search(r"\bsome\(\d", text)
             and "tests.effort" in text}  # fmt: skip
    assert fewer == set(re.findall(r"^\| `(.*?\.py)`", text, re.M))


def test_a_file_that_waits_as_a_whole_names_one_that_does_not():
    for each in LISTED:
        if not each.function and not each.always:
            assert re.search(r"`[\w/]+\.py`", each.why), each


def test_tests_that_are_thinned_have_cases_to_leave_out(request):
    there = {}
    for item in request.session.items:
        if hasattr(item, "callspec") and item.path.is_relative_to(TESTS):
            file = item.path.relative_to(TESTS).as_posix()
            there.setdefault((file, item.originalname), []).append(item)
    for each in LISTED:
        if not (each.values or each.every):
            continue
        assert each.function
        assert not each.always
        cases = there.get((each.file, each.function), [])
        if len(cases) > 1:
            kept = [case for case in cases if not case.get_closest_marker("thorough")]
            assert 0 < len(kept) < len(cases), each
            if each.values:
                of_all, of_kept = (
                    {pair for case in some for pair in values_of(case).items()}
                    for some in (cases, kept)
                )
                assert of_kept == of_all, each


def test_few_cases_have_every_value():
    cases = [{"a": a, "b": b, "c": c} for a in range(3) for b in range(2) for c in range(4)]
    few = covering(cases)
    assert 0 in few
    assert len(few) <= 5
    for name, n_values in (("a", 3), ("b", 2), ("c", 4)):
        assert {cases[at][name] for at in few} == {*range(n_values)}
    assert covering([{"a": 0}]) == {0}
