"""MLflow flavor: log a model as its ``.bayes`` file, and load it as a Python function.

The artifact holds the model file, which is only data, and no pickle. Needs the extra ``mlflow``.
"""

from __future__ import annotations

from pathlib import Path
from platform import python_version
from typing import Any

from bayeskit import __version__
from bayeskit.errors import BayesError, import_extra
from bayeskit.storage.files import write_file

__all__ = ["load_model", "log_model", "save_model"]

FLAVOR = "bayeskit"
FILE = "model.bayes"
ENVIRONMENT = "python_env.yaml"


def save_model(
    model: Any, path: str | Path, mlflow_model: Any = None, signature: Any = None, input_example: Any = None
) -> None:
    """Save a fitted model as an MLflow model in a new folder.

    Parameters
    ----------
    model : classifier
        Any fitted model with ``save`` and ``predict``.
    path : str or Path
        A new or empty folder.
    mlflow_model : mlflow.models.Model, optional
        The description to complete; a new one by default.
    signature : mlflow.models.ModelSignature, optional
    input_example : table, optional
        A few rows, stored with the model.
    """
    _mlflow()
    from mlflow import pyfunc
    from mlflow.models import Model
    from mlflow.models.utils import _save_example

    if not hasattr(model, "save") or not hasattr(model, "predict"):
        raise BayesError(f"{type(model).__name__} is not a model of rows that a file can hold")
    where = Path(path)
    if where.exists() and any(where.iterdir()):
        raise BayesError(f"{where} is not empty: name a new folder")
    where.mkdir(parents=True, exist_ok=True)
    model.save(where / FILE)
    described = Model() if mlflow_model is None else mlflow_model
    if signature is not None:
        described.signature = signature
    if input_example is not None:
        _save_example(described, input_example, str(where))
    write_file(where / "requirements.txt", f"bayeskit=={__version__}\n".encode())
    environment = f"python: {python_version()}\ndependencies:\n- -r requirements.txt\n"
    write_file(where / ENVIRONMENT, environment.encode())
    pyfunc.add_to_model(described, loader_module="bayeskit.mlflow", data=FILE, python_env=ENVIRONMENT)
    described.add_flavor(FLAVOR, bayeskit_version=__version__, model=type(model).__name__, data=FILE)
    described.save(str(where / "MLmodel"))


def log_model(model: Any, name: str = "model", **settings: Any) -> Any:
    """Log a fitted model to the active run of MLflow.

    Parameters
    ----------
    model : classifier
    name : str, default="model"
    **settings
        ``signature``, ``input_example``, ``registered_model_name`` and others of ``mlflow.models.Model.log``.

    Returns
    -------
    mlflow.models.model.ModelInfo
    """
    _mlflow()
    from mlflow.models import Model

    import bayeskit.mlflow

    return Model.log(artifact_path=None, name=name, flavor=bayeskit.mlflow, model=model, **settings)


def load_model(uri: str) -> Any:
    """Load a model of bayeskit from MLflow.

    Parameters
    ----------
    uri : str
        Such as ``models:/birds/3`` or ``runs:/<run>/model``.

    Returns
    -------
    classifier
    """
    _mlflow()
    from mlflow.artifacts import download_artifacts

    from bayeskit.models import load

    return load(Path(download_artifacts(artifact_uri=uri)) / FILE)


class ScoringModel:
    """A model as MLflow calls it: tables in, ``predicted`` and ``p_<class>`` out."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, data: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the prediction and the probability of each class, as a data frame.

        Parameters
        ----------
        data : table
        params : dict, optional
            None are known.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        from bayeskit.export.names import PREDICTED, probability_names

        columns = {PREDICTED: self.model.predict(data)}
        if hasattr(self.model, "predict_proba"):
            names = probability_names(self.model.classes_.tolist())
            columns |= dict(zip(names, self.model.predict_proba(data).T, strict=True))
        return pd.DataFrame(columns, index=getattr(data, "index", None))


def _load_pyfunc(path: str) -> ScoringModel:
    """Load the model for ``mlflow.pyfunc``."""
    from bayeskit.models import load

    return ScoringModel(load(path))


def _mlflow() -> Any:
    return import_extra("mlflow", "runs are logged by mlflow", "mlflow")
