"""The interpreter of pickles reads what Python writes, calls nothing that is not allowed, and allocates little."""

import collections
import pickle
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau.errors import FileFormatError
from flambeau.serialization import safe_globals
from flambeau.serialization.unpickler import HANDLERS, NAMES, Budget, Unpickler, UnpicklingError
from flambeau.serialization.vocabulary import FileVocabulary
from tests.serialization.reading import refused

PROTO = b"\x80\x02"


def loaded(data, **options):
    budget = Budget(len(data))

    def no_storage(*reference):
        raise AssertionError(reference)

    return Unpickler(data, FileVocabulary(no_storage, budget), budget, **options).load()


def unreadable(data, *facts):
    return refused(lambda: loaded(data), UnpicklingError, " at byte ", *facts)


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
        | st.lists(st.tuples(st.text(), parts)).map(collections.OrderedDict)
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [2, *(pytest.param(each, marks=pytest.mark.full) for each in (3, 4)), 5])
@settings(max_examples=40, deadline=None)
@given(value=plain)
def test_what_python_pickles_is_read(protocol, value):
    found = loaded(pickle.dumps(value, protocol))
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_identity_and_cycles_are_kept(protocol):
    shared, loop = ["shared"], []
    loop.append((loop, shared))
    found = loaded(pickle.dumps([loop, shared, {"again": shared}], protocol))
    assert found[0][0][0] is found[0] and found[0][0][1] is found[1] is found[2]["again"]


@pytest.mark.parametrize("protocol", [2, 5])
def test_containers_of_every_size(protocol):
    for count in (0, 1, 2, 3, 4, 999, 1000, 1001, 2500):
        value = [list(range(count)), tuple(range(count)), dict.fromkeys(range(count)), {*range(count)}, "é" * count]
        assert loaded(pickle.dumps(value, protocol)) == value


def test_text_of_python_2_is_decoded_as_asked():
    data = PROTO + b"U\x02\xc3\xa9."
    assert (
        loaded(data) == "é"
        and loaded(data, encoding="latin1") == "Ã©"
        and loaded(data, encoding="bytes") == b"\xc3\xa9"
    )
    assert loaded(PROTO + b"T\x01\0\0\0a.") == "a"
    assert loaded(PROTO + b"U\x01\xff.", errors="replace") == "\ufffd"
    unreadable(PROTO + b"U\x01\xff.", "SHORT_BINSTRING", "utf-8")


def test_a_pickle_that_is_cut_anywhere_is_an_error():
    value = [{"a": (1, 2.5, None), "b": {1, 2}}, b"bytes" * 100, "text", 2**100, frozenset([1]), bytearray(b"x")]
    for protocol in (2, 3, 4, 5):
        data = pickle.dumps(value, protocol)
        for size in range(len(data)):
            unreadable(data[:size])


def test_every_opcode_alone_is_an_error_or_a_value():
    for code in range(256):
        for rest in (b".", b"\0.", b"\xff" * 9, b"a\nb\n."):
            for before in (b"", b"(", b"]", b"N", b"NN", b"}NN", b"]N(N", b"(NNN"):
                try:
                    loaded(PROTO + before + bytes([code]) + rest)
                except UnpicklingError as error:
                    assert NAMES.get(code, f"{code:#04x}") in str(error) or "byte" in str(error)


