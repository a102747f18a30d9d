"""The sink as a process beside a benchmark: started, asked, ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.extracting.sink_program import COUNTS_PATH

BUCKET = "sink"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "benchmark",
    "AWS_SECRET_ACCESS_KEY": "benchmark",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_PROGRAM = Path(__file__).with_name("sink_program.py")
_ENDS_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Counts:
    """What a sink got since it was last asked."""

    requests: int
    body_bytes: int
    span_s: float
    """From the first byte to the last."""


@dataclass(frozen=True, slots=True)
class Sink:
    url: str
    """``http://127.0.0.1:PORT``"""

    def counts(self) -> Counts:
        """And begin anew: it forgets its objects too."""
        with urllib.request.urlopen(f"{self.url}{COUNTS_PATH}", timeout=10) as answer:
            return Counts(**json.load(answer))


@contextmanager
def credentials() -> Iterator[None]:
    """Some, so that boto3 signs; whatever the user has set is for another store."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    for name in kept:
        del os.environ[name]
    os.environ.update(CREDENTIALS)
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        os.environ.update(kept)


@contextmanager
def sink(bytes_per_s: float | None = None) -> Iterator[Sink]:
    """A sink with a process of its own.

    :param bytes_per_s: that it takes at most; None: as fast as it can.
    """
    words = [sys.executable, "-I", "-S", str(_PROGRAM)]
    if bytes_per_s is not None:
        words += ["--bytes-per-s", str(bytes_per_s)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            line = process.stdout.readline().strip()
            if not line.isdigit():
                raise RuntimeError("the sink did not start")
            yield Sink(f"http://127.0.0.1:{int(line)}")
        finally:
            process.stdin.close()  # it ends with it
            try:
                process.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
