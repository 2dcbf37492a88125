from .dask import Dask as Dask
from .sql import sql as sql
from .processes import Processes as Processes
from .spark import Spark as Spark
