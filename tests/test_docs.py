"""Every figure in the documentation comes out of the code that stands above it."""

import doctest
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "README.md").exists():
    pytest.skip("the documentation is not here", allow_module_level=True)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code_of(page: Path) -> str:
    """The ```python blocks of a page at their own lines, everything else blank."""
    lines, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = line.startswith("```")
        inside = line == "```python" if fence else inside
        lines.append(line if inside and not fence else "")
    return "\n".join(lines) + "\n"


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_examples_of_a_page_run_in_order_and_print_what_it_says(page):
    examples = doctest.DocTestParser().get_doctest(code_of(page), {"__name__": "__main__"}, name(page), str(page), 0)
    report: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "bayeskit runs without its compiled core")
        doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_python_block_is_an_example_that_runs(page):
    assert all(block.lstrip().startswith(">>> ") for block in blocks_of(page))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_to_a_file_leads_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_source_file_named_exists(page):
    named = re.findall(r"`(src/bayeskit/[\w/.]+|tests/[\w/.]+|native/[\w/.]+)`", page.read_text(encoding="utf-8"))
    examples = {"src/bayeskit/models/one_rule.py", "tests/models/test_one_rule.py"}
    examples |= {"src/bayeskit/tally/zeros.py", "tests/tally/test_zeros.py"}
    assert [path for path in named if path not in examples and not (ROOT / path).exists()] == []


def test_every_make_target_named_exists():
    makefile = ROOT / "Makefile"
    if not makefile.exists():
        pytest.skip("no Makefile here")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile.read_text(encoding="utf-8"), re.MULTILINE))
    named = {word for page in PAGES for word in re.findall(r"`?make ([a-z]+)`", page.read_text(encoding="utf-8"))}
    assert named <= targets


def test_the_course_has_a_passage_for_each_of_its_worked_examples():
    course = (ROOT / "docs" / "course.md").read_text(encoding="utf-8")
    told = {int(n) for n in re.findall(r"\bWorked example (\d+)\b", course)}
    assert {*range(3, 10), *range(11, 21), 22, 23, 24, 28, 31, 32} <= told


@pytest.mark.slow
def test_the_demo_tells_its_story_within_eighty_columns():
    command = [sys.executable, "-X", "utf8", "-m", "bayeskit.demo"]
    told = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert told.returncode == 0, told.stderr
    assert "344 penguins" in told.stdout
    assert max(map(len, told.stdout.splitlines())) <= 80
