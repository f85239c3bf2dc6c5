"""The names that files may contain, and those that the program lists: every argument of their calls is checked."""

import collections
import functools
import io
import itertools
from collections import OrderedDict

import numpy as np
import pytest

import flambeau as torch
from flambeau.core.tensor import new_tensor_of
from flambeau.errors import ArgumentError, ArgumentTypeError, FileFormatError
from flambeau.serialization import (
    add_safe_globals,
    archive,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    safe_globals,
)
from flambeau.serialization.pickler import Global, Pickler
from flambeau.serialization.unpickler import UnpicklingError
from tests.serialization.reading import again, refused

UTILS, WITH_STATE = "torch._utils", "torch._tensor._rebuild_from_type_v2"


class Call:
    """A call in a pickle; state: what BUILD sets."""

    def __init__(self, name, *args, state=None):
        self.parts = (Global(*name.rsplit(".", 1)), args, *([state] if state is not None else []))

    def __reduce_ex__(self, protocol):
        return self.parts


def loaded(value, records=()):
    """Load a pickle whose storages are saved as records."""
    pickler, file = Pickler(), io.BytesIO()
    data = pickler.dump(value)
    writer = archive.Writer(file)
    writer.add("data.pkl", data)
    writer.add("version", b"3\n")
    for key, (storage, nbytes) in enumerate(pickler.storages):
        writer.add(f"data/{key}", storage.array()[:nbytes])
    for name, record in dict(records).items():
        writer.add(name, record)
    writer.close()
    file.seek(0)
    return torch.load(file)


def unreadable(value, *facts):
    refused(lambda: loaded(value), FileFormatError, *facts)


def storage():
    return torch.arange(6.0).untyped_storage()


def tensor(offset=0, shape=(2, 3), strides=(3, 1), grad=False, hooks=None, kind=torch.float32, metadata=None, of=None):
    hooks = OrderedDict() if hooks is None else hooks
    rest = () if metadata is None else (metadata,)
    of = storage() if of is None else of
    return Call(f"{UTILS}._rebuild_tensor_v3", of, offset, shape, strides, grad, hooks, kind, *rest)


