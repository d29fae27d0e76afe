"""
Kernel ridge
============

Nothing has to be a straight line: kernel ridge is linear in its *labels*, and that is what the
proofs need. The shaded band holds every curve that up to three wrong labels could have led to.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.kernel_ridge import KernelRidge

from unswayed import CertifiedRegressor, LabelBias

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 10, 80))[:, None]
y = np.sin(X[:, 0]) + rng.normal(0, 0.15, 80)

model = CertifiedRegressor(
    KernelRidge(kernel="rbf", gamma=0.5, alpha=0.3),
    bias=LabelBias.shifts(1, budget=3),
    radius=0.4,
).fit(X, y)
at = np.linspace(0, 10, 200)[:, None]
certs = model.certify(at)
print(certs)

# %%
# Labels at the edges of the data matter more: there are fewer around them to contradict.
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.fill_between(
    at[:, 0],
    certs.low,
    certs.high,
    alpha=0.25,
    label="all that is possible",
)
axis.plot(at[:, 0], certs.score, label="as trained")
axis.plot(X[:, 0], y, ".", color="0.4", label="labels")
axis.legend(frameon=False, ncols=3)
axis.set(xlabel="x", ylabel="prediction")
