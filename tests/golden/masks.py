"""What legitimately varies between machines, versions and days, and is therefore not compared.

This is the only such list. The date of pages is fixed by SOURCE_DATE_EPOCH, the width of the
terminal by COLUMNS and the number of threads by OMP_NUM_THREADS, see `record.ENVIRONMENT`.
"""

import re
from typing import Any

MASKED = "(varies)"

# In texts: what the first group matches stays, the rest of the match is masked.
TEXTS = (
    # The versions of the program and of the libraries.
    re.compile(r"(\bunswayed )\d+\.\d+\.\d+\w*(?:, kernel \w+, Python .*)?"),
    # Hashes of features and all else that is made of floats, as `unswayed verify` prints them.
    re.compile(r"(^sha256: ).*", re.MULTILINE),
    re.compile(r"(^fingerprint of all this: )[0-9a-f]+", re.MULTILINE),
    # How many predicted numbers some labels were found to move: a search whose way, and so what it
    # finds in little time, hangs on the last digits. What is proven of them is compared.
    re.compile(r"(, and\s+some\s+moves?)\s+(?:as\s+many|[\d.,]+\s+%\s+\([\d,]+\))"),
    re.compile(r"(together: )(?:[\d,]+ to )?(?=[\d,]+ moves? too far)"),
    # Times and sizes that `unswayed certify --plan` expects of this machine.
    re.compile(r"(\babout |  )\d[\d.,]* seconds?\b"),
    re.compile(
        r"(^(?:program|batches|features|model|counts|test rows|different rows|together) +)"
        r"\d[\d.,]* [kMG]?B$",
        re.MULTILINE,
    ),
)

# Lines of stderr that are compared. Others say how far long work has come, every few seconds: only
# the end of a pass is always said.
SAID = re.compile(r"(?:note|warning|unswayed): |pass \d+ of .*, (\d+) of \1 files?\b")

# In JSON: keys whose values are masked, if these are of the type beside them.
KEYS: dict[str, type] = {
    "unswayed": str,  # the version, in a certificate file
    "versions": dict,  # of the program and of the libraries, on a page
    "sha256": dict,  # of features, in a certificate file; those of files are texts, and compared
    "fingerprint": str,  # of a certificate file, which has these hashes
    "solution": list,  # of a claim, in fractions: all digits of the features are in it
}

# What a certificate file says of its proof: the hash varies, because the proof holds floats.
PROOF = {"file", "sha256", "arrays"}

# Beside sentences about numbers that move: see above.
FOUND = ("at_least", "at_least_share")

# Proven bounds on rounding errors: another processor rounds otherwise, so that they are compared
# by their size only, up to this factor.
ERRORS = {"error": 10.0}


def masked_text(text: str) -> str:
    """Return a text without what varies, and without blanks at the ends of lines."""
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    for pattern in TEXTS:
        text = pattern.sub(lambda found: found[1] + MASKED, text)
    return text


def said(stderr: str) -> str:
    """Return what is always said on stderr, however long the work takes."""
    return "".join(line for line in stderr.splitlines(keepends=True) if SAID.match(line))


def masked(value: Any) -> Any:
    """Return plain values without what varies."""
    if isinstance(value, dict):
        if " move" in str(value.get("sentences", "")):
            value = _without_found(value)
        if set(value) == PROOF:
            value = value | {"sha256": MASKED}
        return {
            key: MASKED if isinstance(each, KEYS.get(key, ())) else masked(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [masked(each) for each in value]
    return masked_text(value) if isinstance(value, str) else value


def _without_found(value: dict[str, Any]) -> dict[str, Any]:
    made = {key: MASKED if key in FOUND else each for key, each in value.items()}
    return made | ({"together": _without_found(made["together"])} if "together" in made else {})
