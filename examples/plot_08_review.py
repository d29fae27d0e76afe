"""
Which labels to check first
===========================

Checking a label costs an hour of somebody's time. Sixty hours can be spent: which labels should be
looked at, so that most predictions become robust?
"""

from matplotlib import pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unswayed import CertifiedClassifier, LabelBias
from unswayed.datasets import make_salary_story

story = make_salary_story(600)
X, X_test, y, y_test = train_test_split(
    story.data, story.target, test_size=80, random_state=0
)
features = make_column_transformer(
    (OneHotEncoder(), ["gender"]), remainder=StandardScaler()
)
model = CertifiedClassifier(
    make_pipeline(features, Ridge()), bias=LabelBias.flips(budget=12)
)
model.fit(X, y)
plan = model.review_plan(X_test, labels=60)
print(
    f"{plan.robust_after[0]} of {plan.n_rows} rows are robust before, "
    f"at least {plan.robust_after[-1]} after {len(plan)} checks"
)

# %%
# What is promised holds if the labels turn out to be right; where one is wrong, `model.reviewed`
# fits again. Random checks are worth little.
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(plan.robust_after, label="this plan")
axis.plot(
    plan.baseline("witness"),
    "--",
    label="labels in most witnesses first",
)
axis.plot(plan.baseline("random"), ":", label="at random")
axis.set(
    xlabel="labels checked",
    ylabel="rows proven robust",
    ylim=(0, plan.n_rows),
)
axis.legend(frameon=False)

# %%
# The reviewers find that all but the first were right.
answers = dict(
    zip(plan.order.tolist(), plan.labels.tolist(), strict=True)
)
first = int(plan.order[0])
answers[first] = next(
    label for label in model.classes_ if label != answers[first]
)
done = model.reviewed(X, y, answers)
print(done, done.model.certify(X_test), sep="\n")
