"""Planted: what is published has no id, so whoever receives it twice cannot know it."""

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
    body = json.dumps({"kind": "publish"}).encode()
    send(body)


def run() -> None:
    with open("journal", "a") as journal, open("journal") as lines:
        published = lines.read().split()
        for page in PAGES[len(published) :]:
            publish()
            journal.write(f"{page}\n")
            journal.flush()


def check() -> None:
    with open("journal") as lines:
        print(lines.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
