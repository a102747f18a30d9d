"""What the job sends out: arrivals are operations, in order with the others; by file and HTTP."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.record.faults import LostReply
from pytest_checkpoint.record.operations import Sent
from pytest_checkpoint.record.receiver.http import MOST, Asked, Malformed, parse
from pytest_checkpoint.record.receiver.message import Message, messages
from pytest_checkpoint.record.receiver.receiver import Receiver, listen
from tests.kit.record.conftest import Outcome, Runner, sound

_SEND = """
import json, socket, urllib.request
URL, FILE = os.environ["CHECKPOINT_EFFECTS_URL"], os.environ["CHECKPOINT_EFFECTS_FILE"]
def send(data, **headers):
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(URL, data=data)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)["error"]
def add(line):
    with open(FILE, "ab", buffering=0) as file:
        file.write(line)
"""
MAIL = b'{"kind": "mail", "id": "1"}\n'
_REQUEST = b'POST / HTTP/1.1\r\nContent-Length: 27\r\n\r\n{"kind": "mail", "id": "1"}'


@pytest.fixture(scope="module")
def module_runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    folder = tmp_path_factory.mktemp("effects")
    outside = folder / "outside"
    outside.mkdir()
    with SlotClient(folder / "base", receives=True) as client:
        yield Runner(client, folder, outside)


@pytest.fixture
def sender(runner: Runner) -> Runner:
    runner.client.effects.write_bytes(b"")
    return runner


def told(outcome: Outcome) -> list[bytes]:
    return [
        b"".join(e.data for e in o.effects if isinstance(e, Sent)) or o.path
        for o in outcome.operations
    ]


def test_arrivals_stand_between_operations(sender: Runner) -> None:
    outcome = sender.ok(
        _SEND
        + """
os.mkdir("a"); assert send({"kind": "mail", "id": 1}) == {"duplicate": False}
os.mkdir("b"); assert send({"kind": "mail", "id": 1}) == {"duplicate": True}
add(b'{"kind": "mail", "id": "1"}\\n'); os.mkdir("c")
with urllib.request.urlopen(URL) as answer:
    assert json.load(answer) == [{"kind": "mail", "id": "1"}] * 2
"""
    )
    assert told(outcome) == [b"w/a", MAIL, b"w/b", MAIL, b"w/c"]
    assert sender.client.effects.read_bytes() == MAIL * 2 == outcome.expected.effects
    assert (outcome.result.operations, outcome.result.steps) == (3, 5)
    assert not outcome.result.reaches_out


def test_what_had_arrived_before_is_known(sender: Runner) -> None:
    sender.client.effects.write_bytes(MAIL)
    outcome = sender.ok(_SEND + "assert send({'kind': 'mail', 'id': '1'}) == {'duplicate': True}")
    assert outcome.operations == ()
    assert outcome.recording.start_effects == MAIL


def test_a_kill_right_after_an_arrival(sender: Runner) -> None:
    source = _SEND + 'os.mkdir("a"); send({"kind": "mail", "id": 1}); os.mkdir("b")'
    outcome = sender.python(source, kill_at=2)
    assert (outcome.result.killed_at, outcome.differences) == (2, [])
    assert sender.client.effects.read_bytes() == MAIL


def test_a_reply_that_is_lost(sender: Runner) -> None:
    source = _SEND + (
        'send({"kind": "mail", "id": 1}); raises(errno.ECONNRESET, send, {"kind": "x", "id": 2})'
    )
    outcome = sound(sender.python(source, lost_reply=LostReply(arrival=2)))
    assert outcome.result.fired_at == 2
    assert len(outcome.operations) == 2


def test_who_does_not_wait_for_the_answer_is_heard(sender: Runner) -> None:
    outcome = sender.ok(
        _SEND
        + """
one = socket.create_connection(URL.removeprefix("http://").rstrip("/").split(":"))
one.sendall(b"POST / HTTP/1.1\\r\\nContent-Length: 27\\r\\n\\r\\n" + b'{"kind": "mail", "id": "1"}')
os._exit(0)
"""
    )
    assert told(outcome) == [MAIL]


def test_what_was_sent_by_one_that_has_ended_is_received(tmp_path: Path) -> None:
    listener = listen()
    arrived: list[bytes] = []
    with socket.create_connection(listener.getsockname()) as stale:
        stale.sendall(_REQUEST)
    (tmp_path / "effects").touch()
    with Receiver(listener, tmp_path / "effects", arrived.append) as receiver:
        for data in (_REQUEST, _REQUEST[:-1]):
            with socket.create_connection(listener.getsockname()) as sender:
                sender.sendall(data)
        receiver.drain()
    assert arrived == [MAIL]  # and not what an execution before it had left


def test_half_a_request_is_none(sender: Runner) -> None:
    outcome = sender.ok(
        _SEND
        + """
