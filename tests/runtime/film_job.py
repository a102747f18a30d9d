"""The job that the tests of the command run: a module of its own, written where they want it."""

from __future__ import annotations

JOB = """
import os, sys
from checkpoint_runtime import Pipeline

film = Pipeline("film")
other = Pipeline("other")
not_one = 7

@film.stage
def research(context):
    return dict(context.parameters) or {"frames": 42}

@film.stage(attempts=3, backoff_s=0)
def render(context):
    mood = os.environ.get("MOOD", "")
    if mood == "raise":
        raise RuntimeError("[/red] out of\\n\\x1b paint")
    if mood == "exit":
        sys.exit(0)
    if mood == "exit 3":
        sys.exit(3)
    if mood == "interrupt":
        raise KeyboardInterrupt
    if mood == "terminate":
        os.kill(os.getpid(), 15)
    if mood == "lock":
        import threading
        return threading.Lock()
    return context["research"]

film.map(lambda context, item: item, ["a", "b"], name="items")
"""
