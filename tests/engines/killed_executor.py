"""A program: two executors, each a JVM of its own, of which one is killed while it counts. FOLDER has the files.

A program of its own, since a process has one Spark, and that of the other tests has no executors but itself.
"""

import os
import sys
import warnings
from pathlib import Path

import bayeskit as bk
from bayeskit.engines import Spark
from tests.engines.faults import with_trouble
from tests.tallies import agree


def main(folder, tried):
    import pyspark
    from pyspark.sql import SparkSession

    warnings.simplefilter("ignore")
    os.environ |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": sys.executable}
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    small = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    for name in ("spark.driver.host", "spark.driver.bindAddress"):
        builder = builder.config(name, "127.0.0.1")
    for side in ("driver", "executor"):
        builder = builder.config(f"spark.{side}.extraJavaOptions", small)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    Spark.count = with_trouble(Spark.count, tried, "executor killed")
    model = bk.NaiveBayes(numeric="gaussian").fit_source(folder, "play", engine=Spark(session, parts=4))
    assert agree(model.tally_, bk.NaiveBayes(numeric="gaussian").fit_source(folder, "play").tally_)
    print("agrees after trials:", len(list(Path(tried).iterdir())))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