one = socket.create_connection(URL.removeprefix("http://").rstrip("/").split(":"))
one.sendall(b"POST / HTTP/1.1\\r\\nContent-Length: 27\\r\\n\\r\\n" + b'{"kind": "mail"')
os._exit(0)
"""
    )
    assert outcome.operations == ()


def test_who_asks_first_is_told_to_go_on(sender: Runner) -> None:
    sender.ok(
        _SEND
        + """
one = socket.create_connection(URL.removeprefix("http://").rstrip("/").split(":"))
one.sendall(b"POST / HTTP/1.1\\r\\nContent-Length: 27\\r\\nExpect: 100-continue\\r\\n\\r\\n")
assert one.recv(99) == b"HTTP/1.1 100 Continue\\r\\n\\r\\n"
one.sendall(b'{"kind": "mail", "id": "1"}')
assert one.makefile("rb").read().endswith(b'{"duplicate": false}\\n')
"""
    )


def test_what_is_no_effect_is_told(sender: Runner) -> None:
    outcome = sender.ok(
        _SEND
        + """
assert "JSON object" in send(b"[")
assert "'kind'" in send({"id": 1})
assert "'id'" in send({"kind": "mail", "id": []})
"""
    )
    assert outcome.operations == ()


def test_without_an_id_each_is_another_one(sender: Runner) -> None:
    outcome = sender.ok(_SEND + 'send({"kind": "mail"}); send({"kind": "mail"})')
    assert told(outcome) == [b'{"kind": "mail"}\n'] * 2


def test_the_file_is_only_added_to(sender: Runner) -> None:
    sender.client.effects.write_bytes(MAIL)
    outcome = sender.python(_SEND + 'open(FILE, "w")')
    assert outcome.result.refusal is not None
    assert "cut $CHECKPOINT_EFFECTS_FILE" in outcome.result.refusal
    outcome = sender.python(_SEND + 'file = open(FILE, "r+b", buffering=0); file.write(b"x")')
    assert outcome.result.refusal is not None
    assert "wrote over lines of $CHECKPOINT_EFFECTS_FILE" in outcome.result.refusal


def test_nobody_else_is_reached_by_the_same_port(sender: Runner) -> None:
    source = _SEND + "socket.create_connection(('192.0.2.1', int(URL.rsplit(':')[-1][:-1])))"
    outcome = sender.python(source)
    assert outcome.result.refusal is not None
    assert "192.0.2.1" in outcome.result.refusal


@pytest.mark.parametrize(
    ("data", "asked"),
    [
        (b"", None),
        (b"GET / HTTP/1.1\r\n", None),
        (b"GET / HTTP/1.1\r\n\r\n", Asked("GET", b"")),
        (b"post / HTTP/1.1\r\ncontent-length: 2\r\n\r\na", None),
        (b"post / HTTP/1.1\r\ncontent-length: 2\r\n\r\nabc", Asked("POST", b"ab")),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", None),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n",
            Asked("POST", b"abc"),
        ),
    ],
)
def test_requests(data: bytes, asked: Asked | None) -> None:
    assert parse(data) == asked


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"hello\r\n\r\n", HTTPStatus.BAD_REQUEST),
        (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", HTTPStatus.BAD_REQUEST),
        (
            b"POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n",
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        ),
        (b"x" * (MOST + 1), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (
            b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        ),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
            HTTPStatus.BAD_REQUEST,
        ),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            HTTPStatus.BAD_REQUEST,
        ),
    ],
)
def test_what_is_no_request(data: bytes, status: HTTPStatus) -> None:
    with pytest.raises(Malformed) as malformed:
        parse(data)
    assert malformed.value.status is status


def test_a_log_is_read_line_by_line() -> None:
    log = MAIL + b'\n{"kind": "mail", "id": 1.5, "to": "ann"}\n{"kind": "mail", "id": null}\n{"ki'
    *whole, last = messages(log)
    assert whole == [Message("mail", "1"), Message("mail", "1.5"), Message("mail", "")]
    assert last.problem
    assert Message.of(Message("mail", "ä").dump()) == Message("mail", "ä")
