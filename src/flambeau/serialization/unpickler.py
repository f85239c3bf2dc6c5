"""An interpreter of pickles that never runs code from them.

- It has the opcodes of protocols 2 to 5, except those of out-of-band buffers and extension codes.
- Names are looked up in a `Vocabulary`, never imported.  What REDUCE, NEWOBJ and BUILD do is decided there too.
- Every opcode reads at most the rest of the pickle: a length is checked against it before anything is allocated.
- There is no recursion.  Keys are hashed by Python, which recurses: their nesting is checked first.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from struct import unpack
from typing import Any, Protocol

from ..errors import FileFormatError

MAX_KEY_DEPTH = 100  # tuples within tuples, in a key of a dictionary
COPIES = 1 << 16
KEY_PARTS, KEY_PARTS_PER_BYTE = 1 << 14, 16  # elements of such tuples that one pickle may cause to be hashed
NAMES = {
    value[0]: name
    for name, value in vars(pickle).items()
    if name.isupper() and isinstance(value, bytes) and len(value) == 1
}
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
MAX_SHOWN = 100  # characters of a name that an error shows


class UnpicklingError(FileFormatError, pickle.UnpicklingError):
    """The pickle in a file is damaged, or contains an object that is not loaded."""


class Refusal(Exception):
    """The reason why an opcode is refused; the interpreter adds its position.

    hint: how to load the file, if that is possible.
    """

    def __init__(self, fact: str, hint: str = "") -> None:
        super().__init__(fact)
        self.hint = hint


class Budget:
    """Limits of one pickle of `nbytes` bytes: on the bytes that its calls copy, and on the size of its keys.

    A few bytes refer to an earlier value: without limits, a short pickle could copy or hash a large value many times.
    """

    def __init__(self, nbytes: int) -> None:
        self._copies = COPIES + nbytes
        self._key_parts = KEY_PARTS + KEY_PARTS_PER_BYTE * nbytes

    def charge(self, count: int) -> None:
        """Count bytes or elements that a call copies.  Raises Refusal."""
        self._copies -= count
        if self._copies < 0:
            raise Refusal("its calls copy more than the pickle has")

    def key(self, key: Any) -> Any:
        """Return a key of a dictionary or an element of a set.  Raises Refusal if it cannot be hashed."""
        parts = [(key, 0)] if isinstance(key, (tuple, frozenset)) else []
        while parts:
            part, depth = parts.pop()
            self._key_parts -= len(part)
            if depth > MAX_KEY_DEPTH or self._key_parts < 0:
                raise Refusal(f"keys are nested more than {MAX_KEY_DEPTH} deep, or too large to be hashed")
            parts.extend((item, depth + 1) for item in part if isinstance(item, (tuple, frozenset)))
        try:
            hash(key)
        except TypeError as error:
            raise Refusal(f"a key of a dictionary or a set cannot be hashed: {error}") from error
        return key


class Vocabulary(Protocol):
    """The names that a pickle may contain, and the operations on the objects they stand for.

    Every method raises Refusal for an operation that is not allowed.
    """

    def find(self, module: str, name: str) -> Any:
        """Return the object that a name stands for."""

    def call(self, function: Any, args: tuple[Any, ...]) -> Any:
        """Return the result of a call."""

    def new(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return an object whose state is set later."""

    def build(self, target: Any, state: Any) -> None:
        """Set the state of an object."""

    def load_persistent(self, reference: Any) -> Any:
        """Return the object that a persistent id refers to."""

    def may_fill(self, target: Any, builtin: type) -> bool:
        """Return whether items may be added to an object as to an instance of this builtin class."""


def cut(text: str) -> str:
    """Return a text shortened to one line, for errors."""
    start = text[:MAX_SHOWN] if text[:MAX_SHOWN].isprintable() else ascii(text[:MAX_SHOWN])
    return start if len(text) <= MAX_SHOWN else f"{start}… of {len(text)} characters"


Handler = Callable[["Unpickler"], None]
HANDLERS: dict[int, Handler] = {}


