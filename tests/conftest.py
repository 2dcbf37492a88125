"""Settings that all tests share: which of them run, and how many examples Hypothesis draws.

`make test` skips what is marked slow and draws few examples, the same every time. `make test-all` sets
BAYESKIT_TESTS=all: it skips nothing and draws more. `make soak` sets BAYESKIT_SOAK, the number of examples for each
law, draws them anew and prints the seed. A finding is kept as an explicit example, beside the law or in
`laws/test_findings.py`.
"""

import os
import shutil
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

SOAK = int(os.environ.get("BAYESKIT_SOAK", "0"))
ALL = bool(SOAK) or os.environ.get("BAYESKIT_TESTS") == "all"
FEW = 10
SLOW = "slow: make test-all"
QUIET = ("--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--no-first-run")  # fmt: skip


def profile(name, few, many, **changes):
    """Register Hypothesis settings by name, with the examples of `make test` and those of `make test-all`."""
    # A busy machine makes a slow example, not a wrong one.
    drawing = {"deadline": None, "database": None, "derandomize": not SOAK, "print_blob": False}
    settings.register_profile(name, max_examples=SOAK or (many if ALL else few), **drawing, **changes)


profile("house", FEW, 60)
profile("laws", 1, 4, suppress_health_check=list(HealthCheck))  # each runs on some thirty models
profile("few", 4, 12, suppress_health_check=list(HealthCheck))
profile("slow laws", 1, 2, suppress_health_check=list(HealthCheck))
settings.load_profile("house")


def pytest_terminal_summary(terminalreporter):
    """Print the reasons of skipped tests, with the commands that run them."""
    skipped = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())
    )
    if skipped:
        terminalreporter.section("not run here")
        for reason, count in skipped.most_common():
            terminalreporter.write_line(f"{count:>6,}  {reason}")
        terminalreporter.write_line(
            "make test-all runs the slow ones; make services and make browser install what others need;"
        )
        terminalreporter.write_line("BAYESKIT_DATA names a folder with larger data sets.")


def pytest_collection_modifyitems(items):
    """Skip slow tests unless all are wanted, and set the number of examples of tests that give their own."""
    for item in items:
        if not ALL and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason=SLOW))
        test = getattr(item, "obj", None)
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is not None and not (ALL and own.max_examples >= SOAK):
            examples = SOAK or min(own.max_examples, FEW)
            getattr(test, "__func__", test)._hypothesis_internal_use_settings = settings(own, max_examples=examples)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """Debian's Chromium; it need not be there, unless BAYESKIT_BROWSER says so."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("BAYESKIT_BROWSER"):
            pytest.fail("BAYESKIT_BROWSER is set, and there is no chromium: make browser")
        pytest.skip("there is no chromium: make browser")
    options = {"executable_path": program, "args": list(QUIET), "chromium_sandbox": os.geteuid() != 0}
    with sync_api.sync_playwright() as tool:
        context = tool.chromium.launch_persistent_context(tmp_path_factory.mktemp("profile"), **options)
        yield context
        context.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """``opened(html)``: the page of a file, once it stands still, and what it asked of the network."""

    def open_page(name):
        asked = []
        page = chromium.new_page()
        chromium.on("request", lambda request: asked.append(request.url))
        problems = []
        page.on("pageerror", lambda problem: problems.append(problem))
        file, mark, fragment = name.partition("#")
        page.goto((tmp_path / file).as_uri() + mark + fragment, wait_until="networkidle")
        assert problems == []
        return page, [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))]

    return open_page
