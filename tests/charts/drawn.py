"""What tests ask of a chart: its data, its texts, its size, and that it can be rendered."""

import json
from itertools import chain


def rows_of(chart):
    """The rows of all data in a chart, in the order of its layers."""
    spec = chart.to_dict()
    texts = [
        *spec.get("datasets", {}).values(),
        *([spec["data"]["values"]] if "values" in spec.get("data", {}) else []),
    ]
    return list(chain.from_iterable(json.loads(text) for text in texts))


def head_of(chart):
    """The title, and the lines below it."""
    title = _title(chart.to_dict())
    return " ".join([*json.loads(title["text"]["expr"]), *title.get("subtitle", [])])


def _title(spec):
    if "title" in spec:
        return spec["title"]
    return next(_title(part) for key in ("vconcat", "hconcat", "layer", "concat") for part in spec.get(key, []))


def check(chart, folder, name="chart"):
    """The chart is small, is not HTML, and is rendered."""
    spec = json.dumps(chart.to_dict())
    assert len(spec.encode()) < 100_000
    assert not set("<>&") & set(spec)
    chart.save(folder / f"{name}.png")
    picture = (folder / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 2_000  # something was drawn
    return chart
