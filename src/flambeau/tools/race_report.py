"""Find every race of a program on virtual GPUs, and a minimal set of edits that orders them all.

- An observer of the virtual driver, called witness (driver/virtual/races.py), receives every race and the order of all
  operations: points in streams, and the points that streams and the host have waited for.  The program continues with
  the bytes that the schedule produces.
- Races between the same lines are one entry with a count.  Each race suggests an edit: a wait before the later access,
  or `record_stream` where memory was reused too early.
- A replay of the recorded order with a set of edits shows which races remain.  Edits are dropped as long as no race
  remains.
- The record is bounded: after MAX_ENTRIES, races are counted and compared as before, but not replayed.
"""

from __future__ import annotations

import ast
import io
import linecache
import os
import re
import sys
import tokenize
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from struct import pack
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from .. import callers
from ..config import CHECK_FOLDER, RACES, Gpus
from ..core import thread
from ..core.hooks import subscribe, unsubscribe
from ..core.tensor import TensorBase, address_of
from ..driver.virtual.access import TAKING
from ..driver.virtual.driver import VirtualDriver
from ..driver.virtual.followed import FollowedDriver
from ..driver.virtual.races import (
    FRESH,
    awaited_queue,
    needed_of,
    newer_side,
    older_side,
    rerecorded,
    shared_bytes,
    waiting_queue,
)
from ..errors import ArgumentError, ConfigError, RaceAccess
from ..runtime import machine as machines
from ..runtime import mistakes
from ..runtime.mistakes import Mistake
from ..runtime.stream import Stream
from ..runtime.threads import Parents
from . import checked_processes

if TYPE_CHECKING:
    from types import FrameType

    from ..callers import Origin
    from ..driver.virtual.access import MemoryAccess
    from ..driver.virtual.events import Waited
    from ..driver.virtual.queue import Queue
    from ..driver.virtual.races import Conflict, Place
    from ..driver.virtual.submission import Command
    from ..vector_clock import Clock, StreamKey

MAX_ENTRIES = 1_000_000  # size of the record; an entry takes 48 bytes
MANY_ENTRIES = 1_000  # entries that are added to the record at once
MAX_KINDS = 1_000  # most distinct pairs of operators, lines and streams that are kept
COMPARED = 4  # launches of a call whose names are compared: one call may use several variables, as `_foreach_mul_` does
MAX_CALLS = 64  # calls around a line that are kept
MAX_ITEMS = 64  # longer lists of the program are not searched for streams and tensors
FIRST = "the first process"
ALLOWED = "flambeau: allow-race"  # the comment that suppresses the races of its line

# result


@dataclass(frozen=True)
class Race:
    """Unordered accesses of two lines to the same bytes, at least one of which writes.

    older, newer: an example of both accesses, in order of submission.  low, high: the bytes that they share.
    why: the reason why they are unordered.  count: how often the race occurred. processes: the names of the processes
    where it occurred, () for the first process only.
    is_pinned: whether the bytes are pinned host memory.
    """

    older: RaceAccess
    newer: RaceAccess
    low: int
    high: int
    why: str
    count: int
    processes: tuple[str, ...] = ()
    is_pinned: bool = False

    @property
    def lines(self) -> tuple[str, str]:
        return self.older.site, self.newer.site


@dataclass(frozen=True)
class Edit:
    """A line to insert: `statement`, "before" or "after" the statement at `site`, with that one's indentation.

    note: the stream that a placeholder such as <stream 3> in the statement stands for, "" if there is none.
    """

    where: str
    site: str
    statement: str
    note: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.where} {callers.shown_site(self.site)}: {self.statement}"


