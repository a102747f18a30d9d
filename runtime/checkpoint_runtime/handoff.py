"""The handoff: what a person or a program that comes after should know, beside the state.

``handoff.json`` and ``handoff.md`` say the same: which stages are done, what each produced and
where that lies, what is next, and what failed and why. Both are written after every commit and
before it is acknowledged, so that after a kill they name everything that was acknowledged and
nothing that is not committed. They are made from the state log, and are made again from it by the
next run; nothing reads them to go on.

Long jobs: only the last stages stand in the file itself, those before them in a page of the same
form (``handoff/0042.json``), which names the page before it in turn, so that a commit costs the
same however much is done.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from checkpoint_runtime.stages import item_name
from checkpoint_runtime.state.durable import ALL_RECORDED, commit_error, make_directory
from checkpoint_runtime.state.facts import Kept
from checkpoint_runtime.state.log import FILE_NAME
from checkpoint_runtime.state.records import History
from checkpoint_runtime.state.side_files import FOLDER_NAME as VALUES
from checkpoint_runtime.state.swapped_file import SwappedFile

JSON_NAME: Final = "handoff.json"
MARKDOWN_NAME: Final = "handoff.md"
PAGES: Final = "handoff"
PER_PAGE: Final = 16
_SHORT = 160


class _Entry(NamedTuple):
    """One thing done, in both languages."""

    json: str
    markdown: str


class Handoff:
    """The handoff of one workspace, in step with the state's history."""

    def __init__(self, workspace: Path, history: History) -> None:
        self._history = history
        self._json = SwappedFile(workspace / JSON_NAME)
        self._markdown = SwappedFile(workspace / MARKDOWN_NAME)
        self._folder = workspace / PAGES
        self._pages = 0
        self._recent: list[_Entry] = []

    def open(self, upcoming: Iterable[str]) -> None:
        """Bring it in step with the history. One that is in step already is left alone.

        :param upcoming: stages that can run next.
        :raises CommitError: it could not be written.
        """
        self._markdown.sweep()
        self._json.sweep()
        done = self._done()
        pages = self._pages_in_step(len(done))
        if pages is None:
            self.remake(upcoming)
            return
        self._pages = pages
        self._recent = [self._entry(*entry) for entry in done[pages * PER_PAGE :]]

    def remake(self, upcoming: Iterable[str]) -> None:
        """Make it anew from the history, in which something has ceased to be done, say.

        :param upcoming: stages that can run next.
        :raises CommitError: it could not be written.
        """
        self._pages, self._recent = 0, []
        for name, kept in self._done():
            self.add(name, kept)
        for number in range(1, self._pages + 1):
            SwappedFile(self._folder / _page_name(number)).sweep()
        self._remove_later_pages()
        self.write(upcoming)

    def add(self, name: str, kept: Kept) -> None:
        """One thing more is done; :meth:`write` says so."""
        self._recent.append(self._entry(name, kept))
        if len(self._recent) > PER_PAGE:
            self._turn_page()

    def write(self, upcoming: Iterable[str]) -> None:
        """
        :param upcoming: stages that can run next.
        :raises CommitError: it could not be written.
        """
        following = list(upcoming)
        self._markdown.write(_bytes(self._as_markdown(following)))
        self._json.write(_bytes(self._as_json(following)))

    def _done(self) -> list[tuple[str, Kept]]:
        """Everything that is done, in the order of commit."""
        done = [(stage, done.kept) for stage, done in self._history.done.items()]
        for stage, items in self._history.items.items():
            done += [(item_name(stage, index), item.kept) for index, item in items.items()]
        return sorted(done, key=lambda entry: entry[1].line)

    def _pages_in_step(self, done: int) -> int | None:
        """How many pages a handoff has that says what the history says; None: make it again."""
        try:
            head = json.loads(self._json.content() or b"")
            pages = int(head["page"])
            # After a reboot nothing is believed: a power loss may have taken what was not synced.
            whole = head["line"] == self._history.lines and head["boot"] == _boot() != ""
            whole = whole and pages >= 0 and 0 <= done - pages * PER_PAGE <= PER_PAGE
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None
        whole = whole and all(
            (self._folder / _page_name(number)).exists() for number in range(1, pages + 1)
        )
        return pages if whole and self._markdown.content() else None

    def _turn_page(self) -> None:
        self._pages += 1
        page = SwappedFile(self._folder / _page_name(self._pages))
        entries = ",\n  ".join(entry.json for entry in self._recent[:PER_PAGE])
        before = json.dumps([_page_name(self._pages - 1)] if self._pages > 1 else [])
        content = _bytes(f'{{"pages": {before},\n"done": [\n  {entries}\n]}}\n')
        try:
            make_directory(self._folder)
        except OSError as error:
            raise commit_error("make", self._folder, error, 0, therefore=ALL_RECORDED) from error
        if page.content() != content:
            page.write(content)
        del self._recent[:PER_PAGE]

    def _remove_later_pages(self) -> None:
        number = self._pages + 1
        try:
            while (path := self._folder / _page_name(number)).exists():
                path.unlink()
                number += 1
        except OSError as error:
            raise commit_error(
                "remove pages from", self._folder, error, 0, therefore=ALL_RECORDED
            ) from error

    def _entry(self, name: str, kept: Kept) -> _Entry:
        done = self._history.done.get(name)
        if done is not None and done.items is not None:
            items = self._history.items[name].values()
            size_bytes = sum(_size_bytes(item.kept, _text(item.kept)) for item in items)
            text, where = f"{done.items} items", [f"{FILE_NAME}:{kept.line}"]
        else:
            text = _text(kept)
            size_bytes = _size_bytes(kept, text)
            where = [f"{VALUES}/{file}" for file in kept.files] or [f"{FILE_NAME}:{kept.line}"]
        shown = text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
        entry = {
            "name": name,
            "produced": shown,
            "digest": kept.digest,
            "size_bytes": size_bytes,
            "where": where,
        }
        cells = (_code(name), _code(shown), ", ".join(where))
        row = " | ".join(cell.replace("|", "\\|") for cell in cells)
        return _Entry(json.dumps(entry), f"| {row} |")

    def _as_json(self, following: list[str]) -> str:
        entries = ",\n  ".join(entry.json for entry in self._recent)
        done = f"[\n  {entries}\n]" if entries else "[]"
        head = {
            "pipeline": self._history.pipeline,
            "state": FILE_NAME,
            "line": self._history.lines,
            "boot": _boot(),
            "page": self._pages,
            "pages": [f"{PAGES}/{_page_name(self._pages)}"] if self._pages else [],
        }
        failed = [
            {
                "name": stage,
                "why": failure.error,
                "at": failure.at,
                "attempts": self._history.attempts.get(stage, 0),
            }
            for stage, failure in self._history.failures.items()
        ]
        return (
            f'{json.dumps(head)[:-1]},\n"done": {done},\n'
            f'"failed": {json.dumps(failed)},\n"next": {json.dumps(following)}}}\n'
        )

    def _as_markdown(self, following: list[str]) -> str:
        lines = [f"# {_code(self._history.pipeline)}", ""]
        for stage, failure in self._history.failures.items():
            lines += [f"**{_code(stage)} failed** ({failure.at}): {_code(failure.error)}", ""]
        if following:
            lines += [f"**Next:** {', '.join(map(_code, following))}", ""]
        elif not self._history.failures:
            lines += ["**Everything is done.**", ""]
        lines += ["| done | produced | where |", "| --- | --- | --- |"]
        lines += [entry.markdown for entry in self._recent]
        if self._pages:
            lines += ["", f"Before these: {PAGES}/{_page_name(self._pages)}, and those it names."]
        return "\n".join(lines) + "\n"


def _text(kept: Kept) -> str:
    return json.dumps(kept.value, ensure_ascii=False)


def _size_bytes(kept: Kept, text: str) -> int:
    return len(_bytes(text)) + sum(file.size_bytes for file in kept.files.values())


def _code(text: str) -> str:
    """As Markdown that shows exactly this text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    # A backtick at an end would be taken for a part of the fence.
    room = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{fence}{room}{text}{room}{fence}"


def _page_name(number: int) -> str:
    return f"{number:04}.json"


@functools.cache
def _boot() -> str:
    """Which start of the system this is; empty where that is not to be learnt."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _bytes(text: str) -> bytes:
    # A lone surrogate can stand in a name of a file, and so in a value.
    return text.encode("utf-8", "backslashreplace")
