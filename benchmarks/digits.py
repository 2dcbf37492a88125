"""Handwritten digits by their pixels: the tables and the picture of docs/digits.md.

``python benchmarks/digits.py`` prints the table of scikit-learn's digits and writes docs/digits.png; with MNIST in the
folder that the environment variable BAYESKIT_DATA names (images/mnist.npz) it prints that table too.
"""

from __future__ import annotations

import os
from pathlib import Path

import altair as alt
import numpy as np
from sklearn.datasets import load_digits

from bayeskit import NaiveBayes

RULES = ("class_feature", "feature", "class", "all")
PICTURE = Path(__file__).parent.parent / "docs" / "digits.png"


def small() -> None:
    """8 × 8 pixels, 1,797 digits: leave-one-out, and the class means drawn."""
    X, y = load_digits(return_X_y=True)
    print("load_digits, leave-one-out\n| variance | parameters | accuracy | log loss | Brier |\n|---|---|---|---|---|")
    for rule in RULES:
        model = NaiveBayes(numeric="gaussian", variance=rule).fit(X, y)
        found = model.leave_one_out(X, y)
        numbers = f"{found.accuracy:.4f} | {found.log_loss:.3g} | {found.brier:.3f}"
        print(f'| `"{rule}"` | {model.n_parameters_:,} | {numbers} |')
    means = np.array([model.table(f"x{j}")["mean"] for j in range(64)]).T  # (digits, pixels)
    cells = [{"digit": d, "x": j % 8, "y": j // 8, "ink": float(means[d, j])} for d in range(10) for j in range(64)]
    (
        alt.Chart(alt.InlineData(values=cells))
        .mark_rect()
        .encode(
            alt.X("x:O", axis=None),
            alt.Y("y:O", axis=None),
            alt.Color("ink:Q", scale=alt.Scale(scheme="greys"), legend=None),
        )
        .properties(width=96, height=96)
        .facet(
            alt.Facet("digit:O", title="mean of each pixel in each class", header=alt.Header(labelFontSize=12)),
            columns=5,
        )
        .save(PICTURE, scale_factor=1.5)
    )
    print(f"written: {PICTURE}")


def large(path: Path) -> None:
    """28 × 28 pixels: fitted on 60,000, asked of 10,000 others."""
    with np.load(path) as images:
        X, y = images["x_train"].reshape(60_000, -1), images["y_train"].astype(int)
        test, labels = images["x_test"].reshape(10_000, -1), images["y_test"].astype(int)
    print("\nMNIST, 10,000 test digits\n| variance | parameters | accuracy |\n|---|---|---|")
    model = NaiveBayes(numeric="gaussian").fit(X, y)
    for rule in RULES:
        other = NaiveBayes(numeric="gaussian", variance=rule).fit_tally(model.tally_)  # one scan serves all four
        print(f'| `"{rule}"` | {other.n_parameters_:,} | {other.score(test, labels):.4f} |')


if __name__ == "__main__":
    small()
    mnist = Path(os.environ.get("BAYESKIT_DATA", "nowhere")) / "images" / "mnist.npz"
    if mnist.exists():
        large(mnist)
    else:
        print("\nMNIST is not here: BAYESKIT_DATA names no folder with images/mnist.npz")
