"""Before a run: does what is recorded fit the pipeline as it is now, and the parameters given?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from checkpoint_runtime.clearing import Clearing
from checkpoint_runtime.errors import ChangedPipelineError
from checkpoint_runtime.fingerprints import changed, fingerprint_with_items, unknown
from checkpoint_runtime.parameters import differences
from checkpoint_runtime.stages import Stage, Stages
from checkpoint_runtime.state.facts import Fingerprint
from checkpoint_runtime.state.log import StateLog
from checkpoint_runtime.state.records import History, first_record
from checkpoint_runtime.stored import decoded_parameters, digest_of, encoded_parameters

_LOOKED_BACK = 50
"""How many stages before the first that differs are looked at for one to run again from."""


def reconcile(
    log: StateLog,
    stages: Stages,
    given: str | None,
    clearing: Clearing,
    *,
    accept_changed: bool,
    note: Callable[[str], None],
) -> str:
    """Make the state fit the pipeline, where that was asked for; the digest of the parameters.

    :param given: parameters, encoded; None: as recorded.
    :param clearing: what is to be run again.
    :param note: told what is cleared, before it is.
    :raises ChangedPipelineError: it does not fit. Nothing has been changed then.
    """
    history = log.history
    fresh = history.lines == 0
    if fresh:
        log.append(first_record(history.pipeline))
    recorded = encoded_parameters(decoded_parameters(history.parameters, log.path))
    parameters = recorded if given is None else given
    digest = digest_of(parameters)

    # Judged as it will be once that is cleared; written only when it fits.
    kept = clearing.applied(history)
    gone = unknown(stages, kept)
    differing = list(changed(stages, kept, digest))
    if (gone or differing) and not accept_changed:
        sentences = [f"stage {name!r} is recorded, and not in the pipeline now" for name in gone]
        sentences += differences(recorded, parameters, log.path) if differing else []
        sentences += [sentence for _, sentence in differing]
        raise ChangedPipelineError(
            log.path,
            sentences,
            gone=gone,
            # What is no stage now is cleared by none.
            rerun_from=None if gone else rerun_from(stages, [stage.name for stage, _ in differing]),
        )

    # Of what is no stage any more, attempts and failures are nobody's.
    tried = [name for name in (*history.attempts, *history.failures) if name not in stages]
    # Items of what is no mapped stage any more are of no use to it.
    useless = [stage.name for stage, _ in differing if _has_useless_items(history, stage)]
    clear = [name for name in (*clearing.stages, *gone, *tried, *useless) if _known(history, name)]
    words = clearing.words(history)
    if words is not None:
        note(words)
    if clear:
        log.append({"cleared": list(dict.fromkeys(clear))})
    clearing.record(log)
    if digest != digest_of(recorded):
        log.append({"parameters": "given" if fresh else "changed"}, value=parameters)
    for stage, _ in differing:
        if stage.name not in useless:
            now = fingerprint_with_items(stage, history, digest)
            log.append({"accepted": stage.name, **_as_record(now)})
    return digest


def rerun_from(stages: Stages, differing: Sequence[str]) -> str | None:
    """A stage on which all of these are built, the last one there is; None: there is none."""
    if not differing:
        return None
    names = [stage.name for stage in stages]
    first = names.index(differing[0])
    for name in reversed(names[max(0, first - _LOOKED_BACK) : first + 1]):
        if set(differing) <= set(stages.from_on(name)):
            return name
    return None


def _has_useless_items(history: History, stage: Stage) -> bool:
    return stage.items is None and stage.name not in history.done


def _as_record(now: Fingerprint) -> dict[str, Any]:
    record: dict[str, Any] = {
        "version": now.version,
        "inputs": now.inputs,
        "parameters": now.parameters,
    }
    return record if now.items is None else {**record, "made_of": now.items}


def _known(history: History, stage: str) -> bool:
    return any(
        stage in known
        for known in (history.done, history.items, history.attempts, history.failures)
    )
