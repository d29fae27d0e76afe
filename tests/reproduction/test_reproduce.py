"""Running experiments: what is finished is kept, what fails is told, what is wrong is refused."""

import json

import pytest

from reproduction import reproduce as module
from reproduction import store
from reproduction.experiment import Claim, Comparison, Experiment, Record
from reproduction.reproduce import chosen, reproduce
from unswayed import InputError
from unswayed.cli import main
from unswayed.datasets import DatasetError


class Counted:
    """An experiment of two pieces that counts how often each is computed."""

    def __init__(self, name="counted"):
        self.name = name
        self.runs = {"first": 0, "second": 0}
        self.fail = None

    def experiment(self):
        return Experiment(self.name, "Counted", self.pieces(), self.report, self.draw)

    def pieces(self):
        return {piece: lambda data, piece=piece: self.run(piece) for piece in self.runs}

    def run(self, piece):
        if piece == "second" and self.fail is not None:
            raise self.fail
        self.runs[piece] += 1
        return {"rate": 50.0 + self.runs[piece]}

    def report(self, results):
        cell = Comparison("Cell", ["a"], ["x"], [[51.0]], [[results["first"]["rate"]]], bar=1.0)
        claim = Claim("One holds", True, "1")
        return Record(self.name, "Counted", [cell], [claim], figures={"dot": "A dot."})

    def draw(self, results, folder):
        for ending in ("svg", "png"):
            (folder / f"dot.{ending}").write_text(str(results))


@pytest.fixture
def counted(monkeypatch):
    made = Counted()
    experiments = {"counted": made.experiment()}
    monkeypatch.setattr(module, "EXPERIMENTS", experiments)
    return made


def test_an_interrupted_run_resumes_without_losing_or_repeating_a_piece(counted, tmp_path):
    counted.fail = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        reproduce(out=tmp_path)
    assert counted.runs == {"first": 1, "second": 0}
    counted.fail = None
    found = reproduce(out=tmp_path)
    assert counted.runs == {"first": 1, "second": 1}
    assert [record.name for record in found.records] == ["counted"]
    reproduce(out=tmp_path)
    assert counted.runs == {"first": 1, "second": 1}


def test_a_half_written_piece_is_computed_again(counted, tmp_path):
    reproduce(out=tmp_path)
    piece = tmp_path / "pieces" / "counted" / "first.json"
    piece.write_text(piece.read_text()[:20])
    reproduce(out=tmp_path)
    assert counted.runs == {"first": 2, "second": 1}


def test_pieces_of_other_code_are_computed_again(counted, tmp_path, monkeypatch):
    reproduce(out=tmp_path)
    monkeypatch.setattr(store, "__version__", "another")
    reproduce(out=tmp_path)
    assert counted.runs == {"first": 2, "second": 2}


def test_tables_json_figures_and_the_page_are_written(counted, tmp_path):
    page = tmp_path / "docs" / "reproduction.md"
    page.parent.mkdir()
    reproduce(out=tmp_path / "out", page=page)
    record = Record.from_dict(json.loads((tmp_path / "out" / "counted.json").read_text()))
    assert record.comparisons[0].ours == [[51.0]]
    assert "| a | paper | 51.0 |" in (tmp_path / "out" / "counted.md").read_text()
    assert "(reproduction/counted.md)" in page.read_text()
    own = page.parent / "reproduction" / "counted.md"
    assert "(../images/reproduction/dot.png)" in own.read_text()
    assert (tmp_path / "docs" / "images" / "reproduction" / "dot.svg").exists()
    assert "(./dot.png)" in (tmp_path / "out" / "counted.md").read_text()
    assert "(./counted.md)" in (tmp_path / "out" / "reproduction.md").read_text()


def test_missing_data_stop_their_experiment_and_no_other(monkeypatch, tmp_path, capsys):
    lacking, whole = Counted("lacking"), Counted("whole")
    lacking.fail = DatasetError("there is no file")
    experiments = {made.name: made.experiment() for made in (lacking, whole)}
    monkeypatch.setattr(module, "EXPERIMENTS", experiments)
    assert main(["reproduce", "--out", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert "lacking could not run: there is no file" in printed.err
    assert "Counted: 1 of 1 claims hold" in printed.out
    assert lacking.runs["first"] == 1


def test_a_piece_whose_data_are_absent_is_asked_for_again(counted, tmp_path):
    experiment = counted.experiment()
    kept = store.Store(tmp_path)
    kept.save(experiment, "first", {"absent": True}, 0.0)
    assert kept.load(experiment, "first") is None


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"there is no experiment 'tabel1'; there are: table1, "):
        reproduce(["tabel1"], out=tmp_path)


def test_names_are_run_in_the_papers_order():
    names = [experiment.name for experiment in chosen(["attacks", "table1"])]
    assert names == ["table1", "attacks"]
