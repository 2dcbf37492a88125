"""Arrow arrays without pandas are those that pyarrow makes."""

import json
import math
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

LISTS = [
    ["rain", "sun", ""],
    ["été", None, "日本", "a\x00b"],
    [None, "x"],
    [None, None],
    ["", ""],
    ["half \ud800"],
    [],
    [1, 2, -(2**63)],
    [2**63 - 1],
    [0.5, -0.0, math.inf],
    [1.0, math.nan],
    [True, False],
    [1, 2.5],
    [1, None],
    ["x", 1],
    [2**64],
    ("a", "b"),
    [str(i) for i in range(50)],
]
ARRAYS = [[0.5, math.nan], [1, 2], ["a", "b"], [True]]

PROGRAM = """
import json, math, sys
import numpy as np
from bayeskit.arrow_arrays import arrow_array

def told(values, gaps):
    try:
        made = arrow_array(values, gaps)
        made.validate(full=True)
        return [str(made.type), repr(made.to_pylist())]
    except Exception as problem:
        return [type(problem).__name__]

lists, arrays = eval(sys.argv[1], {"inf": math.inf, "nan": math.nan})
plain = [told(values, gaps) for values in lists for gaps in (False, True)]
plain += [told(np.array(values), False) for values in arrays]
plain += [told(np.arange(10.0)[::3], False), told(np.arange(3, dtype=np.int8), False)]
print(json.dumps(plain))
"""


@pytest.mark.parametrize("before", ["", "import pandas"], ids=["without pandas", "with pandas"])
def test_lists_and_arrays_become_what_pyarrow_makes_of_them(before):
    asked = repr((LISTS, ARRAYS))
    run = subprocess.run([sys.executable, "-c", before + PROGRAM, asked], capture_output=True, text=True, check=True)
    expected = [_told(values, gaps) for values in LISTS for gaps in (False, True)]
    expected += [_told(np.array(values), False) for values in ARRAYS]
    expected += [_told(np.arange(10.0)[::3], False), _told(np.arange(3, dtype=np.int8), False)]
    assert json.loads(run.stdout) == expected


def _told(values, gaps):
    try:
        made = pa.array(values, from_pandas=gaps)
    except Exception as problem:
        return [type(problem).__name__]
    return [str(made.type), repr(made.to_pylist())]
