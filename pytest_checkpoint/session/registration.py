"""From what a user wrote to a validated Subject; every mistake is a UserError, a sentence."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import FunctionType
from typing import cast

from checkpoint_contracts.changed_pipeline import VARIANTS
from checkpoint_contracts.handoff import HANDOFF
from pytest_checkpoint.api import CallableSubject, CommandSubject, Mark
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.marking import SUBJECT_ATTRIBUTE
from pytest_checkpoint.session import buckets, callables, commands, heartbeats, stagings
from pytest_checkpoint.session.near import meant
from pytest_checkpoint.subject import Subject

KNOWN_CAPABILITIES = (
    "acknowledges-exit",
    "checksummed",
    "cleans-up",
    "effects",
    "exclusive",
    "handoff",
    "heartbeat",
    "preemption",
    "refuses-bad-state",
    "s3",
    "shards",
    "stage-faults",
    "stage-inputs",
    "stages",
    "staging",
    "variants",
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A function that ``@checkpoint_subject`` stands on, and where."""

    name: str
    function: Callable[[], object]
    path: Path
    line: int

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    @classmethod
    def of(cls, candidate: object) -> Declaration | None:
        """None if ``candidate`` is not a marked function. Asks nothing of other objects."""
        if not isinstance(candidate, FunctionType):
            return None
        mark = candidate.__dict__.get(SUBJECT_ATTRIBUTE)
        if not isinstance(mark, Mark):
            return None
        code = candidate.__code__
        return cls(mark.name, candidate, Path(code.co_filename), code.co_firstlineno)


def declared(
    declaration: Declaration,
    working_directory: Path,
    ids: Collection[str],
    known: Collection[str] = KNOWN_CAPABILITIES,
) -> Subject:
    """Call the function and validate what it returns.

    ``ids``: the contracts that exist; ``known``: the capabilities that they may need.
    """
    who = f"subject {declaration.name!r} ({declaration.place})"
    if inspect.signature(declaration.function).parameters:
        raise UserError(f"{who}: its function must take no arguments: no fixtures, no parameters")
    try:
        given = declaration.function()
    except Exception as error:
        raise UserError(f"{who}: its function raised {type(error).__name__}: {error}") from error
    if isinstance(given, CallableSubject):
        given = callables.by_commands(who, given)
    if not isinstance(given, CommandSubject):
        raise UserError(
            f"{who}: its function must return a CommandSubject or a CallableSubject, not {given!r}"
        )
    return validated(
        given,
        name=declaration.name,
        who=who,
        working_directory=working_directory,
        ids=ids,
        known=known,
        defined_at=(declaration.path, declaration.line),
    )


def validated(
    given: CommandSubject,
    *,
    name: str,
    who: str,
    working_directory: Path,
    ids: Collection[str],
    known: Collection[str] = KNOWN_CAPABILITIES,
    defined_at: tuple[Path, int] | None = None,
) -> Subject:
    """``who`` begins every message: which subject, and where it was named."""
    _check_name(who, name)
    run = _command(f"{who}: run", given.run, working_directory)
    resume = run
    if given.resume is not None:
        resume = _command(f"{who}: resume", given.resume, working_directory)
    check = _command(f"{who}: check", given.check, working_directory)
    setup = None
    if given.setup is not None:
        setup = _command(f"{who}: setup", given.setup, working_directory)
    commands.require_workspace(f"{who}: run", run)
    commands.require_workspace(f"{who}: check", check)
    changed = _changed(f"{who}: changed", given.changed, working_directory)
    handoff = _handoff(f"{who}: handoff", given.handoff, working_directory)
    heartbeat = heartbeats.checked(f"{who}: heartbeat", given.heartbeat, working_directory)
    s3 = buckets.checked(f"{who}: s3", given.s3, working_directory)
    staging = stagings.checked(f"{who}: staging", given.staging)
    capabilities = _capabilities(who, given.capabilities, changed, known)
    capabilities = buckets.with_bucket(who, capabilities, declared=s3 is not None)
    capabilities = stagings.with_staging(who, capabilities, declared=staging is not None)
    capabilities = _with_handoff(who, capabilities, declared=handoff is not None)
    expected_failures = _reasons(f"{who}: expected_failures", given.expected_failures, ids)
    not_applicable = _reasons(f"{who}: not_applicable", given.not_applicable, ids)
    for both in expected_failures.keys() & not_applicable.keys():
        raise UserError(f"{who}: {both} is in expected_failures and in not_applicable: choose one")
    return Subject(
        name=name,
        run=run,
        resume=resume,
        check=check,
        setup=setup,
        changed=changed,
        handoff=handoff,
        heartbeat=heartbeat,
        s3=s3,
        staging=staging,
        outputs=_globs(f"{who}: outputs", given.outputs),
        ephemeral=_globs(f"{who}: ephemeral", given.ephemeral),
        capabilities=heartbeats.with_heartbeat(who, capabilities, declared=heartbeat is not None),
        expected_failures=expected_failures,
        not_applicable=not_applicable,
        resume_attempts=_attempts(who, given.resume_attempts),
        time_budget_s=_budget(who, given.time_budget_s),
        max_states=_most(who, given.max_states),
        working_directory=working_directory,
        defined_at=defined_at,
    )


