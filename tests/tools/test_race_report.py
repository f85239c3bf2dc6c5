"""check(): every race of a program, and edits that order all of them.

A program is a text.  The edits are applied to it, and the result runs under races="error", which raises for any race.
"""

import random
import re
import runpy
import textwrap
import threading

import pytest

import flambeau as torch
from flambeau.core.queue import hooks
from flambeau.errors import ArgumentError, RaceError
from flambeau.testing import check, machine
from flambeau.tools import race_report
from tests.edits import edited


class Programs:
    """Programs in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def write(self, text):
        self.count += 1
        path = self.folder / f"p{self.count}.py"
        path.write_text(text)
        return str(path)

    def run(self, text, races="real"):
        """The report of a program, and its path."""
        path = self.write(text)
        with machine(devices=2, races=races), check() as found:
            runpy.run_path(path, run_name="__main__")
        return found, path


@pytest.fixture
def programs(tmp_path):
    return Programs(tmp_path)


def random_program(rng):
    """A program of a few statements on three streams, with waits in some places."""
    lines = [BEGIN + "other = torch.cuda.Stream()\ndone = torch.cuda.Event()"]
    lines += [f"{name} = torch.zeros(64, device='cuda')" for name in ("x", "y")]
    lines.append("host = torch.zeros(64).pin_memory()")
    indent = rng.choice(["", "    "])
    lines += ["for i in range(2):"] if indent else []
    streams = ("main", "side", "other")
    calls = (
        "{}.add_(1)", "z = {} * 2", "{}.copy_(host, non_blocking=True)", "host.copy_({}, non_blocking=True)",
        "torch.add({}, y, out=x)", "{}[::2].add_(1)", "del {0}\n{0} = torch.zeros(64, device='cuda')",
    )  # fmt: skip
    waits = ("torch.cuda.synchronize()", "done.record()", "side.wait_event(done)", "done.synchronize()", "host.add_(1)")
    for _ in range(rng.randint(2, 8)):
        chance = rng.random()
        if chance < 0.25:
            statement = f"{rng.choice(streams)}.wait_stream({rng.choice(streams)})"
        elif chance < 0.35:
            statement = rng.choice(waits)
        else:
            statement = rng.choice(calls).format(rng.choice("xy"))
            if chance < 0.7:
                statement = f"with torch.cuda.stream({rng.choice(streams[1:])}):\n" + textwrap.indent(statement, "    ")
        lines.append(textwrap.indent(statement, indent))
    return "\n".join(lines) + "\n"


def is_racy(programs, text):
    try:
        with machine(races="error"):
            runpy.run_path(programs.write(text))
    except RaceError:
        return True
    return False


def test_edits_of_random_programs_order_them_and_none_can_be_left_out(programs, sample):
    racy = 0
    for seed in sample(range(400), 40):
        text = random_program(random.Random(seed))
        found, _ = programs.run(text)
        assert bool(found.races) == is_racy(programs, text), text
        if found.races:
            racy += 1
            assert found.verified and not is_racy(programs, edited(text, found.edits)), text
            recorded = [edit for edit in found.edits if "record_stream" in edit.statement]
            for edit in found.edits:
                if edit in recorded and len(recorded) > 1:
                    continue  # another one may keep the allocator from the block at all, so that nothing is seen
                assert is_racy(programs, edited(text, [each for each in found.edits if each is not edit])), (text, edit)
    assert racy > 10


def lines_of(found):
    return {tuple(int(site.rpartition(":")[2]) for site in race.lines) for race in found.races}


def edits_of(found):
    return {(edit.where, int(edit.site.rpartition(":")[2]), edit.statement) for edit in found.edits}


BEGIN = "import flambeau as torch\nmain = torch.cuda.current_stream()\nside = torch.cuda.Stream()\n"

# name: (program after BEGIN, pairs of lines, edits)
ZOO = {
    "a consumer that does not wait": (
        """\
        x = torch.ones(1000, device="cuda")
        with torch.cuda.stream(side):
            y = x * 2
            z = y + 1
        print(z.sum().item())
        """,
        {(4, 6), (7, 8)},
        {("before", 6, "side.wait_stream(main)"), ("before", 8, "main.wait_stream(side)")},
    ),
    "memory freed under a copy": (
        """\
        def step(i):
            batch = torch.ones(4096, device="cuda")
            side.wait_stream(main)
            with torch.cuda.stream(side):
                sums.append(batch.sum())
        sums = []
        for i in range(3):
            step(i)
        """,
        {(8, 5)},
        {("after", 8, "batch.record_stream(side)")},
    ),
    "a result read on the host before its copy is done": (
        """\
        x = torch.ones(4, device="cuda")
        host = x.to("cpu", non_blocking=True)
        print(host.tolist())
        """,
        {(5, 6)},
        {("before", 6, "main.synchronize()")},
    ),
    "a pinned source that is rewritten": (
        """\
        host = torch.ones(4).pin_memory()
        for i in range(3):
            x = host.to("cuda", non_blocking=True)
            host.fill_(i)
        """,
        {(6, 7)},
        {("before", 7, "main.synchronize()")},
    ),
    "three missing waits": (
        """\
        other = torch.cuda.Stream()
        x = torch.zeros(64, device="cuda")
        torch.cuda.synchronize()
        x.add_(1)
        with torch.cuda.stream(side):
            x.mul_(2)
        with torch.cuda.stream(other):
            x.sub_(3)
        print(x.sum().item())
        """,
        {(7, 9), (7, 11), (9, 11), (9, 12), (11, 12)},
        {
            ("before", 9, "side.wait_stream(main)"),
            ("before", 11, "other.wait_stream(side)"),
            ("before", 12, "main.wait_stream(other)"),
        },
    ),
    "a prefetcher that writes what is still read": (
        """\
        buffer = torch.zeros(64, device="cuda")
        host = torch.ones(64).pin_memory()
        torch.cuda.synchronize()
        for step in range(4):
            with torch.cuda.stream(side):
                buffer.copy_(host, non_blocking=True)
            main.wait_stream(side)
            total = buffer.sum()
        """,
        {(11, 9)},
        {("before", 9, "side.wait_stream(main)")},
    ),
    "an event that was recorded too early": (
        """\
        x = torch.zeros(64, device="cuda")
        done = torch.cuda.Event()
        done.record()
        x.add_(1)
        side.wait_event(done)
        with torch.cuda.stream(side):
            y = x * 2
        """,
        {(7, 10)},
        {("before", 10, "side.wait_stream(main)")},
    ),
    "streams made in a loop": (
        """\
        x = torch.ones(64, device="cuda")
        for i in range(3):
            worker = torch.cuda.Stream()
            with torch.cuda.stream(worker):
                y = x + i
        """,
        {(4, 8)},
        {("before", 8, "worker.wait_stream(main)")},
    ),
    "streams in a list": (
        """\
        streams = [torch.cuda.Stream() for _ in range(2)]
        parts = []
        for stream in streams:
            with torch.cuda.stream(stream):
                parts.append(torch.ones(8, device="cuda"))
        total = parts[0] + parts[1]
        """,
        {(8, 9)},
        {("before", 9, "main.wait_stream(streams[0])"), ("before", 9, "main.wait_stream(stream)")},
    ),
    "a with statement in one line": (
        """\
        x = torch.ones(64, device="cuda")
        with torch.cuda.stream(side): y = x * 2
        """,
        {(4, 5)},
        {("before", 5, "side.wait_stream(main)")},
    ),
    "a statement of several lines": (
        """\
        x = torch.ones(64, device="cuda")
        with torch.cuda.stream(side):
            y = torch.add(
                x,
                x * 2,
            )
        """,
        {(4, 6), (4, 8)},
        {("before", 6, "side.wait_stream(main)")},
    ),
    "the head of a loop": (
        """\
        x = torch.zeros(4, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            x += 1
        while x.sum().item() < 0:
            pass
        """,
        {(7, 8)},
        {("after", 7, "main.wait_stream(side)")},
    ),
    "attributes, and an if statement in one line": (
        """\
        class Net:
            def __init__(self):
                self.copies = torch.cuda.Stream()
                self.weight = torch.ones(4, device="cuda")

            def run(self):
                with torch.cuda.stream(self.copies): out = self.weight * 2
                if True: return out
                else: pass
        Net().run()
        """,
        {(7, 10)},
        {("before", 10, "self.copies.wait_stream(main)")},
    ),
    "two devices": (
        """\
        x = torch.ones(64, device="cuda:0")
        with torch.cuda.stream(side):
            y = x.to("cuda:1", non_blocking=True)
        """,
        {(4, 6)},
        {("before", 6, "side.wait_stream(main)")},
    ),
    "the current stream of another device": (
        """\
        one = torch.cuda.Stream("cuda:1")
        with torch.cuda.stream(one):
            x = torch.ones(64, device="cuda:1")
        x.add_(1)
        with torch.cuda.stream(one): y = x * 2
        """,
        {(6, 7), (7, 8)},
        {
            ("before", 7, "torch.cuda.current_stream(1).wait_stream(one)"),
            ("before", 8, "one.wait_stream(torch.cuda.default_stream(1))"),
        },
    ),
    "a call in the statement makes the earlier access": (
        """\
        x = torch.ones(64, device="cuda")
        torch.cuda.synchronize()
        def double(x):
            with torch.cuda.stream(side):
                y = x * 2
            return y
        z = double(x) + 1
        """,
        {(8, 10)},
        {("after", 8, "main.wait_stream(side)")},
    ),
    "a module that was called before": (
        """\
        x = torch.ones(64, device="cuda")
        torch.cuda.synchronize()
        class Net(torch.nn.Module):
            def forward(self, x):
                with torch.cuda.stream(side):
                    y = x * 2
                return y
        net = Net()
        y = net(x)
        z = torch.add(
            net(x),
            1,
        )
        """,
        {(9, 13)},
        {("after", 9, "main.wait_stream(side)")},
    ),
    "a copy to the host, in a call of the statement and in a loop": (
        """\
        x, host = torch.ones(64, device="cuda"), torch.zeros(64).pin_memory()
        while host.sum().item() < 64:
            host.copy_(x, non_blocking=True)
        """,
        {(6, 5)},
        {("after", 6, "main.synchronize()")},
    ),
    "a lambda": (
        """\
        x = torch.ones(64, device="cuda")
        torch.cuda.synchronize()
        read = lambda: y + 1
        with torch.cuda.stream(side):
            y = x * 2
        z = read()
        """,
        {(8, 6)},
        {("after", 8, "main.wait_stream(side)")},
    ),
    "decorators and a default": (
        """\
        x = torch.ones(64, device="cuda")
        torch.cuda.synchronize()
        def mark(value): return lambda function: function
        with torch.cuda.stream(side):
            y = x * 2
        @mark(1)
        @mark(y + 1)
        def f(a=y + 2): pass
        """,
        {(8, 10), (8, 11)},
        {("before", 9, "main.wait_stream(side)")},
    ),
    "an except clause in one line": (
        """\
        x = torch.ones(64, device="cuda")
        torch.cuda.synchronize()
        try:
            with torch.cuda.stream(side):
                y = x * 2
            raise ValueError
        except ValueError: z = y + 1
        """,
        {(8, 10)},
        {("after", 8, "main.wait_stream(side)")},
    ),
    "a variable that its statement replaces": (
        """\
        x = torch.ones(64, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            x = x * 2
        z = torch.zeros(64, device="cuda")
        """,
        {(7, 8)},
        {("before", 7, "x.record_stream(side)")},
    ),
    "two variables that their statement replaces": (
        """\
        x, y = torch.ones(64, device="cuda"), torch.ones(64, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            x, y = x * 2, y * 2
        z = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
        """,
        {(7, 8)},
        {("before", 7, "x.record_stream(side)"), ("before", 7, "y.record_stream(side)")},
    ),
    "a variable of a comprehension": (
        """\
        parts = [torch.ones(64, device="cuda") for _ in range(2)]
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            sums = [part * 2 for part in parts]
        del parts
        z = torch.zeros(64, device="cuda")
        """,
        {(7, 9)},
        {("before", 9, "main.wait_stream(side)")},
    ),
    "items of a list": (
        """\
        parts, sums = [torch.ones(64, device="cuda") for _ in range(2)], []
        torch.cuda.synchronize()
        for i in range(2):
            with torch.cuda.stream(side):
                sums.append(parts[i] * 2)
        del parts
        z = torch.zeros(64, device="cuda")
        """,
        {(8, 10)},
        {("after", 8, "parts[i].record_stream(side)")},
    ),
    "a graph's launch": (
        """\
        x = torch.zeros(64, device="cuda")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x * 2
        x.fill_(3)
        with torch.cuda.stream(side):
            graph.replay()
        """,
        {(9, 11)},  # the later one was captured in line 8
        {("before", 11, "side.wait_stream(main)")},
    ),
}


@pytest.mark.parametrize("name", ZOO)
def test_races_are_found_and_the_edits_order_them(programs, name):
    body, lines, edits = ZOO[name]
    text = BEGIN + textwrap.dedent(body)
    found, _ = programs.run(text)
    assert lines_of(found) == lines
    assert edits_of(found) == edits
    assert found.verified and all(race.count > 0 for race in found.races)
    again, _ = programs.run(edited(text, found.edits))
    assert again.races == () and str(again) == "no race was found"
    with machine(devices=2, races="error"):
        runpy.run_path(programs.write(edited(text, found.edits)), run_name="__main__")


@pytest.mark.parametrize("name", ZOO)
def test_no_edit_can_be_left_out(programs, name):
    text = BEGIN + textwrap.dedent(ZOO[name][0])
    found, _ = programs.run(text)
    for edit in found.edits:
        rest = [each for each in found.edits if each is not edit]
        with machine(devices=2, races="error"), pytest.raises(RaceError):
            runpy.run_path(programs.write(edited(text, rest)), run_name="__main__")


UNVERIFIED = {
    "def f(x):\n    with torch.cuda.stream(side):\n        return x * 2\nz = f(x) + 1\n": "main.wait_stream(side)",
    "def copied(x):\n    return x.to('cpu', non_blocking=True)\nprint(copied(x).tolist())\n": "main.synchronize()",
}


@pytest.mark.parametrize("body", UNVERIFIED)
def test_an_edit_before_a_statement_that_makes_both_accesses_is_not_verified(programs, body):
    text = BEGIN + "x = torch.ones(8, device='cuda')\ntorch.cuda.synchronize()\n" + body
    found, path = programs.run(text)
    line = len(text.splitlines())
    assert [str(edit) for edit in found.edits] == [f"before {path}:{line}: {UNVERIFIED[body]}"]
    assert not found.verified and "this edit orders them (not verified):" in str(found)


def test_default_streams_of_two_devices_are_told_apart(programs):
    text = BEGIN + "x, y = torch.ones(8, device='cuda'), torch.ones(8, device='cuda:1')\n"
    found, _ = programs.run(text + "with torch.cuda.stream(torch.cuda.Stream('cuda:1')):\n    y.copy_(x)\n")
    assert [race.why for race in found.races] == [
        "the default stream of cuda:0 has not waited for the default stream of cuda:1"
    ]


RACE = BEGIN + 'x = torch.ones(8, device="cuda")\nwith torch.cuda.stream(side):\n    y = x * 2{}\n'


def test_the_fields_of_a_race(programs):
    found, path = programs.run(RACE.format("").replace("8", "4, 2"))
    (race,) = found.races
    assert (race.older.site, race.newer.site) == race.lines == (f"{path}:4", f"{path}:6")
    assert (race.newer.name, race.newer.shape, race.newer.dtype) == ("x", (8,), "float32")
    assert (race.older.name, race.older.verb, race.newer.verb) == ("x", "writes", "reads")
    assert race.newer.made_at == f"{path}:3" and race.older.made_at == ""
    assert race.high - race.low == 32 and race.count == 1
    assert "has not waited for the default stream" in race.why
    text = str(found)
    assert f"race 1: {path}:4 and {path}:6 (1 time)" in text and "y = x * 2" in text
    assert "checked by a replay of" in text


def test_an_event_recorded_too_early_is_the_reason(programs):
    found, path = programs.run(BEGIN + textwrap.dedent(ZOO["an event that was recorded too early"][0]))
    assert f"last waited for the default stream at {path}:8" in found.races[0].why


def test_memory_that_is_fresh_says_so(programs):
    text = 'x = torch.empty(8, device="cuda")\nwith torch.cuda.stream(side):\n    x.fill_(1)\n'
    found, _ = programs.run(BEGIN + text)
    assert "the bytes are fresh from the driver" in found.races[0].why
    assert edits_of(found) == {("before", 6, "side.wait_stream(main)")}


OWNED = """
class Loader:
    def __init__(self):
        self.stream, self.x = torch.cuda.Stream(), torch.ones(8, device="cuda")
        torch.cuda.synchronize()

    def written(self):
        with torch.cuda.stream(self.stream):
            return self.x.add_(1)

def total(loader):
    {}
    torch.cuda.synchronize()

total(Loader())
"""


def test_a_stream_may_be_an_attribute_of_a_variable(programs):
    text = BEGIN + OWNED.format("x = loader.written()\n    y = x * 2")
    found, _ = programs.run(text)
    assert edits_of(found) == {("before", 16, "main.wait_stream(loader.stream)")} and found.verified
    assert programs.run(edited(text, found.edits))[0].races == ()


def test_an_edit_says_which_stream_has_no_name_at_its_line(programs):
    text = BEGIN.replace("side", "made") + (
        "class Loader:\n"
        "    def __iter__(self):\n"
        "        self.stream = torch.cuda.Stream()\n"
        "        with torch.cuda.stream(self.stream):\n"
        "            batch = torch.ones(8, device='cuda')\n"
        "        yield batch\n"
        "for batch in Loader():\n"
        "    total = batch.sum()\n"
    )
    found, path = programs.run(text)
    (edit,), line = found.edits, text.splitlines().index("    total = batch.sum()") + 1
    placeholder = edit.statement[len("main.wait_stream(") : -1]
    assert edit.site == f"{path}:{line}" and re.fullmatch(r"<stream \d+>", placeholder)
    assert edit.note == f"{placeholder}: made at {path}:{line - 5}, self.stream at {path}:{line - 3}"
    assert not found.verified and edit.note in str(found)


def test_a_line_before_a_comprehension_runs_once(programs):
    body = "kept = loader.written()\n    y = [loader.written() * 2 for _ in range(1)]"
    found, _ = programs.run(BEGIN + OWNED.format(body))
    assert edits_of(found) == {("before", 16, "main.wait_stream(loader.stream)")} and not found.verified
    assert "(not verified)" in str(found)


def test_a_race_error_has_the_fields_too(programs):
    with machine(races="error"):
        x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
        with torch.cuda.stream(side), pytest.raises(RaceError) as caught:
            x + 1
    error = caught.value
    assert error.high - error.low == 16 and error.accesses[0].made_at == side.made_at
    assert error.accesses[0].shape == (4,) and error.accesses[0].dtype == "float32"




def test_a_comment_suppresses_the_races_of_its_line(programs):
    found, _ = programs.run(RACE.format("  # flambeau: allow-race (a benchmark)"))
    assert (found.races, found.edits, found.suppressed) == ((), (), 1)
    assert str(found) == "no race was found, 1 suppressed"
    assert programs.run(RACE.format("; said = 'flambeau: allow-race'"))[0].suppressed == 0


@pytest.mark.parametrize(
    ("places", "suppressed"),
    [
        *(("p1.py", 1), ("p1.py:6", 1), ("./p1.py:6", 1), ("p1.py:4 p1.py:6", 1), ("p1.py:6 p1.py:4  # why", 1)),
        *(("p1.py:5", 0), ("1.py", 0)),
    ],
)
def test_a_file_suppresses_races(programs, places, suppressed):
    path, listed = programs.write(RACE.format("")), programs.folder / "allowed"
    listed.write_text(f"# known\n\n{places}\n")
    with machine(devices=2, races="real"), check(suppress=str(listed)) as found:
        runpy.run_path(path)
    assert (found.suppressed, len(found.races)) == (suppressed, 1 - suppressed)


def test_a_file_of_suppressions_is_checked(programs):
    listed = programs.folder / "allowed"
    listed.write_text("a.py b.py c.py\n")
    with pytest.raises(ArgumentError, match="allowed:1: .* has 3"), check(suppress=str(listed)):
        raise AssertionError
    with pytest.raises(ArgumentError, match="cannot be read"), check(suppress=str(programs.folder / "none")):
        raise AssertionError


def test_one_check_at_a_time():
    with check(), pytest.raises(ArgumentError, match="another check"), check():
        raise AssertionError
    with pytest.raises(ArgumentError, match="'rael'"), check(races="rael"):
        raise AssertionError


def test_machines_that_start_inside_take_the_mode(programs):
    path = programs.write(RACE.format("") + "torch.cuda.synchronize()\nresult = y.tolist()\n")
    with check() as found, machine(races="poison"):
        result = runpy.run_path(path)["result"]
    assert result == [2.0] * 8 and len(found.races) == 1
    with check(races="poison") as found, machine():
        assert runpy.run_path(path)["result"] != [2.0] * 8
    assert len(found.races) == 1


def test_races_of_the_same_lines_on_other_streams_and_machines_are_one(programs):
    text = BEGIN + textwrap.dedent(ZOO["streams made in a loop"][0])
    path = programs.write(text)
    with check() as found:
        for _ in range(2):
            with machine():
                runpy.run_path(path)
    (race,) = found.races
    assert race.count == 6 and [edit.statement for edit in found.edits] == ["worker.wait_stream(main)"]


def test_the_report_is_there_when_the_program_fails(programs):
    path = programs.write(RACE.format("") + "raise KeyError('lost')\n")
    with machine(), pytest.raises(KeyError), check() as found:
        runpy.run_path(path)
    assert len(found.races) == 1 and found.verified


def test_a_record_that_is_full_says_so(programs, monkeypatch):
    monkeypatch.setattr(race_report, "MAX_ENTRIES", 3)
    found, _ = programs.run(RACE.format(""))
    assert not found.verified and "the first 3 entries" in str(found) and "not verified" in str(found)


def test_kinds_of_races_beyond_a_limit_are_counted(programs, monkeypatch):
    monkeypatch.setattr(race_report, "MAX_KINDS", 1)
    found, _ = programs.run(RACE.format("") + "z = y + 1\n")
    assert len(found.races) == 1 and not found.verified and "1 kinds are kept" in str(found)


def test_names_of_variables_keep_nothing_alive(programs):
    """The frame's dictionary of variables, read for their names, must not delay the free of a tensor."""
    text = BEGIN + textwrap.dedent(
        """\
        def step():
            batch = torch.ones(4096, device="cuda")
            total = batch * 2
            del batch
            return torch.cuda.memory_allocated(), total
        size = step()[0]
        """
    )
    path = programs.write(text)
    with machine(races="real"), check():
        assert runpy.run_path(path)["size"] == 4096 * 4


MANY = """
import flambeau as torch
a, b, c, d, e, f = (torch.ones(8, 8, device="cuda") for _ in range(6))
side = torch.cuda.Stream()
torch.cuda.synchronize()
def call(): {indent}
for step in range(2):
    {call}
    with torch.cuda.stream(side):
        {other}
    torch.cuda.synchronize()
"""


@pytest.mark.parametrize(
    ("call", "other", "name"),
    [
        ("torch._foreach_mul_([a, b], 2)", "b.add_(1)", "b"),
        ("torch._foreach_mul_([a, b, c, d, e, f], 2)", "d.add_(1)", "d"),
        ("list(map(torch.Tensor.zero_, (a, b)))", "b.add_(1)", "b"),
        ("torch.linalg.multi_dot([a, b, c])", "c.add_(1)", "c"),
        ("torch.linalg.multi_dot([a, b, c])", "a.add_(1)", "a"),
    ],
)
def test_each_kernel_of_a_call_has_the_names_of_its_operands(programs, call, other, name):
    for indent, line in (("pass", call), (call, "call()")):  # in the module, and in a function
        text = MANY.format(indent=indent, call=line, other=other)
        found, _ = programs.run(text)
        older = {race.older.name for race in found.races if race.older.operator.split()[0] != "add"}
        assert older == {name}, (text, found.races)


def test_json_and_sarif(programs):
    found, path = programs.run(RACE.format(""))
    data = found.to_json()
    assert data["races"][0]["newer"]["site"] == f"{path}:6" and data["verified"] is True
    assert data["edits"] == [{"where": "before", "site": f"{path}:6", "statement": "side.wait_stream(main)"}]
    log = found.to_sarif()
    (result,) = log["runs"][0]["results"]
    assert log["version"] == "2.1.0" and result["occurrenceCount"] == 1
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": path}, "region": {"startLine": 6}}
    assert "side.wait_stream(main)" in result["message"]["text"]


def test_launches_are_watched_once_a_thread_starts_that_lacks_its_parents_stream():
    def launch():
        torch.ones(2, device="cuda")

    def starts_watching():
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
        return hooks.on_launch is not None

    with machine(devices=1, races="real"), check() as found:
        launch()
        assert not starts_watching()
        with torch.cuda.stream(torch.cuda.Stream(name="side")):
            assert starts_watching() and starts_watching()
    assert hooks.on_launch is None
    assert len(found.mistakes) == 2 and all("'side'" in each.text for each in found.mistakes)
