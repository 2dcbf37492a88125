"""The MLflow flavor: what is logged scores as the model does, and holds no pickle."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_penguins

mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny is in the extra mlflow")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # MLflow's own
]
BIRDS = load_penguins().drop_columns(["year"])
X = BIRDS.drop_columns(["species"])


@pytest.fixture
def logged(tmp_path, monkeypatch):
    import bayeskit.mlflow

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    model = bk.NaiveBayes().fit(BIRDS, "species")
    with mlflow.start_run():
        info = bayeskit.mlflow.log_model(model, "birds", input_example=X.to_pandas().head(3))
    return model, info


def test_a_logged_model_scores_as_the_model_does(logged):
    model, info = logged
    table = mlflow.pyfunc.load_model(info.model_uri).predict(X.to_pandas())
    assert table.columns.tolist() == ["predicted", "p_Adelie", "p_Chinstrap", "p_Gentoo"]
    assert table["predicted"].tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(table.iloc[:, 1:].to_numpy(), model.predict_proba(X))


def test_the_model_comes_back_and_nothing_is_pickled(logged, tmp_path):
    _, info = logged
    back = bk.mlflow.load_model(info.model_uri)
    assert back.forget(BIRDS.slice(0, 100), "species").tally_.n_rows == BIRDS.num_rows - 100
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file.name for file in files if file.suffix == ".bayes"] == ["model.bayes"]
    assert not [file for file in files if file.suffix in (".pkl", ".pickle", ".joblib")]


def test_a_full_folder_and_other_objects_are_refused(tmp_path):
    import bayeskit.mlflow

    (tmp_path / "note.txt").write_text("kept")
    with pytest.raises(bk.BayesError, match="not empty"):
        bayeskit.mlflow.save_model(bk.NaiveBayes().fit(BIRDS, "species"), tmp_path)
    with pytest.raises(bk.BayesError, match="not a model of rows"):
        bayeskit.mlflow.save_model(bk.Tokenizer(), tmp_path / "new")
