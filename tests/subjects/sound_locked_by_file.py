"""Three stages under a lock file with its owner's number, start time and boot, made in one step.

A dead owner's is taken over, by one at a time. Sound.
"""

from __future__ import annotations

import fcntl
import os
import sys

STAGES = ("one", "two", "three")


def save(name: str, text: str) -> None:
    """All of it or nothing."""
    with open(f"{name}.{os.getpid()}", "w") as file:
        file.write(text)
    os.replace(file.name, name)


def say(line: str) -> None:
    with open(os.environ["CHECKPOINT_EVENTS"], "a") as events:
        events.write(f"{line}\n")


def work() -> None:
    for stage in STAGES:
        if not os.path.exists(stage):
            say(f"start {stage}")
            save(stage, stage.upper())
            say(f"done {stage}")


def started(process: int) -> str:
    """When it was started, in ticks since the boot; empty: there is no such process."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def me() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{os.getpid()} {started(os.getpid())} {file.read().strip()}"


def is_alive(owner: str) -> bool:
    process, since, boot = owner.split()
    return started(int(process)) == since and me().endswith(boot)


def run() -> None:
    guard = os.open("lock.guard", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another run is taking the lock")
    if os.path.exists("lock"):
        with open("lock") as file:
            owner = file.read()
        if is_alive(owner):
            sys.exit(f"another run is active: {owner}")
    save("lock", me())
    os.close(guard)
    work()
    os.unlink("lock")


def check() -> None:
    for stage in STAGES:
        with open(stage) as file:
            print(file.read())


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
