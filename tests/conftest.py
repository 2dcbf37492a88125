"""Settings that all tests share."""

from hypothesis import settings

# A busy machine makes a slow example, not a wrong one.
settings.register_profile("house", deadline=None, max_examples=60)
settings.load_profile("house")
