"""Documents from folders and files."""

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.data.text.folders import FolderSource
from bayeskit.errors import BayesError


@pytest.fixture
def folder(tmp_path):
    for label, texts in {"good": ["sun and sea", "sea"], "bad": [b"rain \xff wind", "wind"]}.items():
        (tmp_path / label / "deep").mkdir(parents=True)
        for i, text in enumerate(texts):
            (tmp_path / label / "deep" / f"{i}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "good" / ".hidden").write_text("hidden")
    (tmp_path / "README").write_text("no class")
    return tmp_path


def test_a_folder_of_one_sub_folder_a_class_is_learned(folder):
    source = FolderSource.of_classes(folder, "weather")
    assert source.labels == ("bad", "bad", "good", "good")
    model = bk.TextClassifier("multinomial").fit_source(source)
    assert model.schema_.target.name == "weather"
    assert model.predict(["rain", "the sun"]).tolist() == ["bad", "good"]
    assert "hidden" not in list(model.words_)


def test_folders_that_are_no_classes_are_refused(folder, tmp_path):
    (folder / "empty").mkdir()
    with pytest.raises(BayesError, match=r"empty holds no file"):
        FolderSource.of_classes(folder)
    with pytest.raises(BayesError, match="no sub-folders"):
        FolderSource.of_classes(folder / "empty")
    with pytest.raises(BayesError, match="not a folder"):
        FolderSource.of_classes(folder / "README")
    with pytest.raises(BayesError, match="no file or folder"):
        bk.TextClassifier("multinomial").fit_source(tmp_path / "nowhere", "kind")


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "jsonl"])
def test_a_text_column_of_a_file_is_learned(tmp_path, kind):
    frame = pd.DataFrame({"id": [1, 2, 3], "body": ["sun, sea", "rain\nwind", "12"], "kind": ["good", "bad", "bad"]})
    path = tmp_path / f"texts.{kind}"
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "parquet": lambda: frame.to_parquet(path),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
    }[kind]()
    model = bk.TextClassifier("multinomial").fit(frame["body"], frame["kind"])
    assert model.predict(["sea", "wind"]).tolist() == ["good", "bad"]
    with pytest.raises(BayesError, match=r"'nothing'.*columns: id, body"):
        bk.TextClassifier("multinomial", column="nothing").fit_source(path, "kind")
    parts = bk.TextClassifier("multinomial", column="body").fit_source(path, "kind")
    assert parts.tally_.words == model.tally_.words
    assert parts.schema_.target.name == "kind"


@pytest.mark.parametrize("recipe", ["multinomial", "auto", "tfidf", "nbsvm"])
def test_a_folder_is_learned_in_parts_as_from_memory(folder, recipe, monkeypatch):
    (batch,) = FolderSource.of_classes(folder).batches()
    whole = bk.TextClassifier(recipe).fit(batch.columns["text"], batch.labels)
    monkeypatch.setattr("bayeskit.data.text.folders.TOGETHER", 1)  # a batch a document
    parts = bk.TextClassifier(recipe).fit_source(folder)
    assert parts.tally_ == whole.tally_
    asked = ["sun", "rain and wind", ""]
    assert np.array_equal(parts.predict_joint_log_proba(asked), whole.predict_joint_log_proba(asked))
    if recipe != "nbsvm":
        parts.learn_source(folder).forget_source(folder)
        assert np.allclose(parts.predict_proba(asked), whole.predict_proba(asked))


def test_files_that_are_no_tables_are_refused(tmp_path):
    (tmp_path / "texts.parquet").write_text("no parquet")
    with pytest.raises(BayesError, match="not a whole Parquet file"):
        bk.TextClassifier("multinomial", column="a").fit_source(tmp_path / "texts.parquet", "b")
