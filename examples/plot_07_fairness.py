"""
Between which values does a fairness gap lie?
=============================================

A model hires men more often than women. How much of that gap could be made, or unmade, by ten
wrong labels? One set of labels has to do it for all rows at once.
"""

from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unswayed import CertifiedClassifier, LabelBias, MetricRangeDisplay
from unswayed.datasets import make_salary_story

story = make_salary_story(600)
X, X_test, y, y_test = train_test_split(
    story.data, story.target, test_size=80, random_state=0
)
features = make_column_transformer(
    (OneHotEncoder(), ["gender"]), remainder=StandardScaler()
)
model = CertifiedClassifier(
    make_pipeline(features, Ridge()), bias=LabelBias.flips(budget=10)
)
model.fit(X, y)

# %%
# The outer range is proven: no ten wrong labels take the metric out of it. The ends of the inner
# range are reached, by labels that the result names. With more time the two come closer.
gender = X_test["gender"]
gap = model.certify_metric(
    X_test, "demographic_parity_difference", groups=gender, time_limit=3
)
rate = model.certify_metric(
    X_test, "selection_rate", groups=gender, time_limit=3
)
print(gap)
ranges = {"parity difference": gap, "selection rate": rate}
ranges |= {f"… {name}": rate.by_group[name] for name in rate.by_group}
display = MetricRangeDisplay.from_ranges(ranges)
print(gap.witness_high)
