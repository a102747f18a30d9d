"""Before a run: does what is recorded fit the pipeline as it is now, and the parameters given?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checkpoint_runtime.errors import ChangedPipelineError
from checkpoint_runtime.fingerprints import changed, fingerprint_with_items, unknown
from checkpoint_runtime.stages import Stage, Stages
from checkpoint_runtime.state.facts import Fingerprint
from checkpoint_runtime.state.log import StateLog
from checkpoint_runtime.state.records import History, first_record
from checkpoint_runtime.stored import decoded_parameters, digest_of, encoded_parameters


def reconcile(
    log: StateLog,
    stages: Stages,
    given: str | None,
    again: Sequence[str],
    *,
    accept_changed: bool,
) -> str:
    """Make the state fit the pipeline, where that was asked for; the digest of the parameters.

    :param given: parameters, encoded; None: as recorded.
    :param again: stages to be run again.
    :raises ChangedPipelineError: it does not fit. Nothing has been changed then.
    """
    history = log.history
    fresh = history.lines == 0
    if fresh:
        log.append(first_record(history.pipeline))
    recorded = encoded_parameters(decoded_parameters(history.parameters, log.path))
    parameters = recorded if given is None else given
    digest = digest_of(parameters)

    # Judged as it will be once those are cleared; written only when it fits.
    kept = _without(history, again)
    gone = unknown(stages, kept)
    differing = list(changed(stages, kept, digest))
    if (gone or differing) and not accept_changed:
        sentences = [f"stage {name!r} is recorded, and not in the pipeline now" for name in gone]
        sentences += [sentence for _, sentence in differing]
        raise ChangedPipelineError(log.path, sentences)

    # Of what is no stage any more, attempts and failures are nobody's.
    tried = [name for name in (*history.attempts, *history.failures) if name not in stages]
    # Items of what is no mapped stage any more are of no use to it.
    useless = [stage.name for stage, _ in differing if _has_useless_items(history, stage)]
    clear = [name for name in (*again, *gone, *tried, *useless) if _known(history, name)]
    if clear:
        log.append({"cleared": list(dict.fromkeys(clear))})
    if digest != digest_of(recorded):
        log.append({"parameters": "given" if fresh else "changed"}, value=parameters)
    for stage, _ in differing:
        if stage.name not in useless:
            now = fingerprint_with_items(stage, history, digest)
            log.append({"accepted": stage.name, **_as_record(now)})
    return digest


def _has_useless_items(history: History, stage: Stage) -> bool:
    return stage.items is None and stage.name not in history.done


def _as_record(now: Fingerprint) -> dict[str, Any]:
    record: dict[str, Any] = {
        "version": now.version,
        "inputs": now.inputs,
        "parameters": now.parameters,
    }
    return record if now.items is None else {**record, "made_of": now.items}


def _without(history: History, stages: Sequence[str]) -> History:
    kept = History(
        history.path, history.pipeline, done=dict(history.done), items=dict(history.items)
    )
    for stage in stages:
        kept.clear(stage)
    return kept


def _known(history: History, stage: str) -> bool:
    return any(
        stage in known
        for known in (history.done, history.items, history.attempts, history.failures)
    )
