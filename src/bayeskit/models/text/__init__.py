"""Documents: a classifier by recipes, and what counts words for other models."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
