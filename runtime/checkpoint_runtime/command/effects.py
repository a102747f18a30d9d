"""``checkpoint-runtime effects``: what a pipeline has sent, and what the user knows of it."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any

from checkpoint_runtime.command.exit_codes import ExitCode
from checkpoint_runtime.command.hush import hush
from checkpoint_runtime.effects.view import EffectStatus
from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.pipeline import Pipeline
from checkpoint_runtime.state.effect_records import EffectState


def add_effects(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's own arguments."""
    help_text = "say what the stages have sent (context.effect), or settle what is not known"
    effects = commands.add_parser("effects", help=help_text, description=help_text)
    verbs = effects.add_subparsers(dest="verb", required=True, metavar="list|settle")
    listing = verbs.add_parser("list", help="each effect, and what is known of it")
    listing.add_argument("--json", action="store_true", help="a JSON object for each, a line each")
    settle = verbs.add_parser("settle", help="say whether an effect has happened")
    for verb in (listing, settle):
        verb.add_argument("pipeline", metavar="MODULE:PIPELINE", help="or FILE.py:PIPELINE")
        verb.add_argument("--workspace", required=True, metavar="DIR")
    settle.add_argument("kind", metavar="KIND")
    settle.add_argument("key", metavar="KEY")
    settle.add_argument("--stage", help="whose effect it is, if several have one of that name")
    known = settle.add_mutually_exclusive_group(required=True)
    known.add_argument(
        "--happened", action="store_true", help="it is not sent again; see --outcome"
    )
    known.add_argument(
        "--did-not-happen", action="store_true", help="it is sent when the stage next runs"
    )
    settle.add_argument(
        "--outcome",
        metavar="JSON",
        help="what send would have returned (default: what is recorded, or else null)",
    )


def effects(pipeline: Pipeline, given: argparse.Namespace) -> ExitCode:
    """Do what the command line says."""
    if given.verb == "settle":
        return _settle(pipeline, given)
    found = list(pipeline.effects(given.workspace))
    try:
        if given.json:
            for effect in found:
                print(json.dumps(dataclasses.asdict(effect)))  # noqa: T201 - what was asked for
        else:
            _print_plain(pipeline, found)
        sys.stdout.flush()
    except BrokenPipeError:
        hush(sys.stdout)
    unsettled = any(effect.state is EffectState.UNSETTLED for effect in found)
    return ExitCode.UNSETTLED if unsettled else ExitCode.DONE


def _settle(pipeline: Pipeline, given: argparse.Namespace) -> ExitCode:
    outcome: dict[str, Any] = {}
    if given.outcome is not None:
        if given.did_not_happen:
            raise DefinitionError("--outcome is what an effect gave that has happened.")
        try:
            outcome["outcome"] = json.loads(given.outcome)
        except ValueError as error:
            raise DefinitionError(f"--outcome {given.outcome!r} is no JSON: {error}.") from error
    pipeline.effects(given.workspace).settle(
        given.kind, given.key, stage=given.stage, happened=given.happened, **outcome
    )
    return ExitCode.DONE


def _print_plain(pipeline: Pipeline, found: list[EffectStatus]) -> None:
    rows = [
        (effect.stage, effect.kind, effect.key, str(effect.state), _known(effect))
        for effect in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)] if rows else []
    lines = [] if rows else [f"{pipeline.name}: nothing has been sent here"]
    for row in rows:
        padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        lines.append(f"{padded}  {row[4]}")
    lines += [
        f"then: {pipeline.remedies.settle(effect.stage, effect.kind, effect.key)}, "
        "or --did-not-happen"
        for effect in found
        if effect.state is EffectState.UNSETTLED
    ]
    print("\n".join(lines))  # noqa: T201 - this is what was asked for


def _known(effect: EffectStatus) -> str:
    if effect.how is None:
        return f"{effect.at}: it was about to be sent, and may or may not have happened"
    gave = "" if effect.outcome is None else f": {effect.outcome}"
    return f"{effect.at}, {effect.how}{gave}"
