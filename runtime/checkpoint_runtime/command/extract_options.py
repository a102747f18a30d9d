"""The options of ``checkpoint-runtime extract``."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.staging.marks import DEADLINE_S, HIGH, LOW, Marks
from checkpoint_runtime.grace import checked_grace
from checkpoint_runtime.liveness.checks import checked_interval
from checkpoint_runtime.liveness.heartbeat import DEFAULT_INTERVAL_S

if TYPE_CHECKING:
    from checkpoint_runtime.extract.run import Wishes
    from checkpoint_runtime.extract.store.options import StoreOptions

_HELP = "store hidden states of a model: extracted, staged, uploaded, verified, marked"
_MORE = (
    "What is done is skipped, so that the same command goes on after a crash or a preemption. "
    "Several workers share the work, each with --shard of its own. See docs/extractor.md."
)
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MOST_UPLOADS: Final = 256
_MOST_AHEAD: Final = 16
_UPLOAD_DEADLINE_S: Final = 300.0


def add_extract(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Let the command line have it."""
    command = commands.add_parser("extract", help=_HELP, description=f"{_HELP}. {_MORE}")
    _add_what(command)
    _add_where(command)
    _add_staging(command)
    _add_manner(command)


def _add_what(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--model", required=True, type=Path, metavar="DIR", help="a Hugging Face model, on disk"
    )
    command.add_argument(
        "--dataset", required=True, type=Path, metavar="FILE", help=".jsonl, .parquet or .txt"
    )
    command.add_argument(
        "--layers", required=True, metavar="N,N,…", help="0 is the embeddings, then layer by layer"
    )
    command.add_argument("--id-field", default="id", metavar="NAME", help="(default: %(default)s)")
    command.add_argument(
        "--text-field", default="text", metavar="NAME", help="(default: %(default)s)"
    )
    command.add_argument(
        "--dtype",
        choices=("bf16", "fp16", "fp32", "fp8"),
        default="bf16",
        help="of what is stored (default: %(default)s)",
    )
    command.add_argument(
        "--batch-tokens",
        type=int,
        default=16384,
        metavar="N",
        help="tokens that go through the model together and into one object (default: %(default)s)",
    )
    command.add_argument(
        "--shard",
        default="0/1",
        metavar="I/N",
        help="which part is this worker's, from 0; or auto, as torchrun, a Slurm array or a "
        "Kubernetes indexed job says (default: %(default)s)",
    )
    command.add_argument(
        "--on-long",
        choices=("fail", "truncate"),
        default="fail",
        help="a sample longer than the model takes (default: %(default)s)",
    )
    command.add_argument(
        "--accept-changed",
        action="store_true",
        help="keep what is stored of samples that have another text by now (default: that is "
        "refused)",
    )
    command.add_argument(
        "--on-nan",
        choices=("fail", "keep"),
        default="fail",
        help="hidden states with a NaN or an infinity (default: %(default)s)",
    )
    command.add_argument(
        "--device", default="auto", help="auto, cpu, cuda or cuda:N (default: %(default)s)"
    )


def _add_where(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--destination", required=True, metavar="URL", help="s3://BUCKET/PREFIX or file:///DIR"
    )
    command.add_argument(
        "--state",
        required=True,
        type=Path,
        metavar="DIR",
        help="markers, logs and heartbeats: on a disk that keeps them, not on the staging's",
    )
    command.add_argument(
        "--markers-in-bucket",
        action="store_true",
        help="the markers beside the objects: for hosts that share the work, and no disk",
    )
    command.add_argument(
        "--markers-anywhere",
        action="store_true",
        help="state and staging may be on one file system: what fills it stops both",
    )
    command.add_argument(
        "--verify",
        choices=("always", "sample", "probe"),
        default="always",
        help="by what the store holds: each object, one in some, or where it computes checksums "
        "itself (default: %(default)s)",
    )
    command.add_argument(
        "--upload-deadline",
        type=float,
        default=_UPLOAD_DEADLINE_S,
        metavar="SECONDS",
        help="so long one object is tried again (default: %(default)g)",
    )


