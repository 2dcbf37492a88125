"""Settings that all tests share: how Hypothesis draws its examples.

`make test` draws the same few every time. `make soak` sets BAYESKIT_SOAK, the number of examples for each law, draws
them anew and prints the seed. What it finds is kept as an explicit example, beside the law or in
`laws/test_findings.py`.
"""

import os

from hypothesis import HealthCheck, settings

SOAK = int(os.environ.get("BAYESKIT_SOAK", "0"))


def profile(name, examples, **changes):
    """Settings by name, which a test takes with ``settings.get_profile(name)``."""
    # A busy machine makes a slow example, not a wrong one.
    drawing = {"deadline": None, "database": None, "derandomize": not SOAK, "print_blob": False}
    settings.register_profile(name, max_examples=SOAK or examples, **drawing, **changes)


profile("house", 60)
profile("laws", 4, suppress_health_check=list(HealthCheck))  # each runs on some thirty models
profile("few", 12, suppress_health_check=list(HealthCheck))
profile("slow laws", 2, suppress_health_check=list(HealthCheck))
settings.load_profile("house")


def pytest_collection_modifyitems(items):
    """A soak draws its number of examples for every test, those with a number of their own among them."""
    for item in items if SOAK else ():
        test = getattr(item, "obj", None)
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is not None and own.max_examples < SOAK:
            getattr(test, "__func__", test)._hypothesis_internal_use_settings = settings(own, max_examples=SOAK)