@pytest.mark.parametrize(
    "name",
    [
        "INT",
        "LONG",
        "FLOAT",
        "STRING",
        "UNICODE",
        "GET",
        "PUT",
        "INST",
        "OBJ",
        "DICT",
        "LIST",
        "PERSID",
        "EXT1",
        "EXT2",
        "EXT4",
        "NEXT_BUFFER",
        "READONLY_BUFFER",
    ],
)
def test_opcodes_of_protocol_0_and_of_extensions_are_refused_by_name(name):
    assert getattr(pickle, name)[0] not in HANDLERS
    unreadable(PROTO + getattr(pickle, name) + b"1\n.", f"{name} at byte 2")


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (b"\x80\x01N.", ["protocol 1"]),
        (b"\x80\x06N.", ["protocol 6"]),
        (b"", ["nothing is left"]),
        (PROTO + b".", ["STOP", "too few"]),
        (PROTO + b"NN.", ["STOP", "left over"]),
        (PROTO + b"(N.", ["STOP", "left over"]),
        (PROTO + b"t.", ["TUPLE", "no mark"]),
        (PROTO + b"N\x86.", ["TUPLE2", "too few"]),
        (PROTO + b"h\x05.", ["BINGET", "no value 5"]),
        (PROTO + b"j\xff\xff\xff\xff.", ["LONG_BINGET", str(2**32 - 1)]),
        (PROTO + b"q\x00.", ["BINPUT", "too few"]),
        (PROTO + b"NNa.", ["APPEND", "NoneType"]),
        (PROTO + b")Na.", ["APPEND", "tuple"]),
        (PROTO + b"}(NNNu.", ["SETITEMS", "3 keys and values"]),
        (PROTO + b"}]Ns.", ["SETITEM", "unhashable", "list"]),
        (PROTO + b"\x8f(]\x90.", ["ADDITEMS", "unhashable"]),
        (PROTO + b"(]\x91.", ["FROZENSET", "unhashable"]),
        (PROTO + b"]NNs.", ["SETITEM", "list"]),
        (PROTO + b"N]R.", ["REDUCE", "list"]),
        (PROTO + b"N)R.", ["REDUCE", "None may not be called"]),
        (PROTO + b"N)\x81.", ["NEWOBJ"]),
        (PROTO + b"N)]\x92.", ["NEWOBJ_EX"]),
        (PROTO + b"NNb.", ["BUILD", "NoneType"]),
        (PROTO + b"]}b.", ["BUILD", "list"]),
        (PROTO + b"NN\x93.", ["STACK_GLOBAL", "NoneType"]),
        (PROTO + b"NQ.", ["BINPERSID"]),
        (PROTO + b"cno end", ["GLOBAL", "no end"]),
        (PROTO + b"c\xff\n\xff\n.", ["GLOBAL", "utf-8"]),
        (PROTO + b"X\x02\0\0\0\xff\xff.", ["BINUNICODE", "utf-8"]),
    ],
)
def test_what_is_wrong_is_named(data, facts):
    unreadable(data, *facts)


@pytest.mark.parametrize(
    "name",
    [
        "posix.system",
        "os.system",
        "sys.exit",
        "nt.system",
        "os.path.join",
        "builtins.eval",
        "__builtin__.exec",
        "builtins.getattr",
        "builtins.__import__",
        "copyreg._reconstructor",
        "functools.partial",
        "torch.load",
        "flambeau.save",
        "subprocess.Popen",
        "operator.attrgetter",
        "numpy.load",
    ],
)
@pytest.mark.parametrize("protocol", [2, 4])
def test_no_other_name_is_found(name, protocol):
    module, _, function = name.rpartition(".")
    text = [bytes([0x8C, len(part)]) + part.encode() for part in (module, function)]
    code = f"c{module}\n{function}\n".encode() if protocol == 2 else b"".join(text) + b"\x93"
    unreadable(PROTO + code + b")R.", name.replace("__builtin__", "builtins"))


def test_even_a_listed_function_of_a_blocked_module_is_refused():
    import os

    with safe_globals([os.getcwd, (os.getcwd, "os.getcwd")]):
        unreadable(PROTO + b"cposix\ngetcwd\n)R.", "posix.getcwd", "never called")
        unreadable(PROTO + b"cos\ngetcwd\n)R.", "os.getcwd", "never called")


def test_long_and_odd_names_are_shown_shortened():
    text = unreadable(PROTO + b"c" + b"x" * 10_000 + b"\ny\n.", "of 10002 characters")
    assert len(text) < 1000
    assert "\x1b" not in unreadable(PROTO + b"c\x1b[2J\ny\n.", "x1b")


