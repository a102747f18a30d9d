"""Two stages, saved by rename, with a checksum and a number, twice. A copy that does not fit its
checksum is kept aside, and the other is taken; if there is none, the job refuses. Sound.
"""

from __future__ import annotations

import json
import os
import sys
import zlib

STAGES = "ab"
NAMES = ("state.json", "state.copy")


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def save(outputs: dict[str, int]) -> None:
    text = json.dumps(outputs)
    for name in NAMES:
        with open("state.tmp", "w") as file:
            file.write(f"{zlib.crc32(text.encode()):08x} {text}")
        os.replace("state.tmp", name)


def load(name: str) -> dict[str, int] | None:
    """None if it is damaged."""
    try:
        with open(name, "rb") as file:
            digest, _, text = file.read().partition(b" ")
    except FileNotFoundError:
        return {}
    except OSError:
        return None
    if digest != b"%08x" % zlib.crc32(text):
        return None
    return dict(json.loads(text))


def load_newest() -> dict[str, int]:
    copies = {name: load(name) for name in NAMES}
    whole = [outputs for outputs in copies.values() if outputs is not None]
    newest = max(whole, key=len, default={})
    if not newest and len(whole) < len(NAMES):
        sys.exit("both copies of the state are damaged or gone: bring one of them back")
    for name, outputs in copies.items():
        if outputs is None:
            os.rename(name, f"{name}.damaged")
            print(f"{name} is damaged: it was kept as {name}.damaged")
    if len(whole) < len(NAMES):
        save(newest)
    return newest


def run() -> None:
    outputs = load_newest()
    for stage in STAGES:
        if stage in outputs:
            continue
        event(f"start {stage}")
        outputs[stage] = ord(stage)
        save(outputs)
        event(f"done {stage}")


def check() -> None:
    outputs = load_newest()
    if sorted(outputs) != list(STAGES):
        sys.exit(f"only {sorted(outputs)}")
    print(json.dumps(outputs, sort_keys=True))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
