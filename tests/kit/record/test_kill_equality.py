"""A recording says, to the byte, what a SIGKILL leaves: real runs, really killed.

Each killed run is compared with its own recording. 200 points in all and more, see the table.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

_WRITER = """
import os, sys, tempfile
W = os.environ["CHECKPOINT_WORKSPACE"]
def write(name):
    for i in range(3):
        path = os.path.join(W, name)
        with open(path + ".tmp", "wb") as file:
            file.write(os.urandom(3000)); file.flush(); os.fsync(file.fileno())
        os.replace(path + ".tmp", path)
        with open(path + ".log", "ab") as file:
            file.write(b"line %d of " % i + os.fsencode(name) + b"\\n")
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"x")
    os.link(file.name, path + ".hard"); os.unlink(file.name)
"""
_THREADS = (
    _WRITER
    + """
import threading
threads = [threading.Thread(target=write, args=(f"t{i}",)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
"""
)
_PROCESSES = (
    _WRITER
    + """
import multiprocessing
def both(name):
    import threading
    thread = threading.Thread(target=write, args=(name + "t",))
    thread.start(); write(name); thread.join()
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    processes = [context.Process(target=both, args=(f"p{i}",)) for i in range(2)]
    [p.start() for p in processes]; [p.join() for p in processes]
"""
)
_SHELL = """
cd "$CHECKPOINT_WORKSPACE"
for i in 1 2 3 4; do
    sh -c 'mkdir -p out; seq 1 200 > out/$0.tmp; mv out/$0.tmp out/$0; ln -s $0 out/latest$0' $i &
    sh -c 'seq 9 > own$0; cp own$0 copy$0; (umask 077; echo $0 >> log); rm own$0' $i
    wait
done
mv out final; chmod 750 final
"""
_SQLITE = """
import os, sqlite3
connection = sqlite3.connect(os.environ["CHECKPOINT_WORKSPACE"] + "/db", isolation_level=None)
connection.execute("pragma journal_mode=wal")
connection.execute("create table t (a, b)")
for i in range(10):
    connection.execute("begin")
    connection.executemany("insert into t values (?, ?)", [(i, "x" * 300)] * 3)
    connection.execute("commit")
    with open(os.environ["CHECKPOINT_EVENTS"], "a") as events:
        events.write(f"done {i}\\n")
connection.execute("pragma wal_checkpoint(truncate)")
"""
_CASES = {
    "threads": (_THREADS, [], 70),
    "fork": (_PROCESSES, ["fork"], 55),
    "spawn": (_PROCESSES, ["spawn"], 10),
    "shell": (_SHELL, [], 25),
    "sqlite-wal": (_SQLITE, [], 45),
}


def test_there_are_enough_points() -> None:
    assert sum(points for _, _, points in _CASES.values()) >= 200


@pytest.mark.parametrize("case", _CASES)
def test_recordings_equal_what_kills_leave(runner: Runner, case: str) -> None:
    program, arguments, points = _CASES[case]
    script = runner.folder / case
    script.write_text(program)
    interpreter = ["/bin/sh", "-e"] if case == "shell" else [sys.executable, "-SE"]
    command = [*interpreter, str(script), *arguments]
    whole = runner.run(*command)
    assert (whole.result.exit_code, whole.differences) == (0, [])
    # Fewer steps may be left in another run: where it found a mapping unchanged, say.
    last = whole.result.steps * 9 // 10
    steps = [1 + (last - 1) * index // (points - 1) for index in range(points)]
    assert len(set(steps)) == points
    for step in steps:
        outcome = runner.run(*command, kill_at=step)
        assert outcome.result.killed_at == step, (step, whole.result.steps)
        assert len(outcome.operations) == step
        assert outcome.differences == [], step
