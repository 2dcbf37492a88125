"""The built script of pages: it is up to date, it is small, and it is in the package."""

import gzip
import hashlib
from importlib.resources import files
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "page"
ASSETS = [(files("bayeskit.report") / "assets" / name).read_bytes() for name in ("page.js", "page.css")]


def test_the_script_is_built_from_the_sources():
    names = sorted(
        [*(f"src/{path.name}" for path in (SOURCE / "src").iterdir()), "package-lock.json", "vite.config.ts"]
    )
    digest = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in names)).hexdigest()
    assert ASSETS[0].decode().startswith(f"/* sources {digest} */"), "make page builds it"


def test_the_code_of_a_page_is_small():
    assert sum(map(len, ASSETS)) <= 200_000
    assert sum(len(gzip.compress(asset)) for asset in ASSETS) <= 60_000