@dataclass
class Report:
    """The races of a program.

    edits: a minimal set that orders all races.  verified: whether a replay of the record confirmed that. suppressed:
    the number of races suppressed by comments or by a file.  replayed: the operations in the record.
    mistakes: other errors of the program (runtime/mistakes.py).
    """

    races: tuple[Race, ...] = ()
    edits: tuple[Edit, ...] = ()
    verified: bool = True
    suppressed: int = 0
    replayed: int = 0
    notes: tuple[str, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether there is no race, and no mistake that strict mode makes an error."""
        return not self.races and not any(mistake.is_error for mistake in self.mistakes)

    def __str__(self) -> str:
        return text_of(self)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "races": [
                {
                    "older": race.older._asdict(),
                    "newer": race.newer._asdict(),
                    "low": race.low,
                    "high": race.high,
                    "why": race.why,
                    "count": race.count,
                    "processes": list(race.processes),
                }
                for race in self.races
            ],
            "edits": [{"where": edit.where, "site": edit.site, "statement": edit.statement} for edit in self.edits],
            "verified": self.verified,
            "suppressed": self.suppressed,
            "replayed": self.replayed,
            "notes": list(self.notes),
            "mistakes": [mistake._asdict() for mistake in self.mistakes],
        }

    def to_sarif(self) -> dict[str, Any]:
        """Return the report as a SARIF 2.1.0 log."""
        hint = "; ".join(map(str, self.edits))
        results = [
            {
                "ruleId": "race",
                "level": "error",
                "message": {
                    "text": f"{_pair_text(race)}; {race.why}{_where(race)}" + (f"; edits: {hint}" if hint else "")
                },
                "locations": [_sarif_place(race.newer.site)],
                "relatedLocations": [_sarif_place(race.older.site)],
                "occurrenceCount": race.count,
            }
            for race in self.races
        ]
        results += [
            {
                "ruleId": "mistake",
                "level": "error" if mistake.is_error else "warning",
                "message": {"text": mistake.text},
                "locations": [_sarif_place(mistake.site)],
            }
            for mistake in self.mistakes
        ]
        rules = {"race": "Unordered accesses to the same bytes", "mistake": "Wrong use of streams, events or graphs"}
        described = [{"id": name, "shortDescription": {"text": text}} for name, text in rules.items()]
        tool = {"driver": {"name": "flambeau", "rules": described}}
        schema = "https://json.schemastore.org/sarif-2.1.0.json"
        return {"$schema": schema, "version": "2.1.0", "runs": [{"tool": tool, "results": results}]}


def _sarif_place(site: str) -> dict[str, Any]:
    file, line = _split(callers.shown_site(site))
    location = {"uri": quote(os.fsencode(file))}  # a name that is not UTF-8 has surrogates
    return {"physicalLocation": {"artifactLocation": location, "region": {"startLine": max(line, 1)}}}


def text_of(report: Report) -> str:
    """Return the report for a terminal."""
    hidden = f", {report.suppressed} suppressed" if report.suppressed else ""
    if not report.races:
        return "\n".join([f"no race was found{hidden}", *_mistake_lines(report), *report.notes])
    times = sum(race.count for race in report.races)
    pairs: dict[tuple[str, str], list[Race]] = {}
    for race in report.races:
        pairs.setdefault(race.lines, []).append(race)
    lines = [f"{_counted(len(pairs), 'pair')} of lines with races, which happened {_counted(times, 'time')}{hidden}"]
    for number, ((older, newer), races) in enumerate(pairs.items(), 1):
        count = sum(race.count for race in races)
        head = f"{callers.shown_site(older)} and {callers.shown_site(newer)} ({_counted(count, 'time')})"
        lines += ["", f"race {number}: {head}"]
        for race in races:
            lines += _race_lines(race)
    lines.append("")
    if report.edits:
        replayed = f"checked by a replay of {_counted(report.replayed, 'operation')}"
        has_placeholder = any("<" in edit.statement for edit in report.edits)
        unverified = "not verified: replace <...> by the stream" if has_placeholder else "not verified"
        checked = replayed if report.verified else unverified
        what = "this edit orders them" if len(report.edits) == 1 else "these edits order them"
        what += ", and none can be left out" if report.verified and len(report.edits) > 1 else ""
        notes = dict.fromkeys(f"  {edit.note}" for edit in report.edits if edit.note)
        lines += [f"{what} ({checked}):", *(f"  {edit}" for edit in report.edits), *notes]
    return "\n".join([*lines, *_mistake_lines(report), *report.notes]).rstrip()


def _mistake_lines(report: Report) -> list[str]:
    return [f"mistake: {callers.shown_site(mistake.site)}: {mistake.text}" for mistake in report.mistakes]


def _race_lines(race: Race) -> list[str]:
    lines = []
    for access in (race.newer, race.older):
        source = callers.source_at(access.site)
        lines.append(f"  {_access_text(access)}")
        lines.append(f"    at {callers.shown_site(access.site)}" + (f"    {source}" if source else ""))
    where = "pinned host memory" if race.is_pinned else "device memory"
    return [*lines, f"  both use bytes [{race.low:#x}, {race.high:#x}) of {where}; {race.why}{_where(race)}"]


def _where(race: Race) -> str:
    return f"; in {', '.join(race.processes)}" if race.processes else ""


def _access_text(access: RaceAccess) -> str:
    form = "" if access.shape is None else f"{access.dtype} {list(access.shape)}"
    if access.operator.startswith(("copy ", "fill ")) and access.dtype == "uint8":
        form = f"{access.high - access.low} bytes"
    what = " ".join(part for part in (access.name and f"`{access.name}`", form and f"({form})") if part)
    if access.verb == "takes" and not what:
        what = f"a block of {access.high - access.low} bytes"
    origin = f" (made at {callers.shown_site(access.made_at)})" if access.made_at else ""
    where = "on the host" if access.device is None else f"on cuda:{access.device}, {access.stream}{origin}"
    return f"{access.operator} {access.verb} {what + ' ' if what else ''}{where}"


def _pair_text(race: Race) -> str:
    older = f"{_access_text(race.older)} at {callers.shown_site(race.older.site)}"
    return f"{_access_text(race.newer)}, and nothing orders this after: {older}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count != 1 else "")


# source lines


class Spot(NamedTuple):
    """The place where a line can be inserted.

    first, last: the lines of the statement to put it before or after.  is_loop: the line is the head of a loop or has a
    comprehension, so that a line before it runs only once.  can_follow: a line can follow it in its block.  leaves: the
    spot is outside a `with` that the line itself opens.
    """

    first: int
    last: int
    is_loop: bool = False
    can_follow: bool = True
    leaves: bool = False


CLAUSE = re.compile(r"(else|elif|except|finally|case)\b")
ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LAMBDA = "<lambda>"


@lru_cache(maxsize=64)
def _parsed(file: str) -> tuple[list[str], list[ast.stmt]]:
    """Return the lines of a file, and its statements, enclosing ones first."""
    lines = linecache.getlines(file)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return lines, []
    return lines, [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def _split(site: str) -> tuple[str, int]:
    match = re.match(r"(.+?):(\d+)\b", site)
    return (match[1], int(match[2])) if match else (site, 0)


def _statements(file: str, line: int) -> tuple[list[str], list[ast.stmt]]:
    """Return the file's lines, and the statements that contain a line, outermost first."""
    lines, statements = _parsed(file)
    around = [node for node in statements if _first(node) <= line <= (node.end_lineno or node.lineno)]
    return lines, [node for node in around if _holds(node, around[-1])]


def _first(node: ast.stmt) -> int:
    """Return the first line of a statement: that of its first decorator, if it has any."""
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _holds(other: ast.stmt, node: ast.stmt) -> bool:
    start, end = (other.lineno, other.col_offset), (other.end_lineno or 0, other.end_col_offset or 0)
    return start <= (node.lineno, node.col_offset) and (node.end_lineno or 0, node.end_col_offset or 0) <= end


def spot_of(site: str, function: str = "") -> Spot:
    """Return the place where an edit of a line is inserted.  function: the name of the code object that runs there."""
    file, line = _split(site)
    lines, path = _statements(file, line)
    leaves = False
    while path:
        node = path[-1]
        source = lines[node.lineno - 1] if node.lineno <= len(lines) else ""
        begin = source[: node.col_offset].strip()
        shares = bool(begin) and (node.lineno == path[-2].lineno if len(path) > 1 else False)
        if shares or CLAUSE.match(begin) or source[node.col_offset :].startswith("elif"):
            path.pop()
            leaves = leaves or bool(path and isinstance(path[-1], ast.With | ast.AsyncWith))
            continue
        body = getattr(node, "body", None)
        is_head = isinstance(body, list) and bool(body) and line < body[0].lineno
        is_loop = (isinstance(node, ast.For | ast.AsyncFor | ast.While) and is_head) or bool(_loops(node, line))
        is_called = function == LAMBDA  # later than the statement runs
        can_follow = not is_called and not isinstance(node, ENDS) and (not isinstance(body, list) or leaves)
        return Spot(_first(node), node.end_lineno or node.lineno, is_loop or is_called, can_follow, leaves)
    return Spot(line, line)


def _loops(node: ast.AST, line: int) -> list[Any]:
    """Return the comprehensions of a statement on a line, whose expressions may be evaluated several times."""
    loops = [child for child in ast.walk(node) if isinstance(child, LOOPS)]
    return [loop for loop in loops if loop.lineno <= line <= (loop.end_lineno or loop.lineno)]


def _stored(node: ast.AST) -> set[str]:
    """Return the variables that a statement or a target binds, or whose items or attributes it replaces."""
    names = set()
    for child in ast.walk(node):
        if isinstance(getattr(child, "ctx", None), ast.Store | ast.Del):
            inner: Any = child
            while isinstance(inner, ast.Attribute | ast.Subscript | ast.Starred):
                inner = inner.value
            names |= {inner.id} if isinstance(inner, ast.Name) else set()
    return names


def _loaded(node: ast.AST) -> set[str]:
    """Return the variables that a statement reads."""
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)}


