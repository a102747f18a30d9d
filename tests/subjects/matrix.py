"""Which contract must catch which mutant, and which subjects all contracts must be silent on.

Plain data about the scripts beside it. Each does its job with ``python SCRIPT run WORKSPACE``, goes
on with the same command, and says its result with ``python SCRIPT check WORKSPACE``.

``caught_by`` and ``also`` follow the table at the top of the contract catalogue: a resume that
exits non-zero after a kill breaks two promises, and one that exits 0 with another result after a
torn write breaks ``state-never-corrupt``, though the fault may be older than the torn write.

A case is judged with its ``faults``. Most are there for kills and torn writes, and need not survive
a power loss; those that are there for one are judged with all faults, once under each of their
``models``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RESUME_EQUALS = "resume-equals-uninterrupted"
NEVER_CORRUPT = "state-never-corrupt"
SKIPS_DONE = "resume-skips-done"
KEEPS_WORK = "resume-keeps-work"
SURVIVES_POWER_LOSS = "done-survives-power-loss"
NO_PARTIAL = "no-partial-under-final-name"
IDEMPOTENT = "resume-is-idempotent"
OUTPUTS_CROSS = "outputs-cross-resume"
RE_ENTRY = "re-entry-is-safe"
TELLS_NEXT = "handoff-tells-next"
FAILED_RETRIED = "failed-stage-is-retried"
POISON_FAILS = "poison-fails-fast"
CHANGE_NOTICED = "changed-pipeline-is-noticed"
DURING_RECOVERY = "crash-during-recovery"
BAD_STATE = "bad-state-is-refused"
NO_SPACE = "no-space-is-survived"
IO_ERROR = "io-error-is-not-success"
PREEMPTION = "preemption-is-clean"
NO_LITTER = "leaves-no-litter"
FIRE_ONCE = "effects-fire-once"
OWNS_OWN = "owns-only-its-own"

ONE_WRITER = "one-writer"
NOTICED = "stale-heartbeat-is-noticed"
NOT_STALE = "slow-is-not-stale"
NOT_PROGRESS = "alive-is-not-progress"
NO_SPACE_STAGING = "no-space-in-staging"
BACKPRESSURE = "backpressure-bounds-staging"
MARKERS_OUTLIVE = "markers-outlive-staging"
COVER_ONCE = "shards-cover-once"
MARKER_IMPLIES = "marker-implies-object"
UPLOAD_FAULTS = "upload-faults-are-survived"
RECONCILES_TRULY = "reconcile-tells-the-truth"

KILLS = ("kill",)
CRASHES = ("kill", "torn")
WITH_POWER_LOSS = (*CRASHES, "power-loss")
RAISES, KILLED, CHANGED = "stage-raises", "stage-killed", "changed"
SECOND, DAMAGE = "second-crash", "damage"
FULL, ERRORS, SIGNALS, LOOP = "no-space", "io-error", "signal", "crash-loop"
NO_REPLY, BESIDE = "lost-reply", "bystander"
DOUBLE_START = "double-start"
FROZEN, SLOWED, BLOCKED = "frozen", "slowed", "blocked"
STAGING_FULL, STAGING_GONE, STORE_SLOW = "staging-full", "staging-gone", "store-slow"
SHARDS = "shards"
STORE_LIES, STORE_FAILS, STORE_CHANGED = "store-lies", "store-fails", "store-changed"
BY_FILE, BY_COMMAND = "file", "command"
DEFAULT_MODEL = "linux"
ALL_MODELS = ("linux", "posix", "ext4-ordered")

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
    outputs: tuple[str, ...] = ()
    """Globs."""
    handoff: str = ""
    """A path, or a command with ``{workspace}`` in it; empty: none."""
    changed: tuple[str, ...] = ()
    """Names of changed pipelines: the script's third argument."""
    heartbeat: str = ""
    """:data:`BY_FILE`, ``beat.json``, or :data:`BY_COMMAND`, its ``watch``; empty: none."""
    stale_after_s: float = 0.3
    stalled_after_s: float = 0.0
    """0: the command does not tell."""
    bucket: str = ""
    """Where it uploads to; empty: nowhere."""
    markers: str = "markers/*.done"
    """Of one that uploads: a glob."""
    reconciles: bool = False
    """Its ``reconcile`` compares its markers with the bucket."""
    ephemeral: tuple[str, ...] = ()
    """Globs of files and keys."""
    staging_bytes: int = 0
    """The bound of its staging, ``staging``; 0: it has none."""
    attempts: int = 0
    """Starts or kills of a stage after which it is endless; 0: the default."""
    faults: tuple[str, ...] = CRASHES
    """The faults that it is judged with: a twin is sound under these."""
    models: tuple[str, ...] = (DEFAULT_MODEL,)
    """The persistence models under each of which it is judged.

    One that derives no state which the first does not is not examined again.
    """
    sound_under: frozenset[str] = frozenset()
    """Those of them under which a mutant's fault cannot show: nothing may fail there."""
    file: str = ""
    """The script's stem, if it is not ``mutant_`` or ``sound_`` and the name."""
    max_states: int = 0
    """Not more are explored; for mutants whose fault shows soon. 0: no such limit.

    Of twins with many cuts: every operation and the main cuts of every write are covered.
    """
    holds: frozenset[str] = frozenset()
    """Contracts that must apply to it and pass it: others may not apply."""
    tells: tuple[str, ...] = ()
    """What must stand in the text of its failure."""
    module: str = ""
    """What has to be installed; empty: nothing."""
    note: str = ""

    @property
    def script(self) -> Path:
        kind = "sound" if self.caught_by is None else "mutant"
        return FOLDER / f"{self.file or f'{kind}_{self.name}'}.py"

    @property
    def expected_failures(self) -> frozenset[str]:
        """Every contract that must fail, and no other may, under its first model."""
        return self.expected_under(self.models[0])

    def expected_under(self, model: str) -> frozenset[str]:
        """Every contract that must fail, and no other may, under a persistence model."""
        if self.caught_by is None or model in self.sound_under:
            return frozenset()
        return self.also | {self.caught_by}

    def options(self, model: str = DEFAULT_MODEL) -> list[str]:
        """What the command form needs besides the commands.

        Kills and torn writes do not depend on a model: they are judged under the first one only.
        """
        faults = self.faults if model == self.models[0] else ("power-loss",)
        options = [f"--checkpoint-faults={','.join(faults)}"]
        if "power-loss" in faults:
            options.append(f"--checkpoint-model={model}")
        if self.max_states:
            options.append(f"--checkpoint-max-states={self.max_states}")
        options += [f"--checkpoint-outputs={glob}" for glob in self.outputs]
        options += [f"--checkpoint-ephemeral={glob}" for glob in self.ephemeral]
        if self.attempts:
            options.append(f"--checkpoint-attempts={self.attempts}")
        if self.heartbeat:
            options.append(f"--checkpoint-stale-after={self.stale_after_s}")
        if self.bucket:
            options.append(f"--checkpoint-s3=s3://{self.bucket}")
            options.append(f"--checkpoint-s3-markers={self.markers}")
        if self.staging_bytes:
            options.append("--checkpoint-staging=staging")
            options.append(f"--checkpoint-staging-bound={self.staging_bytes}")
        if self.heartbeat == BY_FILE:
            options.append("--checkpoint-heartbeat-file=beat.json")
        if self.stalled_after_s:
            options.append(f"--checkpoint-stalled-after={self.stalled_after_s}")
        if self.handoff:
            options.append(f"--checkpoint-handoff={self.handoff}")
        return options + [f"--checkpoint-capability={name}" for name in sorted(self.capabilities)]


