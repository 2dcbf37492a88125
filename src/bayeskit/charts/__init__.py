"""Altair charts of records: interactive in a notebook without the network, PNG and SVG by ``chart.save``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
