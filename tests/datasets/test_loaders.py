"""Loaders on small files of the real ones' form: filters and encodings, row by row."""

import gzip
import io
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest

from unswayed import InputError
from unswayed.datasets import (
    DatasetError,
    compas,
    load_acs_excerpt,
    load_compas,
    load_income,
    load_mnist17,
    load_wages,
    make_demographic,
    make_synthetic,
)
from unswayed.datasets import income as census
from unswayed.datasets.income import _EXCERPT_COLUMNS as EXCERPT_COLUMNS

DEFENDANT = {
    "race": "Caucasian", "age": 30, "sex": "Male", "priors_count": 0, "juv_misd_count": 0,
    "juv_fel_count": 0, "c_charge_degree": "F", "is_recid": 0, "score_text": "Low",
    "days_b_screening_arrest": -1, "two_year_recid": 0,
}  # fmt: skip


def defendants(*changes):
    rows = [{**dict.fromkeys(compas._COLUMNS), **DEFENDANT, **change} for change in changes]
    text = pd.DataFrame(rows, columns=compas._COLUMNS).to_csv(index=False)
    return text.replace("decile_score.1", "decile_score").replace("priors_count.1", "priors_count")


def on(frame, row):
    """Names of the columns that are 1 in a row."""
    return set(frame.columns[frame.iloc[row] == 1])


class TestCompas:
    def test_propublicas_filter_is_applied(self, put):
        kept = {"two_year_recid": 1}
        dropped = [
            {"days_b_screening_arrest": 31},
            {"days_b_screening_arrest": -31},
            {"days_b_screening_arrest": None},
            {"is_recid": -1},
            {"c_charge_degree": "O"},
            {"score_text": None},
        ]
        put("compas", defendants(*dropped, kept).encode())
        bunch = load_compas()
        assert bunch.data.shape == (1, 21)
        assert bunch.target.tolist() == [1]

    def test_the_encoding_is_the_papers(self, put):
        changes = {"race": "Asian", "age": 46, "sex": "Female", "priors_count": 5}
        put("compas", defendants({}, {**changes, "c_charge_degree": "M"}).encode())
        bunch = load_compas()
        none = {"priors_none", "juvenile_misdemeanours_none", "juvenile_felonies_none"}
        assert on(bunch.data, 0) == {"race_caucasian", "age_25_to_45", *none}
        priors = {f"priors_{least}_or_more" for least in (1, 2, 5)}
        others = {"race_other", "age_over_45", "female", "charge_misdemeanour"}
        assert on(bunch.data, 1) == others | priors | (none - {"priors_none"})
        assert bunch.race.tolist() == ["Caucasian", "Other"]
        assert "ProPublica" in bunch.DESCR

    def test_a_renamed_column_is_refused(self, put):
        put("compas", defendants({}).replace("two_year_recid", "recid").encode())
        with pytest.raises(DatasetError, match="lacks two_year_recid and has unknown recid"):
            load_compas()


PERSON = {
    "AGEP": 40, "COW": 1, "SCHL": 21, "MAR": 1, "OCCP": 7000, "POBP": 301, "RELP": 0, "WKHP": 40,
    "SEX": 2, "RAC1P": 3, "PINCP": 60_000, "PWGTP": 10, "STATE": 55,
}  # fmt: skip


def people(*changes):
    return pd.DataFrame([{**PERSON, **change} for change in changes])


def zipped(text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("psam_p55.csv", text)
        archive.writestr("ACS2018_PUMS_README.pdf", "read me")
    return buffer.getvalue()


class TestIncome:
    def test_the_prepared_file_is_read_as_it_is(self, put):
        frame = people({}, {"AGEP": 34, "SEX": 1, "RAC1P": 2}).assign(PINCP=[True, False])
        put("income_wi", frame[[*census.FEATURES, "PINCP"]].to_csv(index=False).encode())
        bunch = load_income("wi")
        assert bunch.data.shape == (2, 42)
        assert bunch.target.tolist() == [1, 0]
        assert bunch.race.tolist() == ["Indigenous", "Black"]
        assert on(bunch.data, 0) == {
            "hours_40_or_more", "female", "age_35_to_54", "work_for_profit", "school_degree",
            "marital_married", "job_trades", "born_state", "role_head_or_partner",
            "race_indigenous",
        }  # fmt: skip

    def test_the_bureaus_records_are_filtered_as_acsincome_asks(self, put, monkeypatch):
        dropped = [{"AGEP": 16}, {"PINCP": 100}, {"WKHP": None}, {"PWGTP": 0}]
        records = people({"PINCP": 50_000}, *dropped, {"PINCP": 50_001})
        put("records_wi", zipped(records.to_csv(index=False)))
        monkeypatch.setitem(census.ROWS, "WI", 2)
        assert load_income("WI").target.tolist() == [0, 1]
        incomes = load_income("WI", "regression")
        assert incomes.target.tolist() == [50_000, 50_001]
        assert "income in dollars" in incomes.DESCR

    def test_records_of_another_length_are_refused(self, put):
        put("records_wi", zipped(people({}).to_csv(index=False)))
        with pytest.raises(DatasetError, match="has 1 working adults, expected 32690"):
            load_income("WI", "regression")

    def test_records_with_a_renamed_column_are_refused(self, put):
        put("records_wi", zipped(people({}).rename(columns={"WKHP": "HOURS"}).to_csv()))
        with pytest.raises(DatasetError, match=r"should hold one CSV with the columns .*WKHP"):
            load_income("WI", "regression")

    def test_a_truncated_zip_file_is_refused(self, put):
        put("records_wi", zipped(people({}).to_csv())[:-30])
        with pytest.raises(DatasetError, match=r"cannot be unpacked .* cut short"):
            load_income("WI", "regression")

    def test_every_code_falls_into_exactly_one_class_of_each_kind(self, put):
        rows = [
            {"OCCP": 1000 * n + 10, "POBP": pob, "RELP": rel}
            for n in range(10)
            for pob in (1, 57, 79, 170, 301, 303, 400, 554)
            for rel in range(18)
        ]
        frame = people(*rows).assign(PINCP=False)
        put("income_ga", frame[[*census.FEATURES, "PINCP"]].to_csv(index=False).encode())
        data = load_income("GA").data
        for kind in ("age", "work", "school", "marital", "job", "born", "role", "race"):
            assert (data.filter(regex=f"^{kind}_").sum(axis=1) == 1).all()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [(("XX",), "state must be one of GA"), (("WI", "ranking"), "task must be")],
    )
    def test_unknown_states_and_tasks_are_refused(self, arguments, message):
        with pytest.raises(InputError, match=message):
            load_income(*arguments)


