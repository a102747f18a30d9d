"""The film of ``job.py`` after somebody changed it: ``python changed.py CHANGE WORKSPACE``."""

import sys

from job import assemble, frames, render, research, titles

from checkpoint_runtime import CheckpointRuntimeError, Context, Pipeline


def four_frames(context: Context) -> dict[str, int]:
    return {"frames": 4}


def changed_film(change: str) -> Pipeline:
    film = Pipeline("film")
    if change == "reordered":
        film.stage(titles)
    if change == "input":
        film.stage(name="research", version="2")(four_frames)
    else:
        film.stage(name="research")(research)
    if change == "renamed":
        film.stage(name="captions", after=[])(titles)
        film.stage(name="titles", after=["captions"])(lambda context: context["captions"])
    elif change != "reordered":
        film.stage(after=[])(titles)
    film.map(render, frames, after=["research"], attempts=5, backoff_s=0.01)
    film.stage(after=["titles", "render"])(assemble)
    return film


if __name__ == "__main__":
    change, workspace = sys.argv[1:]
    try:
        changed_film(change).resume(workspace)
    except CheckpointRuntimeError as error:
        sys.exit(str(error))
