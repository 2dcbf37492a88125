"""Databases that queries are run in, one of each for all tests."""

import pytest

from tests.databases import DATABASES
from tests.databases import database as shared

IN_SPARK = [pytest.mark.slow, pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture(params=[pytest.param(name, marks=IN_SPARK if name == "spark" else []) for name in DATABASES])
def database(request):
    """A database of every dialect in turn."""
    return shared(request.param)
