"""What is kept of an examination: evidence, and a wreck for the first of each cause.

``.checkpoint-contracts/SUBJECT/`` holds ``recording/``, ``evidence.json``, ``operations.txt``,
``logbook.jsonl`` (:mod:`pytest_checkpoint.keeping.logbook`), ``resumes/`` (the recordings of those
that were crashed in turn), ``bodies/`` (the bytes of objects that they tell of) and
``wrecks/CONTRACT-STEP.VARIANT/`` with ``w`` (the workspace), ``t`` (TMPDIR),
``events``, ``effects`` and ``objects`` as the crash left them (or a trial's last leg), and what was
printed. All wrecks together stay under a cap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from checkpoint_contracts import archive
from checkpoint_contracts.evidence import (
    CrashPoint,
    Evidence,
    Execution,
    Experiment,
    Fault,
    Trial,
)
from checkpoint_contracts.verdict import Finding, Verdict
from pytest_checkpoint.examination import Wreck
from pytest_checkpoint.keeping.bodies import BODIES, keep_bodies, name_of_body
from pytest_checkpoint.keeping.logbook import LOGBOOK
from pytest_checkpoint.keeping.places import file_name, kept_folder
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.faults.rooms import first_refused
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.record.describe import describe
from pytest_checkpoint.record.operations import WORKSPACE, Operation
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.contents import fold
from pytest_checkpoint.states.kill import parse
from pytest_checkpoint.states.resumes import Resumes
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import Directory, File, Image, Symlink, printable
from pytest_checkpoint.tree.restore import restore

EVIDENCE: Final = "evidence.json"
RECORDING: Final = "recording"
_WRECKS: Final = "wrecks"
_RESUMES: Final = "resumes"
Printed = Mapping[str, Execution | None]
"""File name in a wreck → what an execution said there; None: it was not made."""
_AROUND: Final = 4
_LISTED: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """Writes into one subject's kept folder."""

    folder: Path
    cap_bytes: int
    store: Bodies | None = None
    """Where the bytes of objects are; None: the subject has no object store."""

    @classmethod
    def of(cls, subject: Subject, options: Options, client: SlotClient) -> Self:
        """For what is seen in this slot."""
        return cls(
            folder=kept_folder(options, subject, client.number),
            cap_bytes=options.keep_bytes,
            store=client.bodies if subject.s3 is not None else None,
        )

    @property
    def recording(self) -> Path:
        return self.folder / RECORDING

    @property
    def resumes(self) -> Path:
        """Of resumes that were crashed, each under the id of the crash that it went on from."""
        return self.folder / _RESUMES

    def objects(self) -> None:
        """Keep the bytes of objects that the kept recordings need."""
        if self.store is not None:
            resumes = (path.parent for path in self.resumes.glob("*/operations.jsonl"))
            keep_bodies(self.folder, (self.recording, *resumes), self.store)

    def begin(self) -> None:
        """Forget what an earlier examination kept: first that there is anything to go on with."""
        (self.folder / LOGBOOK).unlink(missing_ok=True)
        for name in (RECORDING, _WRECKS, _RESUMES, BODIES):
            remove_tree(self.folder / name)
        for name in (EVIDENCE, "operations.txt"):
            (self.folder / name).unlink(missing_ok=True)

    def evidence(self, evidence: Evidence) -> None:
        beside = self.folder / f"{EVIDENCE}.new"
        beside.write_text(archive.dump(evidence), encoding="utf-8")
        beside.replace(self.folder / EVIDENCE)

    def operations(self, operations: tuple[Operation, ...]) -> None:
        lines = [f"{one.step:6} {describe(one)}\n" for one in operations]
        (self.folder / "operations.txt").write_text("".join(lines), encoding="utf-8")

    def wreck(
        self,
        finding: Finding,
        state: State,
        printed: Printed,
        source: StateSource,
    ) -> Wreck:
        """Keep one state; over the cap only its description is kept."""
        folder = self.folder / _WRECKS / f"{finding.contract}-{file_name(finding.point.id)}"
        remove_tree(folder)
        folder.mkdir(parents=True)
        listing = tuple(list_workspace(state.image))
        around = tuple(all_around(source, finding.point))
        (folder / "about.txt").write_text(
            "\n".join((finding.headline, "", *listing, "", *around, "")), encoding="utf-8"
        )
        (folder / "events").write_bytes(state.events)
        (folder / "effects").write_bytes(state.effects)
        for name, execution in printed.items():
            _write_output(folder / name, execution)
        names = {"about.txt", "events", "effects", *printed}
        if self.store is not None:
            names.add("objects")
            self._put_objects(state.objects, folder / "objects")
        if self._used() + size_of(state.image) <= self.cap_bytes:
            _put_tree(state.image, folder, names)
        return Wreck(folder=folder, listing=listing, operations=around)

    def _put_objects(self, log: bytes, folder: Path) -> None:
        """A list, and each under its key, with what no file name can hold escaped."""
        assert self.store is not None
        folder.mkdir()
        held = fold(log)
        lines = [f"{one.key}  {one.size} bytes  {one.sha256}\n" for one in held.objects.values()]
        lines += [
            f"{one.key}  an upload in {len(one.parts)} parts, not completed ({one.id})\n"
            for one in held.uploads.values()
        ]
        (folder / "list.txt").write_text("".join(sorted(lines)), encoding="utf-8")
        left = self.cap_bytes - self._used()
        for one in held.objects.values():
            left -= one.size
            if left >= 0 and self.store.has(one.sha256):
                (folder / name_of_body(one.key)).write_bytes(self.store.read(one.sha256))

    def _used(self) -> int:
        wrecks = self.folder.parent.glob(f"*/{_WRECKS}/*/[wto]*/**/*")
        return sum(path.lstat().st_size for path in wrecks)


