"""What the lines of an events file say of stages.

A line is ``VERB REST``; the verb is up to the first space. A *stage* is a name that has both a
``start`` and a ``done`` line in the undisturbed run. A name that starts again there after its own
``done`` is a step that the job repeats by design: it is no stage, and starting it again proves
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable


def stage_names(events: Iterable[str]) -> tuple[str, ...]:
    """The stages of an undisturbed run, in the order of their first ``start``.

    >>> stage_names(["start a", "done a", "start b"])
    ('a',)
    """
    started: dict[str, None] = {}
    done: set[str] = set()
    repeated: set[str] = set()
    for verb, name in map(_split, events):
        if verb == "start":
            if name in done:
                repeated.add(name)
            started[name] = None
        elif verb == "done":
            done.add(name)
    return tuple(name for name in started if name in done and name not in repeated)


def done_again(
    stages: Iterable[str], events_before: Iterable[str], events_after: Iterable[str]
) -> tuple[str, ...]:
    """Stages that the resume started although they were acknowledged before the crash.

    Only a ``done`` line from before the crash is an acknowledgement here: what a resume does with
    its own lines is not compared.

    >>> done_again(["a", "b"], ["start a", "done a", "start b"], ["start a", "start b"])
    ('a',)
    """
    acknowledged = {name for verb, name in map(_split, events_before) if verb == "done"}
    started = {name for verb, name in map(_split, events_after) if verb == "start"}
    return tuple(name for name in stages if name in acknowledged and name in started)


def skipped(
    stages: Iterable[str], events_before: Iterable[str], events_after: Iterable[str]
) -> tuple[str, ...]:
    """Stages that had not been started before the crash and that the resume did not start either.

    One that had been started may have been committed just before the crash; its done line is then
    never written, and skipping it is right.

    >>> skipped(["a", "b", "c"], ["start a"], ["start c", "done c"])
    ('b',)
    """
    lines = [*map(_split, events_before), *map(_split, events_after)]
    known = {name for verb, name in lines if verb in ("start", "done")}
    return tuple(name for name in stages if name not in known)


def acknowledged(events: Iterable[str]) -> frozenset[str]:
    """Every name with a ``done`` line."""
    return _named("done", events)


def started(events: Iterable[str]) -> frozenset[str]:
    """Every name with a ``start`` line."""
    return _named("start", events)


def whole_run(events: Iterable[str]) -> frozenset[str]:
    """The name that was started before all others and done after them: the job itself.

    Empty if there is none. Of two names that overlap neither is said to be the job.

    >>> whole_run(["start job", "start a", "done a", "start b", "done b", "done job"])
    frozenset({'job'})
    """
    written = [*map(_split, events)]
    starts = [name for verb, name in written if verb == "start"]
    dones = [name for verb, name in written if verb == "done"]
    first, last = starts[:1], dones[-1:]
    if not first or first != last or starts.count(first[0]) > 1 or dones.count(first[0]) > 1:
        return frozenset()
    return frozenset(first) if len({*starts, *dones}) > 2 else frozenset()


def around(events: Iterable[str], stage: str) -> frozenset[str]:
    """The names that were started before a stage and not done before it was.

    >>> around(["start phase", "start a", "done a", "start b", "done b", "done phase"], "b")
    frozenset({'phase'})
    """
    written = [line.rstrip("\n") for line in events]
    first = {line: number for number, line in reversed([*enumerate(written)])}
    last = {line: number for number, line in enumerate(written)}
    start, end = first.get(f"start {stage}"), last.get(f"done {stage}")
    if start is None or end is None:
        return frozenset()
    return frozenset(
        name for name in started(written[:start]) if last.get(f"done {name}", len(written)) > end
    )


def re_entered(
    stages: Iterable[str], events_before: Iterable[str], events_after: Iterable[str]
) -> tuple[str, ...]:
    """Stages that were going on at the crash and that the resume started again.

    >>> re_entered(["a", "b"], ["start a", "done a", "start b"], ["start b", "done b"])
    ('b',)
    """
    before, after = tuple(events_before), tuple(events_after)
    going_on = started(before) - acknowledged(before)
    again = started(after)
    return tuple(name for name in stages if name in going_on and name in again)


def _named(wanted: str, events: Iterable[str]) -> frozenset[str]:
    return frozenset(name for verb, name in map(_split, events) if verb == wanted)


def later_stages(events: Iterable[str], stage: str) -> tuple[str, ...]:
    """The stages of an undisturbed run whose first ``start`` comes after ``stage`` was done.

    >>> later_stages(["start a", "start b", "done a", "start c", "done b", "done c"], "a")
    ('c',)
    """
    written = [line.rstrip("\n") for line in events]
    first: dict[str, int] = {}
    for position, line in enumerate(written):
        first.setdefault(line, position)
    end = first[f"done {stage}"]
    return tuple(name for name in stage_names(written) if first[f"start {name}"] > end)


def _split(line: str) -> tuple[str, str]:
    verb, _, name = line.rstrip("\n").partition(" ")
    return verb, name
