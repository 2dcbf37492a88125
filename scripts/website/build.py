"""make site: the same Markdown as a site in build/site, with search, the API from docstrings, and no net.

python -m scripts.website.build
"""

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path

from bayeskit.report.play import LESSONS, write_lessons
from scripts.website import reference
from scripts.website.formulas import set_formula
from scripts.website.index import DOCS, chapters, contents, listed

ROOT = DOCS.parent
SOURCE, PARSED, SITE = (ROOT / "build" / name for name in ("site-source", "site-parsed", "site"))
OUTSIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")  # pages of the root that have a place in the site


def main() -> None:
    """Write the sources anew, and let Sphinx build them; a broken link or anchor is an error."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS, SOURCE)
    for name in OUTSIDE:
        text = re.sub(r"\]\(docs/", "](", (ROOT / name).read_text("utf-8"))
        (SOURCE / name).write_text(re.sub(r"\]\((?:README\.md|LICENSE|NOTICE)\)", "](index.md)", text), "utf-8")
    made = reference.pages()
    for path, text in made.items():
        (SOURCE / path).parent.mkdir(exist_ok=True)
        (SOURCE / path).write_text(text, "utf-8")
    names = [path.removeprefix("reference/").removesuffix(".md") for path in made if path[10].isupper()]
    for page in SOURCE.rglob("*.md"):
        text = for_sphinx(page.read_text("utf-8"))
        if page.name not in ("api.md", *OUTSIDE):
            folder = {SOURCE: "reference/", SOURCE / "reference": ""}.get(page.parent, "../reference/")
            text = reference.linked(text, folder, [name for name in names if f"`{name}`" in text])
        page.write_text(text, "utf-8")
    api = SOURCE / "api.md"  # its first table lists the names
    row = re.compile(rf"^\| `({'|'.join(names)})` \|", re.MULTILINE)
    api.write_text(row.sub(r"| [`\1`](reference/\1.md) |", api.read_text("utf-8")), "utf-8")
    parts = {path: text for path, text in made.items() if not path[10].isupper()}
    gallery = SOURCE / "gallery.md"
    gallery.write_text(with_thumbnails(gallery.read_text("utf-8")), "utf-8")
    add(SOURCE / "index.md", *(contents(pages, heading) for heading, pages in listed().items()))
    add(SOURCE / "course" / "index.md", contents([*chapters(), "teaching.md"]))
    add(SOURCE / "api.md", "\n## With their docstrings\n\n", links(parts), contents([*parts]))
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--jobs", "2"]
    folders = ["-c", str(Path(__file__).parent), "-d", str(PARSED), str(SOURCE), str(SITE)]
    done = subprocess.run([*command, *folders], check=False)
    if done.returncode:
        sys.exit(done.returncode)
    write_lessons(SITE / "play")
    print(f"{len(list(SITE.rglob('*.html')))} pages: open {(SITE / 'index.html').relative_to(ROOT)}")


def for_sphinx(text: str) -> str:
    """Links to the root stay in the site, an indented block is a formula, and a teaching page stands in its chapter."""
    for name in OUTSIDE:
        text = text.replace(f"](../{name}", f"]({name}")
    text = re.sub(r" <!-- play: ([\w-]+) -->", lambda found: frame(found[1]), text)
    lines: list[str] = []
    formula: list[str] = []
    fenced = False
    for line in [*text.splitlines(), ""]:
        fenced ^= line.lstrip().startswith("```")
        if formula and line and not line.startswith("    "):
            lines += [set_formula(formula), ""]
            formula = []
        starts = not fenced and line.startswith("    ") and bool(lines) and not lines[-1] and not in_list(lines)
        if formula or starts:
            formula.append(line.strip())
        else:
            lines.append(line)
    return "\n".join([*lines, *([set_formula(formula)] if formula else []), ""])


def frame(name: str) -> str:
    """A teaching page inside a chapter."""
    look = 'width="100%" height="820" style="border:1px solid #8886;border-radius:12px" loading="lazy"'
    return f'\n\n<iframe src="../play/{name}.html" title="{LESSONS[name].title}" {look}></iframe>'


def with_thumbnails(text: str) -> str:
    """A grid of small pictures above the first section of the gallery, each a link to the picture with its lines."""
    pictures = re.findall(r"^!\[(.*?)\]\((.*?)\)$", text, re.MULTILINE)
    for words, file in pictures:
        text = text.replace(f"![{words}]({file})", f"({Path(file).stem.replace('_', '-')})=\n\n![{words}]({file})")
    grid = "".join(
        f'<a href="#{Path(file).stem.replace("_", "-")}">'
        f'<img src="_images/{Path(file).name}" alt="{html.escape(words)}" loading="lazy"></a>'
        for words, file in pictures
    )
    head, _, rest = text.partition("\n## ")
    return f'{head}\n<div class="thumbnails">{grid}</div>\n\n## {rest}'


def in_list(lines: list[str]) -> bool:
    """Whether the last line that is not empty belongs to a list."""
    last = next((line for line in reversed(lines) if line), "")
    return bool(re.match(r"\s*([-*]|\d+\.) |\s+\S", last))


def add(page: Path, *parts: str) -> None:
    page.write_text(page.read_text("utf-8") + "".join(parts), "utf-8")


def links(made: dict[str, str]) -> str:
    return "".join(f"- [{text.partition(chr(10))[0].removeprefix('# ')}]({path})\n" for path, text in made.items())


if __name__ == "__main__":
    main()
