"""
A folder of Parquet that does not fit into memory
=================================================

Training rows in files are read in a few passes and never held whole. The certificates are those of
the engine in memory; witnesses name the file and the row of every label.
"""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from unswayed import (
    CertifiedClassifier,
    LabelBias,
    RobustnessCurveDisplay,
)

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
for year in (2021, 2022, 2023):
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 66, 2000),
            "hours": rng.normal(38, 8, 2000),
        }
    )
    merit = (
        people["hours"]
        - 38
        + 0.2 * (people["age"] - 40)
        + rng.normal(0, 6, 2000)
    )
    people.assign(hired=(merit > 0).astype(int)).to_parquet(
        folder / f"{year}.parquet"
    )

# %%
# dask says where the rows are, `fit` reads them.
table = dd.read_parquet(f"{folder}/*.parquet")
model = CertifiedClassifier(
    Ridge(alpha=10), bias=LabelBias.flips(budget=0.01)
)
model.fit(table[["age", "hours"]], table["hired"])
tests = pd.DataFrame(
    {"age": np.linspace(20, 64, 40), "hours": np.linspace(46, 30, 40)}
)
certs = model.certify(tests)
print(certs)
display = RobustnessCurveDisplay.from_certificates(certs)

# %%
# Where are the labels that would overturn a prediction?
row = int(certs.minimum_budget.argmin())
print(certs.witness(row), certs.witness(row).places[:3], sep="\n")
