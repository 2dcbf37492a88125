"""Every picture of the pages is what the lines above it draw, in small files.

``BAYESKIT_WRITE=1 pytest tests/test_gallery.py`` (or ``make gallery``) draws the pictures anew.
"""

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from scripts.slim_pictures import pixels, slim_png

DOCS = Path(__file__).parents[1] / "docs"
if not DOCS.exists():
    pytest.skip("the documentation is not here", allow_module_level=True)
PIECE = re.compile(r"^```python\n(.*?)^```$|^!\[.*?\]\(((?:gallery|pictures)/[\w.]+)\)$", re.MULTILINE | re.DOTALL)
FOLDERS = [DOCS / "gallery", DOCS / "course" / "pictures"]
PAGES = [DOCS / "gallery.md", *sorted((DOCS / "course").glob("[0-9]*.md"))]
SCALES = {"regions.png": 1.0}  # many shades: it would be too large a file


def code_of(block):
    lines = [line for line in block.splitlines() if line.startswith((">>> ", "... "))]
    return "\n".join(line[4:] for line in lines)


def shown_on(page):
    return [page.parent / file for _, file in PIECE.findall(page.read_text("utf-8")) if file]


def pictures(page):
    """(file, chart) in the order of the page, made by its own lines."""
    names = {}
    pieces = PIECE.findall(page.read_text("utf-8"))
    last = max(at for at, (_, file) in enumerate(pieces) if file)
    for code, file in pieces[: last + 1]:
        if code and "Traceback" not in code:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(code_of(code), names)
        elif file:
            yield page.parent / file, names.pop("picture")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_picture_of_a_page_is_what_its_lines_draw(page, tmp_path):
    for kept, chart in pictures(page):
        drawn = tmp_path / kept.name
        chart.save(drawn, scale_factor=SCALES.get(kept.name, 1.5))
        picture = slim_png(drawn.read_bytes())
        if os.environ.get("BAYESKIT_WRITE"):
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(picture)
        new, old = pixels(picture), pixels(kept.read_bytes())
        assert new.shape == pytest.approx(old.shape, rel=0.02), kept  # another renderer's letters may differ a little
        rows, columns = (min(sides) for sides in zip(new.shape[:2], old.shape[:2], strict=True))
        assert np.abs(new[:rows, :columns] - old[:rows, :columns]).mean() < 8, kept
        assert len(chart.to_json(indent=None).encode()) < 100_000, kept


def test_every_picture_is_shown_once_and_every_chapter_has_one():
    assert all(shown_on(page) for page in PAGES)
    shown = [file for page in PAGES for file in shown_on(page)]
    assert sorted(shown) == sorted(file for folder in FOLDERS for file in folder.iterdir())


def test_the_pictures_are_small():
    sizes = {file: file.stat().st_size for folder in FOLDERS for file in folder.iterdir()}
    assert {file.name for file, size in sizes.items() if size > 60_000} == set()
    assert sum(sizes.values()) < 1_500_000
    assert len(list(FOLDERS[0].iterdir())) >= 30
