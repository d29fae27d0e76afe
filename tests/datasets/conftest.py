"""Small files of the real ones' form, and the real ones where they are at hand."""

import hashlib
from dataclasses import replace

import pytest

from unswayed.datasets import registry


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder, named by the environment."""
    monkeypatch.setenv(registry.DATA_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def put(folder, monkeypatch):
    """Write a source's file into the folder and pin its hash, as if it were the published one."""

    def write(name, content, *, packed=None):
        source = registry.SOURCES[name]
        path = folder / source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if packed is None else packed)
        if source.sha256 is not None:
            pinned = replace(source, sha256=hashlib.sha256(content).hexdigest())
            monkeypatch.setitem(registry.SOURCES, name, pinned)
        return path

    return write