def load_evidence(folder: Path) -> Evidence | None:
    """What the last examination saw; None if there is nothing that can be read."""
    try:
        return archive.load((folder / EVIDENCE).read_text(encoding="utf-8"))
    except (OSError, archive.ArchiveError):
        return None


def keep_wrecks(
    keeper: Keeper,
    verdicts: Mapping[str, Verdict],
    printed: Mapping[CrashPoint, Printed],
    states: Mapping[CrashPoint, State],
    source: StateSource,
) -> dict[tuple[str, str], Wreck]:
    """(contract, point id) → wreck, for every confirmed failure whose state is at hand."""
    wrecks: dict[tuple[str, str], Wreck] = {}
    for verdict in verdicts.values():
        for failure in verdict.failures:
            where = failure.finding.point
            state = states.get(where)
            if state is not None:
                wrecks[verdict.contract, where.id] = keeper.wreck(
                    failure.finding, state, printed.get(where, {}), source
                )
    return wrecks


def printed_by(
    experiments: Iterable[Experiment], trials: Iterable[Trial] = ()
) -> dict[CrashPoint, Printed]:
    """What is kept beside a state of what was printed on the way; of two the later."""
    found: dict[CrashPoint, Printed] = {
        one.point: {"resume.txt": one.resume, "check.txt": one.check} for one in experiments
    }
    for trial in trials:
        legs: dict[str, Execution | None] = {
            f"{number}-{file_name(leg.command)}.txt": leg.execution
            for number, leg in enumerate(trial.legs, 1)
        }
        if trial.pair is not None:
            legs["second-start.txt"] = trial.pair.second
        found[trial.point] = {**legs, "check.txt": trial.check}
    return found


def _put_tree(image: Image, folder: Path, beside: Collection[str]) -> None:
    """``w`` and ``t`` beside what the folder holds already."""
    restore(image, folder, exclude=frozenset(name.encode() for name in beside))


def _write_output(path: Path, execution: Execution | None) -> None:
    if execution is not None:
        text = execution.output + execution.error_output
        path.write_text(text, encoding="utf-8", errors="backslashreplace")


def list_workspace(image: Image) -> list[str]:
    """A line per name in the workspace, with what it is."""
    lines = []
    for path, _, node in walk(image):
        if not path.startswith(WORKSPACE + b"/"):
            continue
        name = printable(path[len(WORKSPACE) + 1 :])
        match node:
            case File():
                size = node.content.size
                lines.append(f"{name}  {size} byte{'' if size == 1 else 's'}")
            case Directory():
                lines.append(f"{name}/")
            case Symlink():
                lines.append(f"{name} → {printable(node.target)}")
            case _:
                lines.append(name)
    if len(lines) > _LISTED:
        lines[_LISTED:] = [f"… and {len(lines) - _LISTED} more"]
    return lines or ["(the workspace is empty)"]


def all_around(source: StateSource, where: CrashPoint) -> list[str]:
    """The operations around a crash; of crash after crash those around each, of its own resume."""
    if where.fault is Fault.NO_SPACE:
        step = first_refused(source.recording, where.variant)
        return [] if step is None else operations_around(source.operations, step)
    if where.fault is not Fault.SECOND_CRASH:
        return operations_around(source.operations, where.step)
    lines: list[str] = []
    for states, crash in Resumes.of(source).chain(parse(where.id)):
        if lines:
            lines.append("then, in the resume:")
        lines += operations_around(states.operations, crash.step)
    return lines


def operations_around(operations: tuple[Operation, ...], step: int) -> list[str]:
    """The operations before and after the crash, the one it stands at marked."""
    first = max(0, step - _AROUND)
    lines = []
    for operation in operations[first : step + _AROUND]:
        mark = "→" if operation.step == step else " "
        lines.append(f"{mark} {operation.step:5} {describe(operation)}")
    return lines


def size_of(image: Image) -> int:
    return sum(node.content.size for node in image.nodes.values() if isinstance(node, File))
