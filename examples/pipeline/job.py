"""A small film in three stages, kept by checkpoint_runtime: research, render, assemble."""

import json
import os
import sys
from pathlib import Path

from checkpoint_runtime import Context, Pipeline

film = Pipeline("film")


@film.stage
def research(context: Context) -> dict[str, int]:
    return {"frames": 3}


@film.stage
def render(context: Context) -> list[str]:
    """Write a file per frame. Killed half way, it runs again and writes all of them again."""
    names = [f"{number}.frame" for number in range(context["research"]["frames"])]
    for number, name in enumerate(names):
        write_file(context.workspace / name, "#" * (number + 1))
    return names


@film.stage
def assemble(context: Context) -> str:
    return "|".join((context.workspace / name).read_text() for name in context["render"])


def write_file(path: Path, text: str) -> None:
    """The whole file or none: written aside, made durable, then given its name."""
    aside = path.with_name(path.name + ".tmp")
    with aside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def check(workspace: Path) -> None:
    """Print what the stages returned, and what is in the files that one of them wrote."""
    results = film.results(workspace)
    if "assemble" not in results:
        sys.exit("the film is not assembled yet")
    frames = {name: (workspace / name).read_text() for name in results["render"]}
    print(json.dumps({"results": dict(results), "frames": frames}, sort_keys=True))


if __name__ == "__main__":
    command, workspace = sys.argv[1], Path(sys.argv[2])
    if command == "run":
        film.run(workspace)
    else:
        check(workspace)
