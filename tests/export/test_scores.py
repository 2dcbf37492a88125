"""A query says what the model says, in every database: run, and compared with predict_proba."""

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk

pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install '.[sql]'")
NEAR = 1e-12
N = 400


def table_of(seed=0, n=N):
    """Texts of few and of many values, numbers with gaps, truths, codes; classes that hang on all of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    many = [f"v{i}" for i in range(80)]
    sky = pa.array([["sun", "rain", "", None][i] for i in (rng.integers(0, 3, n) + y) % 4], pa.string())
    place = pa.array([many[i] for i in (rng.integers(0, 40, n) * (1 + y)) % 80], pa.string())
    width = pa.array(rng.normal(size=n) + y, mask=rng.random(n) < 0.1)
    length = pa.array(rng.gamma(2.0, size=n) * (1 + y), mask=rng.random(n) < 0.05)
    code = pa.array((rng.integers(0, 4, n) + y) * 1000 + 2**53)
    columns = {"sky": sky, "place": place, "width": width, "length": length, "code": code}
    labels = np.array(["no", "yes", "it's"], dtype=object)[y]
    return pa.table(columns), labels


def unanswered(model, rows):
    """Rows with a known cell whose parent is missing or was never seen: only the model sums over its values."""
    gaps = np.zeros(rows.num_rows, dtype=bool)
    model = getattr(model, "model_", model)
    if not hasattr(model, "parents_"):
        return gaps
    known = {}
    for name in rows.column_names:
        cut = getattr(model.schema_.columns[name], "cuts", None) is not None
        cells = rows[name].to_pylist()
        known[name] = np.array([x is not None and (cut or x in model.params_.values.get(name, ())) for x in cells])
    for name, parents in model.parents_.items():
        for parent in parents:
            gaps |= known[name] & ~known[parent]
    return gaps


def scored(database, model, rows, **settings):
    """(predicted, probabilities) by the database, in the order of the rows; and the query's record."""
    keyed = rows.append_column("row id", pa.array(range(rows.num_rows)))
    database.load("the rows", keyed)
    record = model.to_sql('"the rows"', dialect=database.dialect, keys="row id", **settings)
    found = sorted(database.rows(record.query))
    assert [row[0] for row in found] == list(range(rows.num_rows))
    probabilities = np.array([row[2 : 2 + len(model.classes_)] for row in found], dtype=np.float64)
    return [row[1] for row in found], probabilities, record


ROLES = {"code": "categorical"}
TREE = {  # some values of each column are in no branch
    "column": "sky",
    "default": 1,
    "branches": [
        ["rain", {"column": "place", "default": 0, "branches": [["v1", 0], ["v4", 1], ["v8", 2]]}],
        ["sun", {"column": "code", "default": 1, "branches": [[2**53, 3], [2**53 + 1000, 4]]}],
    ],
}
BEYOND_SQL = {  # of ONNX and JSON
    "AODE": lambda: bk.AODE(roles=ROLES),
    "AODE of frequent parents": lambda: bk.AODE(roles=ROLES, min_count=30, smoothing=0),
    "AODE without parents": lambda: bk.AODE(roles=ROLES, min_count=1e9),
    "NBTree": lambda: bk.NBTree(roles=ROLES),
    "NBTree of a given tree": lambda: bk.NBTree(roles=ROLES, smoothing=1.0, tree=TREE, temperature=1.7),
    "calibrated NBTree": lambda: bk.Calibrated(bk.NBTree(roles=ROLES, min_gain=0), method="sigmoid"),
    "isotonic": lambda: bk.Calibrated(bk.NaiveBayes(roles=ROLES)),
    "sigmoid": lambda: bk.Calibrated(bk.NaiveBayes(roles=ROLES, smoothing=0), method="sigmoid", capped=False),
    "beta": lambda: bk.Calibrated(bk.NaiveBayes(roles=ROLES, temperature=1.7), method="beta"),
    "temperature": lambda: bk.Calibrated(bk.TAN(roles=ROLES), method="temperature"),
    "calibrated AODE": lambda: bk.Calibrated(bk.AODE(roles=ROLES)),
}
MODELS = {
    "default": lambda: bk.NaiveBayes(roles=ROLES),
    "naive": lambda: bk.NaiveBayes(numeric="gaussian", roles=ROLES),
    "no smoothing": lambda: bk.NaiveBayes(roles=ROLES, smoothing=0, numeric="histogram", cuts=[0.5, 1.0, 2.5]),
    "missing is a value": lambda: bk.NaiveBayes(
        roles=ROLES, missing="value", unseen="smooth", numeric="histogram", cuts=40, temperature=1.7
    ),
    "log-normal": lambda: bk.NaiveBayes(roles=ROLES, numeric={"length": "lognormal"}),
    "log-normal, far apart": lambda: bk.NaiveBayes(
        roles=ROLES, numeric={"length": "lognormal"}, variance_floor=1e-9, smoothing=0, prior="uniform", temperature=2.0
    ),
    "exponents of a log-normal": lambda: bk.DiscriminativeWeights(
        bk.NaiveBayes(roles=ROLES, numeric={"length": "lognormal", "width": "gaussian"})
    ),
    "one variance": lambda: bk.NaiveBayes(numeric="gaussian", roles=ROLES, variance="feature", prior="uniform"),
    "exponents": lambda: bk.DiscriminativeWeights(bk.NaiveBayes(numeric="gaussian", roles=ROLES)),
    "tan": lambda: bk.TAN(roles=ROLES),
    "k-dependence": lambda: bk.KDB(k=2, roles={**ROLES, "place": "ignore"}),
    "logistic": lambda: bk.LogisticRegression(roles=ROLES),
}


