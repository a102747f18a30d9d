"""The program under test: how to run it, resume it and check its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

Command = tuple[str, ...]
"""Arguments, ``{workspace}`` not yet replaced. Run without a shell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatSource:
    """What shows that a job lives: a file that changes, or a command that says so."""

    glob: str = ""
    """In the workspace; empty: the command."""
    command: Command = ()
    stale_after_s: float
    stalled_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketPlace:
    """Where in the object store the job's objects are."""

    bucket: str
    prefix: str = ""
    markers: str | None = None
    """A glob in the workspace, or of keys."""
    reconcile: Command | None = None
    """Compares the markers with the bucket, and mends what differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingPlace:
    """A directory of limited size that what the job makes passes through."""

    path: PurePosixPath
    """Relative to the workspace."""
    bound_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A subject, validated: what every way of naming one is turned into."""

    name: str
    run: Command
    resume: Command
    check: Command
    setup: Command | None = None
    changed: tuple[Command, ...] = ()
    """The job with its pipeline changed, as a run and as a resume."""
    handoff: PurePosixPath | Command | None = None
    """What tells a reader where the job stands: a file in the workspace, or a command."""
    heartbeat: HeartbeatSource | None = None
    s3: BucketPlace | None = None
    staging: StagingPlace | None = None
    outputs: tuple[str, ...] = ()
    ephemeral: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    resume_attempts: int = 1
    time_budget_s: float | None = None
    """At least so long, whatever the options say."""
    max_states: int | None = None
    """At most so many, whatever the options say."""
    working_directory: Path
    """Where every command is started: where pytest was."""
    defined_at: tuple[Path, int] | None = None
    """File and line of the function that names it, for reports."""
