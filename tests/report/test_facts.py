"""docs/facts describes every key of every answer, and no other.

Answers are those of tests/golden, which are compared with what users see, and of some commands.
"""

import json
import re
from pathlib import Path

import pytest

from tests.commands import people, unswayed_here

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "golden" / "files"
ANSWERS = {
    "certify": [*FILES.glob("certify_*/answer.json"), *FILES.glob("certify_*/n*[ur].json")],
    "witness": [*FILES.glob("witness/*.json")],
    "coefficients": [*FILES.glob("coefficients_of_*/[al]*.json")],
    "together": [FILES / "together_command" / "answer.json"],
    "fairness": [FILES / "fairness" / "answer.json"],
    "review plan": [FILES / "review_command" / "plan.json"],
    "review apply": [FILES / "review_command" / "applied.json"],
    "audit": [FILES / "audit_command" / "answer.json"],
    "audit draw": [FILES / "audit_command" / "drawn.json"],
    "audit, asked, rows, sources": [FILES / "audit_command" / "page-facts.json"],
    "compare": [FILES / "compare" / "answer.json"],
    "tradeoff": [FILES / "tradeoff" / "answer.json"],
    "page": [*FILES.glob("certify_*/*-facts.json"), *FILES.glob("library_pages*/*-facts.json")],
    "together, sources": [FILES / "together_command" / "page-facts.json"],
    "fairness, sources": [FILES / "fairness" / "page-facts.json"],
    "review plan, sources": [FILES / "review_command" / "page-facts.json"],
    "compare, sources": [FILES / "compare" / "page-facts.json"],
}
PARTLY = re.compile(r"(Only then|Only if|Only with|Not always|On a page only|As in certify|only)\b")
MASKED = "(varies)"  # in golden files
INFINITE = ("inf", "-inf", "nan", "Infinity", "-Infinity", "NaN")  # as golden files write them
PLAIN = {
    "text": lambda value: isinstance(value, str),
    "count": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool)
    ) or value in INFINITE,
    "share": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "yes/no": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}  # fmt: skip


class Page:
    """The sections of docs/facts: keys with their values, and keys of other sections."""

    def __init__(self, text):
        self.keys, self.others, self.seen = {}, {}, set()
        for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
            name, _, body = section.partition("\n")
            rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \|$", body, re.MULTILINE)
            self.keys[name] = {key: (kind, meaning) for key, kind, meaning in rows}
            also = re.search(r"With the keys of ([a-z ,]+?)(?:\.|, apart)", body)
            self.others[name] = also[1].split(", ") if also else []

    def of(self, names):
        """Return all keys of some sections, each with the section that it stands in."""
        found = {}
        for name in names:
            found |= self.of(self.others[name])
            found |= {key: (name, *row) for key, row in self.keys[name].items()}
        return found

    def check(self, value, names, place):
        """Yield what is wrong with a dict whose keys are those of sections."""
        known = self.of(names)
        for key in value:
            if key not in known:
                yield f"{place}.{key}: not in docs/facts ({', '.join(names)})"
                continue
            section, kind, _ = known[key]
            self.seen.add((section, key))
            if not self.suits(value[key], kind, f"{place}.{key}", found := []):
                yield f"{place}.{key}: {str(value[key])[:60]!r} is not {kind}"
            yield from found
        for key, (_, _, meaning) in known.items():
            if key not in value and not PARTLY.search(meaning):
                yield f"{place}: no {key} ({', '.join(names)})"

    def suits(self, value, kind, place, found):
        """Return whether a value is of a kind; what is wrong inside it goes to `found`."""
        if value == MASKED:
            return True
        if kind.startswith(("list of ", "map of ")):
            many, _, inner = kind.partition(" of ")
            last = inner.rpartition(" or null")[0]
            if value is None:
                return bool(last)
            if not isinstance(value, list if many == "list" else dict):
                return False
            values = value if many == "list" else value.values()
            return all(self.suits(each, inner, f"{place}[]", found) for each in values)
        for each in kind.split(" or "):
            if each in PLAIN:
                if PLAIN[each](value):
                    return True
            elif isinstance(value, dict):
                wrong = [*self.check(value, [each], place)]
                if not wrong:
                    return True
                if each == kind.split(" or ")[-1] or " or null" in kind:
                    found += wrong
                    return True
        return False


@pytest.fixture(scope="module")
def page():
    pages = sorted((ROOT / "docs" / "facts").glob("*.md"))
    return Page("\n".join(path.read_text(encoding="utf-8") for path in pages))


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_key_of_an_answer_is_documented(page, kind):
    assert ANSWERS[kind]
    for path in ANSWERS[kind]:
        value = json.loads(path.read_text(encoding="utf-8"))
        wrong = [*page.check(value, kind.split(", "), path.parent.name)]
        assert not wrong, "\n".join(wrong[:20])


# Answers that golden files do not have: the options of small commands.
OTHERS = {
    "certify": ["certify --noise 5% --holdout 12 --alpha 1"],
    "review plan": ["review plan --labels 2 --holdout 12 --error-rate 5% --alpha 1"],
    "witness": [
        "witness --in-pieces --alpha 1 --row 43",
        "witness --model logistic --C 0.01 --row 43",
    ],
}


def test_every_documented_key_is_in_some_answer(page, tmp_path):
    people(60).to_csv(tmp_path / "people.csv", index=False)
    answers = [
        (kind, json.loads(path.read_text(encoding="utf-8")))
        for kind, paths in ANSWERS.items()
        for path in paths
    ]
    for kind, commands in OTHERS.items():
        for line in commands:
            name, _, options = line.partition(" --")
            files = ["people.csv", "--label", "hired", "--ignore", "salary", "--budget", "2"]
            done = unswayed_here(
                *name.split(), *files, *f"--{options} --json".split(), cwd=tmp_path
            )
            assert done.returncode == 0, done.stderr
            answers.append((kind, json.loads(done.stdout)))
    for kind, value in answers:
        wrong = [*page.check(value, kind.split(", "), kind)]
        assert not wrong, "\n".join(wrong[:20])
    documented = {(name, key) for name, keys in page.keys.items() for key in keys}
    assert not documented - page.seen
    assert {each for names in page.others.values() for each in names} <= set(page.keys)
