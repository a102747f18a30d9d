"""The ``--checkpoint-*`` options as pytest sees them: names and help, values still unread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import pytest

Kind = Literal["string", "linelist", "bool"]
"""What an option takes: one value, one each time it is given, none. pytest's words for ini keys."""


class Flag:
    """One option. Whether it was given shows in its value: every default is None, False or []."""

    # Not a dataclass: making one takes longer than all the rest of this module.
    __slots__ = ("help", "kind", "metavar", "name")

    def __init__(self, name: str, kind: Kind, metavar: str, text: str) -> None:
        self.name: Final = name
        self.kind: Final = kind
        self.metavar: Final = metavar
        self.help: Final = text

    @property
    def dest(self) -> str:
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def key(self) -> str:
        """In pytest's configuration: ``checkpoint_time_budget``."""
        return self.dest

    @property
    def is_path(self) -> bool:
        return self.metavar in ("PATH", "DIR")


def _value(name: str, metavar: str, text: str) -> Flag:
    return Flag(f"--checkpoint-{name}", "string", metavar, text)


def _list(name: str, metavar: str, text: str) -> Flag:
    return Flag(f"--checkpoint-{name}", "linelist", metavar, f"{text} (repeatable)")


def _switch(name: str, text: str) -> Flag:
    return Flag(f"--checkpoint-{name}", "bool", "", text)


COMMAND_FORM: tuple[Flag, ...] = (
    _value("run", "CMD", "judge this job alone, collecting nothing; CMD works in {workspace}"),
    _value("resume", "CMD", "how to go on after a crash; default: the run command again"),
    _value("check", "CMD", "exits 0 and prints the job's result, in canonical form"),
    _value("setup", "CMD", "fills {workspace} before each fresh run"),
    _list("changed", "CMD", "the job with its pipeline changed, which must be noticed on resume"),
    _value("handoff", "PATH_OR_CMD", "what tells, as JSON, what is done and what is next"),
    _value("heartbeat-file", "GLOB", "a file that changes as long as the job lives"),
    _value("heartbeat-command", "CMD", "says alive, stale, stalled or finished, of {workspace}"),
    _value("stale-after", "SECONDS", "so long after its last beat the job is taken for dead"),
    _value("stalled-after", "SECONDS", "so long after its last progress the job is stalled"),
    _value("s3", "s3://BUCKET/PREFIX", "where it uploads to; AWS_ENDPOINT_URL says which store"),
    _value("s3-markers", "GLOB", "files in {workspace} that say that something is stored"),
    _value("s3-reconcile", "CMD", "compares the markers with the bucket, and mends what differs"),
    _value("staging", "PATH", "a directory in {workspace} through which what it makes passes"),
    _value("staging-bound", "SIZE", "so much data never lies in the staging: 8MB, 256MiB"),
    _list("outputs", "GLOB", "files that must be whole whenever they have their final name"),
    _list("ephemeral", "GLOB", "files left out of comparisons, a log say"),
    _list("capability", "NAME", "something this job can do, which makes more contracts apply"),
    _value("name", "NAME", "the subject's name; default: the stem of its first script"),
)
"""Describe the one subject of the command form; senseless without ``--checkpoint-run``."""

EXPLORATION: tuple[Flag, ...] = (
    _value("time-budget", "SECONDS", "per subject: 90, 90s or 2m; default 2m"),
    _value("max-states", "N", "per subject: crash states, and trials of each kind; default 2000"),
    _switch("exhaustive", "explore every crash state, whatever the budgets say"),
    _value("seed", "N", "decides the order within a budget; default 0"),
    _value(
        "faults",
        "LIST",
        "what is done to the job: kill,torn,power-loss,second-crash,damage,no-space,io-error,"
        "signal,crash-loop,lost-reply,double-start,bystander,stage-raises,stage-killed,changed,"
        "frozen,slowed,blocked,staging-full,staging-gone,store-slow,shards,store-lies,store-fails,"
        "store-changed; default: all",
    ),
    _value("depth", "N", "crashes in a row; 1: no resume is crashed; default 2"),
    _value("model", "MODEL", "what a power loss may take: linux (default), posix, ext4-ordered"),
    _value("run-deadline", "SECONDS", "longest setup, run and first check; default 600"),
    _value("deadline", "SECONDS", "longest resume or check; default: max(10, 5 x undisturbed)"),
    _value("attempts", "N", "starts or kills of a stage after which it is endless; default 25"),
    _value("grace", "SECONDS", "from SIGTERM or SIGINT to SIGKILL; default 10"),
    _value("s3-endpoint", "URL", "an object store of yours; default: the kit's own (extra s3)"),
    _switch("allow-network", "let the job connect beyond this machine, a thousand times over"),
    _list("allow-outside", "PATH", "let the job overwrite existing files under PATH"),
    _switch("keep-tmpdir", "leave TMPDIR as it is: what the job does there is not recorded"),
    _value("workdir", "DIR", "make workspaces in DIR; default: /dev/shm if it has room"),
    _value("keep", "SIZE", "cap of all kept wrecks together: 500MB, 2GiB; default 1GiB"),
    _switch("fresh", "start every resume and check as a new process, with nothing loaded before"),
    _value("self-check", "N", "real kills per subject that test the recording; default 5"),
    _value("restart-ratio", "RATIO", "share of a whole run that counts as starting over: 0.9"),
    _value("tolerate", "WHAT", "'inconclusive': show such a verdict as skipped, not failed"),
)
"""How subjects are judged; each may stand in pytest's configuration too, as ``Flag.key``."""

ONE_SESSION: tuple[Flag, ...] = (
    _switch("continue", "judge the rest of the session that was interrupted last"),
    _value("replay", "ID", "crash one kept state again: SUBJECT::CONTRACT@OP.VARIANT"),
)
"""What only this session is to do: senseless in a configuration."""

FLAGS: tuple[Flag, ...] = COMMAND_FORM + EXPLORATION + ONE_SESSION


def add_options(parser: pytest.Parser) -> None:
    """All but the main one."""
    group = parser.getgroup("checkpoint-contracts")
    for flag in FLAGS:
        if flag.kind == "bool":
            group.addoption(flag.name, action="store_true", help=flag.help)
        elif flag.kind == "linelist":
            group.addoption(
                flag.name, action="append", default=[], metavar=flag.metavar, help=flag.help
            )
        else:
            group.addoption(flag.name, metavar=flag.metavar, help=flag.help)
    for flag in EXPLORATION:
        parser.addini(flag.key, f"{flag.name}, if it is not given", flag.kind, None)


def given(config: pytest.Config, flags: Sequence[Flag] = FLAGS) -> Iterator[tuple[Flag, list[str]]]:
    """Those of ``flags`` on the command line, each with its raw values (a switch has none)."""
    for flag in flags:
        raw = config.getoption(flag.dest)
        if flag.kind == "bool" and raw:
            yield flag, []
        elif flag.kind == "linelist" and raw:
            yield flag, list(raw)
        elif flag.kind == "string" and raw is not None:
            yield flag, [raw]


def refuse_strays(config: pytest.Config, master: str) -> None:
    """Raise UsageError for options that have no effect, because the main one is missing.

    Those of ``addopts`` are meant for whenever it is not.
    """
    typed = {str(argument).partition("=")[0] for argument in config.invocation_params.args}
    strays = [flag.name for flag, _ in given(config) if flag.name in typed]
    if strays:
        raise pytest.UsageError(
            f"{', '.join(strays)} given without {master}: add it, or leave the rest out"
        )
