"""
Certificates in a notebook
==========================

Results show themselves: as the last line of a cell, each is a table, its weakest rows first. The
applicants here have an index of their own, and the tables keep it.
"""

from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unswayed import CertifiedClassifier, LabelBias
from unswayed.datasets import make_salary_story

story = make_salary_story(600)
people = story.data.set_axis([f"applicant {n}" for n in range(600)])
X, X_test, y, y_test = train_test_split(
    people, story.target, test_size=80, random_state=0
)
features = make_column_transformer(
    (OneHotEncoder(), ["gender"]), remainder=StandardScaler()
)
model = CertifiedClassifier(
    make_pipeline(features, Ridge()), bias=LabelBias.flips(budget=12)
)
certs = model.fit(X, y).certify(X_test)
certs

# %%
# Five rows that the fewest wrong labels overturn. Slices and masks select others, such as
# ``certs[X_test["gender"] == "female"]``.
certs.weakest(5)

# %%
# One row by its number: ``certs[0]`` is the first, ``certs[-1]`` the last.
one = certs[37]
one

# %%
# The labels that overturn it, beside what is known about these applicants:
witness = one.witness()
X.iloc[witness.indices].assign(
    label=y[witness.indices], should_be=witness.labels
)

# %%
# How many rows survive how many wrong labels:
display = certs.plot(groups=X_test["gender"])

# %%
# Rows one at a time, all rows together, and labels that are wrong at random:
certs.summary()

# %%
# Labels to check first:
model.review_plan(X_test, labels=20)

# %%
# ``certs.report("report.html")`` writes a page for people without Python. It returns a link to the
# page, and ``certs.report("report.html").open()`` shows it in a browser.
