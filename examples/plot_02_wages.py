"""
Wages that were reported too low
================================

Salaries are the labels, and some of the women's were set too low, by up to 3,000 a year. How far
can a predicted salary move if up to 5 % of all labels are wrong in that way?
"""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unswayed import CertifiedRegressor, LabelBias, RangeDisplay
from unswayed.datasets import make_salary_story

story = make_salary_story(600)
X, X_test, y, y_test = train_test_split(
    story.data, story.salary, random_state=0
)

# %%
# `shifts((0, 3000))`: a label may really be up to 3,000 higher, and not lower. A prediction counts
# as the same within the *radius*, 500 a year.
women = (X["gender"] == "female").to_numpy()
bias = LabelBias.shifts((0, 3000), budget=0.05, where=women)
features = make_column_transformer(
    (OneHotEncoder(), ["gender"]), remainder=StandardScaler()
)
model = CertifiedRegressor(
    make_pipeline(features, Ridge()), bias=bias, radius=500
).fit(X, y)
certs = model.certify(X_test)
print(certs)
print(certs.by_group(X_test["gender"]))

# %%
# Ranges are exact: some set of labels reaches each end, and none leads beyond. They are lopsided,
# because labels can only rise.
some = slice(0, 12)
down, up = certs.low - certs.score, certs.high - certs.score
moves = RangeDisplay(
    np.zeros(12),
    down[some],
    up[some],
    certs.verdict[some],
    names=X_test["gender"][some],
    what="how far the predicted salary can move",
).plot()
print(f"on average {-down.mean():.0f} down and {up.mean():.0f} up")
