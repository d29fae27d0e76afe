"""
Two groups, one of them small
=============================

A recidivism score in miniature, on data that are made up: a majority and a minority with different
features, one model for both. If any 5 % of the labels may be wrong, whose predictions hold?
"""

from matplotlib import pyplot as plt
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

from unswayed import (
    CertifiedClassifier,
    LabelBias,
    RobustnessCurveDisplay,
)
from unswayed.datasets import make_demographic

# %%
# The smaller the minority, the fewer labels there are that its predictions rest on, and the fewer
# wrong ones it takes to overturn them.
figure, axes = plt.subplots(
    1, 3, figsize=(10, 3.2), sharey=True, layout="constrained"
)
for share, axis in zip([0.5, 0.2, 0.05], axes, strict=True):
    made = make_demographic(share, random_state=0)
    X, X_test, y, _, _, group = train_test_split(
        made.data, made.target, made.group, random_state=0
    )
    model = CertifiedClassifier(
        Ridge(), bias=LabelBias.flips(budget=0.05)
    ).fit(X, y)
    certs = model.certify(X_test)
    RobustnessCurveDisplay.from_certificates(
        certs, groups=group, ax=axis
    )
    axis.set_title(f"minority: {share:.0%}")
    axis.label_outer()
    print(f"minority {share:.0%}", certs.by_group(group), sep="\n")
