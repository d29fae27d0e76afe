import json

import pytest

from tests.verify.collective import make_collective
from tests.verify.files import make_cases
from unswayed.verify import CertificateError, verify


@pytest.fixture(scope="session")
def cases(tmp_path_factory):
    """Valid certificate files of every kind."""
    return make_cases(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def collective(tmp_path_factory):
    """Valid files about all rows together, of every kind."""
    return make_collective(tmp_path_factory.mktemp("collective"))


@pytest.fixture
def check(tmp_path):
    """Verify a document: "accepted", "rejected", or why it is no certificate of the data."""

    def run(document, data):
        path = tmp_path / "c.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        try:
            return "rejected" if verify(path, data=data).rejected else "accepted"
        except CertificateError as error:
            return str(error)

    return run
