"""What the site and the notebooks are made of, without building them."""

import re

import pytest

import bayeskit as bk
from bayeskit.report.play import LESSONS
from scripts.website import build, reference
from scripts.website.formulas import set_formula
from scripts.website.index import DOCS, contents

if not DOCS.exists():
    pytest.skip("the documentation is not here", allow_module_level=True)


@pytest.mark.slow
def test_every_public_name_has_its_docstring_on_a_page_of_the_site():
    pages = "\n".join(reference.pages().values())
    headings = set(re.findall(r"^## (\S+)$", pages, re.MULTILINE))
    named = {name for name in bk.__all__ if not isinstance(getattr(bk, name), (str, type(bk)))}
    assert named - headings == set()
    assert "### NaiveBayes.diagnose" in pages or "[`diagnose`](methods.md#diagnose)" in pages
    assert set(re.findall(r"\(methods\.md#(\w+)\)", pages)) <= headings


def test_a_docstring_of_the_house_becomes_markdown():
    text = """What it is, see :func:`compare`.

    P(x) = 1

Parameters
----------
smoothing: a number, or ``MLE()``;
    more of it.
prior, ties,
cuts: as elsewhere.

>>> 1 + 1
2
"""
    assert (
        reference.markdown(text)
        == """What it is, see `compare`.

    P(x) = 1

**Parameters**

- **smoothing**: a number, or `MLE()`;
    more of it.
- **prior, ties,
cuts**: as elsewhere.

```pycon
>>> 1 + 1
2
```
"""
    )


def test_indented_lines_are_formulas_and_code_stays_code():
    text = "So\n\n    a = b\n\n    c = d\n\nand [there](../SECURITY.md#x):\n\n"
    text += "```\n\n    code\n```\n- item\n\n    more of it\n"
    made = build.for_sphinx(text)
    table = '<table class="formula"><tr><td>a = b</td></tr><tr><td>c = d</td></tr></table>'
    assert f"So\n\n{table}\n\nand [there](SECURITY.md#x)" in made
    assert "```\n\n    code\n```\n- item\n\n    more of it\n" in made


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("P(x_n | c) = n_vc / N_c", "P(x<sub>n</sub> | c) = n<sub>vc</sub> / N<sub>c</sub>"),
        ("Π_{w in d} p_cw", "Π<sub>w in d</sub> p<sub>cw</sub>"),
        ("θ_cw^f_w · 2^n", "θ<sub>cw</sub><sup>f<sub>w</sub></sup> · 2<sup>n</sup>"),
        ("(1 − θ)^(b − 1)", "(1 − θ)<sup>b − 1</sup>"),
        ("p < r", "p &lt; r"),
    ],
)
def test_formulas_have_indices_and_exponents(line, made):
    assert set_formula([line]) == f'<table class="formula"><tr><td>{made}</td></tr></table>'


def test_a_table_of_contents_names_pages_without_their_ending():
    assert contents(["tables.md", "../SECURITY.md"], "How-to").split() == [
        "```{toctree}", ":hidden:", ":caption:", "How-to", "tables", "SECURITY", "```",
    ]  # fmt: skip


def test_a_chapter_becomes_cells_that_run_and_answers_that_fold():
    notebooks = pytest.importorskip(
        "scripts.notebooks", reason="make notebooks installs nbclient", exc_type=ImportError
    )
    for chapter in sorted((DOCS / "course").glob("[0-9]*.md")):
        text = chapter.read_text("utf-8")
        made = notebooks.cells(notebooks.links(text))
        code = [cell.source for cell in made if cell.cell_type == "code"]
        assert all(compile(source, chapter.name, "exec") for source in code)
        assert sum(source.endswith("\npicture") for source in code) == len(re.findall(r"^!\[", text, re.MULTILINE))
        answers = [cell.source for cell in made if "<details>" in cell.source]
        assert all(source.count("<details>") == source.count("</details>") for source in answers)


def test_every_teaching_page_stands_in_one_chapter_of_the_site():
    chapters = [page.read_text("utf-8") for page in (DOCS / "course").glob("*.md")]
    named = [name for text in chapters for name in re.findall(r"<!-- play: ([\w-]+) -->", text)]
    assert sorted(named) == sorted(LESSONS)
    made = "".join(map(build.for_sphinx, chapters))
    assert all(f'<iframe src="../play/{name}.html"' in made for name in LESSONS)
