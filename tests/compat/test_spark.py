"""The stages of ``pyspark.ml``: a pipeline, tuning, files and a stream, beside the model on a table."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import bayeskit as bk
from bayeskit.datasets import load_penguins
from tests.engines import clusters

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),  # Spark's own
]
BIRDS = load_penguins().select(["island", "sex", "body_mass_g", "bill_depth_mm", "species"])
BIRDS = BIRDS.filter([row["sex"] is not None for row in BIRDS.to_pylist()])
LABELS = [["Adelie", "Chinstrap", "Gentoo"].index(one) for one in BIRDS["species"].to_pylist()]
NUMBERED = BIRDS.drop_columns(["species"]).append_column("label", pa.array(LABELS, pa.float64()))
SETTINGS = {"numeric": "gaussian"}


@pytest.fixture(scope="module")
def session():
    return clusters.spark_session()


@pytest.fixture
def frame(session):
    return session.createDataFrame(NUMBERED.to_pandas()).repartition(3)


@pytest.fixture
def estimator(session):
    from bayeskit.compat.spark import BayesEstimator

    return BayesEstimator(bk.NaiveBayes(**SETTINGS))


def vectors(frame):
    return np.array([row["probability"].toArray() for row in frame.collect()])


def test_a_stage_scores_as_the_model_does(frame, estimator):
    fitted = estimator.fit(frame)
    scored = fitted.transform(frame)
    rows = [row.asDict() for row in scored.collect()]
    whole = bk.NaiveBayes(**SETTINGS).fit(NUMBERED, "label")
    names = NUMBERED.column_names[:-1]
    table = {name: [row[name] for row in rows] for name in names}
    np.testing.assert_allclose([row["probability"].toArray() for row in rows], whole.predict_proba(table), atol=1e-12)
    assert [row["prediction"] for row in rows] == whole.predict(table).tolist()


def test_a_pipeline_with_string_classes_is_saved_and_loaded(session, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import SQLTransformer

    from bayeskit.compat.spark import BayesEstimator

    frame = session.createDataFrame(BIRDS.to_pandas())
    stages = [
        SQLTransformer(statement="SELECT *, body_mass_g / 1000 AS kg FROM __THIS__"),
        BayesEstimator(bk.NaiveBayes(**SETTINGS), inputCols=["kg", "sex"], labelCol="species"),
    ]
    pipeline = Pipeline(stages=stages)
    pipeline.write().overwrite().save(str(tmp_path / "unfitted"))
    again = Pipeline.load(str(tmp_path / "unfitted"))
    fitted = again.fit(frame)
    fitted.write().overwrite().save(str(tmp_path / "fitted"))
    back = PipelineModel.load(str(tmp_path / "fitted"))
    assert set(back.stages[1].model.schema_.used) == {"kg", "sex"}
    np.testing.assert_array_equal(vectors(back.transform(frame)), vectors(pipeline.fit(frame).transform(frame)))
    assert {row["prediction"] for row in back.transform(frame).collect()} <= {"Adelie", "Chinstrap", "Gentoo"}


def test_cross_validation_varies_the_settings(frame, estimator):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    grid = ParamGridBuilder().addGrid(estimator.smoothing, [1.0, 1e6]).build()
    judge = MulticlassClassificationEvaluator(metricName="logLoss")
    tuned = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=1).fit(frame)
    assert tuned.bestModel.model.smoothing == 1.0
    assert tuned.bestModel.model.schema_.used == ["island", "sex", "body_mass_g", "bill_depth_mm"]
    assert tuned.avgMetrics[0] < tuned.avgMetrics[1]


def test_batches_of_a_stream_are_learned_once(session, tmp_path):
    model = bk.NaiveBayes(**SETTINGS).fit(BIRDS, "species")
    model.save(tmp_path / "birds.bayes")
    (tmp_path / "rows").mkdir()
    for i in range(3):
        pa.parquet.write_table(BIRDS.slice(50 * i, 50), tmp_path / "rows" / f"{i}.parquet")

    def learn(batch, number):
        for _ in range(2):  # Spark repeats a batch under its number after a failure
            if (name := f"stream {number}") not in bk.read_history(tmp_path / "birds.bayes").learned:
                with bk.updating(tmp_path / "birds.bayes", batch=name) as counted:
                    counted.partial_fit(batch, "species")

    schema = session.read.parquet(str(tmp_path / "rows")).schema
    stream = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "rows"))
    running = (
        stream.writeStream.foreachBatch(learn)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination(300)
    assert running.exception() is None
    assert bk.load(tmp_path / "birds.bayes").tally_.n_rows == BIRDS.num_rows + 150
