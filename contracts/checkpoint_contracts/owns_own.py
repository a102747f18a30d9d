"""``owns-only-its-own``: restart and cleanup touch the job's own processes and files, no others.

Of every execution that the kit watches it is known which signals it tried to send to processes that
are not its own: they were refused. Besides, at some kill points files and a process that look like
the job's own stand beside it while it is resumed, and must stand there unchanged afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.causes import STRANGER_HARMED, STRANGER_SIGNALLED
from checkpoint_contracts.evidence import (
    CrashPoint,
    Evidence,
    Experiment,
    Fault,
    Reference,
    Trial,
    TrialKind,
)
from checkpoint_contracts.finished_job import finished_point
from checkpoint_contracts.ids import OWNS_ONLY_ITS_OWN
from checkpoint_contracts.mixed import MixedContract
from checkpoint_contracts.tried import Seen, TrialContract, told
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import listed_lines, place

_UNTOUCHED: Final = "processes and files that are not the job's own are left alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnsOnlyItsOwn(MixedContract):
    """Where no bystander was asked for, it applies only if it is broken all the same.

    The trials decide. A signal that is seen in an experiment counts against it, but no experiment
    has to be made for it.
    """

    explores: bool = False

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        return TrialContract.gaps(self, evidence)

    def inapplicable(self, evidence: Evidence) -> str | None:
        if Fault.BYSTANDER in evidence.faults or _strayed(evidence):
            return None
        return f"it needs the fault {Fault.BYSTANDER}, which was not asked for"


def _strayed(evidence: Evidence) -> bool:
    reference = evidence.reference
    if reference is None:
        return False
    return bool(_of_the_run(reference)) or any(
        one.resume.strayed for one in evidence.experiments if one.point.fault is Fault.KILL
    )


def _of_the_run(reference: Reference) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*reference.run.strayed, *reference.finished_resume.strayed)))


def _signalled(point: CrashPoint, where: str, strayed: tuple[str, ...]) -> Iterator[Finding]:
    if strayed:
        yield _finding(
            point,
            Symptom.STRANGER_SIGNALLED,
            f"{where}: it sends {strayed[0]}, which is not a process of its own",
            "sent:",
            strayed,
            STRANGER_SIGNALLED,
        )


def _finding(
    point: CrashPoint,
    symptom: Symptom,
    headline: str,
    lead: str,
    lines: tuple[str, ...],
    cause: str,
) -> Finding:
    return Finding(
        contract=OWNS_ONLY_ITS_OWN,
        point=point,
        symptom=symptom,
        headline=headline,
        expected=_UNTOUCHED,
        seen=f"{lead}\n{listed_lines(lines)}",
        likely_cause=cause,
        root=symptom.value,  # wherever it shows, it is one flaw
    )


def _look_at(experiment: Experiment, reference: Reference) -> Seen:
    strayed = experiment.resume.strayed
    return tuple(_signalled(experiment.point, place(experiment.point), strayed))


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    where, last = trial.point.operation, trial.legs[-1]
    strayed = tuple(dict.fromkeys(one for leg in trial.legs for one in leg.execution.strayed))
    found = list(_signalled(trial.point, where, strayed))
    if trial.harmed:
        headline = f"{where}: {trial.harmed[0]}"
        found.append(
            _finding(
                trial.point,
                Symptom.STRANGER_HARMED,
                headline,
                "what had been put there:",
                trial.harmed,
                STRANGER_HARMED,
            )
        )
    if not found and trial.hung:
        return f"{where}: {told(last)}, so what it would have touched is not known"
    return tuple(found)


def _unseen(evidence: Evidence) -> tuple[str, ...]:
    """A resume that fails may do so before it would have cleaned up."""
    ended = [
        trial for trial in evidence.trials if trial.kind is TrialKind.BYSTANDER and not trial.hung
    ]
    if not ended or any(trial.legs[-1].execution.succeeded for trial in ended):
        return ()
    first = f"{ended[0].point.operation}: {told(ended[0].legs[-1])}"
    unseen = "nothing was seen: no resume beside others succeeded, or may have come to clean up"
    return (f"{unseen}; {first}",)


def _undisturbed(reference: Reference) -> tuple[Finding, ...]:
    return tuple(_signalled(finished_point(reference), "undisturbed", _of_the_run(reference)))


def _undisturbed_again(reference: Reference, finding: Finding) -> bool:
    other, again = reference.other_run, reference.finished_again
    return bool(
        (reference.run.strayed and other is not None and other.strayed)
        or (reference.finished_resume.strayed and again is not None and again.resume.strayed)
    )


owns_only_its_own: Final = OwnsOnlyItsOwn(
    id=OWNS_ONLY_ITS_OWN,
    promise="restart and cleanup touch only the job's own processes and files",
    explanation="""\
A restart script that ends every process of a name, or a cleanup that removes every temporary file
with a prefix, hits the neighbours: the other jobs of the same user on the same machine. In every
run and resume a signal to a process that the job has not started itself, or below, is refused with
EPERM before it arrives, and told. Besides, at up to eight kill points (at all of them with
--checkpoint-exhaustive) bystanders are put beside the job before it is resumed: a process whose
command line has the words of the job's own, for another workspace; files and a folder beside the
workspace whose names begin as its does; and in TMPDIR, for every name that the job makes there, one
like it with another random part, and one such as Python's tempfile makes, two days old. After the
resume the process must live, and each file must be there with the same bytes and the same time. The
contract is broken by any such signal, in the undisturbed run or in a resume after a kill, and by
any bystander that is not as it was. A job that sweeps TMPDIR by age or by prefix breaks it too:
what lies there may be anybody's. If that is meant to be so, give the reason in not_applicable.

It is broken by `pkill -f`, by a loop over /proc/*/cmdline, by the number of a process that has
ended and whose number somebody else has now, and by `rm -rf $TMPDIR/prefix*`.

Keep it: record the number and the start time of each process that is started, and signal it only
while both fit; keep temporary files in a folder of the job's own, or a list of them in its state,
and remove those alone.""",
    kinds=(TrialKind.BYSTANDER,),
    crashes=frozenset({Fault.KILL}),
    needs=frozenset(),
    look=_look,
    look_at=_look_at,
    gaps_of_all=_unseen,
    undisturbed=_undisturbed,
    undisturbed_again=_undisturbed_again,
)