def opcode(*codes: bytes) -> Callable[[Handler], Handler]:
    """Return a decorator of methods that interpret an opcode."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys((code[0] for code in codes), handler))
        return handler

    return register


class Unpickler:
    """Interpreter of one pickle.

    encoding, errors: how byte strings of Python 2 become text; "bytes" leaves them as bytes.
    """

    def __init__(
        self, data: bytes, vocabulary: Vocabulary, budget: Budget, encoding: str = "utf-8", errors: str = "strict"
    ) -> None:
        self._data = data
        self._vocabulary = vocabulary
        self._budget = budget
        self._encoding = encoding
        self._errors = errors
        self._at = 0
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []  # stacks below the marks
        self._memo: dict[int, Any] = {}
        self._result: list[Any] = []

    def load(self) -> Any:
        """Return the object.  Raises UnpicklingError, naming the byte and the opcode."""
        data, handlers, result = self._data, HANDLERS, self._result
        start = 0
        try:
            while not result:
                start = self._at
                code = data[start]
                self._at = start + 1
                handler = handlers.get(code)
                if handler is None:
                    raise Refusal("this opcode is not interpreted")
                handler(self)
        except Refusal as refusal:
            raise self._error(start, str(refusal), refusal.hint) from refusal.__cause__
        except IndexError as error:
            fact = "nothing is left of the pickle" if start >= len(data) else "the stack has too few values"
            raise self._error(start, fact) from error
        except UnicodeDecodeError as error:
            raise self._error(start, f"text is no {error.encoding}: {error.reason}") from error
        return result[0]

    def _error(self, start: int, fact: str, hint: str = "") -> UnpicklingError:
        name = NAMES.get(self._data[start], f"{self._data[start]:#04x}") if start < len(self._data) else "end"
        return UnpicklingError(
            f"{name} at byte {start} of the pickle: {fact}",
            hint=hint
            or "the file was changed, or contains an object that cannot be loaded: save it again with torch.save()",
            operator="load",
        )

    # bytes of the pickle

    def _take(self, count: int) -> bytes:
        start = self._at
        self._at = end = start + count
        if end > len(self._data):
            raise Refusal(f"it needs {count} bytes, and {len(self._data) - start} are left")
        return self._data[start:end]

    def _number(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self._take(size), "little", signed=signed)

    def _line(self) -> str:
        end = self._data.find(b"\n", self._at)
        if end < 0:
            raise Refusal("its text has no end")
        line = self._data[self._at : end]
        self._at = end + 1
        return line.decode("utf-8")

    # values

    @opcode(pickle.PROTO)
    def _proto(self) -> None:
        protocol = self._number(1)
        if protocol not in PROTOCOLS:
            raise Refusal(f"protocol {protocol} is not read, {PROTOCOLS[0]} to {PROTOCOLS[-1]} are")

    @opcode(pickle.FRAME)
    def _frame(self) -> None:
        self._take(8)

    @opcode(pickle.STOP)
    def _stop(self) -> None:
        self._result.append(self._stack.pop())
        if self._stack or self._marked:
            raise Refusal("values are left over")

    @opcode(pickle.NONE)
    def _none(self) -> None:
        self._stack.append(None)

    @opcode(pickle.NEWTRUE)
    def _true(self) -> None:
        self._stack.append(True)

    @opcode(pickle.NEWFALSE)
    def _false(self) -> None:
        self._stack.append(False)

    @opcode(pickle.BININT1)
    def _int1(self) -> None:
        self._stack.append(self._number(1))

    @opcode(pickle.BININT2)
    def _int2(self) -> None:
        self._stack.append(self._number(2))

    @opcode(pickle.BININT)
    def _int4(self) -> None:
        self._stack.append(self._number(4, signed=True))

    @opcode(pickle.LONG1)
    def _long1(self) -> None:
        self._stack.append(self._number(self._number(1), signed=True))

    @opcode(pickle.LONG4)
    def _long4(self) -> None:
        self._stack.append(self._number(self._number(4), signed=True))

    @opcode(pickle.BINFLOAT)
    def _float(self) -> None:
        self._stack.append(unpack(">d", self._take(8))[0])

    def _push_text(self, size: int) -> None:
        self._stack.append(self._take(size).decode("utf-8", "surrogatepass"))

    @opcode(pickle.SHORT_BINUNICODE)
    def _text1(self) -> None:
        self._push_text(self._number(1))

    @opcode(pickle.BINUNICODE)
    def _text4(self) -> None:
        self._push_text(self._number(4))

    @opcode(pickle.BINUNICODE8)
    def _text8(self) -> None:
        self._push_text(self._number(8))

    @opcode(pickle.SHORT_BINBYTES)
    def _bytes1(self) -> None:
        self._stack.append(self._take(self._number(1)))

    @opcode(pickle.BINBYTES)
    def _bytes4(self) -> None:
        self._stack.append(self._take(self._number(4)))

    @opcode(pickle.BINBYTES8)
    def _bytes8(self) -> None:
        self._stack.append(self._take(self._number(8)))

    @opcode(pickle.BYTEARRAY8)
    def _bytearray(self) -> None:
        self._stack.append(bytearray(self._take(self._number(8))))

    @opcode(pickle.SHORT_BINSTRING)
    def _string1(self) -> None:
        self._push_string(self._number(1))

    @opcode(pickle.BINSTRING)
    def _string4(self) -> None:
        self._push_string(self._number(4))

    def _push_string(self, size: int) -> None:
        data = self._take(size)
        self._stack.append(data if self._encoding == "bytes" else data.decode(self._encoding, self._errors))

    # the stack

    @opcode(pickle.MARK)
    def _mark(self) -> None:
        self._marked.append(self._stack)
        self._stack = []

    def _to_mark(self) -> list[Any]:
        if not self._marked:
            raise Refusal("there is no mark")
        items = self._stack
        self._stack = self._marked.pop()
        return items

    @opcode(pickle.POP)
    def _pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._to_mark()

    @opcode(pickle.POP_MARK)
    def _pop_mark(self) -> None:
        self._to_mark()

    @opcode(pickle.DUP)
    def _dup(self) -> None:
        self._stack.append(self._stack[-1])

    def _get(self, number: int) -> None:
        try:
            self._stack.append(self._memo[number])
        except KeyError as error:
            raise Refusal(f"there is no value {number} to refer to") from error

    @opcode(pickle.BINGET)
    def _get1(self) -> None:
        self._get(self._number(1))

    @opcode(pickle.LONG_BINGET)
    def _get4(self) -> None:
        self._get(self._number(4))

    @opcode(pickle.BINPUT)
    def _put1(self) -> None:
        self._memo[self._number(1)] = self._stack[-1]

    @opcode(pickle.LONG_BINPUT)
    def _put4(self) -> None:
        self._memo[self._number(4)] = self._stack[-1]

    @opcode(pickle.MEMOIZE)
    def _memoize(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    # containers

    @opcode(pickle.EMPTY_TUPLE)
    def _empty_tuple(self) -> None:
        self._stack.append(())

    @opcode(pickle.TUPLE)
    def _tuple(self) -> None:
        items = self._to_mark()
        self._stack.append(tuple(items))

    @opcode(pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)
    def _short_tuple(self) -> None:
        count = self._data[self._at - 1] - pickle.TUPLE1[0] + 1
        if len(self._stack) < count:
            raise IndexError
        self._stack[-count:] = [tuple(self._stack[-count:])]

    @opcode(pickle.EMPTY_LIST)
    def _empty_list(self) -> None:
        self._stack.append([])

    @opcode(pickle.EMPTY_DICT)
    def _empty_dict(self) -> None:
        self._stack.append({})

    @opcode(pickle.EMPTY_SET)
    def _empty_set(self) -> None:
        self._stack.append(set())

    @opcode(pickle.FROZENSET)
    def _frozenset(self) -> None:
        items = self._to_mark()
        self._stack.append(frozenset(self._budget.key(item) for item in items))

    @opcode(pickle.APPEND)
    def _append(self) -> None:
        item = self._stack.pop()
        self._target(list).append(item)

    @opcode(pickle.APPENDS)
    def _appends(self) -> None:
        items = self._to_mark()
        self._target(list).extend(items)

    @opcode(pickle.ADDITEMS)
    def _add_items(self) -> None:
        items = self._to_mark()
        target = self._target(set)
        for item in items:
            target.add(self._budget.key(item))

    @opcode(pickle.SETITEM)
    def _set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._target(dict)[self._budget.key(key)] = value

    @opcode(pickle.SETITEMS)
    def _set_items(self) -> None:
        items = self._to_mark()
        target = self._target(dict)
        if len(items) % 2:
            raise Refusal(f"{len(items)} keys and values are not pairs")
        for key, value in zip(items[::2], items[1::2]):
            target[self._budget.key(key)] = value

    def _target(self, builtin: type) -> Any:
        target = self._stack[-1]
        if type(target) is not builtin and not self._vocabulary.may_fill(target, builtin):
            raise Refusal(f"a {type(target).__name__} is filled like a {builtin.__name__}")
        return target

    # names, calls and objects

    @opcode(pickle.GLOBAL)
    def _global(self) -> None:
        module = self._line()
        self._stack.append(self._vocabulary.find(module, self._line()))

    @opcode(pickle.STACK_GLOBAL)
    def _stack_global(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        if type(name) is not str or type(module) is not str:
            raise Refusal(f"a name of a {type(module).__name__} and a {type(name).__name__}, not of text")
        self._stack.append(self._vocabulary.find(module, name))

    @opcode(pickle.REDUCE)
    def _reduce(self) -> None:
        args = self._stack.pop()
        self._stack[-1] = self._vocabulary.call(self._stack[-1], _checked_args(args))

    @opcode(pickle.NEWOBJ)
    def _new(self) -> None:
        args = self._stack.pop()
        self._stack[-1] = self._vocabulary.new(self._stack[-1], _checked_args(args), {})

    @opcode(pickle.NEWOBJ_EX)
    def _new_with_names(self) -> None:
        kwargs, args = self._stack.pop(), self._stack.pop()
        if type(kwargs) is not dict or not all(type(key) is str for key in kwargs):
            raise Refusal("its keyword arguments are not a dictionary of names")
        self._stack[-1] = self._vocabulary.new(self._stack[-1], _checked_args(args), kwargs)

    @opcode(pickle.BUILD)
    def _build(self) -> None:
        state = self._stack.pop()
        self._vocabulary.build(self._stack[-1], state)

    @opcode(pickle.BINPERSID)
    def _persistent(self) -> None:
        self._stack[-1] = self._vocabulary.load_persistent(self._stack[-1])


def _checked_args(args: Any) -> tuple[Any, ...]:
    if type(args) is not tuple:
        raise Refusal(f"its arguments are a {type(args).__name__}, not a tuple")
    return args
