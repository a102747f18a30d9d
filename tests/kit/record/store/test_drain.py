"""What was sent by a job that has ended since."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator

import pytest

from pytest_checkpoint.record.receiver.receiver import listen
from pytest_checkpoint.record.store.asked import Asked
from pytest_checkpoint.record.store.carrying import Carried
from pytest_checkpoint.record.store.faults import Faults, Kind, StoreFault
from pytest_checkpoint.record.store.http import Answer
from pytest_checkpoint.record.store.proxy import Proxy

PUT = b"PUT /things/k HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with listen() as one:
        yield one


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        ((), ["carried PutObject"]),
        ((StoreFault(kind=Kind.SLOW, seconds=60.0),), ["given up PutObject"]),
    ],
)
def test_what_was_sent_whole_counts(
    listener: socket.socket, faults: tuple[StoreFault, ...], told: list[str]
) -> None:
    heard: list[str] = []

    def carry(asked: Asked, fault: StoreFault | None) -> Carried:
        heard.append(f"carried {asked.operation}")
        return Carried(asked, Answer(200))

    def give_up(asked: Asked, fault: StoreFault) -> None:
        heard.append(f"given up {asked.operation}")

    with Proxy(listener.dup(), carry, give_up, Faults(faults)) as proxy:
        proxy.watched_by(select.poll())
        with socket.create_connection(listener.getsockname()) as job:
            job.sendall(PUT)
        proxy.drain()
    assert heard == told
