"""Draw the files about columns and labels: seeded, synthetic, after public descriptions alone.

python tests/files/make_columns.py writes them beside this file.
"""

from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
FIRST = "Ada Bo Cyn Dai Eva Finn Gus Hana Ivo Jo Kai Lea Mia Ned Oda Pia".split()
LAST = "Arn Berg Cole Dahl Ek Frost Gray Holm Iver Juhl Kern Lind Moe Nord".split()


def german_credit(rng, n=150):
    """German credit: categories coded as A11, A12, …, and a class of 1 and 2."""
    amount = rng.gamma(3, 900, n).round()
    status = rng.choice(["A11", "A12", "A13", "A14"], n, p=[0.3, 0.3, 0.1, 0.3])
    risk = 0.0004 * amount - 0.8 * (status == "A14") + rng.normal(0, 1, n)
    return pd.DataFrame(
        {
            "checking_status": status,
            "duration": rng.integers(4, 60, n),
            "credit_history": rng.choice(["A30", "A31", "A32", "A33", "A34"], n),
            "purpose": rng.choice(["A40", "A41", "A42", "A43", "A46", "A49", "A410"], n),
            "amount": amount.astype(int),
            "age": rng.integers(19, 75, n),
            "dependents": rng.choice([1, 2], n, p=[0.8, 0.2]),
            "class": np.where(risk > 1, 2, 1),
        }
    )


def encoded_adult(rng, n=300):
    """Adult after LabelEncoder: every category is a whole number from 0 on, in no order."""
    education, hours = rng.integers(5, 17, n), rng.integers(20, 60, n)
    merit = 0.25 * (education - 11) + 0.05 * (hours - 40) + rng.normal(0, 1, n)
    draw = {
        "workclass": [0.05, 0.02, 0.06, 0.1, 0.5, 0.05, 0.15, 0.04, 0.03],
        "marital-status": [0.14, 0.04, 0.4, 0.02, 0.3, 0.06, 0.04],
        "relationship": [0.4, 0.2, 0.05, 0.2, 0.1, 0.05],
        "deal": [0.4, 0.1, 0.3, 0.2],
    }
    codes = {name: rng.choice(len(share), n, p=share) for name, share in draw.items()}
    return pd.DataFrame(
        {
            "age": rng.integers(17, 80, n),
            **codes,
            "education-num": education,
            "hours-per-week": hours,
            "income": np.where(merit > 0.6, ">50K", "<=50K"),
        }
    )


def housing(rng, n=250):
    """Houses: small counts of rooms, floors and cars, which are numbers and no codes."""
    bedrooms = np.clip(rng.poisson(2.2, n) + 1, 1, 8)
    floors = rng.choice([1, 2, 3], n, p=[0.5, 0.4, 0.1])
    area = 35 * bedrooms + rng.normal(40, 12, n)
    return pd.DataFrame(
        {
            "bedrooms": bedrooms,
            "TotRmsAbvGrd": bedrooms + rng.integers(1, 4, n),
            "bathrooms": np.clip(rng.poisson(0.8, n) + 1, 1, 5),
            "floors": floors,
            "GarageCars": np.clip(rng.poisson(1, n), 0, 4),
            "children_nearby": np.clip(rng.poisson(1.2, n), 0, 6),
            "pets": np.clip(rng.poisson(0.9, n), 0, 5),
            "area": area.round(1),
            "price": (1500 * area + 9000 * floors + rng.normal(0, 25_000, n)).round(-2).astype(int),
        }
    )


