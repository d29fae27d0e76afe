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
    # How far a pass has come is said every few seconds; only its end is always said.
    re.compile(r"()^pass \d+ of about \d+: .*, (\d+) of (?!\2 )\d+ files.*\n", re.MULTILINE),
    # Times and sizes that `unswayed certify --plan` expects of this machine.
    re.compile(r"(\babout |  )\d[\d.,]* seconds?\b"),
    re.compile(
        r"(^(?:program|batches|features|model|counts|test rows|different rows|together) +)"
        r"\d[\d.,]* [kMG]?B$",
        re.MULTILINE,
    ),
)

# In JSON: keys whose values are masked, if these are of the type beside them.
KEYS: dict[str, type] = {
    "unswayed": str,  # the version, in a certificate file
    "versions": dict,  # of the program and of the libraries, on a page
    "sha256": dict,  # of features, in a certificate file; those of files are texts, and compared
    "fingerprint": str,  # of a certificate file, which has these hashes
}

# Proven bounds on rounding errors: another processor rounds otherwise, so that they are compared
# by their size only, up to this factor.
ERRORS = {"error": 10.0}


def masked_text(text: str) -> str:
    """Return a text without what varies, and without blanks at the ends of lines."""
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    for pattern in TEXTS:
        text = pattern.sub(lambda found: found[1] + (MASKED if found[1] else ""), text)
    return text


def masked(value: Any) -> Any:
    """Return plain values without what varies."""
    if isinstance(value, dict):
        return {
            key: MASKED if isinstance(each, KEYS.get(key, ())) else masked(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [masked(each) for each in value]
    return masked_text(value) if isinstance(value, str) else value
