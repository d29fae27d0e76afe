"""Draws the files of this folder, from seeds: python tests/files/make.py."""

import csv
import io
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROWS = 150


def german(value: float) -> str:
    return f"{value:.2f}".replace(".", ",")


def bank(rng: np.random.Generator) -> list[list[str]]:
    """Calls of a bank: semicolons, decimal commas, all texts in quotes."""
    job = rng.choice(["admin.", "blue-collar", "management", "unknown"], ROWS)
    balance = rng.normal(1300, 900, ROWS).round(2)
    age, rate = rng.integers(18, 80, ROWS), rng.choice([1.1, 1.299, 4.857, 4.964], ROWS)
    yes = balance / 900 - rate + rng.normal(0, 1, ROWS) > -1
    head = ["age", "job", "balance", "euribor3m", "y"]
    rows = zip(age, job, map(german, balance), [f"{each:.3f}".replace(".", ",") for each in rate],
               np.where(yes, "yes", "no"), strict=True)  # fmt: skip
    return [head, *map(list, rows)]


def scores(rng: np.random.Generator) -> list[list[str]]:
    """Risk scores: decile_score and priors_count are there twice, as the joined tables had them."""
    age, priors = rng.integers(18, 70, ROWS), rng.poisson(2, ROWS)
    decile = np.clip(priors + rng.integers(1, 6, ROWS), 1, 10)
    again = (decile + rng.normal(0, 3, ROWS) > 6).astype(int)
    sex = rng.choice(["Male", "Female"], ROWS, p=[0.8, 0.2])
    head = ["sex", "age", "decile_score", "priors_count", "decile_score", "priors_count",
            "two_year_recid"]  # fmt: skip
    return [head, *map(list, zip(sex, age, decile, priors, decile, priors, again, strict=True))]


def mortgages(rng: np.random.Generator) -> list[list[str]]:
    """Applications for mortgages: bars between cells, NA and Exempt among numbers."""
    income = rng.integers(20, 300, ROWS).astype(str)
    ratio = rng.normal(80, 12, ROWS).round(2).astype(str)
    denied = (ratio.astype(float) + rng.normal(0, 8, ROWS) > 85).astype(int)
    income[rng.choice(ROWS, 4, replace=False)] = "NA"
    ratio[rng.choice(ROWS, 6, replace=False)] = "Exempt"
    purpose = rng.choice(["purchase", "refinance"], ROWS)
    head = ["loan_purpose", "income", "loan_to_value_ratio", "denied"]
    return [head, *map(list, zip(purpose, income, ratio, denied, strict=True))]


def census(rng: np.random.Generator) -> list[list[str]]:
    """People of a census: no header, a space after every comma, ? for what is not known."""
    age, hours = rng.integers(17, 80, ROWS), rng.integers(10, 70, ROWS)
    work = rng.choice([" Private", " State-gov", " ?"], ROWS, p=[0.7, 0.2, 0.1])
    school = rng.choice([" Bachelors", " HS-grad", " 11th"], ROWS)
    rich = (age + hours + 15 * (school == " Bachelors") + rng.normal(0, 15, ROWS)) > 95
    rows = zip(age, work, school, [f" {each}" for each in hours],
               np.where(rich, " >50K", " <=50K"), strict=True)  # fmt: skip
    return [list(row) for row in rows]


def loans(rng: np.random.Generator) -> list[list[str]]:
    """Loans between people: $1,200 and 13.4%, (300) for a loss."""
    amount, rate = rng.integers(5, 350, ROWS) * 100, rng.uniform(5, 25, ROWS).round(1)
    gain = rng.integers(-900, 2500, ROWS)
    grade = np.where(rate < 10, "A", np.where(rate < 17, "B", "C"))
    bad = rate + amount / 5000 + rng.normal(0, 5, ROWS) > 18
    rows = zip([f"${each:,}" for each in amount], [f"{each}%" for each in rate],
               [f"({-each:,})" if each < 0 else f"{each:,}" for each in gain], grade,
               np.where(bad, "charged off", "paid"), strict=True)  # fmt: skip
    return [["loan_amnt", "int_rate", "net_gain", "grade", "status"], *map(list, rows)]


def fees(rng: np.random.Generator) -> list[list[str]]:
    """Fees in euros and dollars, and shares with and without a percent sign: units are mixed."""
    fee, share = rng.integers(10, 40, ROWS), rng.integers(1, 30, ROWS)
    sign = rng.choice(["$", "€"], ROWS)
    late = fee + rng.normal(0, 8, ROWS) > 25
    rows = zip([f"{a}{b}" for a, b in zip(sign, fee, strict=True)],
               [f"{each}%" if at % 3 else f"0.{each:02}" for at, each in enumerate(share)],
               rng.integers(1, 90, ROWS), np.where(late, "yes", "no"), strict=True)  # fmt: skip
    return [["fee", "share", "days", "late"], *map(list, rows)]


def students(rng: np.random.Generator) -> list[list[str]]:
    """Applicants to a school, with names of places that are not ASCII."""
    town = rng.choice(["Málaga", "Zürich", "Århus"], ROWS)
    points = rng.normal(60, 12, ROWS).round(1)
    passed = points + 5 * (town == "Zürich") + rng.normal(0, 8, ROWS) > 60
    age = rng.integers(17, 25, ROWS)
    rows = zip(town, points, age, np.where(passed, "yes", "no"), strict=True)
    return [["town", "points", "age", "admitted"], *map(list, rows)]


def written(rows: list[list[str]], **way: str | int) -> str:
    text = io.StringIO()
    csv.writer(text, **{"lineterminator": "\n", **way}).writerows(rows)  # type: ignore[arg-type]
    return text.getvalue()


def main() -> None:
    """Write all files."""

    def rng() -> np.random.Generator:
        return np.random.default_rng(2026)

    quoted = written(bank(rng()), delimiter=";", quotechar='"', quoting=csv.QUOTE_MINIMAL)
    people = students(rng())
    made = {
        "bank_semicolons.csv": quoted.encode(),
        "scores_duplicate_columns.csv": written(scores(rng())).encode(),
        "mortgages_bars_exempt.txt": written(mortgages(rng()), delimiter="|").encode(),
        "census_no_header.data": written(census(rng())).encode(),
        "loans_dollars_percent.csv": written(loans(rng())).encode(),
        "fees_mixed_units.csv": written(fees(rng())).encode(),
        "students_tabs.tsv": written(people, delimiter="\t").encode(),
        "students_latin1.csv": written(people).encode("latin-1"),
        "students_mark_crlf.csv": written(people, lineterminator="\r\n").encode("utf-8-sig"),
    }
    for name, content in made.items():
        (HERE / name).write_bytes(content)


if __name__ == "__main__":
    main()
