"""The embedding: kept with its hash, trained only if need be, and resumable."""

import importlib

import numpy as np
import pytest

from unswayed.datasets import DatasetError, mnist17

IMAGES = np.zeros((3, 28, 28), dtype=np.uint8)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setattr(mnist17, "cache_folder", lambda: tmp_path)
    (tmp_path / "mnist").mkdir()
    return tmp_path / "mnist"


def test_a_kept_embedding_needs_no_training(cache):
    features = np.arange(6.0).reshape(3, 2)
    mnist17._keep(features, IMAGES)
    assert (mnist17.embedding_of(IMAGES, np.zeros(3), IMAGES) == features).all()


def test_an_embedding_of_other_images_is_not_taken_for_this_one(cache):
    mnist17._keep(np.ones((3, 2)), IMAGES)
    assert mnist17._cached(IMAGES + 1) is None


def test_an_embedding_that_was_changed_is_refused(cache):
    mnist17._keep(np.ones((3, 2)), IMAGES)
    (path,) = cache.glob("*.npy")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DatasetError, match="has changed since it was made"):
        mnist17.embedding_of(IMAGES, np.zeros(3), IMAGES)


def test_a_training_that_was_cut_ends_where_an_uncut_one_does(tmp_path):
    pytest.importorskip("torch", reason="training the embedding needs the extra mnist")
    _network = importlib.import_module("unswayed.datasets._network")
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (80, 28, 28), dtype=np.uint8)
    classes = np.arange(80) % 8

    def trained(name, epochs):
        done = []
        network = _network.Training(0, epochs, tmp_path / name, done.append).run(images, classes)
        return _network.embed(network, images), done

    whole, epochs = trained("whole.pt", 3)
    assert whole.shape == (80, 50)
    assert epochs == [1, 2, 3]
    trained("cut.pt", 1)
    resumed, epochs = trained("cut.pt", 3)
    assert epochs == [2, 3]
    assert (resumed == whole).all()
