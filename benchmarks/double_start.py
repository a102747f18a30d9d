"""Two runs of one job in one workspace, started in the same instant, many times.

    python benchmarks/double_start.py [--rounds N] [--folder DIR]

In each round two processes load the job, wait at one gate, and begin when it opens. Exactly one may
work; the other has to end at once, and to say who holds the workspace. Nothing of it may be left in
what the one that worked has recorded.

Exit code: 0 if that was so in every round, 1 if not.
"""

from __future__ import annotations

import argparse
import fcntl
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

DEADLINE_S = 60.0
RUN = """
import fcntl, os, sys, time
from pathlib import Path
from checkpoint_runtime import Pipeline, WorkspaceInUseError

film = Pipeline("film")

@film.stage
def work(context):
    print("works", flush=True)
    sys.stdin.readline()
    return os.getpid()

with open(sys.argv[1]) as gate:
    print("ready", flush=True)
    fcntl.flock(gate, fcntl.LOCK_SH)
begun = time.monotonic()
try:
    film.run(sys.argv[2])
except WorkspaceInUseError as error:
    print("refused", error.pid, time.monotonic() - begun, flush=True)
"""


class Round(NamedTuple):
    """What came of one."""

    fault: str | None
    """None: exactly one worked, and the other said which."""
    refused_s: float
    """From the gate to the refusal."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="where the workspaces are made")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="double-start-") as name:
        rounds = [played(Path(name) / str(number)) for number in range(given.rounds)]
    faults = [f"round {number}: {one.fault}" for number, one in enumerate(rounds) if one.fault]
    for fault in faults:
        print(fault)
    taken_ms = [1000 * one.refused_s for one in rounds if one.fault is None]
    print(f"{len(rounds) - len(faults)} of {len(rounds)}: one works, the other says who that is")
    if taken_ms:
        print(
            f"from the start to the refusal: {statistics.median(taken_ms):.1f} ms (median), "
            f"{max(taken_ms):.1f} ms (the longest)"
        )
    return 1 if faults else 0


def played(folder: Path) -> Round:
    """One round."""
    folder.mkdir()
    gate, workspace = folder / "gate", folder / "w"
    with gate.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        runs = [
            subprocess.Popen(
                [sys.executable, "-c", RUN, str(gate), str(workspace)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        # A run that hangs ends the round, too: it has said nothing then.
        late = threading.Timer(DEADLINE_S, end, runs)
        late.start()
        try:
            for run in runs:
                the(run.stdout).readline()
            # One opens it for both.
            fcntl.flock(file, fcntl.LOCK_UN)
            answers = [the(run.stdout).readline().split() for run in runs]
            for run in runs:
                run.communicate("go on\n")
            return judged(answers, [run.pid for run in runs], workspace)
        finally:
            late.cancel()
            end(*runs)
            for run in runs:
                run.wait()


def end(*runs: subprocess.Popen[str]) -> None:
    for run in runs:
        run.kill()


def judged(answers: list[list[str]], pids: list[int], workspace: Path) -> Round:
    """What two runs have said."""
    from checkpoint_runtime import Pipeline

    if sorted(answer[:1] for answer in answers) != [["refused"], ["works"]]:
        return Round(f"they said {answers}", 0.0)
    winner = answers.index(["works"])
    _, holder, taken_s = answers[1 - winner]
    if holder != str(pids[winner]):
        return Round(f"process {pids[winner]} works, and the other named {holder}", 0.0)
    film = Pipeline("film")
    film.stage(name="work")(lambda context: None)
    if dict(film.results(workspace)) != {"work": pids[winner]}:
        return Round(f"{dict(film.results(workspace))} is recorded", 0.0)
    return Round(None, float(taken_s))


def the(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


if __name__ == "__main__":
    sys.exit(main())
