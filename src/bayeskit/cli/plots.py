"""``--plot FILE``: what a command says, drawn into a file as well; the name's ending says the form."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

ENDINGS = (".png", ".svg", ".html")

Plot = Annotated[
    str | None, typer.Option("--plot", metavar="FILE", help="Draw it as well, into a .png, .svg or .html file.")
]


def check_plot(path: str | None, reads: Sequence[str | None] = ()) -> None:
    """Refuse a file that cannot be drawn into, and say what is not installed, before the work and not after it."""
    from bayeskit.charts.style import altair, check_converter
    from bayeskit.cli.inputs import check_writable
    from bayeskit.errors import BayesError

    if path is None:
        return
    if Path(path).suffix.lower() not in ENDINGS:
        raise BayesError(f"{path}: the name's ending says the form, one of {', '.join(ENDINGS)}")
    check_writable(path, is_model=False, reads=reads)
    altair()
    check_converter()


def plot(page: Any, path: str | None, chart: Callable[[], Any]) -> None:
    """Draw a chart into a file, where one was asked for, and say so."""
    from bayeskit.storage.files import replace_file

    if path is None:
        return
    form = Path(path).suffix.lower().removeprefix(".")
    out: Any = io.BytesIO() if form == "png" else io.StringIO()
    chart().save(out, format=form)
    content = out.getvalue()
    with replace_file(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    page.line(f"drawn in {path}", style="bold")


def joined(charts: Sequence[Any], across: bool = False) -> Any:
    """Several charts as one, below or beside each other."""
    from bayeskit.charts.style import altair, offline

    if len(charts) == 1:
        return charts[0]
    alt = altair()
    both = (alt.hconcat if across else alt.vconcat)(*charts)
    return offline(both.resolve_scale(color="independent", shape="independent", size="independent"))