def test_a_tensor_is_made():
    found = loaded(tensor())
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]] and found.dtype is torch.float32
    assert loaded(tensor(shape=(2, 4), strides=(0, 1))).tolist() == [[0, 1, 2, 3]] * 2
    assert loaded(tensor(offset=6, shape=(0, 9), strides=(9, 1))).shape == (0, 9)
    assert loaded(tensor(shape=[2], strides=[1], metadata={})).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("changed", "fact"),
    [
        ({"shape": (-2, 3)}, "[-2, 3]"),
        ({"strides": (-3, 1)}, "[-3, 1]"),
        ({"offset": -1}, "offset -1"),
        ({"shape": (3, 3)}, "36 bytes of 24"),
        ({"strides": (4, 1)}, "28 bytes of 24"),
        ({"offset": 1}, "28 bytes of 24"),
        ({"kind": torch.float64}, "48 bytes of 24"),
        ({"shape": (2,)}, "1 sizes and 2 strides"),
        ({"shape": (2, 2**70), "strides": (0, 0)}, "integers from 0"),
        ({"shape": (2.0, 3)}, "integers from 0"),
        ({"shape": (True, 3)}, "integers from 0"),
        ({"shape": 6}, "int"),
        ({"strides": None}, "strides None"),
        ({"offset": None}, "None"),
        ({"shape": (1,) * 65, "strides": (1,) * 65}, "65 sizes"),
        ({"shape": (2**40, 2**40), "strides": (0, 0)}, "extent"),
        ({"shape": (1,), "strides": (2**59,)}, "extent"),
        ({"shape": (0, 2**40, 2**40), "strides": (1, 1, 1)}, "extent"),
        ({"shape": (1,) * 10**4}, "tuple"),
        ({"grad": 1}, "requires_grad is 1"),
        ({"grad": True, "kind": torch.int32}, "requires_grad is True"),
        ({"hooks": OrderedDict([(1, 2)])}, "hooks"),
        ({"hooks": {}}, "hooks"),
        ({"kind": "float32"}, "of type 'float32'"),
        ({"metadata": {"conj": True}}, "metadata"),
        ({"metadata": np.zeros(2)}, "metadata"),
        ({"of": [1]}, "list"),
        ({"of": b"bytes"}, "bytes"),
        ({"shape": np.zeros(2)}, "ndarray"),
        ({"offset": np.zeros(2)}, "offset"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_layouts_that_do_not_fit_are_refused(changed, fact):
    unreadable([tensor(**changed)], fact)


def test_a_storage_without_a_type_needs_one():
    unreadable(Call(f"{UTILS}._rebuild_tensor_v2", storage(), 0, (1,), (1,), False, OrderedDict()), "without a type")


@pytest.mark.parametrize(
    "reference",
    [
        None,
        ("storage",),
        ("module", 1, 2, 3, 4),
        ("storage", torch.float32, "0", "cpu", 6),
        ("storage", Global("torch", "FloatStorage"), 0, "cpu", 6),
        ("storage", Global("torch", "FloatStorage"), "0", 0, 6),
        ("storage", Global("torch", "FloatStorage"), "0", "cpu", -6),
        (np.zeros(3), Global("torch", "FloatStorage"), "0", "cpu", 6),
        ("storage", Global("torch", "FloatStorage"), "0", "cpu", 2**62),
        ("storage", Global("torch", "FloatStorage"), "0", "cpu", "6"),
        ["storage", Global("torch", "FloatStorage"), "0", "cpu", 6],
    ],
    ids=lambda value: str(value)[:60],
)
def test_persistent_ids_that_are_no_storages_are_refused(reference, monkeypatch):
    monkeypatch.setattr("flambeau.serialization.pickler.pickle.STOP", b"Q.")
    unreadable(reference, "BINPERSID")


def persistent(*references):
    """A pickle with a list of storages that are referred to."""
    return b"\x80\x02]" + b"".join(Pickler().dump(each)[2:-1] + b"Qa" for each in references) + b"."


def reference(kind="FloatStorage", key="0", location="cpu", count=2):
    return ("storage", Global("torch", kind), key, location, count)


@pytest.mark.parametrize(
    ("references", "fact"),
    [
        ([reference(count=3)], "has 8 bytes, and its storage 12"),
        ([reference(count=1)], "has 8 bytes, and its storage 4"),
        ([reference(key="1")], "no record 'data/1'"),
        ([reference(key="../data.pkl")], "no record"),
        ([reference(), reference(kind="IntStorage")], "is referred to with two"),
        ([reference(), reference(location="cuda:0")], "is referred to with two"),
        ([reference(location="mps")], "'mps'"),
        ([reference(location="cuda:" + "9" * 100)], "cuda:999"),
    ],
)
def test_storages_that_are_not_as_they_are_referred_to_are_refused(references, fact):
    file = io.BytesIO()
    writer = archive.Writer(file)
    for name, data in {"data.pkl": persistent(*references), "version": b"3\n", "data/0": bytes(8)}.items():
        writer.add(name, data)
    writer.close()
    file.seek(0)
    with pytest.raises(RuntimeError, match="load: ") as caught:
        torch.load(file)
    assert fact in str(caught.value) and caught.value.hint


@pytest.mark.parametrize(
    ("call", "fact"),
    [
        (Call("torch._utils._rebuild_parameter", [1], True, OrderedDict()), "Parameter of a list"),
        (Call("torch._utils._rebuild_parameter", torch.ones(1), 2, OrderedDict()), "requires_grad is 2"),
        (Call("torch._utils._rebuild_parameter", torch.tensor([1]), True, OrderedDict()), "requires_grad is True"),
        (Call("torch._utils._rebuild_parameter", torch.ones(1)), "takes 3 to 4 arguments, not 1"),
        (Call("torch._utils._rebuild_parameter_with_state", torch.ones(1), True, OrderedDict(), [1]), "dictionary"),
        (
            Call("torch._utils._rebuild_parameter_with_state", torch.ones(1), True, OrderedDict(), {"backward": 1}),
            "backward",
        ),
        (Call(WITH_STATE, set, torch.Tensor, (), {}), "builtins.set makes"),
        (Call(WITH_STATE, 3, torch.Tensor, (), {}), "3 makes"),
        (Call(WITH_STATE, Global(*WITH_STATE.rsplit(".", 1)), torch.Tensor, (), {}), "_rebuild_from_type_v2 makes"),
        (Call(WITH_STATE, Global(UTILS, "_rebuild_tensor_v3"), set, tensor().parts[1], {}), "of class builtins.set"),
        (Call(WITH_STATE, Global(UTILS, "_rebuild_tensor_v3"), torch.Tensor, tensor().parts[1], {"sum": 1}), "sum"),
        (Call("torch.Size", 3), "Size of 3"),
        (Call("torch.Size", (1, "a")), "Size of"),
        (Call("torch.device", "cuda", -1), "-1"),
        (Call("torch.device", [1]), "[1]"),
        (Call("torch.float32"), "torch.float32 may not be called"),
        (Call("torch.Tensor", 2), "Tensor may not be called"),
        (Call("builtins.set", "ab"), "elements in a str"),
        (Call("builtins.set", [[1]]), "unhashable"),
        (Call("builtins.frozenset", [{}]), "unhashable"),
        (Call("builtins.bytearray", 10), "bytearray of a int"),
        (Call("builtins.bytearray", "a", "utf-16"), "utf-16"),
        (Call("builtins.bytearray", "é", "ascii"), "ascii"),
        (Call("builtins.bytes", 10), "takes 0 to 0 arguments"),
        (Call("builtins.complex", "1", 2.0), "complex"),
        (Call("_codecs.encode", b"a", "latin1"), "bytes"),
        (Call("_codecs.encode", "a", "zip"), "'zip'"),
        (Call("_codecs.encode", "é\u0100", "latin1"), "latin1"),
        (Call("_codecs.encode", "a", np.zeros(2)), "encoded as"),
        (Call("collections.OrderedDict", [1]), "not pairs"),
        (Call("collections.OrderedDict", [([], 1)]), "unhashable"),
        (Call("collections.Counter", [1]), "Counter of a list"),
        (Call("collections.OrderedDict", state={"keys": 1}), "keys"),
        (Call("collections.OrderedDict", state={1: 1}), "dictionary of names"),
    ],
    ids=lambda value: value.parts[0].name if isinstance(value, Call) else value[:30],
)
def test_arguments_of_other_kinds_are_refused(call, fact):
    unreadable([call], fact)


# NumPy

STATE = (3, "<", None, None, None, -1, -1, 0)


def numpy_type(name="f4", state=STATE):
    return Call("numpy.dtype", name, False, True, state=state)


def array(shape=(2,), kind=None, data=bytes(8), version=1, columns=False):
    kind = numpy_type() if kind is None else kind
    state = (version, shape, kind, columns, data)
    return Call("numpy._core.multiarray._reconstruct", np.ndarray, (0,), b"b", state=state)


def test_arrays_are_made():
    for name in ("numpy.core", "numpy._core"):
        assert loaded(Call(f"{name}.multiarray.scalar", numpy_type(), bytes(4))) == np.float32(0)
        found = loaded(Call(f"{name}.numeric._frombuffer", b"\1\0\2\0", numpy_type("i2"), (2, 1), "F"))
        assert found.tolist() == [[1], [2]] and found.flags.writeable
    assert loaded(array()).tolist() == [0.0, 0.0]
    assert loaded(array(shape=(0, 7), data=b"")).shape == (0, 7)
    assert loaded(
        array(kind=numpy_type("i4", (3, ">", None, None, None, -1, -1, 0)), data=b"\0\0\0\1\0\0\0\2")
    ).tolist() == [1, 2]


@pytest.mark.parametrize(
    "value",
    [
        array(shape=(3,)),
        array(shape=(-1, -2)),
        array(shape=(2, 2**62)),
        array(shape=(0, 2**40, 2**40), data=b""),
        array(shape=[2]),
        array(shape=(1,) * 65, data=bytes(4)),
        array(data=[1]),
        array(data="abcdefgh"),
        array(version=2),
        array(columns=1),
        array(kind="f4"),
        array(version=np.zeros(2)),
        array(shape=(2.0,)),
        numpy_type("O8"),
        numpy_type("V8"),
        numpy_type("M8"),
        numpy_type("f4, f4"),
        numpy_type("f9"),
        numpy_type("U9999999999"),
        numpy_type(len),
        numpy_type(3),
        numpy_type(state=(3, "<", None, ("a",), None, -1, -1, 0)),
        numpy_type(state=(3, "<", None, None, None, 400, -1, 0)),
        numpy_type(state=(3, "<", None, None, None, -1, -1, 63)),
        numpy_type(state=(3, "x", None, None, None, -1, -1, 0)),
        numpy_type(state=(4, *STATE[1:])),
        numpy_type(state=3),
        numpy_type(state=(3, np.zeros(2), None, None, None, -1, -1, 0)),
        numpy_type(state=(True, *STATE[1:])),
        Call("numpy._core.multiarray.scalar", numpy_type(), bytes(5)),
        Call("numpy._core.multiarray.scalar", numpy_type(), 5),
        Call("numpy._core.multiarray.scalar", numpy_type("U1", (3, "<", None, None, None, 4, 4, 8)), b"\xff" * 4),
        Call("numpy._core.multiarray._reconstruct", np.ndarray, (2**40,), b"b"),
        Call("numpy._core.multiarray._reconstruct", np.ndarray, np.zeros(1), b"b"),
        Call("numpy._core.multiarray._reconstruct", len, (0,), b"b"),
        Call("numpy.ndarray", (2**40,)),
        Call("numpy._core.numeric._frombuffer", bytes(8), numpy_type(), (2,), "A"),
        Call("numpy._core.numeric._frombuffer", bytes(8), numpy_type(), (3,), "C"),
    ],
)
def test_arrays_that_do_not_fit_their_bytes_are_refused(value):
    unreadable([value])


def test_types_of_other_packages_keep_their_byte_order():
    kind = torch.bfloat16.numpy
    found = loaded(np.ones(3, kind))
    assert found.dtype == kind and found.tolist() == [1.0, 1.0, 1.0]
    unreadable(Call("numpy.dtype", kind.type, False, True, state=(3, ">", None, None, None, 2, 2, 64)), "reverse order")
    assert np.ones(1, kind).tobytes() == b"\x80\x3f"


def test_types_are_not_shared_with_the_program():
    loaded(numpy_type(state=(3, ">", None, None, None, -1, -1, 0)))
    assert np.dtype("f4").byteorder == "="


def test_the_error_is_one_of_pickle_s():
    with pytest.raises(UnpicklingError):
        loaded([array(shape=(3,))])


# values that are costly to show, to compare or to hash


def hostile():
    """Values that Python's recursion, its text of integers and comparing with == fail for."""
    deep = []
    for _ in range(2_000):
        deep = [deep]
    wide = []
    for _ in range(60):
        wide = [wide, wide]
    loop = []
    loop.append(loop)
    return {
        "deep": deep,
        "wide": wide,
        "deep tuple": (deep, wide),
        "loop": loop,
        "integer": 1 << 20_000,
        "negative": -(1 << 20_000),
        "text": "x" * 10_000,
        "bytes": b"x" * 10_000,
        "array": np.zeros(3),
        "arrays": (np.zeros(3), np.zeros(3)),
        "tensor": torch.ones(3),
        "tensors": [torch.ones(3)],
        "dictionary": {"a": wide},
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "class": set,
        "none": None,
        "nan": float("nan"),
    }


CALLS = {
    "_rebuild_tensor_v3": tensor().parts,
    "_rebuild_parameter_with_state": (
        Global(UTILS, "_rebuild_parameter_with_state"),
        (torch.ones(1), True, OrderedDict(), {}),
    ),
    "_rebuild_from_type_v2": (
        Global(*WITH_STATE.rsplit(".", 1)),
        (Global(UTILS, "_rebuild_tensor_v3"), torch.Tensor, tensor().parts[1], {}),
    ),
    "Size": (Global("torch", "Size"), ((1, 2),)),
    "device": (Global("torch", "device"), ("cuda", 1)),
    "OrderedDict": (Global("collections", "OrderedDict"), ([(1, 2)],), {"note": 1}),
    "Counter": (Global("collections", "Counter"), ({1: 2},)),
    "set": (Global("builtins", "set"), ([1],)),
    "frozenset": (Global("builtins", "frozenset"), ([1],)),
    "bytearray": (Global("builtins", "bytearray"), ("a", "latin-1")),
    "complex": (Global("builtins", "complex"), (1.0, 2.0)),
    "encode": (Global("_codecs", "encode"), ("a", "latin1")),
    "dtype": numpy_type().parts,
    "_reconstruct": array().parts,
    "scalar": (Global("numpy._core.multiarray", "scalar"), (numpy_type(), bytes(4))),
    "_frombuffer": (Global("numpy._core.numeric", "_frombuffer"), (bytes(8), numpy_type(), (2,), "C")),
}


def variants(values, value):
    """A tuple with one of its entries replaced, for each of them, also in tuples within."""
    for index, part in enumerate(values):
        yield (*values[:index], value, *values[index + 1 :])
        if type(part) is tuple:
            for inner in variants(part, value):
                yield (*values[:index], inner, *values[index + 1 :])


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_hostile_arguments_are_errors_or_values(name):
    function, args, *state = CALLS[name]
    for value in hostile().values():
        calls = [(function, changed, *state) for changed in variants(args, value)]
        if state:
            changed_states = variants(tuple(state), value)
            calls += [(function, args, changed[0]) for changed in changed_states]
        for parts in calls:
            call = Call("torch.Size", (1,))
            call.parts = parts
            try:
                loaded([call, value])
            except FileFormatError as error:
                assert len(str(error)) < 2000


@pytest.mark.slow
def test_hostile_references_are_errors(monkeypatch):
    monkeypatch.setattr("flambeau.serialization.pickler.pickle.STOP", b"Q.")
    for value in hostile().values():
        for changed in variants(reference(), value):
            with pytest.raises(FileFormatError) as caught:
                loaded(changed)
            assert len(str(caught.value)) < 2000


# the program's own list of classes and functions that files may contain

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


@pytest.mark.parametrize(
    ("former", "name", "value"),
    [
        ("__builtin__ xrange", "builtins.range", range),
        ("__builtin__ long", "builtins.int", int),
        ("__builtin__ slice", "builtins.slice", slice),
        ("itertools izip_longest", "itertools.zip_longest", itertools.zip_longest),
        ("exceptions ValueError", "builtins.ValueError", ValueError),
        ("UserDict IterableUserDict", "collections.UserDict", collections.UserDict),
    ],
)
def test_names_of_python_2_are_those_of_python_3(former, name, value, tmp_path):
    path = tmp_path / "names.pt"
    torch.save(Global(*former.split()), path)
    assert get_unsafe_globals_in_checkpoint(path) == [name]
    refused(lambda: torch.load(path), UnpicklingError, f"{name} is not one", f"add_safe_globals([{value.__name__}])")
    with safe_globals([value]):
        assert torch.load(path) is value
        assert get_unsafe_globals_in_checkpoint(path) == []


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
        (Plain, ArgumentTypeError, "expected a list, got the type Plain"),
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