def _add_staging(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--staging",
        required=True,
        type=Path,
        metavar="DIR",
        help="where files wait for their upload: a tmpfs, say. It may be lost at any time",
    )
    command.add_argument(
        "--staging-high",
        type=float,
        default=HIGH * 100,
        metavar="PERCENT",
        help="nothing is extracted that would fill it more than that (default: %(default)g)",
    )
    command.add_argument(
        "--staging-low",
        type=float,
        default=LOW * 100,
        metavar="PERCENT",
        help="after a pause, it goes on below that (default: %(default)g)",
    )
    command.add_argument(
        "--staging-budget",
        metavar="SIZE",
        help="what this worker may hold there, 512M say (default: what the file system has)",
    )
    command.add_argument(
        "--staging-deadline",
        type=float,
        default=DEADLINE_S,
        metavar="SECONDS",
        help="so long it waits for room that only others can give back (default: %(default)g)",
    )


def _add_manner(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--uploads",
        type=int,
        default=4,
        metavar="N",
        help="at once; 0: one batch after the other, without threads (default: %(default)s)",
    )
    command.add_argument(
        "--ahead",
        type=int,
        metavar="N",
        help="batches that may be extracted while the one before them is still being copied and "
        "staged; a kill costs so many more (default: 0 on the CPU, 1 on a GPU)",
    )
    command.add_argument(
        "--grace",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="after SIGTERM, SIGINT or SIGUSR1 what is extracted has so long to be stored "
        "(default: the next start takes up what is staged)",
    )
    command.add_argument(
        "--heartbeat",
        type=float,
        default=DEFAULT_INTERVAL_S,
        metavar="SECONDS",
        help="between two beats in STATE/heartbeats; 0: none (default: %(default)g)",
    )


def extract_wishes(given: argparse.Namespace) -> Wishes:
    """
    :raises CheckpointRuntimeError: options that are none, or contradict each other.
    """
    from checkpoint_runtime.extract.data.shards import Shard
    from checkpoint_runtime.extract.manner import Manner
    from checkpoint_runtime.extract.markers.opening import IN_THE_BUCKET
    from checkpoint_runtime.extract.model.loading import parse_layers
    from checkpoint_runtime.extract.run import Wishes

    if not 0 <= given.uploads <= _MOST_UPLOADS:
        raise ExtractInputError(
            f"--uploads {given.uploads} is no number of threads from 0 to {_MOST_UPLOADS}."
        )
    if given.ahead is not None and not 0 <= given.ahead <= _MOST_AHEAD:
        raise ExtractInputError(
            f"--ahead {given.ahead} is no number of batches from 0 to {_MOST_AHEAD}."
        )
    if given.markers_in_bucket and given.destination.startswith("file:"):
        raise ExtractInputError(
            "--markers-in-bucket is for s3://: where the destination is a directory, leave it out."
        )
    return Wishes(
        model=given.model.absolute(),
        dataset=given.dataset.absolute(),
        id_field=given.id_field,
        text_field=given.text_field,
        layers=parse_layers(given.layers),
        dtype=given.dtype,
        device=given.device,
        batch_tokens=given.batch_tokens,
        on_long=given.on_long,
        accept_changed=given.accept_changed,
        shard=Shard.parse(given.shard, os.environ),
        destination=given.destination,
        store=_store_options(given),
        staging=given.staging.absolute(),
        marks=Marks(
            high=given.staging_high / 100,
            low=given.staging_low / 100,
            budget_bytes=_size(given.staging_budget),
            deadline_s=given.staging_deadline,
        ),
        state=given.state.absolute(),
        markers=IN_THE_BUCKET if given.markers_in_bucket else None,
        markers_anywhere=given.markers_anywhere,
        heartbeat_s=checked_interval(given.heartbeat) if given.heartbeat else None,
        ahead=given.ahead,
        manner=Manner(
            uploads=given.uploads,
            grace_s=checked_grace(given.grace),
            keeps_not_finite=given.on_nan == "keep",
        ),
    )


def _store_options(given: argparse.Namespace) -> StoreOptions:
    from checkpoint_runtime.extract.store.options import StoreOptions, Verify

    deadline_s = given.upload_deadline
    if not 0 < deadline_s < float("inf"):
        raise ExtractInputError(f"--upload-deadline {deadline_s:g} is no time in seconds.")
    usual = StoreOptions()
    return StoreOptions(
        verify=Verify(given.verify),
        budget_s=deadline_s,
        # One request that hangs must leave time to be made again.
        connect_timeout_s=min(usual.connect_timeout_s, deadline_s / 3),
        read_timeout_s=min(usual.read_timeout_s, deadline_s / 3),
        connections=max(usual.connections, given.uploads + 1),
    )


def _size(text: str | None) -> int | None:
    if text is None:
        return None
    form = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if form is None:
        raise ExtractInputError(f"--staging-budget {text!r} is no size: 512M, say, or 2G.")
    return int(float(form[1]) * _UNITS[form[2].upper()])
