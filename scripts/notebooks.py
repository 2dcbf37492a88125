"""make notebooks: every chapter of the course as an executed notebook in build/notebooks, and its pictures on one page.

python scripts/notebooks.py
"""

import base64
import html
import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
COURSE, TARGET = ROOT / "docs" / "course", ROOT / "build" / "notebooks"
BLOCK = re.compile(r"^```python\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"\s*!\[(.*?)\]\((pictures/[\w.]+)\)\n")
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


def cells(text: str) -> list[nbformat.NotebookNode]:
    """Markdown and code in turn; a block inside an answer stays text, so that it folds."""
    folded = [answer.span() for answer in ANSWER.finditer(text)]
    made, at = [], 0
    for block in BLOCK.finditer(text):
        if any(start < block.start() < end for start, end in folded):
            continue
        made.append(nbformat.v4.new_markdown_cell(text[at : block.start()].strip()))
        code = source(block[1])
        at = block.end()
        if picture := PICTURE.match(text, at):  # the notebook draws its own
            code += "\npicture"
            at = picture.end()
        made.append(nbformat.v4.new_code_cell(code))
        if "Traceback" in block[1]:
            made[-1].metadata["tags"] = ["raises-exception"]
    made.append(nbformat.v4.new_markdown_cell(text[at:].strip()))
    return [cell for cell in made if cell.source]


def source(block: str) -> str:
    """The lines after the prompts; what they print is left to the notebook."""
    return "\n".join(line[4:] for line in block.splitlines() if line.startswith((">>>", "...")) and line != "...")


def links(text: str) -> str:
    """Chapters link to notebooks, and all else to the pages they are made from."""
    text = re.sub(r"\]\(((?!index)[\w-]+)\.md", r"](\1.ipynb", text)
    return text.replace("](index.md", "](../../docs/course/index.md").replace("](../", "](../../docs/")


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
        nbformat.write(notebook, TARGET / f"{chapter.stem}.ipynb")
        print(TARGET.relative_to(ROOT) / f"{chapter.stem}.ipynb", flush=True)
    (TARGET / "pictures.html").write_text(pictures(chapters), "utf-8")
    print(TARGET.relative_to(ROOT) / "pictures.html")


if __name__ == "__main__":
    main()
