"""Pages of the API, made from docstrings: one for each part of the package, and one for what models share."""

import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import bayeskit as bk

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
ENTRY = re.compile(r"^(\w[\w, *]*(?:,\n\w[\w, *]*)*): ", re.MULTILINE)  # names may go on in the next line
WIDTH = 92  # of a signature that is broken


def pages() -> dict[str, str]:
    """Path → Markdown, in the order of TITLES."""
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
    for part in sorted(parts, key=lambda part: (part not in TITLES, [*TITLES, part].index(part))):
        title = TITLES.get(part, part.capitalize())
        body = "\n".join(described(name, thing, shared) for name, thing in parts[part].items())
        made[f"reference/{part}.md"] = f"# {title}\n\n{body}"
    methods = "\n".join(f"## {name}\n\n{documented(name, shared[name])}" for name in sorted(shared))
    head = (
        "# Methods that models share\n\nA model has those that its entry on [the page of names](../api.md) lists.\n\n"
    )
    return made | {"reference/methods.md": head + methods}


def functions(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    for name, thing in sorted(vars(module).items()):
        if inspect.isfunction(thing) and name[0] != "_" and thing.__module__.startswith(module.__name__):
            yield name, thing
    for name in sorted(getattr(module, "__all__", ())):
        if inspect.isfunction(thing := getattr(module, name)) and name not in vars(module):
            yield name, thing


def described(name: str, thing: Any, shared: dict[str, Any]) -> str:
    """A section for a public name: its signature, its docstring and its methods; inherited ones go to ``shared``."""
    text = f"## {name}\n\n{documented(name, thing)}"
    if not inspect.isclass(thing):
        return text
    inherited = []
    for method in sorted(dir(thing)):
        owner = next((one for one in thing.__mro__ if method in vars(one)), object)
        found = vars(owner).get(method)
        if method[0] == "_" or not owner.__module__.startswith("bayeskit"):
            continue
        if not _is_asked(found):
            continue
        if owner is thing:
            text += f"\n### {name}.{method}\n\n{documented(method, found)}"
        else:
            shared.setdefault(method, found)
            inherited.append(f"[`{method}`](methods.md#{method})")
    return text + (f"\nShared with others: {', '.join(inherited)}.\n" if inherited else "")


def documented(name: str, thing: Any) -> str:
    """Signature and docstring as Markdown."""
    asked = thing.__func__ if isinstance(thing, (classmethod, staticmethod)) else thing
    signature = "" if _is_property(asked) else f"```python\n{_broken(name + _signature(asked))}\n```\n\n"
    return signature + markdown(inspect.getdoc(asked) or "") + "\n"


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
        entries = ENTRY.sub(r"- **\1**: ", body) if heading in ("Parameters", "Attributes") else body
        out.append(f"**{heading}**\n\n{entries}" if body.strip() else "")
    return "".join(out)


def _is_asked(thing: Any) -> bool:
    """Of what a class holds: methods and properties with a word about them, not fields."""
    callable_one = isinstance(thing, (types.FunctionType, classmethod, staticmethod)) or _is_property(thing)
    return callable_one and bool(inspect.getdoc(thing))


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
