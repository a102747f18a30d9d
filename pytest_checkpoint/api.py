"""What users import: how to name a subject in a test module or a conftest.

Example::

    from pytest_checkpoint.api import CommandSubject, checkpoint_subject

    @checkpoint_subject
    def etl():
        return CommandSubject(
            run="python etl.py {workspace}",
            check="python show_result.py {workspace}",
        )
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import TypeVar, overload

from pytest_checkpoint.marking import SUBJECT_ATTRIBUTE

__all__ = [
    "Bucket",
    "CallableSubject",
    "CommandSubject",
    "HeartbeatCommand",
    "HeartbeatFile",
    "Staging",
    "checkpoint_subject",
]

CommandLine = str | Sequence[str]
"""One string, split as a shell would, or a list of arguments. No shell runs it."""
JobFunction = Callable[..., object]
"""Takes the workspace, a ``pathlib.Path``, as its last positional argument. It stands at the top
level of its module; ``functools.partial`` of such a one may give it numbers, strings, bytes, paths,
and lists, tuples and dicts of these first."""


@dataclass(frozen=True)
class HeartbeatFile:
    """A file in the workspace that changes, in its bytes or its time, as long as the job lives."""

    glob: str
    """Of several files any may change."""
    stale_after_s: float
    """So long after its last change the job has to be taken for dead."""


@dataclass(frozen=True)
class HeartbeatCommand:
    """A command that says how the job is.

    It prints one word: ``alive``, ``stale``, ``stalled``, ``finished``; ``waiting`` before the
    first beat.
    """

    command: CommandLine
    """With ``{workspace}`` in it; asked again and again, it ends each time."""
    stale_after_s: float = field(kw_only=True)
    """So long after the last sign of life of the job it says ``stale``."""
    stalled_after_s: float | None = field(default=None, kw_only=True)
    """So long after its last progress it says ``stalled``; None: it does not tell."""


@dataclass(frozen=True)
class Bucket:
    """Where in an object store the job puts what it makes; ``AWS_ENDPOINT_URL`` says which store.

    The bucket is there before every fresh run, and holds what ``setup`` has put into it.
    """

    bucket: str
    prefix: str = ""
    """The folder of its objects: their keys begin with it and a ``/``."""
    markers: str | None = None
    """A glob in the workspace, or of keys after the prefix: files, or objects, that say that
    something has been stored."""
    reconcile: CommandLine | None = None
    """A command, with ``{workspace}`` in it, that compares the markers with the bucket, voids those
    of objects that are lost or cut, and writes those of whole ones that have none."""


@dataclass(frozen=True)
class Staging:
    """A directory of limited size through which what the job makes passes on its way."""

    path: str
    """Relative to the workspace. The kit makes it in every fresh workspace, as it is there where
    it is a file system of its own."""
    bound_bytes: int
    """So many bytes of data are never passed there by the job."""


@dataclass(frozen=True, kw_only=True)
class _Promises:
    """What a subject may declare, however its job is started."""

    heartbeat: HeartbeatFile | HeartbeatCommand | None = None
    """What shows from outside that the job lives."""
    s3: Bucket | None = None
    """Where it uploads to. The kit is the store, or stands before it: it holds the bucket of each
    crash state, and fails as stores do."""
    staging: Staging | None = None
    """Where what it makes waits until it is uploaded."""
    outputs: Collection[str] = ()
    """Globs in the workspace: files that must be whole whenever they have their final name."""
    ephemeral: Collection[str] = ()
    """Globs in the workspace, and of keys after the bucket's prefix: files, and objects, left out
    of comparisons, a log say."""
    capabilities: Collection[str] = ()
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    """Contract id → why it fails today; strict: once it holds, that is a failure."""
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Contract id → why it is not a promise of this job."""
    resume_attempts: int = 1
    """How often resume may be started after one crash."""
    time_budget_s: float | None = None
    """Of a job whose starts take seconds, say: so many seconds it has, where the configuration
    gives it less. ``--checkpoint-time-budget`` on the command line holds for all."""
    max_states: int | None = None
    """So many crash states are enough, where the configuration asks for more, and the command
    line says nothing."""


@dataclass(frozen=True, kw_only=True)
class CommandSubject(_Promises):
    """A job that is run, resumed and checked by commands.

    ``{workspace}`` in them is replaced by the directory that holds all the job's state; they are
    started where pytest was. What is wrong with any of this is told when the subject is
    collected, in a sentence, before anything runs.
    """

    run: CommandLine
    """Does the job in ``{workspace}``."""
    check: CommandLine
    """Exits 0 and prints the job's result, in canonical form."""
    resume: CommandLine | None = None
    """Goes on after a crash; None: the same as ``run``."""
    setup: CommandLine | None = None
    """Fills the workspace before each fresh run."""
    changed: Collection[CommandLine] = ()
    """The job with its pipeline changed (a stage renamed, moved, given other parameters or input),
    a command each: they resume what the original began, and run in a fresh workspace too."""
    handoff: CommandLine | None = None
    """What tells a reader what is done and what is next, as JSON: a path in the workspace, or, with
    ``{workspace}`` in it or as a list, a command that prints it."""


@dataclass(frozen=True, kw_only=True)
class CallableSubject(_Promises):
    """A job that is run, resumed and checked by functions of the workspace.

    Each is called in a process of its own, which imports the function's file by its path; pytest
    itself is never forked. A function that raises has failed, what it returns matters where that is
    said. What is wrong with any of this is told when the subject is collected, in a sentence.
    """

    run: JobFunction
    """Does the job."""
    check: JobFunction
    """Returns the job's result, or raises. Two results are the same if they are so as JSON with
    sorted keys, where sets are sorted lists, and what JSON does not know is its ``repr``."""
    resume: JobFunction | None = None
    """Goes on after a crash; None: the same as ``run``."""
    setup: JobFunction | None = None
    """Fills the workspace before each fresh run."""
    changed: Collection[JobFunction | CommandLine] = ()
    """As of a :class:`CommandSubject`; functions, or commands."""
    handoff: JobFunction | CommandLine | None = None
    """As of a :class:`CommandSubject`; or a function that returns it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What the decorator leaves on the function."""

    name: str


SubjectFunction = TypeVar("SubjectFunction", bound=Callable[[], CommandSubject | CallableSubject])


@overload
def checkpoint_subject(name: SubjectFunction, /) -> SubjectFunction: ...
@overload
def checkpoint_subject(
    name: str | None = None,
) -> Callable[[SubjectFunction], SubjectFunction]: ...
def checkpoint_subject(
    name: SubjectFunction | str | None = None,
) -> SubjectFunction | Callable[[SubjectFunction], SubjectFunction]:
    """Mark a function without arguments, which returns a subject of one of the two kinds.

    Used as ``@checkpoint_subject`` (the function's name is the subject's) or as
    ``@checkpoint_subject(name="etl")``. The function is called only under
    ``pytest --checkpoint-contracts``; importing its module registers nothing.
    """
    if name is not None and not isinstance(name, str):
        return _marked(name, None)

    def decorate(function: SubjectFunction) -> SubjectFunction:
        return _marked(function, name)

    return decorate


def _marked(function: SubjectFunction, name: str | None) -> SubjectFunction:
    given: object = function
    if not isinstance(given, FunctionType):
        raise TypeError(
            "@checkpoint_subject stands on a function without arguments that returns a "
            f"CommandSubject or a CallableSubject, not on {given!r}"
        )
    setattr(given, SUBJECT_ATTRIBUTE, Mark(given.__name__ if name is None else name))
    return function
