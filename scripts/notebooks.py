"""make notebooks: every chapter of the course as an executed notebook in build/notebooks, and its pictures on one page.

python -m scripts.notebooks
"""

import base64
import doctest
import html
import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from scripts.website.formulas import set_latex

ROOT = Path(__file__).parents[1]
COURSE, TARGET = ROOT / "docs" / "course", ROOT / "build" / "notebooks"
BLOCK = re.compile(r"^```python\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"\s*!\[(.*?)\]\((pictures/[\w.]+)\)\n")
FORMULA = re.compile(r"(?<=\n\n)(?: {4}.*\n)+")
ANSWER = re.compile(r"^<details>.*?^</details>$", re.MULTILINE | re.DOTALL)
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Pictures of the course</title><style>
@page {{ size: A4; margin: 8mm }}
body {{ font: 7pt sans-serif; margin: 0 auto; max-width: 194mm }}
h1 {{ font-size: 11pt; margin: 0 0 2mm }}
main {{ display: grid; grid-template-columns: repeat(3, 1fr); gap: 2mm 4mm }}
figure {{ margin: 0; break-inside: avoid }}
img {{ width: 100%; height: 35mm; object-fit: contain }}
</style><h1>bayeskit: the pictures of the course</h1><main>
{figures}
</main></html>
"""


INSTALL = """# Where bayeskit is not installed yet, in the folder of the project:
# %pip install '.[charts]'"""


def cells(text: str) -> list[nbformat.NotebookNode]:
    """Markdown and code in turn, a code cell for each result; a block inside an answer stays text, so that it folds.

    The first code cell installs bayeskit, and an empty one follows each exercise.
    """
    folded = [answer.span() for answer in ANSWER.finditer(text)]
    title, _, _ = text.partition("\n\n")
    made, at = [nbformat.v4.new_markdown_cell(title), nbformat.v4.new_code_cell(INSTALL)], len(title)
    for block in BLOCK.finditer(text):
        if any(start < block.start() < end for start, end in folded):
            continue
        made.append(nbformat.v4.new_markdown_cell(with_latex(text[at : block.start()]).strip()))
        sources = results(block[1])
        at = block.end()
        if picture := PICTURE.match(text, at):  # the notebook draws its own
            sources[-1] += "\npicture"
            at = picture.end()
        made += [nbformat.v4.new_code_cell(source) for source in sources]
        if "Traceback" in block[1]:
            made[-1].metadata["tags"] = ["raises-exception"]
    for part in re.split(r"(?=^<details>)|(?<=^</details>)", with_latex(text[at:]), flags=re.MULTILINE):
        if part.startswith("<details>"):
            made.append(nbformat.v4.new_code_cell("# try it here"))
        made.append(nbformat.v4.new_markdown_cell(part.strip()))
    return [cell for cell in made if cell.source]


def results(block: str) -> list[str]:
    """The code of a block, cut after each value that it shows: a notebook prints only the last one of a cell."""
    made = [""]
    for example in doctest.DocTestParser().get_examples(block):
        made[-1] += example.source
        if example.want and not example.source.startswith(("print(", "for ", "with ")):
            made.append("")
    return [source.rstrip() for source in made if source]


def with_latex(text: str) -> str:
    """Indented lines, which are formulas, as LaTeX."""
    return FORMULA.sub(lambda found: set_latex([line.strip() for line in found[0].splitlines()]) + "\n", text)


def links(text: str) -> str:
    """Chapters link to the notebooks beside them; other pages are named, since they are not beside them."""
    text = re.sub(r" <!-- play: [\w-]+ -->", "", text)
    text = re.sub(r"\]\((?!index|teaching)([\w-]+)\.md", r"](\1.ipynb", text)
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)?([\w-]+)\.md(?:#[^)]*)?\)", r"\1 (`\2.md`)", text)


def light(notebook: nbformat.NotebookNode) -> None:
    """Keep one form of each picture: SVG, without the library that makes it interactive when the cell is run."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        if "image/svg+xml" in output.get("data", ()):
            output.data.pop("text/html", None)


def pictures(chapters: list[Path]) -> str:
    """One page, to print, of every picture with its chapter and what it shows."""
    figures = []
    for chapter in chapters:
        text = chapter.read_text("utf-8")
        number = text.partition(".")[0].removeprefix("# ")
        for words, file in PICTURE.findall(text):
            data = base64.b64encode((COURSE / file).read_bytes()).decode()
            image = f'<img src="data:image/png;base64,{data}" alt="">'
            figures.append(f"<figure>{image}<figcaption>{number}. {html.escape(words)}</figcaption></figure>")
    return PAGE.format(figures="\n".join(figures))


def main() -> None:
    """Write and execute them; an example that fails stops."""
    TARGET.mkdir(parents=True, exist_ok=True)
    chapters = sorted(COURSE.glob("[0-9]*.md"))
    for chapter in chapters:
        notebook = nbformat.v4.new_notebook(cells=cells(links(chapter.read_text("utf-8"))))
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        quiet = ["--log-level=ERROR"]
        NotebookClient(notebook, timeout=600, kernel_name="python3", extra_arguments=quiet).execute()
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number}"
        light(notebook)
        nbformat.write(notebook, TARGET / f"{chapter.stem}.ipynb")
        print(TARGET.relative_to(ROOT) / f"{chapter.stem}.ipynb", flush=True)
    (TARGET / "pictures.html").write_text(pictures(chapters), "utf-8")
    print(TARGET.relative_to(ROOT) / "pictures.html")


if __name__ == "__main__":
    main()
