"""The jobs that are crashed: each keeps its state in one file, written aside and renamed.

python job.py json|torch DIR [STEPS]    does the job there, or goes on with it
python job.py check DIR                 prints the result
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

RESULT = "result.json"


def run_json(folder: Path, steps: int) -> None:
    path = folder / "state.json"
    state = json.loads(path.read_text()) if path.exists() else {"step": 0, "total": 0}
    while state["step"] < steps:
        step = state["step"] + 1
        state = {"step": step, "total": state["total"] + step}
        save(path, partial(_dump, state))
    finish(folder, state["total"])


def run_torch(folder: Path, steps: int) -> None:
    import torch  # pyright: ignore[reportMissingImports]

    path = folder / "state.pt"
    torch.manual_seed(0)
    data, wanted = torch.randn(64, 8), torch.randn(64, 1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    done = 0
    if path.exists():
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        done = state["step"]
    for step in range(done + 1, steps + 1):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(data), wanted).backward()
        optimizer.step()
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        save(path, partial(torch.save, state))
    finish(folder, [float(weight).hex() for weight in model.weight.flatten()])


def _dump(state: Any, file: IO[bytes]) -> None:
    file.write(json.dumps(state).encode())


def finish(folder: Path, result: Any) -> None:
    save(folder / RESULT, partial(_dump, result))


def save(path: Path, fill: Callable[[IO[bytes]], object]) -> None:
    aside = path.with_name(path.name + ".tmp")
    with aside.open("wb") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)


def main() -> None:
    command, folder = sys.argv[1], Path(sys.argv[2])
    if command == "check":
        print((folder / RESULT).read_text())
        return
    folder.mkdir(parents=True, exist_ok=True)
    steps = int(sys.argv[3])
    (run_json if command == "json" else run_torch)(folder, steps)


if __name__ == "__main__":
    main()
