"""Every file of the tests can be imported where only the developers' tools are installed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

OPTIONAL = {
    "atheris", "dask", "distributed", "ipykernel", "lightgbm", "nbclient", "nbformat", "pgmpy", "py4j", "pyagrum",
    "pyspark", "sphinx", "tomotopy",
}  # fmt: skip
"""Packages of the dependency groups services, bench, site, notebooks and fuzz, which ``make test`` does not install."""

PROGRAM = """
import importlib.util, sys
from pathlib import Path
from _pytest.outcomes import Skipped

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

OPTIONAL = set(sys.argv[2:])
sys.meta_path.insert(0, Absent())
sys.path.insert(0, sys.argv[1])
failures = []
for file in sorted(Path(sys.argv[1], "tests").rglob("*.py")):
    name = ".".join(file.relative_to(sys.argv[1]).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Skipped:
        pass
    except BaseException as error:
        failures.append(f"{file}: {error!r}")
print("\\n".join(failures))
"""


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="the project's files are not here")
def test_every_test_file_can_be_imported_without_optional_packages():
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(ROOT), *sorted(OPTIONAL)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == ""