def lost_with_the_power(
    name: str,
    note: str = "",
    models: tuple[str, ...] = (DEFAULT_MODEL,),
    max_states: int = 0,
) -> Case:
    """A mutant that only a power loss shows; most show it in nearly all of their states.

    What torn writes leave of them they leave of their twins too.
    """
    return Case(
        name=name,
        caught_by=SURVIVES_POWER_LOSS,
        faults=(*KILLS, "power-loss"),
        models=models,
        max_states=max_states,
        note=note,
    )


def misleading_handoff(name: str, note: str = "") -> Case:
    """A mutant whose handoff misleads after a kill."""
    return Case(
        name=f"handoff_{name}",
        caught_by=TELLS_NEXT,
        handoff="handoff.json",
        faults=KILLS,
        note=note,
    )


def unsound_stages(
    name: str, caught_by: str, *faults: str, also: str = "", attempts: int = 0, note: str = ""
) -> Case:
    """A mutant that shows when a stage fails."""
    return Case(
        name=name,
        caught_by=caught_by,
        also=frozenset({also} - {""}),
        capabilities=frozenset({"stage-faults"}),
        attempts=attempts,
        faults=faults,
        note=note,
    )


def misses_a_change(name: str, *changed: str, note: str = "") -> Case:
    """A mutant that does not notice, or mistreats, a changed pipeline."""
    return Case(name=name, caught_by=CHANGE_NOTICED, changed=changed, faults=(CHANGED,), note=note)


