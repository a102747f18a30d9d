"""A small film, kept by checkpoint_runtime: research, titles, render frame by frame, assemble."""

import json
import os
import sys
from pathlib import Path

from checkpoint_runtime import CheckpointRuntimeError, Context, Pipeline

film = Pipeline("film")


@film.stage
def research(context: Context) -> dict[str, int]:
    return {"frames": 2}


@film.stage(after=[])
def titles(context: Context) -> list[str]:
    return ["one", "two"]


def render(context: Context, name: str) -> str:
    """Write one frame. Killed half way, that frame is written again, and no other."""
    draft = context.scratch / name
    draft.write_text("#" * (int(name.partition(".")[0]) + 1))
    write_file(context.workspace / name, draft.read_text())
    return name


def frames(context: Context) -> list[str]:
    return [f"{number}.frame" for number in range(context["research"]["frames"])]


film.map(render, frames, after=["research"], attempts=5, backoff_s=0.01)


@film.stage(after=["titles", "render"])
def assemble(context: Context) -> str:
    pictures = [(context.workspace / name).read_text() for name in context["render"]]
    return "|".join([*context["titles"], *pictures])


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
    pictures = {path.name: path.read_text() for path in sorted(workspace.glob("*.frame"))}
    print(json.dumps({"results": dict(results), "frames": pictures}, sort_keys=True))


if __name__ == "__main__":
    command, workspace = sys.argv[1], Path(sys.argv[2])
    try:
        if command == "run":
            film.run(workspace)
        elif command == "resume":
            film.resume(workspace)
        else:
            check(workspace)
    except CheckpointRuntimeError as error:
        sys.exit(str(error))
