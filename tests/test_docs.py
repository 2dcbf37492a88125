"""Every figure in the documentation comes out of the code that stands above it."""

import doctest
import re
import subprocess
import sys
import tomllib
import warnings
from functools import cache
from pathlib import Path

import pytest

from scripts.website.index import chapters, listed

ROOT = Path(__file__).parents[1]
if not (ROOT / "README.md").exists():
    pytest.skip("the documentation is not here", allow_module_level=True)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
CHAPTERS = sorted((ROOT / "docs" / "course").glob("[0-9]*.md"))
LONG = {"docs/best.md", "docs/tokens.md", "docs/course/09-topics.md", "docs/course/11-discriminative.md"}
"""Pages that take more than five seconds."""
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


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (name(page) in LONG), id=name(page)) for page in PAGES]
)
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


@cache
def anchors(page: Path) -> set[str]:
    """What a link may name after #: the headings as GitHub and `make site` spell them."""
    lines, fenced = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        if not fenced and re.match(r"#+ ", line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("# ")).lower()
            lines.append(re.sub(r"[^\w -]", "", words).replace(" ", "-"))
    return {f"{slug}-{n}" if n else slug for slug in lines for n in range(lines.count(slug))}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page):
    """To a file that is there, and to a heading of it."""
    wrong = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8")):
        file = page.parent / target if target else page
        if "://" not in target and (not file.exists() or (anchor and anchor not in anchors(file))):
            wrong.append(f"{target}#{anchor}")
    assert wrong == []


def test_every_page_has_one_place_in_the_index():
    docs = ROOT / "docs"
    places = [(docs / page).resolve() for pages in listed().values() for page in pages]
    assert len(places) == len(set(places))
    outside = {ROOT / file for file in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")}
    assert set(places) == {*docs.glob("*.md"), docs / "course" / "index.md", *outside} - {docs / "index.md"}
    assert {heading.partition(":")[0] for heading in listed()} == {"Tutorials", "How-to", "Reference", "Explanation"}
    assert chapters() == [page.name for page in CHAPTERS]


def files_of_the_project() -> list[str]:
    """Paths below the root, of all files that a page or a comment may name."""
    folders = [ROOT / name for name in ("src", "native", "tests", "benchmarks", "scripts", "fuzz", "docs")]
    return [file.relative_to(ROOT).as_posix() for folder in folders for file in folder.rglob("*") if file.is_file()]


def test_every_source_file_named_exists():
    """In pages and in comments: a path may start at the root, at the package or further down."""
    project = files_of_the_project()
    ends = {file[at:] for file in project for at in [0, *(i + 1 for i, c in enumerate(file) if c == "/")]}
    to_write = {"one_rule.py", "test_one_rule.py", "zeros.py", "test_zeros.py", "utils.py"}  # by the reader, or never
    sources = [ROOT / file for file in project if file.startswith(("src/", "native/")) and file.endswith((".py", "pp"))]
    wrong = [
        (name(file), path)
        for file in [*PAGES, ROOT / "CHANGELOG.md", *sources]
        for path in re.findall(r"(?<![\w/.\\])[\w/-]+\.(?:py|cpp|hpp)\b", file.read_text(encoding="utf-8"))
        if path not in ends and path.rpartition("/")[2] not in to_write
    ]
    assert wrong == []


def test_every_folder_named_exists_and_every_package_has_a_row():
    package = ROOT / "src" / "bayeskit"
    packages = {file.parent.relative_to(package).as_posix() + "/" for file in package.rglob("__init__.py")} - {"./"}
    page = (ROOT / "docs" / "how_it_works.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w/]+/)` \|", page, re.MULTILINE)) == packages
    named = [
        (name(page), path)
        for page in PAGES
        for path in re.findall(r"`((?:src|tests|native)/[\w/]*/)`", page.read_text("utf-8"))
    ]
    assert [(page, path) for page, path in named if not (ROOT / path).is_dir()] == []


def test_every_make_target_named_exists():
    makefile = ROOT / "Makefile"
    if not makefile.exists():
        pytest.skip("no Makefile here")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile.read_text(encoding="utf-8"), re.MULTILINE))
    named = {word for page in PAGES for word in re.findall(r"`?make ([a-z]+)`", page.read_text(encoding="utf-8"))}
    assert named <= targets


def test_worked_examples_are_numbered_in_the_order_in_which_they_appear_and_each_has_its_test():
    told = [
        int(n) for page in CHAPTERS for n in re.findall(r"^## Worked example (\d+)\b", page.read_text("utf-8"), re.M)
    ]
    assert told == list(range(1, 40))
    tests = [file.read_text("utf-8") for file in (ROOT / "tests" / "worked_examples").glob("test_*.py")]
    tested = {
        int(n) for text in tests for pair in re.findall(r"def test_(\d+)_(?:and_(\d+)_)?", text) for n in pair if n
    }
    assert tested == set(told)


@pytest.mark.parametrize("page", CHAPTERS, ids=name)
def test_a_chapter_is_a_page_with_things_to_try_and_exercises(page):
    text = page.read_text("utf-8")
    assert 100 <= len(text.splitlines()) <= 450
    assert [line for line in text.splitlines() if line in ("## Try it", "## Exercises", "## Read next")] == [
        "## Try it",
        "## Exercises",
        "## Read next",
    ]
    answers = text.count("<details><summary>Answer</summary>\n\n")
    assert 2 <= answers == text.count("\n</details>") == len(re.findall(r"^\*\*\d+\.\*\*", text, re.M)) <= 10


def test_the_index_of_the_course_names_every_chapter_and_every_worked_example():
    index = (ROOT / "docs" / "course" / "index.md").read_text("utf-8")
    assert [page.name for page in CHAPTERS if f"({page.name})" not in index] == []
    rows = re.findall(r"examples? (\d+)(?: (and|to) (\d+))?", index.partition("## Slips")[0])
    named = [n for first, _, last in rows for n in range(int(first), int(last or first) + 1)]
    assert sorted(named) == list(range(1, 40))


@pytest.mark.slow
def test_the_demo_fits_eighty_columns_and_ends_with_commands_that_run(tmp_path):
    command = [sys.executable, "-X", "utf8", "-m", "bayeskit.demo"]
    told = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "344 penguins" in told.stdout
    *lines, fit, page, play = told.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for line in (fit, page):
        subprocess.run(line.split(), cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "birds.html").exists()
    assert play.endswith("bayes play")


def test_the_readme_lists_the_dependencies_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = ", ".join(dependency.replace(">=", " ") for dependency in project["dependencies"])
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"It needs {listed}, or newer." in readme
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in readme
    assert len(readme.splitlines()) <= 200
