# mypy: allow-subclassing-any
"""Estimators of ``pyspark.ml`` around the classifiers, for ``Pipeline``, ``CrossValidator`` and evaluators.

Counting and scoring run in Spark's workers by ``mapInArrow``. Needs the extra ``spark``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param
from pyspark.ml.param.shared import HasInputCols, HasLabelCol, HasPredictionCol, HasProbabilityCol
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter

from bayeskit.engines.spark import quoted
from bayeskit.errors import BayesError
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.scoring import add_columns_there, loaded

__all__ = ["BayesEstimator", "BayesModel"]

FOLD_COLUMN = re.compile(r"(CrossValidator|TrainValidationSplit)_\w+_rand")
"""Column of random numbers that Spark adds to split the rows."""


class _ColumnParams(HasInputCols, HasLabelCol, HasPredictionCol, HasProbabilityCol):
    """Names of the columns."""

    def _set_columns(self, **names: Any) -> None:
        self._setDefault(labelCol="label", predictionCol="prediction", probabilityCol="probability")
        self._set(**{name: value for name, value in names.items() if value is not None})


class BayesEstimator(Estimator, _ColumnParams, MLReadable, MLWritable):
    """Fit a classifier on a Spark frame, as a stage of ``pyspark.ml``.

    Every setting of the classifier is a ``Param`` of the estimator, so that a ``ParamGridBuilder`` can vary it. Class
    labels are read as they are; evaluators of ``pyspark.ml`` need numbers.

    Parameters
    ----------
    model : classifier, default=None
        An unfitted classifier that learns from Spark frames; None for a ``NaiveBayes``.
    inputCols : list of str, optional
        Columns to learn from; by default all but the label.
    labelCol, predictionCol, probabilityCol : str
        "label", "prediction" and "probability" by default.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> estimator = BayesEstimator(NaiveBayes(smoothing=2.0), labelCol="churn")
    >>> estimator.getLabelCol(), estimator.model.smoothing
    ('churn', 2.0)
    """

    def __init__(
        self,
        model: Any = None,
        *,
        inputCols: list[str] | None = None,
        labelCol: str | None = None,
        predictionCol: str | None = None,
        probabilityCol: str | None = None,
    ) -> None:
        super().__init__()
        if model is None:
            from bayeskit.models.naive_bayes import NaiveBayes

            model = NaiveBayes()
        self.model = model
        for name in model.get_params(deep=False):
            setattr(self, name, Param(self, name, f"setting of {type(model).__name__}"))
        self._set_columns(
            inputCols=inputCols, labelCol=labelCol, predictionCol=predictionCol, probabilityCol=probabilityCol
        )

    def _fit(self, dataset: Any) -> BayesModel:
        names = self.model.get_params(deep=False)
        settings = {param.name: value for param, value in self._paramMap.items() if param.name in names}
        label = self.getLabelCol()
        columns = [name for name in dataset.columns if name != label and not FOLD_COLUMN.fullmatch(name)]
        read = self.getInputCols() if self.isSet(self.inputCols) else columns
        fitted = clone(self.model).set_params(**settings).fit(dataset.select(*map(quoted, (*read, label))), label)
        return self._copyValues(BayesModel(fitted))

    def write(self) -> MLWriter:
        """Return the writer of the estimator."""
        return _EstimatorWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return the reader of an estimator."""
        return _EstimatorReader()


class BayesModel(Model, _ColumnParams, MLReadable, MLWritable):
    """A fitted classifier as a transformer of ``pyspark.ml``.

    ``transform`` adds the predicted class (a double if the classes are numbers) and the vector of probabilities in the
    order of ``model.classes_``.

    Parameters
    ----------
    model : classifier
        A fitted classifier.
    """

    def __init__(self, model: Any = None) -> None:
        super().__init__()
        self.model = model
        self._set_columns()

    def _transform(self, dataset: Any) -> Any:
        prediction, probability = self.getPredictionCol(), self.getProbabilityCol()
        kind = pa.array(self.model.classes_.tolist()).type
        is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind)
        types = {prediction: pa.float64() if is_number else kind, probability: pa.list_(pa.float64())}
        scored = add_columns_there(dataset, _RowScorer(to_bytes(self.model), types), types)
        return scored.withColumn(probability, array_to_vector(scored[quoted(probability)]))

    def write(self) -> MLWriter:
        """Return the writer of the model."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return the reader of a model."""
        return _ModelReader()


@dataclass(frozen=True)
class _RowScorer:
    """A model as the bytes of its file, and the columns that it adds: what a worker is sent."""

    data: bytes
    types: dict[str, pa.DataType]

    def __call__(self, rows: Any) -> dict[str, pa.Array]:
        model = loaded(self.data)
        found = (model.predict(rows).tolist(), model.predict_proba(rows).tolist())
        return {name: pa.array(cells, kind) for (name, kind), cells in zip(self.types.items(), found, strict=True)}


class _EstimatorWriter(MLWriter):
    def __init__(self, estimator: BayesEstimator) -> None:
        super().__init__()
        self.estimator = estimator

    def saveImpl(self, path: str) -> None:  # noqa: N802
        model = self.estimator.model
        extra = {"model": type(model).__name__, "settings": model.get_params(deep=False)}
        try:
            is_kept = json.loads(json.dumps(extra)) == extra
        except TypeError:
            is_kept = False
        if not is_kept:
            raise BayesError(f"the settings of {model!r} cannot be written: JSON has no such values")
        DefaultParamsWriter.saveMetadata(self.estimator, path, self.sparkSession, extra)


class _EstimatorReader(MLReader):
    def load(self, path: str) -> BayesEstimator:
        import bayeskit

        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        kind = getattr(bayeskit, str(metadata["model"]), None)
        if not isinstance(kind, type) or not hasattr(kind, "partial_fit"):
            raise BayesError(f"{path} names no model that learns from frames: {metadata['model']!r}")
        return _with_params(BayesEstimator(kind(**metadata["settings"])), metadata)


class _ModelWriter(MLWriter):
    def __init__(self, model: BayesModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession)
        content = self.sparkSession.createDataFrame([(bytearray(to_bytes(self.model.model)),)], "model binary")
        content.write.parquet(f"{path}/model")  # wherever Spark writes, such as HDFS


class _ModelReader(MLReader):
    def load(self, path: str) -> BayesModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        content = self.sparkSession.read.parquet(f"{path}/model").head()
        return _with_params(BayesModel(from_bytes(bytes(content["model"]))), metadata)


def _with_params(stage: Any, metadata: Any) -> Any:
    """Set the identifier and the params of a file."""
    stage._resetUid(metadata["uid"])
    DefaultParamsReader.getAndSetParams(stage, metadata)
    return stage
