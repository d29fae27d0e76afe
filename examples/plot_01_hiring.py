"""
Hiring decisions and historical discrimination
==============================================

A company hired some applicants and declined others, and a model learned from these decisions. Some
of them were unjust: women were declined who should have been hired. Nobody knows which. Which of
the model's predictions would be the same, whichever decisions these were?
"""

from matplotlib import pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unswayed import (
    CertifiedClassifier,
    GroupDisplay,
    LabelBias,
    RobustnessCurveDisplay,
)
from unswayed.datasets import make_salary_story

story = make_salary_story(1200)
X, X_test, y, y_test = train_test_split(
    story.data, story.target, random_state=0
)

# %%
# Only women's labels may be wrong, and only in one direction: *declined* that should be *hired*.
# At most 2 % of all labels are taken to be wrong at once.
women = (X["gender"] == "female").to_numpy()
bias = LabelBias.flips(budget=0.02, where=women, direction="up")
features = make_column_transformer(
    (OneHotEncoder(), ["gender"]), remainder=StandardScaler()
)
model = CertifiedClassifier(
    make_pipeline(features, Ridge()), bias=bias
).fit(X, y)
certs = model.certify(X_test)
print(certs)

# %%
# Only women's labels are in doubt, but men's predictions rest on them too: one model serves both.
# Rates and their gap come with intervals, because other applicants would have given others.
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.4), layout="constrained"
)
RobustnessCurveDisplay.from_certificates(
    certs, groups=X_test["gender"], ax=left
)
GroupDisplay.from_certificates(certs, X_test["gender"], ax=right)
print(certs.by_group(X_test["gender"]))

# %%
# Where a prediction is not robust there is a witness: the smallest set of decisions that, had they
# been made differently, would have changed it.
row = int(certs.minimum_budget.argmin())
witness = certs.witness(row)
print(witness)
print(
    X.iloc[witness.indices].assign(
        then=y[witness.indices], should_be=witness.labels
    )
)
