"""What it costs to stage a file, and to get it into a store, beside the plainest way of each."""

from __future__ import annotations

import http.client
import os
import random
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from benchmarks.extracting.loops import uploads
from benchmarks.extracting.sinks import BUCKET, Sink
from benchmarks.extracting.turns import Took, cpu_s, in_turn, measured, wall_s
from checkpoint_runtime.extract.crc import as_base64, crc64nvme
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.parts import Whole
from checkpoint_runtime.extract.staging.marks import Marks
from checkpoint_runtime.extract.staging.room import Room
from checkpoint_runtime.extract.staging.stage import Stage
from checkpoint_runtime.extract.store.destination import StoreDestination
from checkpoint_runtime.extract.store.opening import destination_of
from checkpoint_runtime.extract.store.options import StoreOptions, Verify

FILE_BYTES: Final = 32 << 20
FILES: Final = 8
GIB: Final = 1 << 30
STAGING_TARGET, UPLOAD_TARGET, CPU_TARGET = 0.9, 0.25, 1.2
WRITE, STAGED, SAVED = "one write()", "staged: room, write, name", "safetensors save_file"
RAW, PUT = "raw HTTP PUT, own CRC-64", "upload path: PUT, HEAD"
DEFAULT, UPLOAD_FILE = "boto3 put_object, as it comes", "boto3 upload_file, as it comes"


def content() -> memoryview:
    """A file of a batch, as it lies in a host buffer."""
    return memoryview(random.Random(0).randbytes(FILE_BYTES))


def staging(folder: Path, rounds: int) -> list[str]:
    """Print what a staged file costs; the targets that were missed.

    :param folder: on a tmpfs.
    """
    data = content()
    stage = Stage(folder, Room(folder, Marks(high=1.0)))

    def one_write() -> None:
        for _ in range(FILES):
            path = folder / "plain"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            os.write(descriptor, data)
            os.close(descriptor)
            path.unlink()

    def staged() -> None:
        for number in range(FILES):
            place = stage.reserve(f"{number:016x}", len(data))
            place.write(data)
            place.remove()

    ways = {WRITE: one_write, STAGED: staged} | _saved(data, folder)
    took = in_turn(_turns(ways), rounds)
    print(
        f"\nstaging, {FILES} files of {FILE_BYTES >> 20} MiB a turn, the median of {rounds} rounds"
    )
    yardstick = wall_s(took[WRITE])
    for name, turns in took.items():
        _row(name, wall_s(turns), yardstick)
    ratio = yardstick / wall_s(took[STAGED])
    return [] if ratio >= STAGING_TARGET else [f"staging {ratio:.2f} × (target {STAGING_TARGET} ×)"]


def _saved(data: memoryview, folder: Path) -> dict[str, Callable[[], None]]:
    torch = required("torch", "a benchmark")
    save_file = required("safetensors.torch", "a benchmark").save_file
    tensors = {"states": torch.frombuffer(bytearray(data), dtype=torch.bfloat16)}
    path = folder / "saved.safetensors"

    def saved() -> None:
        for _ in range(FILES):
            save_file(tensors, path)
            path.unlink()

    return {SAVED: saved}


def uploading(sink: Sink, folder: Path, rounds: int) -> list[str]:
    """Print what an upload costs; the targets that were missed.

    :param folder: on a tmpfs: where the staged file is.
    """
    data = content()
    staged = folder / "staged"
    staged.write_bytes(data)
    whole = crc64nvme(data)
    destination = opened(sink)
    client = plain_client(sink)
    numbers = iter(range(1 << 30))

    def put() -> None:
        for _ in range(FILES):
            destination.put(staged, Whole(f"{next(numbers):016x}.safetensors", len(data), whole))

    def put_object() -> None:
        for _ in range(FILES):
            client.put_object(Bucket=BUCKET, Key=f"default/{next(numbers)}", Body=bytes(data))

    store = uploads(client, BUCKET)

    def upload_file() -> None:
        for _ in range(FILES):
            store(staged, "file")

    ways = {
        RAW: lambda: raw_puts(sink, data, numbers),
        PUT: put,
        DEFAULT: put_object,
        UPLOAD_FILE: upload_file,
    }
    took = in_turn(_turns(ways), rounds)
    print(
        f"\nupload into a bare loopback sink, {FILES} objects of {FILE_BYTES >> 20} MiB a turn, "
        f"one after the other, the median of {rounds} rounds\n(what the sink holds is verified by "
        "its size and declared checksum: one HEAD; no bytes are read back)"
    )
    yardstick = wall_s(took[RAW])
    for name, turns in took.items():
        per_gib_s = cpu_s(turns) * GIB / (FILES * FILE_BYTES)
        _row(name, wall_s(turns), yardstick, f"{per_gib_s:6.2f} CPU s/GiB")
    ratio = yardstick / wall_s(took[PUT])
    per_gib_s = cpu_s(took[PUT]) * GIB / (FILES * FILE_BYTES)
    missed = []
    if ratio < UPLOAD_TARGET:
        missed.append(f"upload path {ratio:.2f} × raw (target {UPLOAD_TARGET} ×)")
    if per_gib_s > CPU_TARGET:
        missed.append(f"upload path {per_gib_s:.2f} CPU s/GiB (target {CPU_TARGET})")
    return missed


def raw_puts(sink: Sink, data: memoryview, numbers: Any) -> None:
    """What there is nothing below of: a connection, a checksum, the bytes."""
    parts = urlsplit(sink.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    for _ in range(FILES):
        headers = {"x-amz-checksum-crc64nvme": as_base64(crc64nvme(data))}
        connection.request("PUT", f"/{BUCKET}/raw/{next(numbers)}", body=data, headers=headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"the sink says {answer.status}")
    connection.close()


def opened(sink: Sink, prefix: str = "out") -> StoreDestination:
    """The runtime's way into a sink, which keeps no bytes that could be read back."""
    options = StoreOptions(verify=Verify.PROBE, endpoint_url=sink.url)
    destination = destination_of(
        f"s3://{BUCKET}/{prefix}", options, random=random.Random(0), stop=threading.Event()
    )
    destination.prepare()
    return destination


def plain_client(sink: Sink) -> Any:
    """boto3 as it comes."""
    session = required("boto3", "a benchmark").session.Session()
    return session.client("s3", endpoint_url=sink.url, region_name="us-east-1")


def _turns(ways: dict[str, Callable[[], None]]) -> dict[str, Callable[[], Took]]:
    return {name: partial(measured, act) for name, act in ways.items()}


def _row(name: str, seconds: float, yardstick_s: float, more: str = "") -> None:
    rate = FILES * FILE_BYTES / seconds / 1e6
    print(f"  {name:34} {rate:9.0f} MB/s  {yardstick_s / seconds:6.2f} ×  {more}".rstrip())
