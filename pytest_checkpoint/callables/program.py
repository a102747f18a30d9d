"""What runs in the process of its own: import a file by its path, call a function in it.

``python -P program.py PLAN WORKSPACE``; the plan is made by ``reference``. The first lines make the
import path that of pytest, before anything else is imported.
"""

import json
import os
import sys


def main(plan_text: str, workspace: str) -> None:
    plan = json.loads(plan_text)
    sys.path[:] = plan["path"]
    sys.argv[:] = [plan["file"]]
    from pytest_checkpoint.callables.calling import call

    call(plan, workspace, os.getpid())


if __name__ == "__main__":
    main(*sys.argv[1:])
