"""The order of the pages, read from the one list of them: docs/index.md, and docs/course for the chapters."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
LINE = re.compile(r"^(##+) (.+)$|^- (.*)$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+\.md)\)")


def listed() -> dict[str, list[str]]:
    """Heading → pages, of each line of docs/index.md that begins with a link."""
    pages: dict[str, list[str]] = {}
    section = heading = ""
    for level, title, line in LINE.findall((DOCS / "index.md").read_text("utf-8")):
        if level == "##":
            section = heading = title
        elif level:
            heading = f"{section}: {title.lower()}"
        elif link := LINK.match(line):
            pages.setdefault(heading, []).append(link[2])
    return pages


def chapters() -> list[str]:
    """The pages of the course, in its order: the files are numbered."""
    return [page.name for page in sorted((DOCS / "course").glob("[0-9]*.md"))]


def contents(pages: list[str], caption: str = "") -> str:
    """A hidden table of contents as Sphinx reads it."""
    caption = f":caption: {caption}\n" if caption else ""
    lines = "\n".join(page.removeprefix("../").removesuffix(".md") for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n{caption}\n{lines}\n```\n"
