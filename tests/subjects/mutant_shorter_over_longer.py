"""A list of work in a JSON file, which gets shorter as work is done.

Planted fault: the shorter text is written over the longer one and the file is cut afterwards.
"""

from __future__ import annotations

import json
import os
import sys

WORK = [1, 2, 3, 4]


def run() -> None:
    if not os.path.exists("todo.json"):
        with open("todo.tmp", "w") as file:
            json.dump(WORK, file)
        os.replace("todo.tmp", "todo.json")
    with open("todo.json", "r+") as file:
        todo = json.load(file)
        while todo:
            todo.pop()
            file.seek(0)
            file.write(json.dumps(todo))
            file.flush()
            file.truncate()


def check() -> None:
    if not os.path.exists("todo.json"):
        sys.exit("no list")
    with open("todo.json") as file:
        print(json.load(file))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