LOG_NORMALS = [kind for kind in MODELS if "log-normal" in kind]
WITHOUT_LOGARITHM = [0.0, -0.0, -3.5, 1e-300, 5e-324, 1e150, None, float("nan")]


IN_SPARK = ("missing is a value", "tan", "logistic")  # its queries take seconds each


@pytest.mark.parametrize("kind", MODELS)
def test_the_database_says_what_the_model_says(database, kind):
    if database.dialect == "spark" and kind not in IN_SPARK:
        pytest.skip("asked of the others: Spark's queries take seconds")
    rows, labels = table_of()
    model = MODELS[kind]().fit(rows, labels)
    unseen = {"sky": pa.array(["hail", None, "sun"]), "place": pa.array(["nowhere", "v3", None])}
    strange = rows.slice(0, 3).set_column(0, "sky", unseen["sky"]).set_column(1, "place", unseen["place"])
    asked = pa.concat_tables([rows.slice(0, 120), strange])
    predicted, probabilities, _ = scored(database, model, asked)
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(bk.errors.UndecidableWarning)
        expected, classes = model.predict_proba(asked), model.predict(asked).tolist()
    gaps = unanswered(model, asked)
    assert np.isnan(probabilities[gaps]).all()
    assert np.abs(probabilities - expected)[~gaps].max() < NEAR
    assert predicted == [None if gap else label for gap, label in zip(gaps, classes, strict=True)]
    assert gaps.any() == (kind in ("tan", "k-dependence"))


@pytest.mark.parametrize("kind", LOG_NORMALS)
def test_numbers_without_logarithm_add_nothing(database, kind):
    if database.dialect == "spark" and kind != "log-normal":
        pytest.skip("asked of the others: Spark's queries take seconds")
    rows, labels = table_of()
    asked = rows.slice(0, len(WITHOUT_LOGARITHM))
    asked = asked.set_column(asked.column_names.index("length"), "length", pa.array(WITHOUT_LOGARITHM))
    model = MODELS[kind]().fit(rows, labels)
    predicted, probabilities, _ = scored(database, model, asked)
    assert np.abs(probabilities - model.predict_proba(asked)).max() < NEAR
    assert predicted == model.predict(asked).tolist()


def test_numbers_without_logarithm_are_refused_like_unseen_values(database):
    if database.dialect == "spark":
        pytest.skip("asked of the others: Spark's queries take seconds")
    model = bk.NaiveBayes(numeric="lognormal", unseen="error").fit({"x": [1.0, 2.0, 5.0, 7.0]}, ["a", "a", "b", "b"])
    _, probabilities, _ = scored(database, model, pa.table({"x": [3.0, 0.0, -1.0, None]}))
    assert np.isnan(probabilities).all(axis=1).tolist() == [False, True, True, False]
