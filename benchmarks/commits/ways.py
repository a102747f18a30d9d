"""Ways of making a result durable, each measured alike: a batch of commits, one after another."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import importlib
import importlib.util
import io
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from checkpoint_runtime import Pipeline
from checkpoint_runtime.codec import Encoded
from checkpoint_runtime.progress import Silent
from checkpoint_runtime.state.durable import make_directory
from checkpoint_runtime.state.log import NextLine, StateLog
from checkpoint_runtime.state.records import first_record
from checkpoint_runtime.state.referred import Referred
from checkpoint_runtime.state.side_files import SideFiles
from checkpoint_runtime.stored import digest_of, encoded_value


class Way(abc.ABC):
    """One way of committing."""

    name: str
    package: str | None = None
    """What must be installed for it; None: nothing."""

    @abc.abstractmethod
    def batch(self, folder: Path, payloads: Sequence[Any]) -> float:
        """Commit each payload, in a folder that is empty; the seconds that took, start-up and
        shut-down left out."""


def missing(way: Way) -> bool:
    """Whether its package is not installed."""
    return way.package is not None and importlib.util.find_spec(way.package) is None


class Replace(Way):
    """The yardstick: write a temporary file, fsync, replace, fsync the directory."""

    name = "write temp + fsync + replace + fsync directory"

    def batch(self, folder: Path, payloads: Sequence[Any]) -> float:
        directory = os.open(folder, os.O_RDONLY)
        temporary, final = folder / "state.tmp", folder / "state"
        data = [_bytes(payload) for payload in payloads]
        begun = time.perf_counter()
        for one in data:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.write(descriptor, one)
            os.fsync(descriptor)
            os.close(descriptor)
            os.replace(temporary, final)
            os.fsync(directory)
        took_s = time.perf_counter() - begun
        os.close(directory)
        return took_s


class Commit(Way):
    """The runtime's commit alone: the value encoded, its side files, one record, synced."""

    name = "checkpoint_runtime: commit"

    def batch(self, folder: Path, payloads: Sequence[Any]) -> float:
        side_files, known = SideFiles(folder), Referred({})
        with StateLog(folder, "benchmark") as log:
            log.append(first_record("benchmark"))
            make_directory(side_files.folder)  # once in a workspace, like the log
            begun = time.perf_counter()
            for number, payload in enumerate(payloads):
                encoded = encoded_value(payload, "stage")
                make = partial(_line, log, number, encoded)
                number_of_line = log.history.lines + 1
                log.add(side_files.write(encoded.attachments, number_of_line, known, make))
                known.add(log.history.done[f"stage-{number}"].kept.files)
            return time.perf_counter() - begun


class WholeStage(Way):
    """All that a stage costs in a run: its attempt, commit, both handoffs, events, context."""

    name = "checkpoint_runtime: stage, with handoff"

    def batch(self, folder: Path, payloads: Sequence[Any]) -> float:
        pipeline = Pipeline("benchmark")
        for number, payload in enumerate(payloads):
            pipeline.stage(name=f"stage-{number}")(_returning(payload))
        clock = _Clock()
        pipeline.run(folder, progress=clock)
        return clock.ended - clock.begun_at


