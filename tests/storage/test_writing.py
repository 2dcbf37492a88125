"""Every output is written as a whole or not at all, through no link, and a kill leaves the old file."""

import ast
import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

import bayeskit as bk
from bayeskit.errors import BayesError
from bayeskit.storage import files as storage_files
from bayeskit.storage.files import replace_file, write_file

posix = pytest.mark.skipif(os.name != "posix", reason="there are no such links and pipes here")
SOURCES = Path(bk.__file__).parent


def network():
    return bk.BayesianNetwork.from_data([("a", "b")], {"a": ["x", "y", "x"], "b": ["u", "u", "v"]})


@pytest.mark.slow
def test_no_module_writes_files_but_the_one_writer():
    """Nothing else in the package opens a file to write, so that every output is careful."""
    writers = {"write_text", "write_bytes", "to_csv", "OSFile", "savefig", "ParquetWriter", "mkstemp", "O_CREAT"}
    for file in SOURCES.rglob("*.py"):
        if file.parent.name == "storage":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                modes = [
                    a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant)
                ]
                writes = name == "open" and any(
                    isinstance(m, str) and m and set(m) <= set("wax+bt") and m not in ("b", "t") for m in modes
                )
                is_stream = (file.name, name) in {("outputs.py", "ParquetWriter"), ("streams.py", "OSFile")}
                assert not writes, f"{file}:{node.lineno}"
                assert name not in writers or is_stream, f"{file}:{node.lineno}: {name}"


@posix
def test_a_link_in_the_place_of_an_unfinished_file_is_not_followed(tmp_path, monkeypatch):
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    drawn = iter(["aaaaaaaaaaaa", "bbbbbbbbbbbb"])
    monkeypatch.setattr(storage_files.secrets, "token_hex", lambda n: next(drawn))
    for name in (".said.csv.part", ".said.csv.aaaaaaaaaaaa.part"):
        (tmp_path / name).symlink_to(precious)
    with pytest.raises(BayesError, match=r"said\.csv cannot be written: File exists"):
        write_file(tmp_path / "said.csv", b"x")
    write_file(tmp_path / "said.csv", b"x")
    assert (tmp_path / "said.csv").read_bytes() == b"x"
    assert precious.read_text() == "mine"


def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    (tmp_path / "said.csv").write_text("old")
    for error in (BayesError("no"), KeyboardInterrupt(), OSError("of what is read")):
        with pytest.raises(type(error)), replace_file(tmp_path / "said.csv") as out:  # noqa: PT012
            out.write(b"new" * 9999)
            raise error
    assert [file.name for file in tmp_path.iterdir()] == ["said.csv"]
    assert (tmp_path / "said.csv").read_text() == "old"


@posix
def test_a_link_that_is_named_leads_to_the_file_and_the_mode_is_kept(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "real.csv").chmod(0o640)
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_file(tmp_path / "link.csv", b"new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "real.csv").stat().st_mode) == 0o640
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    write_file(tmp_path / "loop.csv", b"a file again")
    assert (tmp_path / "loop.csv").read_bytes() == b"a file again"


def test_many_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    problems = []

    def work(i):
        try:
            for j in range(20):
                write_file(tmp_path / "said.csv", f"{i} {j}".encode() * 50)
        except BayesError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not problems
    assert [file.name for file in tmp_path.iterdir()] == ["said.csv"]


@posix
def test_pipes_and_devices_are_written_as_they_are(tmp_path):
    write_file("/dev/null", b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE)
    write_file(tmp_path / "pipe", b"through")
    assert reader.communicate(timeout=10)[0] == b"through"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_full_disk_is_told_with_the_file():
    with pytest.raises(BayesError, match="/dev/full cannot be written: No space left"):
        write_file("/dev/full", b"x" * 100_000)


def test_what_cannot_be_written_is_told(tmp_path):
    for path, said in (
        (tmp_path, "Is a directory"),
        (tmp_path / "no" / "x", "No such file"),
        ("a\0b", "zero character"),
    ):
        with pytest.raises(BayesError, match=said):
            write_file(path, b"x")


def test_a_network_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "n.bif"
    path.write_text("old")
    bk.write_bif(network(), path)
    assert bk.read_bif(path).nodes == network().nodes
    assert [file.name for file in tmp_path.iterdir()] == ["n.bif"]
    with pytest.raises(BayesError, match="cannot be written"):
        bk.write_bif(network(), tmp_path / "no" / "n.bif")
