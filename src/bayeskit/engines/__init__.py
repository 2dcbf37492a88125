"""Count a source into a tally, on this machine or where the data is stored.

A worker imports :mod:`bayeskit.engines.local` and what it stands on, and no model: names are imported when used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
