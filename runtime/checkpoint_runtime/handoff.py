"""The handoff: what a person or a program that comes after should know, beside the state.

``handoff.json`` and ``handoff.md`` say the same: which stages are done, what each produced and
where that lies, what is next, and what failed and why. Both are written after every commit and
before it is acknowledged, so that after a kill they name everything that was acknowledged and
nothing that is not committed. They are made from the state log, and are made again from it by the
next run; nothing reads them to go on. So a late write of a run that has been taken over, which may
put an older handoff in the place of a newer one, is made up for with the next commit or run.

Long jobs: only the last stages stand in the file itself, those before them in a page of the same
form (``handoff/0042.json``), which names the page before it in turn, so that a commit costs the
same however much is done.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from checkpoint_runtime.errors import NEVER_RAISED
from checkpoint_runtime.plan import Outlook, Tried
from checkpoint_runtime.processes import boot_id
from checkpoint_runtime.remedies import Remedies
from checkpoint_runtime.stages import item_name
from checkpoint_runtime.state.durable import ALL_RECORDED, commit_error, make_directory
from checkpoint_runtime.state.facts import Kept
from checkpoint_runtime.state.fresh import HANDOFF_NAME as JSON_NAME
from checkpoint_runtime.state.fresh import LOG_NAME as FILE_NAME
from checkpoint_runtime.state.fresh import VALUES_NAME as VALUES
from checkpoint_runtime.state.records import History
from checkpoint_runtime.state.swapped_file import SwappedFile
from checkpoint_runtime.stored import all_kept
from checkpoint_runtime.texts import told

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

    def __init__(self, workspace: Path, history: History, remedies: Remedies) -> None:
        self._history = history
        self._remedies = remedies
        self._json = SwappedFile(workspace / JSON_NAME)
        self._markdown = SwappedFile(workspace / MARKDOWN_NAME)
        self._folder = workspace / PAGES
        self._pages = 0
        self._recent: list[_Entry] = []

    def open(self, outlook: Outlook) -> None:
        """Bring it in step with the history. One that is in step already is left alone.

        :raises CommitError: it could not be written.
        """
        self._markdown.sweep()
        self._json.sweep()
        done = self._done()
        pages = self._pages_in_step(len(done))
        if pages is None:
            self.remake(outlook)
            return
        self._pages = pages
        self._recent = [self._entry(*entry) for entry in done[pages * PER_PAGE :]]
        # Written while its last attempt was under way, it does not know that a stage is stuck now.
        if outlook.stuck:
            self._write_what_differs(outlook)

    def remake(self, outlook: Outlook) -> None:
        """Make it anew from the history, in which something has ceased to be done, say.

        :raises CommitError: it could not be written.
        """
        self._pages, self._recent = 0, []
        for name, kept in self._done():
            self.add(name, kept)
        for number in range(1, self._pages + 1):
            SwappedFile(self._folder / _page_name(number)).sweep()
        self._remove_later_pages()
        self.write(outlook)

    def add(self, name: str, kept: Kept) -> None:
        """One thing more is done; :meth:`write` says so."""
        self._recent.append(self._entry(name, kept))
        if len(self._recent) > PER_PAGE:
            self._turn_page()

    def write(self, outlook: Outlook) -> None:
        """
        :raises CommitError: it could not be written.
        """
        self._markdown.write(_bytes(self._as_markdown(outlook)))
        self._json.write(_bytes(self._as_json(outlook)))

    def _write_what_differs(self, outlook: Outlook) -> None:
        for file, text in (
            (self._markdown, self._as_markdown(outlook)),
            (self._json, self._as_json(outlook)),
        ):
            if file.content() != _bytes(text):
                file.write(_bytes(text))

    def _done(self) -> list[tuple[str, Kept]]:
        """Everything that is done, in the order of commit."""
        return sorted(all_kept(self._history), key=lambda entry: entry[1].line)

    def _pages_in_step(self, done: int) -> int | None:
        """How many pages a handoff has that says what the history says; None: make it again."""
        try:
            head = json.loads(self._json.content() or b"")
            pages = int(head["page"])
            # After a reboot nothing is believed: a power loss may have taken what was not synced.
            whole = head["line"] == self._history.lines and head["boot"] == boot_id() != ""
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

    def _as_json(self, outlook: Outlook) -> str:
        entries = ",\n  ".join(entry.json for entry in self._recent)
        done = f"[\n  {entries}\n]" if entries else "[]"
        head = {
            "pipeline": self._history.pipeline,
            "state": FILE_NAME,
            "line": self._history.lines,
            "boot": boot_id(),
            "page": self._pages,
            "pages": [f"{PAGES}/{_page_name(self._pages)}"] if self._pages else [],
        }
        failed = [self._failed(stage) for stage in outlook.tried if stage.failure or stage.stuck]
        begun = [
            {"name": stage.name, "attempts": stage.attempts, "budget": stage.budget}
            for stage in outlook.tried
            if not (stage.failure or stage.stuck)
        ]
        return (
            f'{json.dumps(head)[:-1]},\n"done": {done},\n'
            f'"failed": {json.dumps(failed)},\n"begun": {json.dumps(begun)},\n'
            f'"next": {json.dumps(outlook.next)}}}\n'
        )

    def _failed(self, stage: Tried) -> dict[str, Any]:
        failure = stage.failure
        return {
            "name": stage.name,
            "state": "poisoned" if stage.stuck else "failed",
            "why": failure.error if failure else NEVER_RAISED,
            "item": _item(stage),
            "where": failure.where if failure else None,
            "at": failure.at if failure else None,
            "attempts": stage.attempts,
            "budget": stage.budget,
            "remedy": self._remedy(stage),
        }

    def _remedy(self, stage: Tried) -> str:
        return self._remedies.rerun(stage.name) if stage.stuck else self._remedies.resume()

    def _as_markdown(self, outlook: Outlook) -> str:
        lines = [f"# {_code(self._history.pipeline)}", ""]
        for stage in outlook.tried:
            lines += [self._in_words(stage), ""]
        if outlook.next:
            asked = " (with --keep-going)" if outlook.stuck else ""
            lines += [f"**Next:** {', '.join(map(_code, outlook.next))}{asked}", ""]
        elif not outlook.tried:
            lines += ["**Everything is done.**", ""]
        lines += ["| done | produced | where |", "| --- | --- | --- |"]
        lines += [entry.markdown for entry in self._recent]
        if self._pages:
            lines += ["", f"Before these: {PAGES}/{_page_name(self._pages)}, and those it names."]
        return "\n".join(lines) + "\n"

    def _in_words(self, stage: Tried) -> str:
        name, failure = _code(stage.name), stage.failure
        tried = f"attempt {stage.attempts} of {stage.budget}"
        if failure is None and not stage.stuck:
            return f"**{name} was begun** ({tried}): it is running, or its process died."
        why = _code(told(failure.error, _item(stage), failure.where)) if failure else NEVER_RAISED
        at = f"{failure.at}, " if failure else ""
        if not stage.stuck:
            return f"**{name} failed** ({at}{tried}): {why}"
        return (
            f"**{name} is stuck** ({at}{tried}): {why}. It is not tried again by itself. Once the "
            f"cause is gone: {_code(self._remedy(stage))}"
        )


def _item(stage: Tried) -> str | None:
    failure = stage.failure
    if failure is None or failure.item is None:
        return None
    return item_name(stage.name, failure.item)


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


def _bytes(text: str) -> bytes:
    # A lone surrogate can stand in a name of a file, and so in a value.
    return text.encode("utf-8", "backslashreplace")
