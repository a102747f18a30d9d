"""All ``--checkpoint-*`` values, read and validated once. A bad one is a UserError, a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.api import CommandSubject
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.options import Options
from pytest_checkpoint.session import (
    buckets,
    command_line,
    commands,
    heartbeats,
    quantities,
    stagings,
)
from pytest_checkpoint.session.given import Given, all_given
from pytest_checkpoint.session.registration import KNOWN_CAPABILITIES, validated
from pytest_checkpoint.session.replay_line import ReplayTarget
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    options: Options
    subject: Subject | None
    """The one subject of the command form; None: subjects are collected."""
    tolerate_inconclusive: bool
    replay: ReplayTarget | None
    continues: bool
    """Go on with the session that was interrupted last."""


def read_settings(
    config: pytest.Config,
    ids: Collection[str],
    capabilities: Collection[str] = KNOWN_CAPABILITIES,
) -> Settings:
    """``ids``: the contracts that exist; ``capabilities``: what they may need."""
    given = {one.flag.name: one for one in all_given(config)}
    working_directory = config.invocation_params.dir
    replay = given.get("--checkpoint-replay")
    settings = Settings(
        options=_options(config.rootpath, working_directory, given),
        subject=_command_form(given, working_directory, ids, capabilities),
        tolerate_inconclusive=_tolerates(given.get("--checkpoint-tolerate")),
        replay=ReplayTarget.parse(replay.value, ids) if replay else None,
        continues="--checkpoint-continue" in given,
    )
    _agree(settings)
    return settings


def _tolerates(given: Given | None) -> bool:
    if given is not None and given.value not in {"", "inconclusive"}:
        raise UserError(f"{given.said} {given.value!r}: only 'inconclusive' can be tolerated")
    return given is not None and given.value == "inconclusive"


def _agree(settings: Settings) -> None:
    replay, subject = settings.replay, settings.subject
    if replay is not None and settings.continues:
        raise UserError(
            "--checkpoint-replay crashes one state again, --checkpoint-continue judges all that is "
            "left: give one of them"
        )
    if replay is not None and subject is not None and replay.subject != subject.name:
        raise UserError(
            f"--checkpoint-replay {str(replay)!r} is of subject {replay.subject!r}, but "
            f"--checkpoint-run names {subject.name!r}: give --checkpoint-name {replay.subject}"
        )


def _options(rootdir: Path, working_directory: Path, given: Mapping[str, Given]) -> Options:
    def directory(option: str, text: str) -> Path:
        return _directory(option, working_directory / text)

    readers: dict[str, tuple[str, Callable[[str, str], Any]]] = {
        "--checkpoint-time-budget": ("time_budget_s", quantities.seconds),
        "--checkpoint-max-states": ("max_states", _at_least(1)),
        "--checkpoint-seed": ("seed", _at_least(0)),
        "--checkpoint-faults": ("faults", _faults),
        "--checkpoint-model": ("model", _model),
        "--checkpoint-run-deadline": ("run_deadline_s", quantities.seconds),
        "--checkpoint-deadline": ("deadline_s", quantities.seconds),
        "--checkpoint-workdir": ("workdir", directory),
        "--checkpoint-keep": ("keep_bytes", quantities.size_bytes),
        "--checkpoint-self-check": ("self_check_points", _at_least(0)),
        "--checkpoint-restart-ratio": ("restart_ratio", quantities.share),
        "--checkpoint-grace": ("grace_s", quantities.seconds),
        "--checkpoint-attempts": ("attempts", _at_least(1)),
        "--checkpoint-depth": ("depth", _at_least(1)),
        "--checkpoint-s3-endpoint": ("s3_endpoint", buckets.endpoint),
    }
    values: dict[str, Any] = {
        field: read(given[option].said, given[option].value)
        for option, (field, read) in readers.items()
        if option in given
    }
    keep_tmpdir = "--checkpoint-keep-tmpdir" in given
    outside = given.get("--checkpoint-allow-outside")
    return Options(
        rootdir=rootdir,
        exhaustive="--checkpoint-exhaustive" in given,
        fresh="--checkpoint-fresh" in given,
        allow_network="--checkpoint-allow-network" in given,
        allow_outside=_outside(working_directory, outside) if outside else (),
        keep_tmpdir=keep_tmpdir,
        typed=frozenset(
            readers[option][0]
            for option in ("--checkpoint-time-budget", "--checkpoint-max-states")
            if option in given and given[option].said == option
        ),
        **values,
    )


def _at_least(least: int) -> Callable[[str, str], int]:
    return lambda option, text: quantities.count(option, text, least=least)


def _faults(option: str, text: str) -> frozenset[Fault]:
    words = [word.strip() for word in text.split(",")]
    known = [str(fault) for fault in Fault]
    unknown = [word for word in words if word not in known]
    if unknown:
        raise UserError(
            f"{option} {text!r}: there is no fault {unknown[0]!r}; there are: {', '.join(known)}, "
            "separated by commas"
        )
    return frozenset(Fault(word) for word in words)


def _model(option: str, text: str) -> Model:
    try:
        return Model(text.strip())
    except ValueError:
        raise UserError(
            f"{option} {text!r}: there is no persistence model of that name; there are: "
            f"{', '.join(Model)}"
        ) from None


def _directory(option: str, path: Path) -> Path:
    if not path.is_dir():
        raise UserError(f"{option} {path}: there is no such directory; make it, or name another")
    if not os.access(path, os.W_OK | os.X_OK):
        raise UserError(f"{option} {path}: this directory cannot be written to")
    return path


def _outside(working_directory: Path, given: Given) -> tuple[Path, ...]:
    if not all(given.values):
        raise UserError(f"{given.said} needs a path")
    return tuple(Path(os.path.abspath(working_directory / text)) for text in given.values)


def _command_form(
    given: Mapping[str, Given],
    working_directory: Path,
    ids: Collection[str],
    known: Collection[str],
) -> Subject | None:
    parts = {
        flag.name: given[flag.name].values
        for flag in command_line.COMMAND_FORM
        if flag.name in given
    }
    if not parts:
        return None
    if "--checkpoint-run" not in parts:
        raise UserError(
            f"{', '.join(parts)} given without --checkpoint-run: which job is meant? "
            f"Give --checkpoint-run 'python job.py {commands.WORKSPACE}' too"
        )
    if "--checkpoint-check" not in parts:
        raise UserError(
            "--checkpoint-run needs --checkpoint-check CMD: a command that prints the job's "
            f"result, as in 'cat {commands.WORKSPACE}/result.json'; without it nothing can be "
            "judged"
        )

    def one(part: str) -> str | None:
        return parts.get(f"--checkpoint-{part}", [None])[0]

    run = parts["--checkpoint-run"][0]
    name = one("name")
    if name is None:
        words = commands.split("--checkpoint-run", run)
        name = commands.stem_of_first_script(words, working_directory)
    return validated(
        CommandSubject(
            run=run,
            check=parts["--checkpoint-check"][0],
            resume=one("resume"),
            setup=one("setup"),
            changed=parts.get("--checkpoint-changed", []),
            handoff=one("handoff"),
            heartbeat=heartbeats.of_options(parts),
            s3=buckets.of_options(parts),
            staging=stagings.of_options(parts),
            outputs=parts.get("--checkpoint-outputs", []),
            ephemeral=parts.get("--checkpoint-ephemeral", []),
            capabilities=parts.get("--checkpoint-capability", []),
        ),
        name=name,
        who=f"subject {name!r} (--checkpoint-run)",
        working_directory=working_directory,
        ids=ids,
        known=known,
    )
