"""The gallery shows what its own lines make, in small files.

``BAYESKIT_WRITE=1 pytest tests/test_gallery.py`` (or ``make gallery``) draws the pictures anew.
"""

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from scripts.slim_pictures import pixels, slim_png

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
if not PAGE.exists():
    pytest.skip("the documentation is not here", allow_module_level=True)
SCALES = {"gallery/regions.png": 1.0}  # many shades: it would be too large a file
PIECE = re.compile(r"^```python\n(.*?)^```$|^!\[.*?\]\((gallery/[\w.]+)\)$", re.MULTILINE | re.DOTALL)


def code_of(block):
    lines = [line for line in block.splitlines() if line.startswith((">>> ", "... "))]
    return "\n".join(line[4:] for line in lines)


def pictures():
    """(file, chart) in the order of the page, made by its own lines."""
    names = {}
    for code, file in PIECE.findall(PAGE.read_text("utf-8")):
        if code:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(code_of(code), names)
        else:
            yield file, names.pop("picture")


@pytest.mark.slow
def test_every_picture_of_the_gallery_is_what_its_lines_draw(tmp_path):
    shown = []
    for file, chart in pictures():
        kept, drawn = PAGE.parent / file, tmp_path / Path(file).name
        chart.save(drawn, scale_factor=SCALES.get(file, 1.5))
        picture = slim_png(drawn.read_bytes())
        if os.environ.get("BAYESKIT_WRITE"):
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(picture)
        new, old = pixels(picture), pixels(kept.read_bytes())
        assert new.shape == pytest.approx(old.shape, rel=0.02), file  # another renderer's letters may differ a little
        rows, columns = (min(sides) for sides in zip(new.shape[:2], old.shape[:2], strict=True))
        assert np.abs(new[:rows, :columns] - old[:rows, :columns]).mean() < 8, file
        assert len(chart.to_json(indent=None).encode()) < 100_000, file
        shown.append(file)
    assert sorted(shown) == sorted(f"gallery/{file.name}" for file in (PAGE.parent / "gallery").iterdir())


def test_the_pictures_are_small():
    sizes = {file.name: file.stat().st_size for file in (PAGE.parent / "gallery").iterdir()}
    assert {name for name, size in sizes.items() if size > 60_000} == set()
    assert sum(sizes.values()) < 1_500_000
    assert len(sizes) >= 30