def _called(frame: FrameType) -> frozenset[str]:
    """Return the names of the functions that the running statement calls; of an `nn.Module`, `forward`."""
    _, path = _statements(frame.f_code.co_filename, frame.f_lineno)
    names = set()
    for call in (node for node in ast.walk(path[-1]) if isinstance(node, ast.Call)) if path else ():
        if isinstance(call.func, ast.Name):
            name = call.func.id
            is_module = hasattr(type(_variable(frame, name)), "forward")
        elif isinstance(call.func, ast.Attribute):
            name, owner = call.func.attr, call.func.value
            holder = _variable(frame, owner.id) if isinstance(owner, ast.Name) else None
            is_module = name in getattr(holder, "__dict__", {}).get("_modules", ())
        else:
            continue
        names.add("forward" if is_module else name)
    return frozenset(names)


def _variable(frame: FrameType, name: str) -> Any:
    return frame.f_locals.get(name, frame.f_globals.get(name))


def _hidden(frame: FrameType) -> frozenset[str]:
    """Return the variables of a frame that only an expression of the running statement has."""
    if frame.f_code.co_name == LAMBDA:
        return frozenset(frame.f_code.co_varnames)
    _, path = _statements(frame.f_code.co_filename, frame.f_lineno)
    loops = _loops(path[-1], frame.f_lineno) if path else []
    return frozenset().union(*(_stored(generator.target) for loop in loops for generator in loop.generators))


def allows(site: str) -> bool:
    """Return whether a comment on the line suppresses its races."""
    file, line = _split(site)
    text = linecache.getline(file, line)
    if ALLOWED not in text:
        return False
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text.strip() + "\n").readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return "#" in text.partition(ALLOWED)[0]
    return any(token.type == tokenize.COMMENT and ALLOWED in token.string for token in tokens)


def read_suppressions(path: str) -> list[tuple[str, ...]]:
    """Read a file of suppressions: one or two `file.py:12` or `file.py` a line; `#` begins a comment."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        why = failure.strerror if isinstance(failure, OSError) else failure
        raise ArgumentError(
            f"the file of suppressions {path!r} cannot be read: {why}",
            hint="pass a text file in UTF-8 with lines such as train.py:12 data.py:7",
            operator="check",
        ) from failure
    wanted = [tuple(map(os.path.normpath, line.partition("#")[0].split())) for line in text.splitlines()]
    for number, places in enumerate(wanted, 1):
        if len(places) > 2:
            raise ArgumentError(
                f"{path}:{number}: a line may have 1 or 2 places, and this one has {len(places)}",
                hint="write one place, or the two of a race: train.py:12 data.py:7",
                operator="check",
            )
    return [places for places in wanted if places]


def _is_at(site: str, location: str) -> bool:
    file, line = _split(site)
    return f"/{file}".endswith(f"/{location}") or f"/{file}:{line}".endswith(f"/{location}")


def _is_suppressed(race: Race, places: Sequence[tuple[str, ...]]) -> bool:
    if any(allows(site) for site in race.lines):
        return True
    one, other = race.lines
    for entry in places:
        if len(entry) == 1 and (_is_at(one, entry[0]) or _is_at(other, entry[0])):
            return True
        if len(entry) == 2 and (
            (_is_at(one, entry[0]) and _is_at(other, entry[1])) or (_is_at(one, entry[1]) and _is_at(other, entry[0]))
        ):
            return True
    return False


# names of the program's variables

COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>")  # frames of their own before Python 3.12
CO_OPTIMIZED = 1  # code object flag of functions, whose variables are not in a dictionary


class Names:
    """The names of a program frame's variables: of streams by handle, of tensors by address.

    Before Python 3.13, reading `f_locals` makes a frame keep a dictionary of its variables, which would keep tensors
    alive.
    """

    def __init__(self, frame: FrameType | None) -> None:
        self.streams: dict[int, str] = {}
        self.tensors: dict[int, str] = {}
        self.torch = "torch"
        self.target = ""
        self.hidden: frozenset[str] = frozenset()
        self.function = ""
        self.calls: tuple[str, ...] = ()
        self.called: frozenset[str] = frozenset()
        if frame is None:
            return
        package = sys.modules[__package__.partition(".")[0]]
        frames = _frames(frame)
        self.hidden, self.function = _hidden(frame), frames[-1].f_code.co_name
        self.calls, self.called = _calls(frame), _called(frame)
        for at, (name, value) in ((at, item) for at, scope in enumerate(frames) for item in _variables(scope)):
            if isinstance(value, Stream):
                if at > 0 or _base(name) not in self.hidden:
                    self.streams.setdefault(value.handle, name)
            elif isinstance(value, TensorBase):
                storage = value._storage
                if storage.device.index >= 0 or storage._owner is not None:
                    self.tensors.setdefault(address_of(value), name)
            elif value is package and self.torch != name and "." not in name:
                self.torch = name
        self.tensors = {at: _repeatable(name, frame) for at, name in self.tensors.items()}
        self.target = _assigned(frame)
        for scope in frames:
            _forget_variables(scope)

    def of(self, accesses: Sequence[MemoryAccess]) -> tuple[str, ...]:
        """Return the variable of each access, "" if unknown."""
        return _names_of(accesses, self.tensors, self.target)


def _names_of(accesses: Sequence[MemoryAccess], tensors: dict[int, str], target: str) -> tuple[str, ...]:
    """Return the variable of each access.  target: the variable of written memory that no other one holds."""
    return tuple([tensors.get(access.low, "") or (target if access.writes else "") for access in accesses])


def _frames(frame: FrameType) -> list[FrameType]:
    """Return a frame, and those around it if it is a comprehension's: edits may use the variables of all."""
    frames = [frame]
    while frames[-1].f_code.co_name in COMPREHENSIONS and (outer := frames[-1].f_back) is not None:
        frames.append(outer)
    return frames


