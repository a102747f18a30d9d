"""The job that is soaked: a pipeline of the runtime that keeps every promise there is.

    python job.py run|resume|check WORKSPACE

Fetches, works on parts, publishes each of them once, and adds up. ``SOAK_BLOCKS=NAME`` in the
environment lets the main thread stand still in that stage, in the first process that comes there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from checkpoint_runtime import CheckpointRuntimeError, Context, Pipeline

PARTS = 4
BEAT_S = 0.1

job = Pipeline("soak")


@job.stage
def fetch(context: Context) -> dict[str, object]:
    stand_still("fetch")
    return {"parts": list(range(PARTS)), "blob": b"x" * 100_000}


def parts(context: Context) -> list[int]:
    return list(context["fetch"]["parts"])


def work(context: Context, part: int) -> int:
    if part == PARTS // 2:
        stand_still("work")
    (context.scratch / f"{part}.draft").write_text("half of it")
    return part * part


job.map(work, parts, after=["fetch"], attempts=1000)


def publish(context: Context, part: int) -> str:
    return str(context.effect("publish", f"part-{part}", send, confirm=sent))


job.map(publish, parts, after=["fetch"], attempts=1000)


@job.stage(after=["work", "publish"], attempts=1000)
def total(context: Context) -> dict[str, object]:
    stand_still("total")
    return {"sum": sum(context["work"]), "published": list(context["publish"])}


def send(key: str) -> str:
    """One whole line, or none: what the receiver has is what was sent."""
    line = json.dumps({"kind": "publish", "id": key}) + "\n"
    effects = os.open(os.environ["CHECKPOINT_EFFECTS_FILE"], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(effects, line.encode())
    finally:
        os.close(effects)
    return key


def sent(key: str) -> str | None:
    """Ask the receiver."""
    lines = Path(os.environ["CHECKPOINT_EFFECTS_FILE"]).read_text().splitlines()
    return key if any(json.loads(line)["id"] == key for line in lines) else None


def stand_still(stage: str) -> None:
    if os.environ.get("SOAK_BLOCKS") == stage:
        threading.Event().wait()


def main() -> None:
    command, workspace = sys.argv[1], Path(sys.argv[2])
    try:
        if command == "check":
            results = job.results(workspace)
            if "total" not in results:
                sys.exit("it is not finished")
            print(json.dumps(results["total"], sort_keys=True))
        else:
            go_on = job.run if command == "run" else job.resume
            go_on(workspace, heartbeat_s=BEAT_S)
    except CheckpointRuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
