"""What is seen beside the executions of an experiment: outputs, the handoff, another run."""

from __future__ import annotations

from dataclasses import dataclass

from checkpoint_contracts.bucket import StoredObject


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChange:
    """An output that is not as the undisturbed run left it."""

    path: str
    """In the workspace."""
    change: str
    """In words: ``12 bytes before, 24 after``; *before* is the undisturbed run's end."""
    digest: str
    """Of what stands there now (kind, mode, bytes); empty if nothing does."""
    same_size: bool
    """A file before and now, of as many bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What was done to a recorded state before the resume, and what became of it."""

    paths: tuple[str, ...]
    """The damaged files, in the workspace."""
    what: str
    """In words: ``state.json is cut to 12 of its 24 bytes``."""
    could_be: bool = False
    """A crash could have left each of them, taken by itself, as it is now."""
    kept: bool | None = None
    """After the resume all that was damaged still stood in the workspace, under whatever name;
    None: nobody looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """What a handoff said at one moment. Names that are no stages of the job are left out."""

    absent: str = ""
    """That there was none, a sentence without a full stop; empty: there was one."""
    unread: str = ""
    """Why the kit itself could not see it, a sentence: then nothing else says anything."""
    problem: str = ""
    """Why it could not be read, a sentence without a full stop; empty: it could."""
    done: tuple[str, ...] = ()
    """Stages that it says are done, those of its pages first."""
    next: tuple[str, ...] = ()
    """Stages that it says are next."""
    names_next: bool = False
    """Whether it names anything as next, a stage or not."""
    failed: tuple[str, ...] = ()
    """Stages that it says have failed."""
    text: str = ""
    """Its beginning, for people; secrets are taken out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Something that left the job and arrived."""

    kind: str
    id: str = ""
    """Empty: it has none."""
    problem: str = ""
    """Why it could not be read, a sentence without a full stop; then the rest says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRun:
    """The other undisturbed run, in another workspace, held against the recorded one."""

    events: tuple[str, ...]
    """Lines that it wrote."""
    varying_outputs: tuple[str, ...] = ()
    """Outputs that both runs left, not with the same kind, mode and bytes."""
    varying_names: tuple[str, ...] = ()
    """Outputs that only one of them left."""
    effects: tuple[Effect, ...] = ()
    """What it sent, where that is declared."""
    strayed: tuple[str, ...] = ()
    """Signals that it tried to send to processes that are not its own, in words."""
    objects: tuple[StoredObject, ...] = ()
    """What the object store held at its end, where that is declared."""