def test_excerpts_keep_working_adults_with_their_income(put):
    row = {**dict.fromkeys(EXCERPT_COLUMNS, 1), "AGEP": 30, "PINCP": 500.0, "INDP_CAT": 4}
    rows = [row, {**row, "AGEP": 16}, {**row, "PINCP": "N"}, {**row, "INDP_CAT": "N"}]
    put("excerpt_tx", pd.DataFrame(rows).to_csv(index=False).encode())
    bunch = load_acs_excerpt("TX")
    assert bunch.target.tolist() == [500.0]
    assert "industry_4" in on(bunch.data, 0)
    with pytest.raises(InputError, match="region must be one of national"):
        load_acs_excerpt("Mars")


def test_wages_are_encoded(put):
    text = (
        "rownames,wage,education,experience,ethnicity,smsa,region,parttime\n"
        "1,100.5,16,9,afam,yes,south,yes\n"
    )
    put("wages", text.encode())
    bunch = load_wages()
    flags = {"school_16_or_more", "experience_under_10", "african_american", "city", "south"}
    assert on(bunch.data, 0) == flags | {"part_time"}
    assert bunch.target.tolist() == [100.5]


def idx(values):
    array = np.asarray(values, dtype=np.uint8)
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return head + array.tobytes()


class TestMnist17:
    @pytest.fixture
    def digits(self, put):
        for part, labels in (("train", [1, 5, 7]), ("test", [7, 0])):
            images = np.arange(len(labels) * 4).reshape(-1, 2, 2)
            for kind, values in (("images", images), ("labels", labels)):
                content = idx(values)
                put(f"mnist_{part}_{kind}", content, packed=gzip.compress(content))

    @pytest.mark.usefixtures("digits")
    def test_ones_and_sevens_are_kept_in_the_standard_split(self):
        bunch = load_mnist17(embedded=False)
        assert bunch.target.tolist() == [0, 1, 1]
        assert bunch.test.tolist() == [False, False, True]
        assert bunch.data.iloc[1].tolist() == [8, 9, 10, 11]

    @pytest.mark.usefixtures("digits")
    def test_a_file_shorter_than_it_announces_is_refused(self, put):
        content = idx([[[1, 2], [3, 4]]])[:-1]
        put("mnist_test_images", content, packed=gzip.compress(content))
        with pytest.raises(DatasetError, match=r"announces 4 values but holds 3"):
            load_mnist17(embedded=False)

    @pytest.mark.usefixtures("digits")
    def test_a_file_in_another_format_is_refused(self, put):
        put("mnist_test_labels", b"P5 28 28", packed=gzip.compress(b"P5 28 28"))
        with pytest.raises(DatasetError, match=r"is not in MNIST's format"):
            load_mnist17(embedded=False)


def test_synthetic_classes_have_the_means_they_should():
    made = make_synthetic(40_000, 5)
    means = made.data.groupby(made.target).mean().round(1)
    assert means.loc[1].tolist() == [0.5, 0.0, -0.5, 1.0, 0.0]
    assert means.loc[0].tolist() == [-0.5, 0.0, 0.5, -1.0, 0.0]


@pytest.mark.parametrize(("size", "features"), [(5, 3), (0, 3), (10, 6)])
def test_synthetic_sizes_that_make_no_sense_are_refused(size, features):
    with pytest.raises(InputError, match="must be"):
        make_synthetic(size, features)


def test_the_minority_has_its_share_in_both_classes():
    people = make_demographic(0.2, n_samples=1000)
    for label in (0, 1):
        assert (people.group[people.target == label] == "minority").mean() == 0.2
    with pytest.raises(InputError, match=r"at most 0\.5"):
        make_demographic(0.6)
    with pytest.raises(InputError, match="ask for more rows"):
        make_demographic(0.01, n_samples=20)
