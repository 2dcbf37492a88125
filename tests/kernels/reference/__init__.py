"""Short reference implementations of the kernels: brute force in NumPy and plain Python, on small inputs.

They take the kernels' arguments, check nothing and run on one thread.
"""

from .documents import *  # noqa: F403
from .ensemble import *  # noqa: F403
from .scores import *  # noqa: F403
from .sequences import *  # noqa: F403
from .tables import *  # noqa: F403
