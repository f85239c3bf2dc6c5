"""Pickles as they are written: Python's own unpickler reads those without tensors."""

import collections
import copyreg
import datetime
import enum
import functools
import pickle
import pickletools
import threading
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as torch
from flambeau.errors import ArgumentTypeError
from flambeau.serialization.pickler import Pickler, PicklingError, StorageTypeError

Point = collections.namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left, self.right = left, right

    def __eq__(self, other):
        return (self.left, self.right) == (other.left, other.right)


class Named:
    """Made with keyword arguments alone."""

    def __new__(cls, *, name):
        made = super().__new__(cls)
        made.name = name
        return made

    def __getnewargs_ex__(self):
        return (), {"name": self.name}

    def __eq__(self, other):
        return self.name == other.name


class Words(list):
    def __init__(self, *args):
        super().__init__(*args)
        self.language = "en"


class Outer:
    class Inner:
        pass


class Reduced:
    """Reduces to what a test says."""

    def __init__(self, to):
        self.to = to

    def __reduce_ex__(self, protocol):
        return self.to


def dumped(value):
    return Pickler().dump(value)


def again(value):
    return pickle.loads(dumped(value))


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda parts: (
        st.lists(parts)
        | st.tuples(parts)
        | st.lists(parts).map(tuple)
        | st.dictionaries(st.text() | st.integers(), parts)
        | st.sets(st.integers() | st.text())
        | st.frozensets(st.binary())
        | st.binary().map(bytearray)
    ),
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(plain)
def test_values_come_back_by_python_s_own_unpickler(value):
    found = again(value)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("value", [0, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -1, -(2**31), -(2**31) - 1, 2**3000])
def test_integers_of_every_size(value):
    assert again(value) == value


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 999, 1000, 1001, 2500])
def test_containers_of_every_size(count):
    for value in (list(range(count)), tuple(range(count)), dict.fromkeys(range(count)), set(range(count))):
        assert again(value) == value


@pytest.mark.parametrize(
    "value",
    [
        Point(1, [2]),
        Colour.RED,
        Slotted(1, 2),
        Named(name="n"),
        collections.deque([1, 2], 5),
        Fraction(1, 3),
        collections.OrderedDict(b=1, a=2),
        collections.Counter("aab"),
        collections.defaultdict(list, {1: [2]}),
        datetime.datetime(2026, 1, 2, 3),
        range(3),
        len,
        functools.partial(int, base=2).func,
        Point,
        collections.Counter,
    ],
)
def test_objects_come_back_by_the_names_of_their_classes(value):
    assert again(value) == value


def test_attributes_of_containers_come_back():
    words = Words(["a", "b"])
    words.language = "fr"
    found = again(words)
    assert type(found) is Words and found == ["a", "b"] and found.language == "fr"


def test_a_reducer_that_was_registered_is_used(monkeypatch):
    monkeypatch.setitem(copyreg.dispatch_table, Slotted, lambda value: (Point, (value.left, value.right)))
    assert again(Slotted(3, 4)) == Point(3, 4)


def test_identity_and_cycles_are_kept():
    shared = ["shared"]
    found = again([shared, shared, (shared,)])
    assert found[0] is found[1] is found[2][0]
    loop = []
    loop.append(loop)
    found = again(loop)
    assert found[0] is found
    inside = []
    pair = (1, inside)
    inside.append(pair)
    found = again(pair)
    assert found[1][0] is found
    long = (1, 2, 3, 4, inside := [])
    inside.append(long)
    found = again(long)
    assert found[4][0] is found


@pytest.mark.slow
def test_depth_has_no_limit():
    value = []
    for _ in range(100_000):
        value = [value]
    found, depth = again(value), 0
    while found:
        found, depth = found[0], depth + 1
    assert depth == 100_000


def test_opcodes_are_those_that_pytorch_reads():
    data = dumped([{"a": (1, 2.5)}, {1}, b"bytes", torch.Size([1]), torch.float32, torch.nn.Parameter(torch.ones(2))])
    found = {opcode.name for opcode, _, _ in pickletools.genops(data)}
    assert found <= {
        "PROTO",
        "EMPTY_LIST",
        "BINPUT",
        "MARK",
        "EMPTY_DICT",
        "BINUNICODE",
        "BININT1",
        "BINFLOAT",
        "TUPLE2",
        "SETITEMS",
        "GLOBAL",
        "APPENDS",
        "TUPLE1",
        "REDUCE",
        "BINGET",
        "TUPLE",
        "BINPERSID",
        "NEWFALSE",
        "NEWTRUE",
        "EMPTY_TUPLE",
        "STOP",
    }
    names = {name for opcode, name, _ in pickletools.genops(data) if opcode.name == "GLOBAL"}
    assert not [name for name in names if name.startswith("flambeau")]


def test_a_storage_is_referred_to_once_with_all_of_its_bytes():
    x = torch.arange(6.0)
    pickler = Pickler()
    pickler.dump([x[2:3], x, x.view(2, 3).t(), torch.ones(1)])
    assert [stored.nbytes for stored in pickler.storages] == [24, 4] and pickler.storages[0].storage is x._storage


def test_views_of_different_types_are_refused_as_in_pytorch():
    x = torch.arange(4.0)
    for other in (x.view(torch.int32), x.untyped_storage()):
        with pytest.raises(
            StorageTypeError, match="save: Cannot save multiple tensors or storages that view"
        ) as caught:
            dumped([x, other])
        assert isinstance(caught.value, RuntimeError) and "float32" in str(caught.value)
    empty = torch.empty(0)
    dumped([empty, empty.view(torch.int32)])


class TestRefused:
    """The error for an object that cannot be saved names it and its position."""

    @pytest.mark.parametrize(
        ("value", "place", "fact"),
        [
            ({"a": [1, lambda: 0]}, "object['a'][1]", "<lambda>"),
            ([threading.Lock()], "object[0]", "cannot pickle '_thread.lock' object"),
            (({1: (iter([]) for _ in "a")},), "object[0][1]", "generator"),
            ([Words([len, pytest])], "object[0][1]", "module"),
            ([Outer, type("Lost", (), {})], "object[1]", "Lost"),
            ([Reduced("nothing")], "object[0]", "'nothing'"),
            ([Reduced((len,))], "object[0]", "__reduce_ex__"),
            ([Reduced((len, [1]))], "object[0]", "__reduce_ex__"),
            ([Reduced((len, (), None, None, None, len))], "object[0]", "__reduce_ex__"),
        ],
    )
    def test_objects(self, value, place, fact):
        with pytest.raises(PicklingError) as caught:
            dumped(value)
        text = str(caught.value)
        assert text.startswith("save: cannot store a ") and f" at {place}: " in text and fact in text
        assert isinstance(caught.value, ArgumentTypeError) and isinstance(caught.value, pickle.PicklingError)

    def test_attributes(self):
        net = torch.nn.Sequential(torch.nn.ReLU())
        net[0].call = lambda: 0
        with pytest.raises(PicklingError, match=r"object\.__dict__\['_modules'\]\['0'\]\.__dict__\['call'\]"):
            dumped(net)

    def test_errors_of_the_object_itself_are_its_own(self):
        class Odd:
            def __reduce_ex__(self, protocol):
                raise KeyError("odd")

        with pytest.raises(KeyError, match="odd"):
            dumped([Odd()])


def test_nested_names_are_found():
    assert b"Outer.Inner\n" in dumped(Outer.Inner)
