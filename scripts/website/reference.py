"""Pages of the API, made from docstrings: one for each public class and for each part of the package."""

import inspect
import re
import textwrap
import types
from collections.abc import Iterable, Iterator
from typing import Any

import bayeskit as bk
from scripts.website.index import DOCS, contents

TITLES = {
    "models": "Models",
    "sequence": "Sequences",
    "topics": "Topics",
    "estimate": "Smoothing and beliefs",
    "network": "Networks and distributions",
    "evaluate": "Scores",
    "explain": "Explanations",
    "decisions": "Decisions",
    "data": "Columns and sources",
    "tally": "Tallies",
    "charts": "Charts",
    "datasets": "Data sets",
    "errors": "Errors and warnings",
}
MODULES = ("charts", "datasets", "decisions")  # whose own functions are public as well
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
DOCTEST = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(\w[\w, *]*?(?:,\n\w[\w, *]*?)*)(: | : .*$)", re.MULTILINE)  # names may go on in the next line
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"\b[A-Z]\w+")
MOST_EXAMPLES = 6
WIDTH = 92  # of a signature that is broken


def pages() -> dict[str, str]:
    """Path → Markdown, in the order of TITLES: the page of a part, and after it those of its classes."""
    parts: dict[str, dict[str, Any]] = {}
    for name in sorted(bk.__all__):
        thing = getattr(bk, name)
        if not isinstance(thing, (str, types.ModuleType)):
            parts.setdefault(thing.__module__.split(".")[1], {})[name] = thing
    for module in MODULES:
        for name, thing in functions(getattr(bk, module)):
            parts.setdefault(module, {}).setdefault(f"{module}.{name}", thing)
    shared: dict[str, Any] = {}
    made = {}
    examples = mentions()
    for part in sorted(parts, key=lambda part: (part not in TITLES, [*TITLES, part].index(part))):
        title = TITLES.get(part, part.capitalize())
        classes = {name: thing for name, thing in parts[part].items() if inspect.isclass(thing)}
        rows = "".join(f"| [`{name}`]({name}.md) | {first_line(thing)} |\n" for name, thing in classes.items())
        listed = f"| class | |\n|---|---|\n{rows}\n" if rows else ""
        body = "\n".join(
            f"## {name}\n\n{documented(name, thing)}" for name, thing in parts[part].items() if name not in classes
        )
        made[f"reference/{part}.md"] = f"# {title}\n\n{listed}{body}{contents([f'{name}.md' for name in classes])}"
        for name, thing in classes.items():
            made[f"reference/{name}.md"] = class_page(name, thing, shared, examples.get(name, []), part)
    methods = "\n".join(f"## {name}\n\n{documented(name, shared[name])}" for name in sorted(shared))
    head = "# Methods that models share\n\nThe page of each class lists the methods that it has.\n\n"
    return made | {"reference/methods.md": head + methods}


def mentions() -> dict[str, list[str]]:
    """Public name → links to the chapters and pages with an example that uses it, chapters first."""
    found: dict[str, list[str]] = {}
    for page in (*sorted((DOCS / "course").glob("[0-9]*.md")), *sorted(DOCS.glob("[!a]*.md"))):
        text = page.read_text("utf-8")
        title = text.partition("\n")[0].removeprefix("# ").partition(":")[0]
        link = f"[{title}](../{page.relative_to(DOCS)})"
        for name in {word for block in CODE.findall(text) for word in NAME.findall(block)}:
            found.setdefault(name, []).append(link)
    return found


def linked(text: str, folder: str, names: Iterable[str]) -> str:
    """Link the first mention of each public class in a page to the page of that class."""
    for name in names:
        fenced = re.split(r"(^```.*?^```$|^#.*?$)", text, flags=re.MULTILINE | re.DOTALL)
        for i in range(0, len(fenced), 2):
            link = f"[`{name}`]({folder}{name}.md)"
            fenced[i], n = re.subn(rf"(?<!\[)`{name}`(?![^\[\n]*\]\()", link, fenced[i], count=1)
            if n:
                break
        text = "".join(fenced)
    return text


