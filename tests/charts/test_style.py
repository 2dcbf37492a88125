"""The house style can be read by a color-blind person, on a grey printer, and with names of any length."""

from itertools import combinations, pairwise

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.charts.style import DASHES, LIGHT_TO_DARK, PALETTE, SHAPES, cut, safe
from tests.charts.drawn import head_of

LONG = '😀 a very long name with <b>&"quotes" ' + "x" * 200

BLINDNESS = {  # Machado, Oliveira, Fernandes (2009), full severity, on linear RGB
    "none": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)


def linear(color):
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b*, in which equal distances look about equal."""
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_no_two_colors_of_classes_look_alike_to_a_color_blind_person(kind):
    seen = [lab(np.array(BLINDNESS[kind]) @ linear(color)) for color in PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 15


def test_the_colors_of_classes_differ_in_lightness_so_that_grey_tells_them_apart():
    lightness = [lab(linear(color))[0] for color in PALETTE]
    assert min(abs(a - b) for a, b in combinations(lightness[:3], 2)) > 10
    assert min(abs(a - b) for a, b in combinations(lightness, 2)) > 6
    assert len({*DASHES}) == len({*SHAPES}) == len(PALETTE)  # and a dash and a shape each


def test_maps_go_from_light_to_dark():
    lightness = [lab(linear(color))[0] for color in LIGHT_TO_DARK]
    assert all(a - b > 12 for a, b in pairwise(lightness))


def test_long_names_are_cut_and_keep_their_end():
    assert cut("short") == "short"
    assert len(cut("x" * 500 + "17")) == 26
    assert cut("the value that is number 1234") != cut("the value that is number 1235")
    assert safe("</script>\n") == "‹/script›\\n"


def test_titles_of_long_names_keep_their_ends():
    rng = np.random.default_rng(0)
    y = np.array([f"{LONG} {c}" for c in "abab" * 50])
    X = {LONG: rng.normal(size=200) + (y == y[0]), "z": rng.normal(size=200)}
    model = bk.NaiveBayes().fit(X, y)
    scores, row = model.leave_one_out(X, y), {name: column[:1] for name, column in X.items()}
    ends = {
        "P(mistake)": model.densities(LONG),
        "and z": bk.decision_regions(model, LONG, "z", X, y, "missing"),
        "against": model.nomogram(),
        "AUC": scores.roc(y[0]),
        "break-even": scores.precision_recall(y[0]),
        "of the class": scores.lift(y[0]),
        "probability": model.explain(row)[0],
    }
    for end, record in ends.items():
        assert end in head_of(record.chart()), end
