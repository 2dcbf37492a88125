"""What the site and the notebooks are made of, without building them."""

import re
from xml.dom import minidom

import pytest

import bayeskit as bk
from bayeskit.report.play import LESSONS
from scripts.website import build, reference
from scripts.website.formulas import latex, mathml, set_formula
from scripts.website.index import DOCS, contents

if not DOCS.exists():
    pytest.skip("the documentation is not here", allow_module_level=True)


@pytest.mark.slow
def test_every_public_name_has_its_docstring_on_a_page_of_the_site():
    made = reference.pages()
    pages = "\n".join(made.values())
    headings = set(re.findall(r"^##? (\S+)$", pages, re.MULTILINE))
    named = {name for name in bk.__all__ if not isinstance(getattr(bk, name), (str, type(bk)))}
    assert named - headings == set()
    assert {f"reference/{name}.md" for name in named if isinstance(getattr(bk, name), type)} <= set(made)
    assert "[`forget`](methods.md#forget)" in made["reference/NaiveBayes.md"]
    assert "Examples in [1. Learning as Bayes' rule](../course/01-bayes-rule.md)" in made["reference/Hypotheses.md"]
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
alpha : float, default=1.0
    A pseudo-count.

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
- **alpha** (float, default=1.0):
    A pseudo-count.

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
    table = r'<table class="formula"><tr><td><math>.*</math></td></tr><tr><td><math>.*</math></td></tr></table>'
    assert re.search(rf"So\n\n{table}\n\nand \[there\]\(SECURITY.md#x\)", made)
    assert "```\n\n    code\n```\n- item\n\n    more of it\n" in made


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("x_n", "<msub><mi>x</mi><mi>n</mi></msub>"),
        ("θ_cw", "<msub><mi>θ</mi><mrow><mi>c</mi><mi>w</mi></mrow></msub>"),
        ("Π_i y²", "<munder><mo>Π</mo><mi>i</mi></munder> <msup><mi>y</mi><mn>2</mn></msup>"),
        ("a · b / (c + d)", "<mfrac><mrow>a · b</mrow><mrow>c + d</mrow></mfrac>"),
        ("a / b · c / d", "<mfrac>ab</mfrac> · <mfrac>cd</mfrac>"),
        ("a · c / Σ_k k", "<mfrac><mrow>a · c</mrow><mrow><munder>Σk</munder> k</mrow></mfrac>"),
        ("a + b / c", "a + <mfrac>bc</mfrac>"),
        ("√(2 π)", "<msqrt><mn>2</mn> <mi>π</mi></msqrt>"),
        ("p < r", "<mi>p</mi> <mo>&lt;</mo> <mi>r</mi>"),
    ],
)
def test_formulas_become_mathml(line, made):
    def bare(text):
        return re.sub(r"\s+|</?m[io]>", "", text)

    assert bare(mathml(line)) == bare(made)


def test_the_formulas_of_all_pages_are_well_formed():
    for page in DOCS.rglob("*.md"):
        for table in re.findall(r'<table class="formula">.*?</table>', build.for_sphinx(page.read_text("utf-8"))):
            minidom.parseString(table.replace("&nbsp;", " "))


def test_remarks_stay_text():
    assert "<td>its highest point</td>" in set_formula(["MAP = a / b       its highest point"])


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
        assert all(source.startswith("<details>") and source.endswith("</details>") for source in answers)
        assert code.count("# try it here") == len(answers) == text.count("<details>")
        assert not any(re.search(r"\]\([\w./-]*\.md", cell.source) for cell in made)


def test_a_notebook_has_a_cell_for_each_value_that_a_block_shows():
    notebooks = pytest.importorskip(
        "scripts.notebooks", reason="make notebooks installs nbclient", exc_type=ImportError
    )
    block = ">>> a = 1\n>>> a\n1\n>>> print(a)\n1\n>>> for i in range(2):\n...     print(i)\n0\n1\n>>> a + 1\n2\n"
    assert notebooks.results(block) == ["a = 1\na", "print(a)\nfor i in range(2):\n    print(i)\na + 1"]


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("θ_1 = a / (b + 1)", r"{θ}_{1}=\frac{a}{b+1}"),
        ("Σ_j ln x²", r"\sum_{j}\operatorname{ln}\,{x}^{2}"),
        ("P(ill | D) = 1", r"P(\text{ill}~\midD)=1"),
    ],
)
def test_formulas_become_latex(line, made):
    assert latex(line).replace(" ", "") == made


def test_every_teaching_page_stands_in_one_chapter_of_the_site():
    chapters = [page.read_text("utf-8") for page in (DOCS / "course").glob("*.md")]
    named = [name for text in chapters for name in re.findall(r"<!-- play: ([\w-]+) -->", text)]
    assert sorted(named) == sorted(LESSONS)
    made = "".join(map(build.for_sphinx, chapters))
    assert all(f'<iframe src="../play/{name}.html"' in made for name in LESSONS)
