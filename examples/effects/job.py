"""Pages that are published once each, by ``context.effect`` of checkpoint_runtime.

Where nobody can tell whether a page has arrived, the receiver is asked.
"""

import json
import os
import sys
import urllib.request
from functools import partial
from pathlib import Path

from checkpoint_runtime import CheckpointRuntimeError, Context, Pipeline

site = Pipeline("site")
PAGES = ["index", "about"]


def ask(body: bytes | None = None) -> list[dict[str, str]] | dict[str, bool]:
    """What the receiver says to an effect, or of all that has arrived."""
    with urllib.request.urlopen(os.environ["CHECKPOINT_EFFECTS_URL"], data=body) as answer:
        said: list[dict[str, str]] | dict[str, bool] = json.load(answer)
    return said


def publish(page: str, key: str) -> str:
    ask(json.dumps({"kind": "publish", "id": key, "page": page}).encode())
    return page


def was_published(page: str, key: str) -> str | None:
    return page if {"kind": "publish", "id": key} in ask() else None


@site.stage
def published(context: Context) -> list[str]:
    """A page a time: what had been published by a crash is not published again."""
    return [
        context.effect("publish", page, partial(publish, page), partial(was_published, page))
        for page in PAGES
    ]


def check(workspace: Path) -> None:
    results = site.results(workspace)
    if "published" not in results:
        sys.exit("the pages are not published yet")
    print(json.dumps(results["published"]))


if __name__ == "__main__":
    command, workspace = sys.argv[1], Path(sys.argv[2])
    try:
        if command == "run":
            site.run(workspace)
        elif command == "resume":
            site.resume(workspace)
        else:
            check(workspace)
    except CheckpointRuntimeError as error:
        sys.exit(str(error))
