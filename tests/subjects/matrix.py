"""Which contract must catch which mutant, and which subjects all contracts must be silent on.

Plain data about the scripts beside it. Each does its job with ``python SCRIPT run WORKSPACE``, goes
on with the same command, and says its result with ``python SCRIPT check WORKSPACE``.

``caught_by`` and ``also`` follow the table at the top of the contract catalogue: a resume that
exits non-zero after a kill breaks two promises, and one that exits 0 with another result after a
torn write breaks ``state-never-corrupt``, though the fault may be older than the torn write.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RESUME_EQUALS = "resume-equals-uninterrupted"
NEVER_CORRUPT = "state-never-corrupt"
SKIPS_DONE = "resume-skips-done"
KEEPS_WORK = "resume-keeps-work"

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A subject with one planted fault, or a sound one."""

    name: str
    caught_by: str | None = None
    """The contract that the planted fault is there for; None: the subject is sound."""
    also: frozenset[str] = frozenset()
    """Contracts that the same fault breaks too. All others must not fail."""
    capabilities: frozenset[str] = frozenset()
    note: str = ""

    @property
    def script(self) -> Path:
        return FOLDER / f"{'sound' if self.caught_by is None else 'mutant'}_{self.name}.py"

    @property
    def expected_failures(self) -> frozenset[str]:
        """Every contract that must fail, and no other may."""
        return self.also if self.caught_by is None else self.also | {self.caught_by}


MUTANTS = (
    Case(
        name="status_before_output",
        caught_by=RESUME_EQUALS,
        note="outputs of one byte: nothing to tear",
    ),
    Case(
        name="output_lost_across_resume",
        caught_by=RESUME_EQUALS,
        also=frozenset({NEVER_CORRUPT}),
        note="a torn write in the last stage makes the resume do it with frames None, too",
    ),
    Case(
        name="report_hides_missing_output",
        caught_by=RESUME_EQUALS,
        also=frozenset({NEVER_CORRUPT}),
        note="resume and check exit 0, the report is right: only the result of the check differs",
    ),
    Case(
        name="dead_owner_waited_for",
        caught_by=RESUME_EQUALS,
        note="one state hangs; nothing to tear; too few points for resume-keeps-work",
    ),
    Case(
        name="dead_owner_refused",
        caught_by=RESUME_EQUALS,
        also=frozenset({NEVER_CORRUPT}),
    ),
    Case(
        name="skips_one_too_many",
        caught_by=RESUME_EQUALS,
        note="the catalogue lists it at resume-skips-done; its table judges a stage that never ran "
        "by the result",
    ),
    Case(
        name="json_in_place",
        caught_by=NEVER_CORRUPT,
        also=frozenset({RESUME_EQUALS}),
    ),
    Case(
        name="json_in_place_os_write",
        caught_by=NEVER_CORRUPT,
        also=frozenset({RESUME_EQUALS}),
    ),
    Case(
        name="json_in_place_by_child",
        caught_by=NEVER_CORRUPT,
        also=frozenset({RESUME_EQUALS}),
    ),
    Case(
        name="pickle_in_place",
        caught_by=NEVER_CORRUPT,
        also=frozenset({RESUME_EQUALS}),
    ),
    Case(name="half_line_accepted", caught_by=NEVER_CORRUPT, note="torn writes only"),
    Case(name="prefix_still_parses", caught_by=NEVER_CORRUPT, note="torn writes only"),
    Case(name="same_length_in_place", caught_by=NEVER_CORRUPT, note="torn writes only"),
    Case(
        name="shorter_over_longer",
        caught_by=NEVER_CORRUPT,
        also=frozenset({RESUME_EQUALS}),
    ),
    Case(
        name="starts_over",
        caught_by=SKIPS_DONE,
        also=frozenset({KEEPS_WORK}),
        note="it writes every output again",
    ),
    Case(name="repeats_done_stages", caught_by=SKIPS_DONE, note="it writes nothing again"),
    Case(name="redoes_last_done", caught_by=SKIPS_DONE),
    Case(
        name="status_only_at_exit",
        caught_by=SKIPS_DONE,
        also=frozenset({KEEPS_WORK}),
        note="it writes every output again",
    ),
    Case(
        name="no_checkpoint",
        caught_by=KEEPS_WORK,
        note="judged by CPU, about 0.5 s; on a machine where less than 0.2 s remain, by bytes",
    ),
    Case(name="only_final_result", caught_by=KEEPS_WORK, note="judged by bytes"),
    Case(name="never_reads_its_checkpoint", caught_by=KEEPS_WORK, note="judged by bytes"),
    Case(name="resumes_from_oldest", caught_by=KEEPS_WORK, note="judged by bytes: 23 of 24"),
)

TWINS = (
    Case(name="json_replace"),
    Case(name="checksummed_journal"),
    Case(name="whole_lines_only", note="twin of half_line_accepted"),
    Case(name="sqlite_wal"),
    Case(name="odd_names"),
    Case(name="lock_taken_over", note="twin of dead_owner_refused"),
    Case(name="threads"),
    Case(name="processes"),
    Case(name="shell", note="a shell script that runs two programs"),
    Case(name="pure_computing", note="judged by CPU; twin of no_checkpoint"),
    Case(name="last_two_checkpoints", note="twin of resumes_from_oldest"),
    Case(name="many_outputs"),
    Case(name="moved_from_tmpdir", note="TMPDIR on the same file system: it writes no byte here"),
    Case(name="mkstemp"),
    Case(name="status_after_output", note="twin of status_before_output"),
    Case(name="outputs_cross_resume", note="twin of output_lost_across_resume"),
    Case(name="done_markers", note="in place, and not believed before its marker is there"),
    Case(name="two_slots_in_place", note="twin of prefix_still_parses"),
    Case(name="pickle_replace", note="twin of pickle_in_place"),
    Case(name="folder_renamed"),
    Case(name="nameless_linked", note="O_TMPFILE + link, and a symbolic link"),
)

CASES = MUTANTS + TWINS