# bounds


@pytest.mark.parametrize(
    "code", [b"\x8b", b"X", b"B", b"T", b"\x8d", b"\x8e", b"\x96"], ids=lambda code: NAMES[code[0]]
)
def test_lengths_beyond_the_pickle_allocate_nothing(code):
    size = 8 if code in b"\x8d\x8e\x96" else 4
    for length in (1, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1):
        if length < 1 << 8 * size:
            unreadable(PROTO + code + length.to_bytes(size, "little"), f"needs {length} bytes")


@pytest.mark.slow
def test_depth_is_no_recursion():
    for deep in (b"]" * 100_000 + b"a" * 99_999, b")" + b"\x85" * 100_000, b"(" * 100_000 + b"t" * 100_000):
        assert len(loaded(PROTO + deep + b".")) <= 1


@pytest.mark.slow
def test_deep_keys_are_refused():
    unreadable(PROTO + b"})" + b"\x85" * 100_000 + b"Ns.", "SETITEM", "nested")
    unreadable(PROTO + b"(" * 100_000 + b"\x91" * 100_000 + b".", "FROZENSET", "nested")
    assert loaded(PROTO + b"})" + b"\x85" * 100 + b"Ns.")


def test_keys_that_take_exponential_time_are_refused():
    unreadable(PROTO + b"})" + b"2\x86" * 60 + b"Ns.", "too large to be hashed")


def test_large_keys_that_are_used_many_times_are_refused():
    key = b"(" + b"N" * 5_000 + b"tq\0"
    unreadable(PROTO + key + b"}" + b"h\0Ns" * 2_000 + b"\x86.", "too large to be hashed")


@pytest.mark.slow
def test_calls_that_copy_long_values_again_and_again_are_refused():
    text = b"X" + struct.pack("<I", 500_000) + b"x" * 500_000
    encode = b"c_codecs\nencode\nq\0" + text + b"q\1X\6\0\0\0latin1q\2\x86R"
    assert len(loaded(PROTO + encode + b".")) == 500_000
    unreadable(PROTO + b"(" + encode + b"h\0h\1h\2\x86R" * 20 + b"t.", "REDUCE", "copy more than the pickle has")
    items = (
        b"cbuiltins\nset\nq\0(" + b"".join(b"M" + struct.pack("<H", index) for index in range(60_000)) + b"tq\1\x85R"
    )
    unreadable(PROTO + b"(" + items + b"h\0h\1\x85R" * 20 + b"t.", "copy more than the pickle has")
    state = b"}(" + b"".join(b"U\x05" + b"%05d" % index + b"N" for index in range(30_000)) + b"uq\0"
    ordered = b"ccollections\nOrderedDict\n)Rh\0b"
    unreadable(PROTO + b"(" + state + ordered * 20 + b"t.", "copy more than the pickle has")


@pytest.mark.parametrize(
    "call", [b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R", b"cbuiltins\nbytes\nJ\xff\xff\xff\x7f\x85R"]
)
def test_a_count_makes_no_bytes(call):
    unreadable(PROTO + call + b".", "REDUCE")


def test_attributes_may_not_hide_methods():
    assert loaded(PROTO + b"ccollections\nOrderedDict\n)R}U\x04notedNsb.".replace(b"noted", b"note")).note is None
    for name in (b"items", b"__class__", b"__reduce_ex__"):
        data = PROTO + b"ccollections\nOrderedDict\n)R}U" + bytes([len(name)]) + name + b"Nsb."
        unreadable(data, "BUILD", name.decode())


def test_errors_are_those_that_programs_for_pytorch_catch():
    with pytest.raises(pickle.UnpicklingError) as caught:
        loaded(PROTO + b"ccollections\ndeque\n)R.")
    assert isinstance(caught.value, FileFormatError) and "add_safe_globals([deque])" in caught.value.hint