def iris(rng, n=150):
    """Iris: three species, fifty of each."""
    kind = np.repeat([0, 1, 2], n // 3)
    return pd.DataFrame(
        {
            "sepal_length": (5 + 0.7 * kind + rng.normal(0, 0.5, n)).round(1),
            "sepal_width": (3.4 - 0.3 * kind + rng.normal(0, 0.4, n)).round(1),
            "petal_length": (2.6 + 1.1 * kind + rng.normal(0, 0.8, n)).round(1),
            "species": np.array(["setosa", "versicolor", "virginica"])[kind],
        }
    )


def wine(rng, n=240):
    """Wine quality: a label of whole numbers from 3 to 8, in order."""
    alcohol = rng.normal(10.4, 1, n)
    quality = np.clip((0.5 * alcohol + rng.normal(0.4, 0.7, n)).round(), 3, 8).astype(int)
    return pd.DataFrame(
        {
            "fixed acidity": rng.normal(8.3, 1.7, n).round(1),
            "residual sugar": rng.gamma(4, 0.6, n).round(1),
            "alcohol": alcohol.round(1),
            "quality": quality,
        }
    )


def loans(rng, n=250):
    """Loans: days_to_charge_off is only known of those that were charged off, with few slips."""
    rate = rng.normal(13, 4, n)
    bad = rng.random(n) < 1 / (1 + np.exp(-(rate - 17) / 3))
    days = np.where(bad, rng.integers(90, 900, n), 0)
    slips = rng.choice(n, 5, replace=False)
    days[slips] = np.where(bad[slips], 0, 120)
    return pd.DataFrame(
        {
            "amount": rng.gamma(3, 4000, n).round(-2).astype(int),
            "rate": rate.round(2),
            "home ownership": rng.choice(["MORTGAGE", "OWN", "RENT"], n),
            "days to charge off": days,
            "status": np.where(bad, "Charged Off", "Fully Paid"),
        }
    )


def nearly_empty(rng, n=200):
    """A file of a clinic: one column almost without values, one almost always the same."""
    age = rng.integers(20, 90, n)
    note = np.full(n, None, dtype=object)
    note[[3, 60]] = [1.5, 2.5]
    kind = np.full(n, "outpatient", dtype=object)
    kind[17] = "inpatient"
    return pd.DataFrame(
        {
            "age": age,
            "pressure": (110 + 0.4 * age + rng.normal(0, 10, n)).round(),
            "second reading": note,
            "visit kind": kind,
            "readmitted": np.where(rng.normal(age, 25) > 62, "yes", "no"),
        }
    )


def fraud(rng, n=600):
    """Card fraud: one row in a hundred, so that saying "no" is right on 99 % of them."""
    bad = np.zeros(n, dtype=int)
    bad[rng.choice(n, 6, replace=False)] = 1
    return pd.DataFrame(
        {
            "amount": (rng.gamma(2, 40, n) + 60 * bad).round(2),
            "hour": rng.integers(0, 24, n),
            "abroad": rng.choice(["no", "yes"], n, p=[0.9, 0.1]),
            "V1": (rng.normal(0, 1, n) + bad).round(2),
            "fraud": bad,
        }
    )


def applicants(rng, n=120):
    """Applicants with all that says who they are."""
    first, last = rng.choice(FIRST, n), rng.choice(LAST, n)
    who = [f"{a} {b}{'son' * (i % 3)}" for i, (a, b) in enumerate(zip(first, last, strict=True))]
    score = rng.normal(50, 10, n).round(1)
    street = rng.choice(["Mill Lane", "High Street", "Oak Road"], n)
    return pd.DataFrame(
        {
            "applicant": who,
            "contact": [
                f"{name.replace(' ', '.').lower()}{i}@example.org" for i, name in enumerate(who)
            ],
            "reached under": [f"+00 {rng.integers(100, 999)} {i:07d}" for i in range(n)],
            "lives at": [f"{rng.integers(1, 99)} {each}" for each in street],
            "date of birth": [f"19{50 + i % 50}-0{1 + i % 9}-1{i % 10}" for i in range(n)],
            "case id": rng.permutation(n) + 70_000,
            "grade": rng.integers(1, 7, n),
            "score": score,
            "invited": np.where(score + rng.normal(0, 8, n) > 50, "yes", "no"),
        }
    )


def passengers(rng, n=200):
    """Titanic: age, cabin and port miss values, each in other rows."""
    age = rng.normal(30, 12, n).clip(1, 80).round()
    fare = rng.gamma(2, 15, n).round(2)
    cabin = rng.choice(["A", "B", "C", "D"], n).astype(object)
    port = rng.choice(["C", "Q", "S"], n).astype(object)
    lived = np.where(fare + rng.normal(0, 20, n) > 32, "yes", "no").astype(object)
    age[rng.choice(n, 40, replace=False)] = np.nan
    cabin[rng.choice(n, 120, replace=False)] = None
    port[[11, 31]] = None
    lived[5] = None
    return pd.DataFrame(
        {"age, years": age, "fare": fare, "cabin": cabin, "port's": port, "survived": lived}
    )


FILES = {
    "german-credit.csv": german_credit,
    "adult-encoded.csv": encoded_adult,
    "housing.csv": housing,
    "iris.csv": iris,
    "wine-quality.csv": wine,
    "loans.csv": loans,
    "clinic.csv": nearly_empty,
    "fraud.csv": fraud,
    "applicants.csv": applicants,
    "passengers.csv": passengers,
}

if __name__ == "__main__":
    for seed, (name, draw) in enumerate(FILES.items()):
        draw(np.random.default_rng(seed)).to_csv(HERE / name, index=False)
