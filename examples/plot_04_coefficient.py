"""
An econometrician's coefficient
===============================

A regression finds that women earn less for equal education, experience and interview. How many
wrong outcomes would it take to reverse the sign?
"""

from sklearn.linear_model import LinearRegression

from unswayed import CertifiedRegressor, LabelBias, RangeDisplay
from unswayed.datasets import make_salary_story

story = make_salary_story(600)
X = story.data.assign(
    female=(story.data["gender"] == "female").astype(float)
)
X = X.drop(columns="gender")

# %%
# Any salary may be off by 2,000 either way. Ordinary least squares has no penalty to hide behind:
# the range of each coefficient is exact.
bias = LabelBias.shifts(2000, budget=0.05)
model = CertifiedRegressor(LinearRegression(), bias=bias).fit(
    X, story.salary
)
certs = model.certify_coefficients()
print(
    certs.to_frame()[
        ["name", "score", "low", "high", "verdict", "minimum_budget"]
    ]
)

# %%
# `minimum_budget` answers the question: with fewer wrong salaries than that the sign stays,
# whichever they are.
display = RangeDisplay.from_certificates(certs)

# %%
# Differences of coefficients are certified as one number, which is tighter than two ranges.
years = {"experience - education": {"experience": 1, "education": -1}}
print(
    model.certify_coefficients(contrasts=years).to_frame()[
        ["name", "score", "low", "high"]
    ]
)