def _forget_variables(frame: FrameType) -> None:
    """Drop the dictionary of variables that `f_locals` has made."""
    if sys.version_info < (3, 13) and frame.f_code.co_flags & CO_OPTIMIZED:
        frame.f_locals.clear()


def _base(name: str) -> str:
    """Return the variable of an expression such as `self.x` or `parts[0]`."""
    return re.split(r"[.\[]", name, maxsplit=1)[0]


def _repeatable(name: str, frame: FrameType) -> str:
    """Return `parts[i]` for `parts[0]` if the running statement has it: other runs of the line use other items."""
    if "[" not in name:
        return name
    _, path = _statements(frame.f_code.co_filename, frame.f_lineno)
    items = [node for node in ast.walk(path[-1]) if isinstance(node, ast.Subscript)] if path else []
    texts = {ast.unparse(item) for item in items if isinstance(item.value, ast.Name) and item.value.id == _base(name)}
    return texts.pop() if len(texts) == 1 and name not in texts else name


def _calls(frame: FrameType) -> tuple[str, ...]:
    """Return the lines of the program that have called a frame, the latest first."""
    lines: list[str] = []
    outer = frame.f_back
    while outer is not None and len(lines) < MAX_CALLS:
        if not outer.f_code.co_filename.startswith(callers.PACKAGE):
            lines.append(f"{outer.f_code.co_filename}:{outer.f_lineno}")
        outer = outer.f_back
    return tuple(lines)


