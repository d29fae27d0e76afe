"""
Logistic regression, and what its penalty buys
==============================================

Logistic regression is not linear in its labels. A prediction is proven to stay, or overturned by
labels that were found, or left undecided. A stronger penalty proves more.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unswayed import CertifiedClassifier, LabelBias
from unswayed.datasets import make_salary_story

story = make_salary_story(600)
X, X_test, y, y_test = train_test_split(
    story.data, story.target, test_size=100, random_state=0
)


def certified(C):
    """Return a model that was trained with a penalty of this strength."""
    features = make_column_transformer(
        (OneHotEncoder(), ["gender"]), remainder=StandardScaler()
    )
    estimator = make_pipeline(
        features, LogisticRegression(C=C, tol=1e-8)
    )
    return CertifiedClassifier(
        estimator, bias=LabelBias.flips(budget=10)
    ).fit(X, y)


# %%
# Scores are log-odds; the range of a probability is proven like theirs. A witness is replayed by
# training on its labels.
certs = certified(0.01).certify(X_test)
print(certs)
row = int(np.flatnonzero(certs.verdict == "not-robust")[0])
low, high = certs.probability_low[row], certs.probability_high[row]
print(f"row {row}: between {low:.2f} and {high:.2f}")
print(certs.witness(row))

# %%
# What is proven, overturned and undecided, if any 10 of the 500 labels may be wrong:
strengths = [0.001, 0.01, 0.1, 1.0]
verdicts = [certified(C).certify(X_test).verdict for C in strengths]
below = np.zeros(len(strengths))
figure, ax = plt.subplots(layout="constrained")
for verdict, colour in (
    ("robust", "#0072b2"),
    ("undecided", "#bbbbbb"),
    ("not-robust", "#d55e00"),
):
    share = np.array([np.mean(found == verdict) for found in verdicts])
    ax.bar(
        [f"C = {C:g}" for C in strengths],
        share,
        bottom=below,
        color=colour,
        label=verdict,
    )
    below += share
ax.set_ylabel("share of 100 test rows")
_ = ax.legend(
    ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False
)