def takes_damage(name: str) -> Case:
    """A mutant that does not notice a damaged state, or mistreats it."""
    return Case(
        name=f"damage_{name}",
        caught_by=BAD_STATE,
        capabilities=frozenset({"refuses-bad-state"}),
        faults=(DAMAGE,),
    )


def minds_damage(name: str, *capabilities: str, note: str = "") -> Case:
    """A twin of those."""
    return Case(
        name=f"damage_{name}",
        capabilities=frozenset({"refuses-bad-state", *capabilities}),
        faults=(DAMAGE,),
        holds=frozenset({BAD_STATE}),
        note=note,
    )


def unsure_effect(name: str, *tells: str, note: str = "") -> Case:
    """A mutant of which an effect goes out twice, or not at all."""
    return Case(
        name=f"effect_{name}",
        caught_by=FIRE_ONCE,
        capabilities=frozenset({"effects"}),
        faults=("kill", NO_REPLY),
        tells=tells,
        note=note,
    )


def sound_effect(name: str, *faults: str) -> Case:
    return Case(
        name=f"effect_{name}",
        capabilities=frozenset({"effects"}),
        faults=("kill", NO_REPLY, *faults),
        holds=frozenset({FIRE_ONCE}),
    )


def misleading_beat(
    name: str,
    caught_by: str,
    fault: str,
    heartbeat: str,
    *tells: str,
    stalled_after_s: float = 0.0,
    module: str = "",
) -> Case:
    """A mutant whose heartbeat says what is not so. One operation of each kind is enough."""
    return Case(
        name=name,
        caught_by=caught_by,
        heartbeat=heartbeat,
        stalled_after_s=stalled_after_s,
        faults=(fault,),
        max_states=1,
        tells=tells,
        module=module,
    )


def sound_beat(
    name: str, heartbeat: str, holds: dict[str, str], stalled_after_s: float = 0.0
) -> Case:
    """``holds``: fault → contract."""
    return Case(
        name=name,
        heartbeat=heartbeat,
        stalled_after_s=stalled_after_s,
        faults=tuple(holds),
        max_states=1,
        holds=frozenset(holds.values()),
    )


def not_alone(name: str, trials: int, *tells: str, file: str = "", note: str = "") -> Case:
    """A mutant of the lock. ``trials``: so many of each kind show it."""
    return Case(
        name=name,
        caught_by=ONE_WRITER,
        capabilities=frozenset({"exclusive"}),
        faults=(DOUBLE_START,),
        max_states=trials,
        tells=tells,
        file=file,
        note=note,
    )


def sound_alone(name: str, *faults: str, trials: int = 0) -> Case:
    """``trials``: not more of each kind are made."""
    return Case(
        name=name,
        capabilities=frozenset({"exclusive"}),
        faults=(DOUBLE_START, *faults),
        max_states=trials,
        holds=frozenset({ONE_WRITER}),
    )


def unsound_staging(name: str, caught_by: str, *tells: str, trials: int = 1) -> Case:
    """A mutant whose staging is full, or vanishes. ``trials``: so many of each kind show it."""
    return Case(
        name=name,
        caught_by=caught_by,
        staging_bytes=5000,
        max_states=trials,
        faults=(STAGING_FULL if caught_by == NO_SPACE_STAGING else STAGING_GONE,),
        tells=tells,
    )


def sound_staging(name: str, *faults: str) -> Case:
    """A twin of those."""
    return Case(
        name=name,
        staging_bytes=5000,
        faults=(*KILLS, STAGING_FULL, *faults),
        holds=frozenset({NO_SPACE_STAGING} | {MARKERS_OUTLIVE for _ in faults}),
    )


def unsound_uploads(
    name: str,
    caught_by: str,
    fault: str,
    *tells: str,
    also: str = "",
    reconciles: bool = False,
    trials: int = 0,
) -> Case:
    """A mutant whose uploads do not bear a fault of the store. ``trials``: so many of each kind
    show it; 0: all are made.
    """
    return Case(
        name=f"store_{name}",
        caught_by=caught_by,
        max_states=trials,
        also=frozenset({also} - {""}),
        bucket="talks",
        reconciles=reconciles,
        faults=(fault,),
        tells=tells,
    )


