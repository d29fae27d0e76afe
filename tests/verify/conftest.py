import contextlib
import copy
import json

import pytest

from tests.verify.collective import make_collective
from tests.verify.files import make_cases
from tests.verify.proving import prove
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
    """Verify a document: "accepted", "rejected", "unproven", or why it is no certificate.

    What proves claims is made anew for whatever the document says, where that makes sense.
    """

    def run(document, data):
        path = tmp_path / "c.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        if isinstance(document, dict) and "collective" not in document:
            with contextlib.suppress(Exception):  # of documents that make no sense
                prove(copy.deepcopy(document), data, path)
        try:
            report = verify(path, data=data)
        except CertificateError as error:
            return str(error)
        if report.rejected:
            return "rejected"
        return "unproven" if report.not_reproven else "accepted"

    return run
