"""What an interrupted session has left of a subject, and whether it can be gone on with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkpoint_contracts import archive, judge_all
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import Reference
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.examination import Examination, Wreck
from pytest_checkpoint.keeping.definition import differences
from pytest_checkpoint.keeping.keep import RECORDING, load_evidence
from pytest_checkpoint.keeping.kept import control_of
from pytest_checkpoint.keeping.logbook import FINISHED, KeptLogbook, begun_in
from pytest_checkpoint.keeping.places import kept_folders
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.record import journal
from pytest_checkpoint.subject import Subject

CONTROL: Final = "control run"
TAKEN_OVER: Final = "judged before the interruption: nothing was run again"
_SHOWN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRun:
    """What of a control run is not in its recording."""

    reference: Reference
    unreadable: tuple[str, ...]
    notes: tuple[str, ...]
    encloses: bool = True
    """It kept to what is recorded: what a check has said of a state may stand for another."""

    @classmethod
    def of(cls, control: Control, *, encloses: bool) -> ControlRun:
        return cls(
            reference=control.reference,
            unreadable=control.unreadable,
            notes=control.notes,
            encloses=encloses,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptWreck:
    contract: str
    point: str
    folder: str
    listing: tuple[str, ...]
    operations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What of an examination that has ended is not in its evidence."""

    operations: int
    notes: tuple[str, ...]
    wrecks: tuple[KeptWreck, ...]
    elapsed_s: float

    @classmethod
    def of(cls, examination: Examination) -> Finished:
        wrecks = tuple(
            KeptWreck(
                contract=contract,
                point=point,
                folder=str(wreck.folder),
                listing=wreck.listing,
                operations=wreck.operations,
            )
            for (contract, point), wreck in examination.wrecks.items()
        )
        return cls(
            operations=examination.operations,
            notes=examination.notes,
            wrecks=wrecks,
            elapsed_s=examination.elapsed_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """Of one subject, in the session that is continued."""

    folder: Path
    logbook: KeptLogbook
    why_anew: str = ""
    """A note: why it has to be begun anew all the same; empty: it has not."""

    @classmethod
    def of(
        cls, options: Options, subject: Subject, definition: Mapping[str, str]
    ) -> Continued | None:
        """None: it was not begun in that session."""
        for folder in kept_folders(options, subject) if options.continues else ():
            begun = begun_in(folder)
            if begun is None or (begun.session, begun.subject) != (options.session, subject.name):
                continue
            changed = differences(begun.definition, definition)
            why_anew = _why(changed) if changed else ""
            return cls(
                folder=folder,
                logbook=KeptLogbook(folder),
                why_anew=why_anew,
            )
        return None

    def require_as_it_was(self) -> None:
        """HarnessError if another pytest began it anew meanwhile. Asked when its slot is ours."""
        if begun_in(self.folder) != self.logbook.begun:
            raise HarnessError(
                "another pytest judges it, and began it anew before it could be continued here; "
                "wait for that to end"
            )

    def finished(self, contracts: tuple[Contract, ...]) -> Examination | None:
        """As it was shown, or would have been; None: it was not finished."""
        done = self.logbook.recall(FINISHED, Finished)
        evidence = load_evidence(self.folder) if done is not None else None
        if done is None or evidence is None:
            return None
        if self.logbook.begun is None or evidence.subject != self.logbook.begun.subject:
            return None  # two names may come to one folder, and two workers to it at a time
        return Examination(
            evidence=evidence,
            verdicts=judge_all(evidence, contracts),
            operations=done.operations,
            notes=(TAKEN_OVER, *done.notes),
            wrecks={
                (one.contract, one.point): Wreck(
                    folder=Path(one.folder), listing=one.listing, operations=one.operations
                )
                for one in done.wrecks
            },
            folder=self.folder,
            elapsed_s=done.elapsed_s,
        )

    def control(self, options: Options) -> Control | str:
        """As if the control run had just been made; or a note: why it has to be made again."""
        try:
            known = self.logbook.recall(CONTROL, ControlRun)
            if known is None:
                return "its control run had not ended: it was begun anew"
            recording = journal.load(self.folder / RECORDING)
        except (HarnessError, archive.ArchiveError) as error:
            return f"what was kept cannot be used, so it was begun anew: {error}"
        if len(recording.operations) != known.reference.steps:
            return "the kept recording is not whole, so it was begun anew"
        return control_of(options, recording, known.reference, known.unreadable, known.notes)


def _why(changed: list[str]) -> str:
    names = ", ".join(changed[:_SHOWN])
    if len(changed) > _SHOWN:
        names += f" and {len(changed) - _SHOWN} more"
    verb = "has" if len(changed) == 1 else "have"
    return f"begun anew, not continued: {names} {verb} changed since the interruption"