class Sqlite(Way):
    """A row per commit in SQLite, WAL, synchronous=FULL."""

    name = "sqlite, WAL, synchronous=FULL"

    def batch(self, folder: Path, payloads: Sequence[Any]) -> float:
        connection = sqlite3.connect(folder / "state.sqlite", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE state (name TEXT PRIMARY KEY, value BLOB)")
        data = [_bytes(payload) for payload in payloads]
        begun = time.perf_counter()
        for number, one in enumerate(data):
            connection.execute("INSERT INTO state VALUES (?, ?)", (f"stage-{number}", one))
        took_s = time.perf_counter() - begun
        connection.close()
        return took_s


class Joblib(Way):
    """joblib.Memory: one cached call per commit."""

    name = "joblib.Memory"
    package = "joblib"

    def batch(self, folder: Path, payloads: Sequence[Any]) -> float:
        joblib = _imported("joblib")

        def stage(number: int) -> Any:
            return payloads[number]

        stage.__module__ = "benchmark"
        cached = joblib.Memory(folder, verbose=0).cache(stage)
        begun = time.perf_counter()
        for number in range(len(payloads)):
            cached(number)
        return time.perf_counter() - begun


class Luigi(Way):
    """luigi: a chain of tasks, each with a LocalTarget, by the local scheduler."""

    name = "luigi, LocalTarget"
    package = "luigi"

    def batch(self, folder: Path, payloads: Sequence[Any]) -> float:
        luigi = _imported("luigi")

        def requires(self: Any) -> Any:
            return stage(number=self.number - 1) if self.number else []

        def output(self: Any) -> Any:
            return luigi.LocalTarget(folder / f"stage-{self.number}", format=luigi.format.Nop)

        def run(self: Any) -> None:
            with self.output().open("w") as file:
                file.write(_bytes(payloads[self.number]))

        parts = {"requires": requires, "output": output, "run": run}
        stage = type("Stage", (luigi.Task,), {"number": luigi.IntParameter(), **parts})
        begun = time.perf_counter()
        luigi.build([stage(number=len(payloads) - 1)], local_scheduler=True, log_level="CRITICAL")
        return time.perf_counter() - begun


class Dbos(Way):
    """DBOS Transact on SQLite: a step per commit, within one workflow."""

    name = "dbos, step on SQLite"
    package = "dbos"

    def batch(self, folder: Path, payloads: Sequence[Any]) -> float:
        DBOS = _imported("dbos").DBOS  # noqa: N806 - its own name

        with _quiet():
            DBOS(
                config={
                    "name": "benchmark",
                    "system_database_url": f"sqlite:///{folder}/dbos.sqlite",
                    "log_level": "CRITICAL",
                }
            )

            def stage(number: int) -> str:
                return _bytes(payloads[number]).decode("latin-1")

            step = DBOS.step()(stage)

            def flow() -> float:
                begun = time.perf_counter()
                for number in range(len(payloads)):
                    step(number)
                return time.perf_counter() - begun

            workflow = DBOS.workflow()(flow)
            DBOS.launch()
            took_s = float(workflow())
            DBOS.destroy(destroy_registry=True)
        return took_s


class Duravoke(Way):
    """duravoke: a JSON file that is written anew for each call."""

    name = "duravoke, PersistedKKV"
    package = "duravoke"

    def batch(self, folder: Path, payloads: Sequence[Any]) -> float:
        duravoke = _imported("duravoke")
        kept = duravoke.PersistedKKV(str(folder / "state.json"))
        durable = duravoke.Duravoke(kept, duravoke.JSONSerializer())

        async def stage(number: int) -> str:
            return _bytes(payloads[number]).decode("latin-1")

        step = durable.duravoke(stage)

        async def flow() -> float:
            begun = time.perf_counter()
            for number in range(len(payloads)):
                await step(number)
            return time.perf_counter() - begun

        return float(asyncio.run(durable.duravoke(flow)()))


YARDSTICK = Replace()
COMMIT = Commit()
WAYS: tuple[Way, ...] = (
    YARDSTICK,
    COMMIT,
    WholeStage(),
    Sqlite(),
    Joblib(),
    Luigi(),
    Dbos(),
    Duravoke(),
)


def _line(log: StateLog, number: int, encoded: Encoded, files: dict[str, Any]) -> NextLine:
    record: dict[str, Any] = {
        "done": f"stage-{number}",
        "version": "1",
        "inputs": {},
        "parameters": "",
        "digest": digest_of(encoded.text),
        "at": "",
        "took_s": 0.0,
        **files,
    }
    return log.next_line(record, value=encoded.text)


class _Clock(Silent):
    """From the first attempt to the last commit of a run."""

    begun_at = 0.0
    ended = 0.0

    def planned(self, stages: int, done: int) -> None:
        self.begun_at = time.perf_counter()

    def done(self, stage: str, took_s: float) -> None:
        self.ended = time.perf_counter()


def _imported(name: str) -> Any:
    """A package that is measured where it is installed; none of ours needs it."""
    return importlib.import_module(name)


def _returning(payload: Any) -> Callable[[Any], Any]:
    return lambda context: payload


def _bytes(payload: Any) -> bytes:
    return payload if isinstance(payload, bytes) else repr(payload).encode()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
