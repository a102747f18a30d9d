"""What a subject declares must show in its undisturbed run, and in its form: else a sentence.

Each raises :class:`~pytest_checkpoint.errors.SubjectError`.
"""

from __future__ import annotations

import os

from checkpoint_contracts.effects import EFFECTS
from checkpoint_contracts.evidence import Effect
from checkpoint_contracts.inputs import STAGE_INPUTS, digests, malformed
from checkpoint_contracts.stages import stage_names
from pytest_checkpoint.errors import SubjectError
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.handoff import read_handoff
from pytest_checkpoint.phases.staging.peak import peak_of
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import WORKSPACE
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.states.outputs import unmatched_glob
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.image import directory_at


def require_proper_events(bench: Bench, events: tuple[str, ...]) -> None:
    """No stage starts again after it was done; there are stages if they are declared."""
    started: set[str] = set()
    done: set[str] = set()
    for line in events:
        verb, _, name = line.partition(" ")
        if verb in ("start", "done") and "\0" in line:
            raise SubjectError(
                f"the event {line!r} has a NUL byte in it, which no name of a stage can have: "
                "append to $CHECKPOINT_EVENTS (O_APPEND), and never empty that file"
            )
        if verb == "start":
            if name in done and name in started:
                raise SubjectError(
                    f"'start {name}' comes again after 'done {name}' within one undisturbed run: "
                    "a name that starts again is not a stage; give each round a name of its own"
                )
            started.add(name)
        elif verb == "done":
            done.add(name)
    if "stages" in bench.subject.capabilities and not started & done:
        raise SubjectError(
            "the capability 'stages' is declared, but the undisturbed run wrote no name with both "
            "a 'start' and a 'done' line to $CHECKPOINT_EVENTS"
        )


def require_outputs(bench: Bench, finished: State) -> None:
    """Every output glob means a file."""
    unmatched = unmatched_glob(finished.image, bench.subject.outputs, bench.subject.ephemeral)
    if unmatched:
        raise SubjectError(unmatched)


def require_inputs(bench: Bench, events: tuple[str, ...]) -> None:
    """Input lines are of their form, and there if they are declared."""
    line = malformed(events)
    if line is not None:
        raise SubjectError(
            f"the event '{line}' is not 'input NAME SHA256': end it with the digest, 64 "
            "hexadecimal digits, of what the stage is given"
        )
    if STAGE_INPUTS in bench.subject.capabilities and not digests(events):
        raise SubjectError(
            f"the capability {STAGE_INPUTS!r} is declared, but the undisturbed run wrote no line "
            "'input NAME SHA256' to $CHECKPOINT_EVENTS"
        )


def require_effects(bench: Bench, effects: tuple[Effect, ...]) -> None:
    """Effects are of their form, and there if they are declared."""
    problem = next((one.problem for one in effects if one.problem), None)
    if problem is not None:
        raise SubjectError(
            f"{problem}; send a JSON object with 'kind' and 'id', to $CHECKPOINT_EFFECTS_FILE "
            "as one line in one write"
        )
    if EFFECTS in bench.subject.capabilities and not effects:
        raise SubjectError(
            f"the capability {EFFECTS!r} is declared, but the undisturbed run sent nothing: POST "
            "to $CHECKPOINT_EFFECTS_URL, or append lines to $CHECKPOINT_EFFECTS_FILE"
        )


def require_requests(bench: Bench, result: Result) -> None:
    """Who declares an object store asks something of it."""
    if bench.subject.s3 is not None and not result.requests:
        raise SubjectError(
            f"the bucket {bench.subject.s3.bucket!r} is declared, but the undisturbed run asked "
            "nothing of the object store: let its client take $AWS_ENDPOINT_URL and the keys that "
            "are in the environment beside it"
        )


def require_staging(bench: Bench, start: State, recording: Recording) -> None:
    """A declared staging is there when the run begins, and something passes through it."""
    if bench.subject.staging is None:
        return
    path = bench.subject.staging.path
    under = b"/".join([WORKSPACE, os.fsencode(str(path))])
    if directory_at(start.image, under) is None:
        raise SubjectError(
            f"the staging {path} is no directory when the run begins: the kit makes it before "
            "setup, and setup must leave it, as it would a file system of its own"
        )
    if not peak_of(recording, under).size_bytes:
        raise SubjectError(
            f"the staging {path} is declared, but nothing ever lies in it in the undisturbed run: "
            "name the directory that the job stages its files in, relative to {workspace}"
        )


def require_handoff(bench: Bench, finished: State, events: tuple[str, ...]) -> None:
    """A declared handoff is there when the job has finished, and of its form.

    The slot holds the finished state afterwards, but for what a command has changed.
    """
    if bench.subject.handoff is None:
        return
    bench.put(finished)
    seen = read_handoff(bench, stage_names(events), bench.options.run_deadline_s)
    if seen.unread:
        raise SubjectError(seen.unread)
    if seen.absent:
        raise SubjectError(
            f"a handoff is declared, but after the undisturbed run {seen.absent} (a path is "
            "relative to {workspace}; a command has {workspace} in it)"
        )
    if seen.problem:
        raise SubjectError(
            f"the handoff of the undisturbed run cannot be read: {seen.problem}; it must be a JSON "
            "object with 'done', a list of names or of objects with a 'name', and 'next', a name, "
            "a list of names or null"
        )