def functions(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    for name, thing in sorted(vars(module).items()):
        if inspect.isfunction(thing) and name[0] != "_" and thing.__module__.startswith(module.__name__):
            yield name, thing
    for name in sorted(getattr(module, "__all__", ())):
        if inspect.isfunction(thing := getattr(module, name)) and name not in vars(module):
            yield name, thing


def class_page(name: str, thing: Any, shared: dict[str, Any], examples: list[str], part: str) -> str:
    """Return the page of a class with a table of methods and its own methods; inherited ones go to ``shared``."""
    rows, own = [], []
    for method in sorted(dir(thing)):
        owner = next((one for one in thing.__mro__ if method in vars(one)), object)
        found = vars(owner).get(method)
        if method[0] == "_" or not owner.__module__.startswith("bayeskit") or not _is_documented(found):
            continue
        if owner is thing:
            own.append(f"### {name}.{method}\n\n{documented(method, found)}")
            target = f"#{(name + method).lower()}"
        else:
            shared.setdefault(method, found)
            target = f"methods.md#{method}"
        rows.append(f"| [`{method}`]({target}) | {first_line(found)} |\n")
    table = f"\n## Methods and properties\n\n| name | |\n|---|---|\n{''.join(rows)}\n" if rows else ""
    see = f"\nExamples in {', '.join(examples[:MOST_EXAMPLES])}.\n" if examples else ""
    part_link = f"\nSee also: [{TITLES.get(part, part.capitalize())}]({part}.md).\n"
    return f"# {name}\n\n{documented(name, thing)}{see}{part_link}{table}" + "\n".join(own)


def first_line(thing: Any) -> str:
    """The first paragraph of a docstring as a cell of a table."""
    thing = thing.__func__ if isinstance(thing, (classmethod, staticmethod)) else thing
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")
    return _prose(text).replace("|", "∣")


def documented(name: str, thing: Any) -> str:
    """Signature and docstring as Markdown."""
    function = thing.__func__ if isinstance(thing, (classmethod, staticmethod)) else thing
    signature = "" if _is_property(function) else f"```python\n{_broken(name + _signature(function))}\n```\n\n"
    return signature + markdown(inspect.getdoc(function) or "") + "\n"


def markdown(text: str) -> str:
    """A docstring of this house: numpydoc's headings, ``name: text`` below them, examples, roles in backticks."""
    pieces, at = [], 0
    for example in DOCTEST.finditer(text):
        pieces += [_prose(text[at : example.start()]), f"```pycon\n{example[0].rstrip()}\n```\n"]
        at = example.end()
    return "".join([*pieces, _prose(text[at:])]).strip() + "\n"


def _prose(text: str) -> str:
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    parts = HEADING.split(text)
    out = [parts[0]]
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        entries = ENTRY.sub(_entry, body) if heading in ("Parameters", "Attributes") else body
        out.append(f"**{heading}**\n\n{entries}" if body.strip() else "")
    return "".join(out)


def _entry(found: re.Match[str]) -> str:
    """Return an item of a list; a type after `` : `` goes into parentheses."""
    kind = found[2].removeprefix(" : ")
    return f"- **{found[1]}**{found[2]}" if kind == found[2] else f"- **{found[1]}** ({kind}):"


def _is_documented(thing: Any) -> bool:
    """Whether a member of a class is a method or property with a docstring, not a field."""
    is_member = isinstance(thing, (types.FunctionType, classmethod, staticmethod)) or _is_property(thing)
    return is_member and bool(inspect.getdoc(thing))


def _is_property(thing: Any) -> bool:
    return isinstance(thing, property) or type(thing).__name__ in ("cached_property", "_AvailableIfDescriptor")


def _signature(thing: Any) -> str:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(…)"
    kept = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name not in ("self", "cls")]
    return str(signature.replace(parameters=kept, return_annotation=signature.empty))


def _broken(call: str) -> str:
    return "\n".join(textwrap.wrap(call, WIDTH, subsequent_indent="    ", break_long_words=False))
