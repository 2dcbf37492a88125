"""Clusters on this machine for the tests: started once, when the first test asks, and ended with the program."""

import atexit
import importlib.util
import os
import shutil
import subprocess
import sys
import warnings
from functools import cache

import pytest

NO_SPARK = "needs pyspark and Java 17 or newer: make services"
NO_DASK = "needs dask with distributed: make services"


def java_version():
    """The major version of the Java that Spark would start, or 0."""
    java = shutil.which("java") or f"{os.environ.get('JAVA_HOME', '')}/bin/java"
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(told.split('"')[1].split(".")[0])


def installed(*packages):
    return all(importlib.util.find_spec(package) for package in packages)


def absent(reason):
    """Skip a test, or fail it where all services were to be there."""
    (pytest.fail if os.environ.get("BAYESKIT_SERVICES") == "needed" else pytest.skip)(reason)


@cache
def has_spark():
    return installed("pyspark") and java_version() >= 17


@cache
def has_dask():
    return installed("dask", "distributed")


@cache
def spark_session():
    """A session of two cores whose tasks are tried four times, on the loopback alone."""
    if not has_spark():
        absent(NO_SPARK)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # small work: compiling costs more
        "spark.python.worker.reuse": "true",
        "spark.sql.session.timeZone": "America/New_York",  # an instant is the same in any zone
        "spark.sql.timestampType": "TIMESTAMP_NTZ",  # a moment without a zone stays one
    }
    builder = SparkSession.builder.master("local[2,4]").appName("bayeskit tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    atexit.register(session.stop)
    return session


def need_dask():
    """Skip a test where there is no Dask."""
    if not has_dask():
        absent(NO_DASK)


@cache
def dask_client():
    """Two workers of one thread each, processes of their own."""
    need_dask()
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1")
    client = Client(cluster)
    atexit.register(lambda: (client.close(), cluster.close()))
    return client
