"""Which modules pytest reads for examples."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["bayeskit/compat/spark.py"]  # make services installs it
