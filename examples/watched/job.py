"""A calculation kept by checkpoint_runtime that can be watched: it beats and says how far it is."""

import json
import sys
import time
from pathlib import Path

from checkpoint_runtime import CheckpointRuntimeError, Context, Pipeline

BEAT_S = 0.1
"""So often because the kit watches it for seconds; in production leave it as it is."""
PART_S = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0

sums = Pipeline("sums")


def add_up(context: Context, number: int) -> int:
    total = 0
    for part in range(1, 3):
        time.sleep(PART_S)  # noqa: TID251 - stands for work
        total += number * part
        context.advance(total=2)
    return total


def numbers(context: Context) -> list[int]:
    return [1, 2, 3, 4]


sums.map(add_up, numbers)


@sums.stage(after=["add_up"])
def together(context: Context) -> int:
    return sum(context["add_up"])


def check(workspace: Path) -> None:
    results = sums.results(workspace)
    if "together" not in results:
        sys.exit("it is not added up yet")
    print(json.dumps(dict(results), sort_keys=True))


if __name__ == "__main__":
    command, workspace = sys.argv[1], Path(sys.argv[2])
    try:
        if command == "run":
            sums.run(workspace, heartbeat_s=BEAT_S)
        elif command == "resume":
            sums.resume(workspace, heartbeat_s=BEAT_S)
        else:
            check(workspace)
    except CheckpointRuntimeError as error:
        sys.exit(str(error))