def unsound_stager(name: str, caught_by: str, fault: str, *tells: str, trials: int = 1) -> Case:
    """A mutant that uploads from its staging. ``trials``: so many of each kind show it."""
    return Case(
        max_states=trials,
        name=f"staging_{name}",
        caught_by=caught_by,
        bucket="talks",
        markers="done/*",
        staging_bytes=9000,
        faults=(fault,),
        tells=tells,
    )


def unsound_shards(name: str, *tells: str) -> Case:
    """A mutant whose shards do not divide the work."""
    return Case(
        name=f"shard_{name}",
        caught_by=COVER_ONCE,
        capabilities=frozenset({"shards"}),
        faults=(SHARDS,),
        max_states=1,
        tells=tells,
    )


def sound_with_faults(name: str, *faults: str, note: str = "") -> Case:
    """A twin that is judged by faults that answer."""
    needs = {SIGNALS: "preemption", LOOP: "cleans-up"}
    held = {FULL: NO_SPACE, ERRORS: IO_ERROR, SIGNALS: PREEMPTION, LOOP: NO_LITTER}
    return Case(
        name=name,
        capabilities=frozenset(needs[fault] for fault in faults if fault in needs),
        faults=faults,
        holds=frozenset(held[fault] for fault in faults),
        note=note,
    )


def sound_without_power(name: str, note: str = "") -> Case:
    """A twin that survives power losses too, in every model."""
    return Case(name=name, faults=WITH_POWER_LOSS, models=ALL_MODELS, note=note)


