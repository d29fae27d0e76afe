"""A page from certificates that were made in Python: from any frame, or from none."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tests.commands import people
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    cross_certify,
)

FRAME = people(200)
FEATURES, HIRED, SALARY = FRAME[["gender", "city", "education"]], FRAME["hired"], FRAME["salary"]
TRAIN, TESTS = slice(0, 150), slice(150, 200)


def encoded(final):
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["gender", "city"]), remainder="passthrough"),
        final,
    )


def classifier(final=None):
    bias = LabelBias.flips(budget=3)
    model = CertifiedClassifier(encoded(final or Ridge()), bias=bias)
    return model.fit(FEATURES[TRAIN], HIRED[TRAIN])


def test_certificates_of_a_frame_make_a_page(tmp_path):
    certs = classifier().certify(FEATURES[TESTS])
    certs.report(tmp_path / "r.html", table=FRAME[TESTS], groups=["gender"])
    page = (tmp_path / "r.html").read_text()
    rates = certs.by_group(FRAME["gender"][TESTS])
    for group in rates.groups:
        assert f">{group}" in page
    kept = int(certs.robust.sum())
    assert re.search(rf'data-live="kept">{kept}</strong> of 50 test rows', page)
    assert "interview score" in page  # a column that the model never saw
    assert "Ridge" in page
    assert "numbered from 0" in page


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_the_certified_rows_are_shown_where_there_is_no_other_table(tmp_path, make):
    rows = make(FEATURES.to_dict("list"))
    model = CertifiedClassifier(encoded(Ridge()), bias=LabelBias.flips(budget=3)).fit(rows, HIRED)
    model.certify(rows).report(tmp_path / "r.html", groups=["city"])
    assert "Bergen" in (tmp_path / "r.html").read_text()


MODELS = {
    "ridge-classifier": lambda: classifier(RidgeClassifier()).certify(FEATURES[TESTS]),
    "regression": lambda: CertifiedRegressor(
        encoded(Ridge()), bias=LabelBias.shifts(500, budget=3), radius=50
    ).fit(FEATURES[TRAIN], SALARY[TRAIN]).certify(FEATURES[TESTS]),
    "kernel": lambda: CertifiedRegressor(
        KernelRidge(kernel="rbf"), bias=LabelBias.shifts(500, budget=3), radius=50
    ).fit(FRAME[["education"]], SALARY).certify(FRAME[["education"]].to_numpy()),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
def test_every_kind_of_model_makes_a_page(tmp_path, made):
    certs = made()
    certs.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert f"of {len(certs)} test rows" in page
    assert ("coefficients-title" in page) == ("KernelRidge" not in page)


def test_what_is_taken_on_trust_stands_on_the_page(tmp_path):
    weight = np.where(HIRED[TRAIN] == "yes", 2.0, 1.0)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3), trust="sample_weight").fit(
        FEATURES[["education"]][TRAIN], HIRED[TRAIN], sample_weight=weight
    )
    model.certify(FEATURES[["education"]][TESTS]).report(tmp_path / "r.html")
    assert "sample_weight is taken on trust" in (tmp_path / "r.html").read_text()


WRONG = {
    "rows": ({"table": FRAME}, "table has 200 rows but 50 were certified"),
    "array": ({"table": np.zeros((50, 2))}, "table must be a frame"),
    "column": ({"table": FRAME[TESTS], "groups": ["gendre"]}, "did you mean 'gender'"),
    "many": ({"table": FRAME[TESTS], "groups": ["salary"]}, "too many to compare"),
}


@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG)
def test_a_table_that_does_not_fit_is_refused(tmp_path, given, said):
    certs = classifier().certify(FEATURES[TESTS])
    with pytest.raises(InputError, match=said):
        certs.report(tmp_path / "r.html", **given)
    assert not (tmp_path / "r.html").exists()


def test_a_report_is_a_page_about_rows(tmp_path):
    model = classifier()
    with pytest.raises(InputError, match=r"must end in \.html"):
        model.certify(FEATURES[TESTS]).report(tmp_path / "r.pdf")
    with pytest.raises(InputError, match="certificates of coefficients"):
        model.certify_coefficients().report(tmp_path / "r.html")


def table_of(page, name):
    """Cells of a table of the page, without tags."""
    body = page.split(f' id="{name}" class="')[1].split("</table>")[0].split("<tbody>")[1]
    rows = re.findall(r"<tr.*?>(.*?)</tr>", body, re.DOTALL)
    return [
        [re.sub(r"<[^>]+>", " ", cell).split() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in rows
    ]


def test_known_labels_give_accuracy_class_balance_and_a_confusion_table(tmp_path):
    certs, truth = classifier().certify(FEATURES[TESTS]), HIRED[TESTS]
    certs.report(tmp_path / "r.html", y_true=truth)
    page = (tmp_path / "r.html").read_text()
    for name, counts in zip(["no", "yes"], table_of(page, "confusion"), strict=True):
        of = certs.prediction[(truth == name).to_numpy()]
        assert counts == [[name], [str((of == "no").sum())], [str((of == "yes").sum())]]
    right = 100 * (certs.prediction == truth).mean()
    assert f"The model is right on {right:.1f} % of the test rows" in page
    trained, _, tested = table_of(page, "balance")[1][1:]
    assert (trained[0], tested[0]) == (
        str((HIRED[TRAIN] == "yes").sum()),
        str((truth == "yes").sum()),
    )
    for words in ("confusion", "The model is right", "test labels"):
        certs.report(tmp_path / "s.html")
        assert words not in (tmp_path / "s.html").read_text().split("<script")[0]


def test_known_numbers_give_the_variance_explained(tmp_path):
    certs, truth = MODELS["regression"](), SALARY[TESTS]
    certs.report(tmp_path / "r.html", y_true=truth.to_list())
    spread = ((truth - truth.mean()) ** 2).sum()
    share = 1 - ((truth - certs.score) ** 2).sum() / spread
    assert f"explains {100 * share:.1f} % of the variance" in (tmp_path / "r.html").read_text()


def test_labels_of_folds_are_known(tmp_path):
    model = CertifiedClassifier(encoded(Ridge()), bias=LabelBias.flips(budget=3))
    certs = cross_certify(model, FEATURES, HIRED, cv=4)
    certs.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert sum(int(count[0]) for row in table_of(page, "confusion") for count in row[1:]) == 200
    right = 100 * (certs.prediction == HIRED).mean()
    assert f"The model is right on {right:.1f} % of the test rows" in page
    assert "fit one model on all rows" in page


STRANGE = {
    "few": (HIRED[:7], r"y_true has shape \(7,\)"),
    "other": (["maybe"] * 50, "has 'maybe'.*its classes are 'no' and 'yes'"),
    "missing": ([None, *HIRED[151:200]], "has None"),
}


@pytest.mark.parametrize(("labels", "said"), STRANGE.values(), ids=STRANGE)
def test_labels_that_do_not_fit_are_refused(tmp_path, labels, said):
    with pytest.raises(InputError, match=said):
        classifier().certify(FEATURES[TESTS]).report(tmp_path / "r.html", y_true=labels)
    with pytest.raises(InputError, match="NaN"):
        MODELS["regression"]().report(tmp_path / "r.html", y_true=[np.nan] * 50)


@pytest.mark.parametrize("library", ["altair", "jinja2", "platformdirs", "vl_convert"])
def test_without_a_library_of_pages_the_error_names_the_extra(tmp_path, library):
    code = (
        "import sys; sys.modules[sys.argv[1]] = None; from sklearn.linear_model import Ridge; "
        "from unswayed import CertifiedClassifier, LabelBias; "
        "model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)); "
        "model.fit([[0], [1]], [0, 1]).certify([[1]]).report('page.html')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, library],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: a report needs {library}, which is not installed: "
        'pip install "unswayed[report]"'
    )
    assert not list(tmp_path.iterdir())
