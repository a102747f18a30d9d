"""The command line of ``checkpoint-contracts``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from pytest_checkpoint.command.exit_codes import ExitCode

_INSPECT: Final = """\
Look at the directory of a job that has died, and touch nothing: the directory is copied, the copy
is checked, resumed and checked again, and then is told what a resume would do and what would be
lost. In the commands {workspace} stands for the directory; they are run without a shell."""
_CODES: Final = "exit codes:\n" + "\n".join(
    f"  {code.value:>3}  {code.meaning}" for code in ExitCode
)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Exits with 2 and a sentence if they cannot be understood."""
    return _parser().parse_args(arguments)


def _parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="checkpoint-contracts",
        description="The promises of a resumable job in words, and a dead job looked at. "
        "To try a job's promises: pytest --checkpoint-contracts",
        epilog=_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="every contract: what it promises and needs")
    listed.add_argument("--json", action="store_true", help="as JSON")
    explained = commands.add_parser(
        "explain", help="one contract: how it is judged, what breaks it, how to keep it"
    )
    explained.add_argument("contract", metavar="CONTRACT", help="its id, as in resume-skips-done")
    _add_inspect(commands)
    return found


def _add_inspect(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    inspect = commands.add_parser(
        "inspect",
        help="resume a copy of a dead job's directory, and say what would be lost",
        description=_INSPECT,
        epilog=_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inspect.add_argument("directory", metavar="DIR", help="what the dead job left: its workspace")
    inspect.add_argument(
        "--resume", required=True, metavar="CMD", help="'python job.py run {workspace}'"
    )
    inspect.add_argument(
        "--check",
        required=True,
        metavar="CMD",
        help="exit 0 if the result is there, and prints it: 'python job.py check {workspace}'",
    )
    inspect.add_argument(
        "--events",
        metavar="FILE",
        help="where the job wrote its start and done lines ($CHECKPOINT_EVENTS, if it is set)",
    )
    inspect.add_argument(
        "--deadline",
        default="10m",
        metavar="TIME",
        help="of the resume, and of each check: 90, 30m, 2h (default: %(default)s)",
    )
    inspect.add_argument(
        "--workdir", metavar="DIR", help="where the copy is made (default: TMPDIR, else /tmp)"
    )
    inspect.add_argument("--keep", action="store_true", help="keep the copy, and say where it is")
    inspect.add_argument(
        "--no-mount",
        action="store_true",
        help="run in the copy at its own path; else it is mounted in the place of DIR, where that "
        "is possible, for this command alone",
    )
    inspect.add_argument(
        "--allow-network", action="store_true", help="let the job connect beyond this machine"
    )
    inspect.add_argument(
        "--allow-outside",
        action="append",
        default=[],
        metavar="PATH",
        help="let the job change what lies under PATH, for real (never in DIR); repeatable",
    )
    inspect.add_argument("--json", action="store_true", help="as JSON")
