import pytest

from tests.commands import people


@pytest.fixture
def folder(tmp_path):
    """A folder with people.csv in it."""
    people().to_csv(tmp_path / "people.csv", index=False)
    return tmp_path