MUTANTS = (
    Case(
        name="status_before_output",
        caught_by=RESUME_EQUALS,
        note="outputs of one byte: nothing to tear",
    ),
    Case(
        name="output_lost_across_resume",
        caught_by=RESUME_EQUALS,
        also=frozenset({NEVER_CORRUPT, OUTPUTS_CROSS, RE_ENTRY}),
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
        also=frozenset({SKIPS_DONE}),
        note="the stage that was interrupted never runs, and the result lacks its output",
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
    Case(
        name="prefix_still_parses", caught_by=NEVER_CORRUPT, max_states=50, note="torn writes only"
    ),
    Case(name="same_length_in_place", caught_by=NEVER_CORRUPT, note="torn writes only"),
    Case(
        name="shorter_over_longer",
        caught_by=NEVER_CORRUPT,
        also=frozenset({RESUME_EQUALS}),
    ),
    Case(
        name="starts_over",
        caught_by=SKIPS_DONE,
        also=frozenset({KEEPS_WORK, IDEMPOTENT}),
        note="it writes every output again",
    ),
    Case(
        name="repeats_done_stages",
        caught_by=SKIPS_DONE,
        also=frozenset({IDEMPOTENT}),
        note="it writes nothing again, but its start lines",
    ),
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
        faults=KILLS,
        note="judged by CPU, about 0.3 s; on a machine where less than 0.2 s remain, by bytes",
    ),
    Case(name="only_final_result", caught_by=KEEPS_WORK, note="judged by bytes"),
    Case(
        name="never_reads_its_checkpoint",
        caught_by=KEEPS_WORK,
        faults=KILLS,
        note="judged by bytes",
    ),
    Case(name="resumes_from_oldest", caught_by=KEEPS_WORK, note="judged by bytes: 23 of 24"),
    lost_with_the_power(
        "mkstemp_unsynced", "the rename is kept, and leads to an empty file", max_states=40
    ),
    lost_with_the_power("fsync_before_flush", max_states=40),
    lost_with_the_power("stale_descriptor", max_states=40),
    lost_with_the_power("directory_not_synced", "renames: in every model", ALL_MODELS),
    lost_with_the_power("last_rename_unsynced"),
    lost_with_the_power("marker_before_data", max_states=40),
    Case(
        name="sqlite_synchronous_off",
        caught_by=SURVIVES_POWER_LOSS,
        faults=("power-loss",),
        max_states=80,
        note="its kills and torn writes are those of sqlite_wal",
    ),
    lost_with_the_power(
        "sqlite_rollback_full", "the last commit only, by the journal that is back"
    ),
    Case(
        name="journal_without_directory_sync",
        file="sound_journal_without_directory_sync",
        caught_by=SURVIVES_POWER_LOSS,
        faults=WITH_POWER_LOSS,
        models=ALL_MODELS,
        sound_under=frozenset({"linux", "ext4-ordered"}),
        note="no rename: an fsync of the new file persists its name, but not under posix",
    ),
    Case(
        name="unsynced_exit",
        file="sound_unacknowledged",
        caught_by=SURVIVES_POWER_LOSS,
        faults=WITH_POWER_LOSS,
        capabilities=frozenset({"acknowledges-exit"}),
        note="what is sound while nothing is acknowledged is not once the exit acknowledges it",
    ),
    Case(
        name="output_in_place",
        caught_by=NO_PARTIAL,
        outputs=("out/**/*.txt",),
        note="the job itself believes no output without its marker",
    ),
    Case(
        name="output_patched_in_place",
        caught_by=NO_PARTIAL,
        outputs=("report.txt",),
        note="torn writes only",
    ),
    Case(
        name="counts_its_starts",
        caught_by=IDEMPOTENT,
        also=frozenset({RE_ENTRY}),
        outputs=("report.json",),
        faults=KILLS,
        note="the report of a resume counts two starts, that of the undisturbed run one",
    ),
    Case(name="stamps_its_report", caught_by=IDEMPOTENT, outputs=("report.json",), faults=KILLS),
    Case(
        name="appends_when_finished",
        caught_by=IDEMPOTENT,
        outputs=("*.json", "summary.txt"),
        faults=KILLS,
    ),
    Case(
        name="values_mangled",
        caught_by=OUTPUTS_CROSS,
        faults=KILLS,
        tells=tuple(
            f"resume gives {stage} another input than the undisturbed run did"
            for stage in ("raw", "none", "unicode", "third", "last")
        ),
        note="NaN, bytes, None, Unicode, bf16: each to another stage",
    ),
    Case(
        name="appends_to_leftover",
        caught_by=RE_ENTRY,
        outputs=("*.txt",),
        faults=KILLS,
        note="what arrives by rename is whole, and twice as long",
    ),
    Case(
        name="trusts_leftover",
        caught_by=RE_ENTRY,
        also=frozenset({RESUME_EQUALS}),
        faults=KILLS,
    ),
    misleading_handoff("only_at_end"),
    misleading_handoff("before_commit"),
    misleading_handoff("in_place"),
    misleading_handoff("forgets"),
    misleading_handoff("names_no_next"),
    unsound_stages("failure_counted_as_done", FAILED_RETRIED, RAISES, also=POISON_FAILS),
    unsound_stages("all_again_after_failure", FAILED_RETRIED, RAISES),
    unsound_stages("keeps_going", POISON_FAILS, RAISES, also=FAILED_RETRIED),
    unsound_stages("endless_retry", POISON_FAILS, RAISES, attempts=5),
    unsound_stages("gives_up_in_silence", POISON_FAILS, RAISES, KILLED),
    unsound_stages("budget_in_memory", POISON_FAILS, KILLED, attempts=3),
    unsound_stages("crashes_do_not_count", POISON_FAILS, KILLED, attempts=3),
    misses_a_change("matched_by_position", "renamed", "reordered"),
    misses_a_change("version_ignored", "stronger"),
    misses_a_change("refuses_in_silence", "renamed"),
    misses_a_change("refusal_spoils", "renamed"),
    Case(
        name="recovery_deletes_first",
        caught_by=DURING_RECOVERY,
        faults=(*KILLS, SECOND),
        max_states=160,
        note="one crash is survived, wherever it falls",
    ),
    Case(
        name="kills_by_name",
        caught_by=OWNS_OWN,
        faults=(*KILLS, BESIDE),
        tells=("SIGTERM to ", "not a process of its own"),
    ),
    Case(
        name="removes_by_prefix",
        caught_by=OWNS_OWN,
        faults=(*KILLS, BESIDE),
        tells=("$TMPDIR/render-",),
    ),
    unsure_effect("logged_after", "arrived too often: mail mail to"),
    unsure_effect("intent_only", "never arrived"),
    unsure_effect("without_id", "has no id"),
    Case(
        name="effect_two_at_once",
        caught_by=FIRE_ONCE,
        capabilities=frozenset({"effects"}),
        faults=("double-start",),
        tells=("two starts at the same instant", "arrived too often"),
    ),
    unsure_effect("new_id", "the reply is lost", note="by its number: ids are new in each run"),
    Case(name="full_disk_temp_in_the_way", caught_by=NO_SPACE, faults=(FULL,)),
    Case(
        name="full_disk_truncates_first",
        caught_by=NO_SPACE,
        faults=(FULL,),
        tells=("the resume runs a again, which had been done",),
    ),
    Case(
        name="full_disk_swallowed",
        caught_by=NO_SPACE,
        also=frozenset({IO_ERROR}),
        faults=(FULL, ERRORS),
        tells=("the run exits 0 with a check that exits 1",),
    ),
    Case(name="fsync_error_ignored", caught_by=IO_ERROR, faults=(ERRORS,), tells=("power lost",)),
    Case(
        name="fsync_retried_and_trusted",
        caught_by=IO_ERROR,
        faults=(ERRORS,),
        tells=("power lost",),
    ),
    Case(
        name="short_write_ignored",
        caught_by=IO_ERROR,
        faults=(ERRORS,),
        tells=("a short write at step",),
    ),
    Case(
        name="handler_saves_half",
        caught_by=PREEMPTION,
        capabilities=frozenset({"preemption"}),
        faults=(SIGNALS,),
    ),
    Case(
        name="publishes_on_exception",
        caught_by=PREEMPTION,
        capabilities=frozenset({"preemption"}),
        faults=(SIGNALS,),
    ),
    Case(
        name="temp_name_per_attempt",
        caught_by=NO_LITTER,
        capabilities=frozenset({"cleans-up"}),
        faults=(LOOP,),
    ),
    takes_damage("starts_over"),
    takes_damage("deleted"),
    misleading_beat("beat_unread", NOTICED, FROZEN, BY_COMMAND, "is still called alive"),
    misleading_beat(
        "beats_for_the_dead",
        NOTICED,
        FROZEN,
        BY_FILE,
        "stopped (SIGSTOP) at step",
        "    killed at step",
        "the heartbeat still changes",
    ),
    misleading_beat(
        "beat_number_believed", NOTICED, FROZEN, BY_COMMAND, "its number given to another process"
    ),
    misleading_beat(
        "beat_aged_by_wall_clock",
        NOT_STALE,
        SLOWED,
        BY_COMMAND,
        "its wall clock is an hour behind",
        module="libfaketime",
    ),
    misleading_beat("beats_between_stages", NOT_STALE, SLOWED, BY_FILE, "it is called stale"),
    misleading_beat(
        "timer_as_progress",
        NOT_PROGRESS,
        BLOCKED,
        BY_COMMAND,
        "is still called alive",
        stalled_after_s=0.6,
    ),
    not_alone("no_lock", 1, "the second start works too"),
    not_alone("no_lock_no_events", 2, "does the whole job, and then the first does"),
    not_alone("lock_checked_then_created", 2, "put aside before step 1", "works too"),
    not_alone("lock_empty_after_kill", 2, "killed at step 1 (create lock): the resume exits 1"),
    not_alone("number_believed", 1, "while another process has its number: the resume exits 1"),
    not_alone("second_waits", 1, "the second start had not ended after"),
    not_alone("second_exits_0", 1, "the second start exits 0 although the job is not done"),
    not_alone("second_says_nothing", 1, "the second start exits 1 without a word"),
    not_alone("second_cleans_first", 8, "the first run exits 1 although the second start was"),
    not_alone("pid_file", 1, "remove 'lock' if it is not", file="mutant_dead_owner_refused"),
    unsound_staging("staging_partial_uploaded", NO_SPACE_STAGING, "exits 0 with another result"),
    unsound_staging("staging_crash_loop", NO_SPACE_STAGING, "is refused", "times within"),
    unsound_staging("staging_waits_for_ever", NO_SPACE_STAGING, "the run had not ended after"),
    unsound_staging("markers_in_staging", MARKERS_OUTLIVE, "again, which had been done", trials=2),
    unsound_staging(
        "start_clears_markers", MARKERS_OUTLIVE, "again, which had been done", trials=2
    ),
    unsound_uploads(
        "marked_first", MARKER_IMPLIES, "kill", "the marker markers/ann.done stands, and said/ann"
    ),
    unsound_uploads(
        "trusts_200", MARKER_IMPLIES, STORE_LIES, "keeps nothing", "is not in the bucket", trials=1
    ),
    unsound_uploads(
        "size_only",
        MARKER_IMPLIES,
        STORE_LIES,
        "with one byte changed",
        "holds other bytes",
        trials=3,
    ),
    unsound_uploads(
        "publishes_on_exception", MARKER_IMPLIES, SIGNALS, "of the 280 bytes", trials=3
    ),
    unsound_uploads("no_retry", UPLOAD_FAULTS, STORE_FAILS, "that once is enough", trials=1),
    unsound_uploads("no_pause", UPLOAD_FAULTS, STORE_FAILS, "times with hardly a pause", trials=1),
    unsound_uploads(
        "retries_for_ever", UPLOAD_FAULTS, STORE_FAILS, "is tried again and again", trials=1
    ),
    unsound_uploads(
        "retries_refusal", UPLOAD_FAULTS, STORE_FAILS, "although it is refused", trials=1
    ),
    unsound_uploads(
        "believes_markers",
        RECONCILES_TRULY,
        STORE_CHANGED,
        "not in the bucket",
        reconciles=True,
        trials=2,
    ),
    unsound_stager("checked_not_reserved", BACKPRESSURE, STORE_SLOW, "bytes lie in the staging"),
    unsound_stager("sleeps_on_dead_uploader", BACKPRESSURE, STORE_SLOW, "the run had not ended"),
    unsound_stager(
        "publishes_on_exception",
        NO_SPACE_STAGING,
        STAGING_FULL,
        "with other bytes than undisturbed",
    ),
    unsound_stager(
        "marker_beside_file", MARKERS_OUTLIVE, STAGING_GONE, "uploads", "again", trials=2
    ),
    unsound_shards("batch_numbers", "both shards exit 0 with a check that exits 1"),
    unsound_shards("rest_of_list", "3 shards, one after the other", "all 3 shards exit 0 with"),
)

