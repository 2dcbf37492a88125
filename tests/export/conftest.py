"""Databases that queries are run in, one of each for all tests."""

import pytest

from tests.databases import DATABASES


@pytest.fixture(scope="session")
def opened():
    """Databases as they were first asked for."""
    made = {}
    yield made
    for database in made.values():
        database.close()


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.slow) if name == "spark" else name for name in DATABASES])
def database(request, opened):
    """A database of every dialect in turn."""
    name = request.param
    if name not in opened:
        opened[name] = DATABASES[name]()
    return opened[name]
