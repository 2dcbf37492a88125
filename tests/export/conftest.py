"""Databases that queries are run in, one of each for all tests."""

import pytest

from tests.databases import DATABASES
from tests.databases import database as shared


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.slow) if name == "spark" else name for name in DATABASES])
def database(request):
    """A database of every dialect in turn."""
    return shared(request.param)