TWINS = (
    Case(name="json_replace", max_states=50),
    Case(name="owns_its_own", faults=(*KILLS, BESIDE), holds=frozenset({OWNS_OWN})),
    sound_effect("confirmed", "torn", "power-loss"),
    sound_effect("same_id", "double-start"),
    Case(name="checksummed_journal"),
    Case(name="whole_lines_only", note="twin of half_line_accepted"),
    Case(name="sqlite_wal", max_states=130),
    Case(name="odd_names"),
    Case(name="lock_taken_over", note="twin of dead_owner_refused"),
    Case(name="threads"),
    Case(name="processes"),
    Case(name="shell", note="a shell script that runs two programs"),
    Case(name="pure_computing", faults=KILLS, note="judged by CPU; twin of no_checkpoint"),
    Case(name="last_two_checkpoints", note="twin of resumes_from_oldest"),
    Case(name="many_outputs"),
    Case(name="moved_from_tmpdir", note="TMPDIR on the same file system: it writes no byte here"),
    Case(name="mkstemp"),
    Case(name="status_after_output", note="twin of status_before_output"),
    Case(
        name="outputs_cross_resume",
        max_states=50,
        holds=frozenset({OUTPUTS_CROSS, RE_ENTRY}),
        note="twin of output_lost_across_resume",
    ),
    Case(name="done_markers", note="in place, and not believed before its marker is there"),
    Case(name="two_slots_in_place", note="twin of prefix_still_parses"),
    Case(name="pickle_replace", note="twin of pickle_in_place"),
    Case(name="folder_renamed"),
    Case(name="nameless_linked", note="O_TMPFILE + link, and a symbolic link"),
    sound_without_power("unacknowledged", "nothing is synced, and nothing was said to be done"),
    sound_without_power("fsync_file_object", "twin of fsync_before_flush"),
    sound_without_power("fdatasync"),
    sound_without_power("dsync", "written through O_DSYNC"),
    sound_without_power("journal_synced"),
    sound_without_power("odd_names_synced", "twin of odd_names, which syncs nothing"),
    sound_without_power("sqlite_rollback_extra", "twin of sqlite_rollback_full"),
    Case(
        name="sqlite_wal_full",
        faults=("power-loss",),
        models=ALL_MODELS,
        note="its kills and torn writes are those of sqlite_wal",
    ),
    Case(
        name="json_replace_power",
        file="sound_json_replace",
        faults=("power-loss",),
        models=ALL_MODELS,
        capabilities=frozenset({"acknowledges-exit"}),
        note="its kills are judged above; twin of unsynced_exit",
    ),
    Case(name="outputs_arrive", outputs=("out/**/*.txt",), note="rename, link, renamed folder"),
    Case(
        name="counts_starts_apart",
        outputs=("report.json",),
        max_states=50,
        note="twin of counts_its_starts",
    ),
    Case(
        name="rewrites_the_same",
        outputs=("report.json",),
        max_states=50,
        note="twin of stamps_its_report",
    ),
    Case(
        name="values_kept",
        faults=KILLS,
        holds=frozenset({OUTPUTS_CROSS, RE_ENTRY}),
        note="twin of values_mangled",
    ),
    Case(
        name="times_in_values",
        outputs=("*.json",),
        faults=KILLS,
        holds=frozenset({OUTPUTS_CROSS, RE_ENTRY}),
    ),
    Case(
        name="replaces_leftover",
        outputs=("*.txt",),
        faults=KILLS,
        holds=frozenset({RE_ENTRY}),
        note="twin of appends_to_leftover and trusts_leftover",
    ),
    Case(
        name="handoff",
        handoff="handoff.json",
        faults=KILLS,
        holds=frozenset({TELLS_NEXT}),
        note="with pages",
    ),
    Case(
        name="handoff_told",
        file="sound_handoff",
        handoff="cat {workspace}/handoff.json",
        faults=KILLS,
        holds=frozenset({TELLS_NEXT}),
        note="by a command; its pages are looked for in the workspace",
    ),
    Case(
        name="stage_budget",
        capabilities=frozenset({"stage-faults"}),
        changed=("renamed", "stronger"),
        faults=(*KILLS, RAISES, KILLED, CHANGED),
    ),
    Case(
        name="retries_in_the_run",
        capabilities=frozenset({"stage-faults"}),
        faults=(RAISES, KILLED),
        note="twin of budget_in_memory",
    ),
    Case(
        name="runs_again_what_changed",
        changed=("renamed", "reordered", "stronger"),
        faults=(CHANGED,),
        note="twin of version_ignored",
    ),
    sound_with_faults("new_file_after_failed_fsync", ERRORS, note="twin of fsync_retried"),
    sound_with_faults("preempted", SIGNALS, note="twin of handler_saves_half"),
    sound_with_faults("cleans_up", LOOP, note="twin of temp_name_per_attempt"),
    Case(
        name="recovery_rewrites_first",
        faults=(SECOND,),
        max_states=160,
        holds=frozenset({DURING_RECOVERY}),
        note="twin of recovery_deletes_first",
    ),
    Case(
        name="stage_budget_twice",
        file="sound_stage_budget",
        faults=(SECOND,),
        max_states=160,
        holds=frozenset({DURING_RECOVERY}),
        note="two crashes in one stage use up its attempts: that is no fault of the recovery",
    ),
    sound_alone("locked_by_flock", "kill"),
    sound_alone("locked_by_file", trials=4),
    sound_alone("locked_by_database", trials=4),
    sound_beat(
        "watched",
        BY_COMMAND,
        {FROZEN: NOTICED, SLOWED: NOT_STALE, BLOCKED: NOT_PROGRESS},
        stalled_after_s=0.6,
    ),
    sound_beat("beat_child", BY_FILE, {FROZEN: NOTICED}),
    minds_damage("refused", "checksummed"),
    minds_damage("kept_aside", "checksummed"),
    Case(
        name="shards",
        capabilities=frozenset({"shards"}),
        faults=(*CRASHES, SHARDS),
        holds=frozenset({COVER_ONCE}),
    ),
    Case(
        name="store_verified",
        bucket="talks",
        reconciles=True,
        faults=(*KILLS, SIGNALS, STORE_LIES, STORE_FAILS, STORE_CHANGED),
        holds=frozenset({MARKER_IMPLIES, UPLOAD_FAULTS, RECONCILES_TRULY}),
    ),
    Case(
        name="store_marker_objects",
        bucket="talks",
        markers="done/*",
        faults=(*KILLS, STORE_LIES),
        holds=frozenset({MARKER_IMPLIES}),
    ),
    Case(
        name="store_parts",
        bucket="talks",
        faults=(SIGNALS, STORE_LIES, STORE_FAILS),
        holds=frozenset({MARKER_IMPLIES, UPLOAD_FAULTS}),
        note="twin of publishes_on_exception",
    ),
    Case(
        name="extracting",
        file="runtime_extracting",
        bucket="talks",
        markers="state/markers/*.done",
        reconciles=True,
        ephemeral=("_probe/*", "state/logs/*", "state/heartbeats/*", "staging/*/*"),
        faults=(STORE_LIES, STORE_CHANGED),
        holds=frozenset({MARKER_IMPLIES, RECONCILES_TRULY}),
        module="awscrt",
        max_states=2,
        note="the runtime's own: examples/extractor and tox -e extractor judge all of it",
    ),
    sound_staging("staging", STAGING_GONE),
    sound_staging("staging_gives_up"),
    Case(
        name="staging_uploaded",
        bucket="talks",
        markers="done/*",
        staging_bytes=9000,
        faults=(*KILLS, STAGING_FULL, STAGING_GONE, STORE_SLOW),
        holds=frozenset({NO_SPACE_STAGING, BACKPRESSURE, MARKERS_OUTLIVE}),
    ),
)

CASES = MUTANTS + TWINS
