from .dask import Dask as Dask
from .processes import Processes as Processes
from .spark import Spark as Spark
from .sql import sql as sql
