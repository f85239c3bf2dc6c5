"""The program's own list of classes and functions that files may contain."""

import collections
import functools
import io

import pytest

import flambeau as torch
from flambeau.core.tensor import new_tensor_of
from flambeau.errors import ArgumentError, ArgumentTypeError
from flambeau.serialization import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    safe_globals,
)
from flambeau.serialization.unpickler import UnpicklingError
from tests.serialization.reading import again

Point = collections.namedtuple("Point", "x y")


class Plain:
    def __init__(self, value):
        self.value = value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class WithState(Plain):
    def __getstate__(self):
        return {"twice": self.value * 2}

    def __setstate__(self, state):
        self.value = state["twice"] // 2


class Failing:
    def __init__(self, value=1):
        self.value = value

    def __setstate__(self, state):
        raise KeyError("no such state")


class Words(list):
    pass


class Table(dict):
    pass


class Unique(set):
    pass


class Sub(torch.Tensor):
    pass


def double(value):
    return value * 2


@pytest.fixture(autouse=True)
def _no_list():
    clear_safe_globals()
    yield
    clear_safe_globals()


@pytest.mark.parametrize("cls", [Plain, Slotted, WithState])
def test_objects_of_listed_classes_are_loaded(cls):
    with pytest.raises(UnpicklingError, match=rf"{cls.__name__} is not one of the names"):
        again([cls(3)])
    add_safe_globals([cls])
    (found,) = again([cls(3)])
    assert type(found) is cls and found.value == 3


def test_containers_of_listed_classes_are_filled():
    value = [
        Words("ab"),
        Table(a=1),
        Unique("a"),
        Point(1, 2),
        collections.deque([1, 2], 5),
        collections.defaultdict(list, {1: [2]}),
        collections.ChainMap({1: 2}),
    ]
    add_safe_globals([type(each) for each in value] + [list])
    found = again(value)
    assert found == value and [type(each) for each in found] == [type(each) for each in value]


def test_functions_are_loaded_by_name():
    add_safe_globals([double])
    assert again({"fn": double})["fn"] is double


def test_a_pair_gives_the_name_in_the_file():
    file = io.BytesIO()
    torch.save(Plain(3), file)
    add_safe_globals([(Slotted, f"{Plain.__module__}.Plain")])
    file.seek(0)
    with pytest.raises(UnpicklingError, match="Slotted raised"):
        torch.load(file)
    clear_safe_globals()
    add_safe_globals([(Words, f"{Plain.__module__}.Plain")])
    file.seek(0)
    found = torch.load(file)
    assert type(found) is Words and found.value == 3


def test_tensors_of_a_listed_class_are_loaded():
    plain = torch.arange(3.0)
    x = new_tensor_of(Sub, plain._storage, plain._layout, plain._offset)
    x.note = "kept"
    with pytest.raises(UnpicklingError, match="Sub"):
        again([x, plain])
    add_safe_globals([Sub])
    found, other = again([x, plain])
    assert type(found) is Sub and found.tolist() == [0, 1, 2] and found.note == "kept"
    assert found.untyped_storage() == other.untyped_storage()


def test_what_a_listed_class_raises_is_told():
    add_safe_globals([Failing])
    with pytest.raises(UnpicklingError, match=r"Failing raised KeyError: 'no such state'") as caught:
        again(Failing())
    assert isinstance(caught.value.__cause__, KeyError)


def test_the_names_that_would_be_refused_are_listed(tmp_path):
    value = [Plain(Words("a")), Table(a=torch.ones(2)), Unique("b"), {Point(1, 2): double}, torch.nn.ReLU(), {(1,): 2}]
    path = tmp_path / "file.pt"
    torch.save(value, path)
    here = __name__
    names = [f"{here}.{name}" for name in ("Plain", "Words", "Table", "Unique", "Point", "double")]
    assert get_unsafe_globals_in_checkpoint(path) == [*names, "flambeau.nn.activation.ReLU"]
    add_safe_globals([Plain, Words, Table, torch.nn.ReLU])
    assert get_unsafe_globals_in_checkpoint(path) == names[3:]
    add_safe_globals([Unique, Point, double])
    assert get_unsafe_globals_in_checkpoint(path) == []
    assert torch.load(path)[1]["a"].tolist() == [1, 1]


def test_names_are_listed_of_files_alone():
    with pytest.raises(ValueError, match="damaged"):
        get_unsafe_globals_in_checkpoint(io.BytesIO(b"other"))
    with pytest.raises(AttributeError, match="get_unsafe_globals_in_checkpoint: f must be"):
        get_unsafe_globals_in_checkpoint(3)


def test_the_list_is_kept_in_order_and_without_repetitions():
    add_safe_globals([Plain, (Words, "a.B")])
    add_safe_globals([Plain, Slotted])
    assert get_safe_globals() == [Plain, (Words, "a.B"), Slotted]
    get_safe_globals().clear()
    assert len(get_safe_globals()) == 3
    clear_safe_globals()
    assert get_safe_globals() == []


def test_a_context_adds_and_restores():
    add_safe_globals([Plain])
    with safe_globals([Plain, Slotted]):
        assert get_safe_globals() == [Plain, Slotted]
        with safe_globals([Words]):
            assert get_safe_globals() == [Plain, Slotted, Words]
        assert get_safe_globals() == [Plain, Slotted]
    assert get_safe_globals() == [Plain]
    with pytest.raises(ZeroDivisionError), safe_globals([Words]):
        raise ZeroDivisionError
    assert get_safe_globals() == [Plain]


@pytest.mark.parametrize("add", [add_safe_globals, safe_globals])
@pytest.mark.parametrize(
    ("entries", "error", "fact"),
    [
        (Plain, ArgumentTypeError, "expected a list, got type Plain"),
        ("Plain", ArgumentTypeError, "expected a list, got 'Plain'"),
        (3, ArgumentTypeError, "expected a list, got 3"),
        ([Slotted, "Plain"], ArgumentTypeError, "entry 1 cannot be called: 'Plain'"),
        ([(Plain, 3)], ArgumentError, "entry 0 is"),
        ([(Plain,)], ArgumentError, "entry 0 is"),
        ([functools.partial(double)], ArgumentError, "entry 0 has no name"),
    ],
)
def test_wrong_entries_are_errors_and_nothing_is_added(add, entries, error, fact):
    with pytest.raises(error) as caught:
        add(entries)
    assert str(caught.value).startswith(f"{add.__name__}: {fact}") and caught.value.hint and get_safe_globals() == []
