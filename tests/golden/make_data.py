"""Draw the input files of the cases: ``python -m tests.golden.make_data``. They are stored."""

import numpy as np
import pandas as pd

from tests.commands import people
from tests.golden.record import DATA


def crowd(n_rows: int, seed: int) -> pd.DataFrame:
    """Applicants with a weight, a cost of checking their label, and a site of several rows each."""
    rng = np.random.default_rng(seed + 100)
    return people(n_rows, seed).assign(
        weight=rng.integers(1, 4, n_rows),
        minutes=rng.integers(2, 9, n_rows),
        site=rng.integers(0, n_rows // 4, n_rows).astype(str),
    )


def visits(n_rows: int, seed: int) -> pd.DataFrame:
    """Counts that follow age and distance, for Poisson regression."""
    rng = np.random.default_rng(seed)
    age, far = rng.integers(20, 80, n_rows), rng.normal(10, 4, n_rows).round(1)
    mean = np.exp(0.4 + 0.015 * (age - 50) - 0.05 * (far - 10))
    return pd.DataFrame({"age": age, "distance": far, "visits": rng.poisson(mean)})


def main() -> None:
    DATA.mkdir(exist_ok=True)
    crowd(150, 3).to_csv(DATA / "crowd.csv", index=False)
    crowd(150, 3)[people(1).columns].to_csv(DATA / "people.csv", index=False)
    people(24, 5).to_csv(DATA / "others.csv", index=False)
    people(60, 7).to_csv(DATA / "validation.csv", index=False)
    visits(80, 1).to_csv(DATA / "visits.csv", index=False)


if __name__ == "__main__":
    main()