def _variables(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the expressions that a line of a frame can use, with their values.

    They are variables, items of sequences, attributes of self, and streams that are attributes of variables.
    """
    inner = frame.f_locals
    spaces = [inner] if inner is frame.f_globals else [inner, frame.f_globals]
    for space in spaces:
        yield from [(name, value) for name, value in list(space.items()) if name.isidentifier()]
    for space in spaces:
        for name, value in list(space.items()):
            if type(value) in (list, tuple) and len(value) <= MAX_ITEMS and name.isidentifier():
                yield from [(f"{name}[{at}]", item) for at, item in enumerate(value)]
    for attribute, value in list(getattr(inner.get("self"), "__dict__", {}).items()):
        yield f"self.{attribute}", value
    for name, owner in list(inner.items()):
        if name.isidentifier() and not isinstance(owner, type | ModuleType):
            for attribute, value in list(getattr(owner, "__dict__", {}).items()):
                if isinstance(value, Stream):
                    yield f"{name}.{attribute}", value


def _assigned(frame: FrameType) -> str:
    """Return the variable that the running statement of a frame assigns, "" if it is not an assignment to one."""
    _, path = _statements(frame.f_code.co_filename, frame.f_lineno)
    node = path[-1] if path else None
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


class Line(NamedTuple):
    """The names that a source line which submits work can use: of its operands, of streams by handle, and of torch.

    hidden: variables of expressions, which other lines cannot use.  function, calls: the function that the line is in,
    and the lines that called it.  called: the functions that its statement calls.  device: the current device, -1 if
    unknown.
    """

    names: tuple[str, ...]
    streams: dict[int, str]
    torch: str
    hidden: frozenset[str] = frozenset()
    function: str = ""
    calls: tuple[str, ...] = ()
    called: frozenset[str] = frozenset()
    device: int = -1


def _line_of(frame: FrameType | None, accesses: Sequence[MemoryAccess]) -> Line:
    names = Names(frame)
    device = -1 if frame is None else thread.current_device()
    known = names.streams, names.torch, names.hidden, names.function, names.calls, names.called
    return Line(names.of(accesses), *known, device)


class CallLine:
    """The line of one call's launches.  origin: kept, so that the id of its code stays unique.

    The names of the first COMPARED launches are looked up.  Where these differ, later launches look for the variables
    among them.
    """

    def __init__(self, origin: Origin, line: Line) -> None:
        self.origin, self.line = origin, line
        self._compared = 1
        self._target = ""
        self._variables = dict.fromkeys(filter(None, line.names))
        self._lines = {line.names: line}

    def of_launch(self, accesses: Sequence[MemoryAccess]) -> Line:
        """Return the line with the names of a further launch's operands, if the program is at the call."""
        is_known = self._compared >= COMPARED
        if is_known and len(self._lines) == 1:
            return self.line
        frame = callers.program_frame()
        if frame is None or frame.f_code is not self.origin[0] or frame.f_lasti != self.origin[1]:
            return self.line  # calls on hardware are made later
        if is_known and all(map(str.isidentifier, self._variables)):
            names = _names_of(accesses, _tensors(frame, self._variables), self._target)
        else:
            self._compared += 1
            variables = Names(frame)
            self._target, names = variables.target, variables.of(accesses)
            self._variables.update(dict.fromkeys(filter(None, names)))
        line = self._lines.get(names)
        if line is None:
            line = self._lines[names] = self.line._replace(names=names)
        return line


def _tensors(frame: FrameType, variables: Iterable[str]) -> dict[int, str]:
    """Return the names of variables that are tensors, by address."""
    names: dict[int, str] = {}
    for scope in _frames(frame):
        inner = scope.f_locals
        for name in variables:
            value = inner.get(name, scope.f_globals.get(name))
            if isinstance(value, TensorBase):
                names.setdefault(address_of(value), name)
        _forget_variables(scope)
    return names


class Notes(NamedTuple):
    """The accesses of a command and its source line, kept for reports."""

    accesses: Sequence[MemoryAccess]
    line: Line

    def name_of(self, access: MemoryAccess) -> str:
        for candidate, name in zip(self.accesses, self.line.names):
            if candidate.key == access.key and name:
                return name
        return ""


NO_LINE = Line((), {}, "torch")


def _expression(line: Line, queue: Queue, device: int, is_current: bool) -> str:
    """Return an expression for a stream.  is_current: of its device;  device: the current device."""
    other = "" if queue.device == device else str(queue.device)
    if queue.handle in line.streams:
        return line.streams[queue.handle]
    if is_current:
        return f"{line.torch}.cuda.current_stream({other})"
    if queue.is_default:
        return f"{line.torch}.cuda.default_stream({other})"
    if queue.name:
        return f"{line.torch}.cuda.Stream({other + ', ' if other else ''}name={queue.name!r})"
    return f"<{queue.label}>"


def _device_at(line: Line, spot: Spot) -> int:
    """Return the current device where an edit is inserted, -1 if unknown."""
    return -1 if spot.leaves else line.device


def _is_within(spot: Spot, site: str, line: Line, older_site: str, older_line: Line) -> bool:
    """Return whether the statement of the newer access also makes the older one: a wait before it is then too early."""
    file, number = _split(site)
    if older_line.calls != line.calls and any(_is_in(spot, file, call) for call in older_line.calls):
        return True
    if _is_in(spot, file, older_site):
        return _split(older_site)[1] != number
    return older_line.function != line.function and older_line.function in line.called


def _is_in(spot: Spot, file: str, site: str) -> bool:
    other, number = _split(site)
    return other == file and spot.first <= number <= spot.last


def _placeholder(stream: Queue, line: Line, site: str) -> str:
    """Return the note on a placeholder's stream: where it was made, and its name at another line of the race."""
    facts = [f"made at {callers.shown_site(stream.site)}"] if stream.site else []
    if stream.handle in line.streams:
        facts.append(f"{line.streams[stream.handle]} at {callers.shown_site(site)}")
    return f"<{stream.label}>: {', '.join(facts)}" if facts else ""


# the record

OPERATION, POINT, LEARN, CHECK = range(4)
WIDTH, LATE_WIDTH = 6, 5  # numbers of an entry, and of an operation that was reported late
MANY_NUMBERS = WIDTH * MANY_ENTRIES
HOST_KEY = -1  # the host's number among the handles of streams
Entry = tuple[int, int, int, int, int, int]


@dataclass(eq=False)
class Remedy:
    """An edit, and the places where a replay applies it.

    waits: (line, waiter, awaited) of a wait.  owners: for `record_stream`, the uses that it keeps alive, as the serial
    of their history and their stream.  times: the number of races that suggested it.  is_certain: whether the line runs
    exactly as often as the replay applies the edit.
    """

    edit: Edit
    waits: set[tuple[int, int, int]] = field(default_factory=set)
    owners: set[tuple[int, int]] = field(default_factory=set)
    times: int = 0
    is_certain: bool = True


@dataclass(eq=False)
class Kind:
    """Races of one pair of operators, lines and streams.  is_needed: whether no other race of the call implies them."""

    race: Race
    remedy: Remedy | None
    count: int = 0
    is_needed: bool = False


class Recorder:
    """A witness of one machine: its races, and the order of its operations."""

    def __init__(self) -> None:
        self.place = 0  # the number of entries
        self.entries = array("q")
        self._late = array("q")  # place, sequence, stream, number and site of operations that were reported late
        self._latest: list[int] = []  # numbers of the latest entries, which are not in `entries` yet
        self.is_full = False
        self.operations = 0
        self.left_out = 0
        self.kinds: list[Kind] = []
        self._indices: dict[tuple[Any, ...], int] = {}
        self._sites: dict[str, int] = {}
        self._lines: dict[tuple[int, Any, str, bool], CallLine] = {}
        self._remedies: dict[Edit, Remedy] = {}

    def _log(self, kind: int, one: int, two: int, three: int, four: int = 0, five: int = 0) -> None:
        self.place += 1
        self._latest.extend((kind, one, two, three, four, five))
        if len(self._latest) >= MANY_NUMBERS:
            self._keep_latest()

    def _keep_latest(self) -> None:
        """Add the latest entries to the record, up to MAX_ENTRIES."""
        room = WIDTH * MAX_ENTRIES - len(self.entries)
        self.is_full = self.is_full or room < len(self._latest)
        latest = self._latest[:room]
        self.entries.frombytes(pack(f"={len(latest)}q", *latest))  # a tenth of the time of `extend`
        self._latest.clear()

    def _site(self, site: str) -> int:
        return self._sites.setdefault(site, len(self._sites))

    # interface of a witness

    def point(self, clock: Clock) -> None:
        self._log(POINT, _key(clock.stream), clock.number, clock.version)

    def learns(self, stream: StreamKey, clock: Clock) -> None:
        self._log(LEARN, _key(stream), _key(clock.stream), clock.number, clock.version)

    def host_learns(self, clock: Clock) -> None:
        self._log(LEARN, HOST_KEY, _key(clock.stream), clock.number, clock.version)

    def begins(self, queue: Queue | None, number: int, site: str) -> None:
        self.operations += 1
        self.place += 1
        index = self._sites.get(site)
        if index is None:
            index = self._site(site)
        latest = self._latest
        latest.extend((OPERATION, HOST_KEY if queue is None else queue.handle, number, index, 0, 0))
        if len(latest) >= MANY_NUMBERS:
            self._keep_latest()

    def began(self, queue: Queue, at: Place, site: str) -> None:
        self.operations += 1
        self.is_full = self.is_full or len(self._late) >= LATE_WIDTH * MAX_ENTRIES
        if not self.is_full:
            self._late.extend((at.place, at.sequence, queue.handle, at.number, self._site(site)))

    def _ordered(self) -> Iterator[Entry]:
        """Yield all entries, those of operations that were reported late at their places."""
        numbers = iter(self._late)
        late = sorted(zip(*[numbers] * LATE_WIDTH), key=itemgetter(0, 1))
        numbers, done = iter(self.entries), 0
        for index, entry in enumerate(zip(numbers, numbers, numbers, numbers, numbers, numbers)):
            while done < len(late) and late[done][0] <= index:
                yield OPERATION, *late[done][2:], 0, 0
                done += 1
            yield entry
        for operation in late[done:]:
            yield OPERATION, *operation[2:], 0, 0

    def submitted(self, command: Command) -> None:
        origin = command.origin
        key = id(origin[0]), origin[1], command.name, bool(command.launched)
        known = self._lines.get(key)
        if known is None:
            frame = None if command.launched else callers.program_frame()
            line = _line_of(frame, command.accesses)
            self._lines[key] = CallLine(origin, line)
        else:
            line = known.line if command.launched else known.of_launch(command.accesses)
        command.notes = Notes(command.accesses, line)

    def found(
        self,
        queue: Queue | None,
        name: str,
        call: tuple[str, str],
        waited: Sequence[Waited],
        conflicts: Sequence[Conflict],
        accesses: Sequence[MemoryAccess],
    ) -> None:
        needed = needed_of(conflicts)
        for conflict in conflicts:
            use = conflict.use
            command = use.commands[-1]
            serial = use.former or (conflict.block.history.serial if name == TAKING else 0)
            handle = HOST_KEY if queue is None else queue.handle
            is_taken = use.taken is not None
            variable = "" if command.notes is None else command.notes.name_of(use.access)
            key = call[0], name, handle, command.place, command.name, is_taken, use.stream, bool(serial), variable
            index = self._indices.get(key)
            if index is None:
                if len(self.kinds) >= MAX_KINDS:
                    self.left_out += 1
                    continue
                index = self._indices[key] = len(self.kinds)
                self.kinds.append(self._kind(conflict, queue, name, call, waited, accesses, bool(serial)))
            kind = self.kinds[index]
            kind.count += 1
            kind.is_needed = kind.is_needed or conflict in needed
            if kind.remedy is not None:
                kind.remedy.times += 1
                if kind.remedy.edit.statement.endswith(")") and ".record_stream(" in kind.remedy.edit.statement:
                    kind.remedy.owners.add((serial, _key(use.stream)))
            self._log(CHECK, handle, _key(use.stream), use.number, index, serial)

    def _kind(
        self,
        conflict: Conflict,
        queue: Queue | None,
        name: str,
        call: tuple[str, str],
        waited: Sequence[Waited],
        accesses: Sequence[MemoryAccess],
        is_former: bool,
    ) -> Kind:
        use = conflict.use
        line = _line_of(callers.program_frame(), accesses)
        notes = use.commands[-1].notes or Notes((), NO_LINE)
        newer = newer_side(conflict, queue, name, call)
        newer = newer._replace(name=Notes(accesses, line).name_of(conflict.access))
        older = older_side(use)
        older = older._replace(name="" if use.taken is not None else notes.name_of(use.access))
        low, high = shared_bytes(conflict)
        why = _why(conflict, queue, waited, is_former)
        race = Race(older, newer, low, high, why, 0, is_pinned=conflict.block.device is None)
        remedy = None
        if is_former and older.name:
            remedy = self._keep(older, use.commands[-1].queue, notes.line)
        return Kind(race, remedy or self._wait(conflict, queue, race, line, notes.line))

    def _keep(self, older: RaceAccess, queue: Queue, line: Line) -> Remedy | None:
        """Return the `record_stream` call that keeps the memory of the older access alive, None if none can."""
        variable = _base(older.name)
        spot = spot_of(older.site, line.function)
        file, number = _split(older.site)
        node = (_statements(file, number)[1] or [ast.Pass()])[-1]
        is_any_item = "[" in older.name and older.name not in ast.unparse(node)  # other runs of the line use others
        if variable in line.hidden or line.function == LAMBDA or is_any_item:
            return None
        is_replaced = variable in _stored(node) and (older.verb != "writes" or variable in _loaded(node))
        stream = _expression(line, queue, _device_at(line, spot), not spot.leaves)
        edit = _edit(older.site, spot, spot.can_follow and not is_replaced, f"{older.name}.record_stream({stream})")
        return self._remedies.setdefault(edit, Remedy(edit))

    def _wait(self, conflict: Conflict, queue: Queue | None, race: Race, line: Line, older_line: Line) -> Remedy:
        """Return the wait that orders the newer access after the older one."""
        awaited = awaited_queue(conflict.use)
        site, older_site = (access.rpartition(" launched at ")[2] for access in (race.newer.site, race.older.site))
        spot, after = spot_of(site, line.function), False
        is_early = spot.is_loop or _is_within(spot, site, line, older_site, older_line)
        if is_early:
            older_spot = spot_of(older_site, older_line.function)
            is_same = (_split(site)[0], spot.first) == (_split(older_site)[0], older_spot.first)
            if older_spot.can_follow and not is_same:
                site, spot, line, after = older_site, older_spot, older_line, True
        device = _device_at(line, spot)
        awaits = _expression(line, awaited, device, after and not spot.leaves)
        if queue is None:
            statement = f"{awaits}.synchronize()"
            waiter = HOST_KEY
        else:
            waiting = waiting_queue(queue)
            is_current = not spot.leaves and not after
            statement = f"{_expression(line, waiting, device, is_current)}.wait_stream({awaits})"
            waiter = waiting.handle
        edit = _edit(site, spot, after, statement)
        if f"<{awaited.label}>" in statement:
            edit = replace(edit, note=_placeholder(awaited, older_line, race.older.site))
        remedy = self._remedies.setdefault(edit, Remedy(edit))
        remedy.is_certain = remedy.is_certain and (after or not is_early)
        remedy.waits.add((self._site(site), waiter, awaited.handle))
        return remedy

    # the report

    def report(self, places: Sequence[tuple[str, ...]]) -> Report:
        """Return the races so far, except those that comments or `places` suppress."""
        self._keep_latest()
        shown = [kind for kind in self.kinds if not _is_suppressed(kind.race, places)]
        suppressed = len({kind.race.lines for kind in self.kinds}) - len({kind.race.lines for kind in shown})
        races = merged(replace(kind.race, count=kind.count) for kind in shown if kind.is_needed)
        notes = []
        if self.is_full:
            notes.append(f"the replay covers the first {MAX_ENTRIES} entries of the record; later races are counted")
        if self.left_out:
            notes.append(f"{self.left_out} races of other lines are left out: {MAX_KINDS} kinds are kept")
        edits, is_verified = self._edits(shown)
        is_verified = is_verified and not self.is_full and not self.left_out
        return Report(races, edits, is_verified, suppressed, self.operations, tuple(notes))

    def _edits(self, kinds: Sequence[Kind]) -> tuple[tuple[Edit, ...], bool]:
        """Return a minimal set of edits that orders all races, and whether a replay confirmed it."""
        if not kinds:
            return (), True
        wanted = {index for index, kind in enumerate(self.kinds) if kind in kinds}
        chosen = list(dict.fromkeys(kind.remedy for kind in kinds if kind.remedy is not None))
        needed = {kind.remedy for kind in kinds if kind.is_needed}
        entries = self._compact(chosen)
        replayed = {entry[4] for entry in entries if entry[0] == CHECK}
        kept = {kind.remedy for index, kind in enumerate(self.kinds) if index in wanted - replayed}
        left = replay(entries, chosen, wanted)
        for remedy in sorted(chosen, key=lambda candidate: (candidate in needed, candidate.times)):
            others = [other for other in chosen if other is not remedy]
            if remedy not in kept and replay(entries, others, wanted) <= left:
                chosen = others
        can_run = all(remedy.is_certain and "<" not in remedy.edit.statement for remedy in chosen)
        return tuple(remedy.edit for remedy in chosen), not left and can_run

    def _compact(self, remedies: Sequence[Remedy]) -> list[Entry]:
        """Return the record without operations that a replay with these edits does not need."""
        sites = {site for remedy in remedies for site, _, _ in remedy.waits}
        entries: list[Entry] = []
        older = {(entry[2], entry[3]) for entry in self._ordered() if entry[0] == CHECK}
        for entry in self._ordered():
            if entry[0] == OPERATION and entries:
                last = entries[-1]
                is_last = last[0] == OPERATION and last[1] == entry[1] and last[3] not in sites
                if is_last and (last[1], last[2]) not in older:
                    entries.pop()
            entries.append(entry)
        return entries


def merged(races: Iterable[Race]) -> tuple[Race, ...]:
    """Merge races of the same lines and operators, which differ only in streams, such as those created in a loop."""
    by_lines: dict[tuple[str, ...], Race] = {}
    for race in races:
        key = *race.lines, race.older.operator, race.newer.operator
        known = by_lines.get(key)
        by_lines[key] = race if known is None else _together(known, race)
    return tuple(by_lines.values())


def _together(one: Race, other: Race) -> Race:
    processes: tuple[str, ...] = ()
    if one.processes or other.processes:
        names = *(one.processes or (FIRST,)), *(other.processes or (FIRST,))
        processes = tuple(dict.fromkeys(names))
    return replace(one, count=one.count + other.count, processes=processes)


def _key(stream: StreamKey) -> int:
    return stream if isinstance(stream, int) else HOST_KEY


def _edit(site: str, spot: Spot, after: bool, statement: str) -> Edit:
    file, _ = _split(site)
    return Edit("after" if after else "before", f"{file}:{spot.last if after else spot.first}", statement)


def _why(conflict: Conflict, queue: Queue | None, waited: Sequence[Waited], is_former: bool) -> str:
    use = conflict.use
    stream, waiting = awaited_queue(use), None if queue is None else waiting_queue(queue)
    is_other = waiting is not None and waiting.device != stream.device
    awaited = stream.label + (f" of cuda:{stream.device}" if is_other else "")
    waiter = "the host" if waiting is None else waiting.label + (f" of cuda:{waiting.device}" if is_other else "")
    if is_former:
        why = f"the memory was freed while {awaited} still used it, and record_stream was not called"
    elif note := rerecorded(waiter, waited, use):
        why = note
    else:
        own = [wait for wait in waited if wait.by_host == (queue is None)]
        last = next((wait for wait in reversed(own) if wait.point.clock.reached(use.stream) >= 0), None)
        if last is None:
            why = f"{waiter} has not waited for {awaited}"
        else:
            why = f"{waiter} last waited for {awaited} at {last.site}, for work before the access"
    if use.taken is not None and use.taken.is_fresh:
        why += f"; {FRESH}"
    collected = mistakes.collected
    if queue is not None and collected is not None and (site := collected.early_wait(waiting_queue(queue).handle)):
        why += f"; it waited at {site} for an event that had not been recorded"
    return callers.shown_site(why)


Known = dict[int, int]  # by stream: the number of the last finished operation
NOTHING: Known = {}


def replay(entries: Sequence[Entry], remedies: Sequence[Remedy], wanted: set[int]) -> set[int]:
    """Replay the record with some edits; return the indices of the kinds in `wanted` that still race."""
    before: dict[tuple[int, int], list[int]] = {}
    after: dict[tuple[int, int], list[int]] = {}
    kept: set[tuple[int, int]] = set()
    for remedy in remedies:
        kept |= remedy.owners
        for site, waiter, awaited in remedy.waits:
            if remedy.edit.where == "before":
                before.setdefault((site, waiter), []).append(awaited)
            else:
                after.setdefault((site, awaited), []).append(waiter)
    users: dict[int, list[tuple[int, int]]] = {}  # by history: the uses that record_stream keeps alive
    for kind, _, two, three, _, five in entries:
        if kind == CHECK and (five, two) in kept:
            users.setdefault(five, []).append((two, three))
    seen: dict[tuple[int, int], Known] = dict.fromkeys((use for uses in users.values() for use in uses), NOTHING)
    known: dict[int, Known] = {}
    points: dict[tuple[int, int, int], Known] = {}
    counts: dict[int, int] = {}
    left: set[int] = set()

    def join(waiter: int, awaited: int, number: int, others: Known) -> None:
        mine = known.get(waiter, NOTHING)
        joined = {**mine, awaited: max(number, mine.get(awaited, -1))}
        for other, reached in others.items():
            if joined.get(other, -1) < reached:
                joined[other] = reached
        known[waiter] = joined

    for kind, one, two, three, four, five in entries:
        if kind == OPERATION:
            for awaited in before.get((three, one), ()):
                join(one, awaited, counts.get(awaited, 0), known.get(awaited, NOTHING))
            if one != HOST_KEY:
                counts[one] = two
            if (one, two) in seen:
                seen[one, two] = known.get(one, NOTHING)
            for waiter in after.get((three, one), ()):
                join(waiter, one, two, known.get(one, NOTHING))
        elif kind == POINT:
            points[one, two, three] = known.get(one, NOTHING)
            counts[one] = two
        elif kind == LEARN:
            join(one, two, three, points.get((two, three, four), NOTHING))
        elif four in wanted and four not in left:
            host, mine = known.get(HOST_KEY, NOTHING), known.get(one, NOTHING)
            is_ordered = host.get(two, -1) >= three or mine.get(two, -1) >= three
            # The allocator waits for the recorded streams, and so for everything that their uses come after.
            is_kept = (five, two) in kept or any(seen[use].get(two, -1) >= three for use in users.get(five, ()))
            if not is_ordered and not is_kept:
                left.add(four)
    return left


def of_processes(others: checked_processes.Folder) -> list[Report]:
    """Return the reports of the processes that a checked program started."""
    return [_of_process(name, report) for name, report in others.reports()]


def _of_process(name: str, report: Report | None) -> Report:
    if report is None:
        return Report(notes=(f"the races of {name} are not known: it was killed, or has not ended",))
    races = tuple(replace(race, processes=race.processes or (name,)) for race in report.races)
    wrong = tuple(mistake._replace(text=f"{mistake.text}; in {name}") for mistake in report.mistakes)
    return replace(report, races=races, notes=tuple(f"{name}: {note}" for note in report.notes), mistakes=wrong)


def check_this_process() -> None:
    """Check this process, a new one that a checked program started."""
    if machines.watcher is not None or checked_processes.has_ended():
        return
    try:
        machines.watcher = Checker(checked_processes.settings()[0], is_first=False)
    except ConfigError as failure:
        machines.watcher = Refusal(failure)


def joined(reports: Sequence[Report]) -> Report:
    """Merge the reports of several machines or processes into one."""
    return Report(
        merged(race for report in reports for race in report.races),
        tuple(dict.fromkeys(edit for report in reports for edit in report.edits)),
        all(report.verified for report in reports),
        sum(report.suppressed for report in reports),
        sum(report.replayed for report in reports),
        tuple(dict.fromkeys(note for report in reports for note in report.notes)),
        tuple(dict.fromkeys(mistake for report in reports for mistake in report.mistakes)),
    )


# checking


class Refusal:
    """Watches the machines of a process with a wrong FLAMBEAU_CHECK: the first that starts raises the error.

    An error at the import would come before the `flambeau` command could report it in one line.
    """

    def __init__(self, failure: ConfigError) -> None:
        self._failure = failure

    def chosen(self, choice: Gpus) -> Gpus:
        raise self._failure

    def started(self, machine: machines.Machine) -> None:
        raise self._failure


class Checker:
    """Watches every machine that the process starts; a model follows NVIDIA GPUs.

    races: the machines' reaction to unordered accesses.  is_first: whether this process makes the report.
    """

    def __init__(self, races: str, is_first: bool = True) -> None:
        self._races = races
        self._pid = os.getpid() if is_first else 0
        self._watched: list[tuple[weakref.ref[VirtualDriver], Recorder]] = []
        self.is_blind = False  # whether a machine of NVIDIA GPUs had already started
        self._parents: Parents | None = None
        self._watches_threads = False  # whether a thread has started that did not inherit its parent's choice
        self._worker: Any = None  # the thread that submitted work last
        self._mistakes = mistakes.collected = mistakes.Collected()

    def chosen(self, choice: Gpus) -> Gpus:
        return replace(choice, races=self._races, is_followed=choice.kind == "nvidia")

    def started(self, machine: machines.Machine) -> None:
        if self._pid != os.getpid() and CHECK_FOLDER in os.environ:
            self._pid, self._watched = os.getpid(), []
            checked_processes.leave_report(self.report)
            self._mistakes = mistakes.collected = mistakes.Collected()
        if self._parents is None:
            self._parents = Parents(self._watch_threads)
        driver = machine.driver
        if not isinstance(driver, VirtualDriver):
            self.is_blind = True
            return
        recorder = self.recorder()
        self._watched.append((weakref.ref(driver), recorder))
        driver.watch(recorder)
        machines.watch_host_accesses()

    def _watch_threads(self) -> None:
        if not self._watches_threads and mistakes.collected is self._mistakes:  # the check has not ended
            self._watches_threads = True
            subscribe(on_launch=self._worked)

    def _worked(self, stream: Stream, _kernel: Any, _arguments: Any) -> None:
        now = thread.here()
        if now is not self._worker and self._parents is not None:
            self._worker = now
            self._parents.worked(stream)

    def recorder(self) -> Recorder:
        """Make the witness of a machine."""
        return Recorder()

    def report(self, places: Sequence[tuple[str, ...]]) -> Report:
        """Return the races of all machines so far."""
        report = joined([recorder.report(places) for _, recorder in self._watched])
        report = replace(report, mistakes=tuple(self._mistakes.all()))
        return replace(report, notes=(*report.notes, *self._notes()))

    def _notes(self) -> Iterator[str]:
        if self.is_blind:
            yield "the NVIDIA GPUs had started before the check: their races are not known"
        for reference, _ in self._watched:
            driver = reference()
            if isinstance(driver, FollowedDriver):
                if driver.lost:
                    yield f"races are known until {driver.lost}"
                if driver.unseen:
                    yield f"the program's own kernels were not compared (virtual GPUs do): {', '.join(driver.unseen)}"

    def is_first(self) -> bool:
        """Return whether this process makes the report, and is not a fork made inside the block."""
        return self._pid == os.getpid()

    def stop(self) -> None:
        """Stop watching all machines."""
        mistakes.collected = None
        if self._watches_threads:
            unsubscribe(on_launch=self._worked)
        for reference, _ in self._watched:
            if (driver := reference()) is not None:
                driver.watch(None)


@contextmanager
def check(*, races: str = "real", suppress: str | None = None) -> Iterator[Report]:
    """Collect the races between streams inside a `with` block in a report, which is complete at the block's end.

    races:    the effect of a race on virtual GPUs that start inside the block: "real", "poison" or "error", as in
              FLAMBEAU_GPUS (docs/concepts/virtual-gpu.md).
    suppress: a file that lists races to leave out.
    Host:     waits if the block does.
    Raises:   ArgumentError if another check is running, or if `races` or the file is invalid.
    Example:
        >>> from flambeau.testing import check, machine
        >>> with machine(), check() as found:
        ...     x, side = torch.ones(2, device="cuda"), torch.cuda.Stream()
        ...     with torch.cuda.stream(side):
        ...         y = x * 2
        >>> len(found.races) > 0, found.edits[0].statement
        (True, 'side.wait_stream(torch.cuda.default_stream())')
    """
    if races not in RACES:
        raise ArgumentError(f"races={races!r} is unknown", hint=f"use one of {', '.join(RACES)}", operator="check")
    if machines.watcher is not None:
        raise ArgumentError(
            "another check is running", hint="leave the block of the other check first", operator="check"
        )
    places = read_suppressions(suppress) if suppress is not None else []
    others = checked_processes.Folder(races, places)
    checker = machines.watcher = Checker(races)
    report = Report()
    try:
        current = thread.machine() if thread.has_machine() else None
        if isinstance(current, machines.Machine) and current.is_started:
            checker.started(current)
        yield report
    finally:
        machines.watcher = None
        checker.stop()
        if checker.is_first():
            vars(report).update(vars(joined([checker.report(places), *of_processes(others)])))
            others.close()
