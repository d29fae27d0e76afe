"""
Checking someone else's certificate
===================================

"Robust", says a supplier's model card. A certificate file states each claim so that others can
prove it again, with a checker that shares no code with what made the file.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

from unswayed import CertifiedClassifier, LabelBias, RangeDisplay
from unswayed.verify import verify

# %%
# What the supplier does:
folder = Path(tempfile.mkdtemp())
X, X_test, y, _ = train_test_split(
    *load_breast_cancer(return_X_y=True), test_size=20, random_state=0
)
model = CertifiedClassifier(
    Ridge(alpha=10), bias=LabelBias.flips(budget=8)
).fit(X, y)
certs = model.certify(X_test)
certs.save(folder / "c.json", data=folder / "c.npz")
display = RangeDisplay.from_certificates(
    certs, reference=model.threshold_
)

# %%
# What the auditor does; on a command line, ``unswayed verify c.json --data c.npz``.
report = verify(folder / "c.json", data=folder / "c.npz")
print(report.question.splitlines()[0], "…", sep="\n")
print(f"{report.proven} claims proven, {len(report.rejected)} rejected")
