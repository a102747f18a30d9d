"""Planted: intent and outcome are recorded, but the id is a new one at each attempt, so that the
receiver takes what is sent again for something else.
"""

from __future__ import annotations

import json
import os
import socket
import sys

PAGES = ("index", "about")


def send(body: bytes) -> None:
    """A POST; by hand, since what Python brings for it takes longer to import than all the rest."""
    host, _, port = (
        os.environ["CHECKPOINT_EFFECTS_URL"].strip("/").rpartition("/")[2].partition(":")
    )
    head = f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body)
        if connection.recv(4096).split()[1:2] not in ([b"200"], [b"204"]):
            raise ConnectionError("no reply")


def publish() -> None:
    body = json.dumps({"kind": "publish", "id": os.urandom(16).hex()}).encode()
    send(body)


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        known = lines.read().splitlines()
        for page in PAGES:
            if f"published {page}" in known:
                continue
            if f"publishing {page}" not in known:
                journal.write(f"publishing {page}\n")
                journal.flush()
            publish()
            journal.write(f"published {page}\n")
            journal.flush()


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
