"""Frames of a cluster, given to models that must read rows on this machine: an error, never a silent collection."""

import pytest

import bayeskit as bk
from tests.engines import clusters

ROWS = {"w": ["a", "b", "a", "b"], "s": [1, 1, 2, 2], "y": ["p", "q", "p", "q"]}


def dask_frame():
    clusters.need_dask()
    import dask.dataframe as dd
    import pandas as pd

    return dd.from_pandas(pd.DataFrame(ROWS), npartitions=2)


def spark_frame():
    import pyarrow as pa

    return clusters.spark_session().createDataFrame(pa.table(ROWS))


FITS = {
    "chain": lambda frame: bk.MarkovChain().fit(frame),
    "chain of one column": lambda frame: bk.MarkovChain().fit(frame[["w"]]),
    "hidden Markov model": lambda frame: bk.HiddenMarkovModel(2).fit(frame[["w"]]),
    "text": lambda frame: bk.TextClassifier().fit(frame[["w", "y"]], "y"),
    "topics": lambda frame: bk.TopicModel(2).fit(frame[["w"]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize(
    ("frame", "package"),
    [
        pytest.param(dask_frame, "dask", marks=[pytest.mark.dask, pytest.mark.xdist_group("dask")]),
        pytest.param(spark_frame, "pyspark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")]),
    ],
    ids=["dask", "spark"],
)
def test_models_that_read_rows_here_refuse_frames_of_a_cluster(fit, frame, package):
    with pytest.raises(bk.BayesError, match=f"rows of this {package} frame lie on other machines") as refused:
        fit(frame())
    assert "fit in memory" in refused.value.hint


@pytest.mark.slow
@pytest.mark.dask
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("model", [bk.TextClassifier(), bk.TopicModel(2)], ids=["text", "topics"])
def test_a_column_of_a_cluster_frame_is_refused_as_the_frame_is(model):
    frame = dask_frame()
    with pytest.raises(bk.BayesError, match="rows of this dask frame lie on other machines"):
        model.fit(frame["w"], frame["y"])