def _check_name(who: str, name: object) -> None:
    if not isinstance(name, str) or not name.strip() or name != name.strip():
        raise UserError(f"{who}: a name must be a word, not {name!r}")
    unfit = [mark for mark in ("::", "/", "[", "]") if mark in name]
    if unfit or name.startswith("-") or not name.isprintable() or name in {".", ".."}:
        raise UserError(
            f"{who}: {name!r} cannot be a name: it becomes part of ids and paths, so no '::', "
            "'/', '[', ']', no control characters, no '-' at the start"
        )


def _command(what: str, given: object, working_directory: Path) -> tuple[str, ...]:
    command = commands.split(what, given)
    commands.require_program(what, command, working_directory)
    return command


def _changed(what: str, given: object, working_directory: Path) -> tuple[tuple[str, ...], ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Collection):
        raise UserError(f"{what} must be a list of commands, not {given!r}")
    found = [
        _command(f"{what}[{number}]", one, working_directory)
        for number, one in enumerate(cast("Collection[object]", given))
    ]
    for number, command in enumerate(found):
        commands.require_workspace(f"{what}[{number}]", command)
    return tuple(found)


def _handoff(
    what: str, given: object, working_directory: Path
) -> PurePosixPath | tuple[str, ...] | None:
    """A path in the workspace; with ``{workspace}`` in it, or as a list, a command."""
    if given is None:
        return None
    if not isinstance(given, str) or commands.WORKSPACE in given:
        command = _command(what, given, working_directory)
        commands.require_workspace(what, command)
        return command
    path = PurePosixPath(given)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in given:
        raise UserError(
            f"{what}: {given!r} must be a path relative to the workspace that stays in it, or a "
            f"command with {commands.WORKSPACE} in it"
        )
    return path


def _with_handoff(who: str, capabilities: frozenset[str], *, declared: bool) -> frozenset[str]:
    """``handoff`` is declared by naming it."""
    if HANDOFF in capabilities and not declared:
        raise UserError(
            f"{who}: the capability {HANDOFF!r} is declared by the file or the command that it "
            "is: handoff=…, --checkpoint-handoff PATH_OR_CMD"
        )
    return capabilities | {HANDOFF} if declared else capabilities


def _texts(what: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Collection):
        raise UserError(f"{what} must be a list of strings, not {given!r}")
    texts = tuple(cast("Collection[object]", given))
    odd = [text for text in texts if not isinstance(text, str) or not text]
    if odd:
        raise UserError(f"{what} must be a list of strings; {odd[0]!r} is none")
    return tuple(str(text) for text in texts)


def _globs(what: str, given: object) -> tuple[str, ...]:
    globs = _texts(what, given)
    for glob in globs:
        if os.path.isabs(glob) or ".." in PurePosixPath(glob).parts or commands.WORKSPACE in glob:
            raise UserError(f"{what}: {glob!r} must be relative to the workspace, and stay in it")
    return globs


def _capabilities(
    who: str, given: object, changed: tuple[tuple[str, ...], ...], known: Collection[str]
) -> frozenset[str]:
    """``variants`` is declared by the commands themselves."""
    names = _texts(f"{who}: capabilities", given)
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise UserError(
            f"{who}: unknown capability {', '.join(unknown)}; there are: {', '.join(known)}"
            + meant(unknown[0], known)
        )
    if VARIANTS in names and not changed:
        raise UserError(
            f"{who}: the capability {VARIANTS!r} is declared by commands of changed pipelines: "
            "changed=[…], --checkpoint-changed CMD"
        )
    return frozenset(names) | ({VARIANTS} if changed else set())


def _reasons(what: str, given: object, ids: Collection[str]) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise UserError(f"{what} must map contract ids to reasons, not be {given!r}")
    reasons: dict[str, str] = {}
    for contract, reason in cast("Mapping[object, object]", given).items():
        if not isinstance(contract, str) or contract not in ids:
            raise UserError(
                f"{what}: unknown contract {contract!r}; there are: {', '.join(sorted(ids))}"
                + meant(str(contract), ids)
            )
        if not isinstance(reason, str) or not reason.strip():
            raise UserError(f"{what}: give a reason for {contract}, not {reason!r}")
        reasons[contract] = reason
    return reasons


def _attempts(who: str, given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise UserError(f"{who}: resume_attempts must be 1 or more, not {given!r}")
    return given


def _budget(who: str, given: object) -> float | None:
    if given is None:
        return None
    fits = isinstance(given, int | float) and not isinstance(given, bool)
    if not fits or not 0 < cast(float, given) < float("inf"):
        raise UserError(f"{who}: time_budget_s must be seconds, more than 0, not {given!r}")
    return float(cast(float, given))


def _most(who: str, given: object) -> int | None:
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise UserError(f"{who}: max_states must be 1 or more, not {given!r}")
    return given
