"""Fields, names and pickling of flambeau's errors."""

import pickle

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.errors import (
    AcceleratorError,
    ArgumentError,
    ArgumentTypeError,
    FlambeauError,
    NamingError,
    ShapeError,
    name_error,
    naming,
    seal,
)


def test_the_text_is_made_of_the_fields():
    error = ShapeError("got [2] and [3]", hint="make them equal", operator="add")
    assert (error.operator, error.what, error.hint) == ("add", "got [2] and [3]", "make them equal")
    assert error.fact == "add: got [2] and [3]"
    assert str(error) == error.args[0] == "add: got [2] and [3]\nhint: make them equal"
    error.operator = "sub"
    assert str(error) == "sub: got [2] and [3]\nhint: make them equal"


def test_the_hint_of_a_missing_name_says_what_replaces_the_part_that_is_left_out():
    words = {"sparse": "no sparse tensors", "stft": "no complex", "quantized": "no quantized", "nested": "no nested"}
    for name, expected in words.items():
        with pytest.raises(AttributeError, match=rf"no attribute {name!r}\nhint: there are {expected}"):
            getattr(torch.nn, name)
    for name in ("to_sparse", "dequantize"):
        with pytest.raises(AttributeError, match=rf"no attribute {name!r}\nhint: there are no "):
            getattr(torch.ones(1), name)
    with pytest.raises(AttributeError, match=r"no attribute 'Spars'\nhint: .*coverage.md"):
        _ = torch.nn.Spars


def test_a_fact_without_operation_and_hint_is_the_whole_text():
    assert str(ShapeError("got [2]")) == "got [2]"


def test_a_value_with_a_long_text_is_shown_by_its_type():
    assert [errors.shown(value) for value in (object(), {1: "x" * 1000}, 2.5, int)] == [
        "an object",
        "a dict",
        "2.5",
        "the type int",
    ]


def test_an_error_of_keys_is_not_shown_as_a_key():
    assert str(NamingError("there is no 'a'", operator="pop")) == "pop: there is no 'a'"


def test_the_outermost_operation_names_an_error():
    with pytest.raises(ShapeError) as caught, naming("xavier_uniform_"), naming("uniform_"):
        raise ShapeError("got [2]", operator="rand")
    assert caught.value.operator == "xavier_uniform_"


def test_errors_of_other_libraries_pass_unchanged():
    with pytest.raises(ValueError, match="^mine$"), naming("add"):
        raise ValueError("mine")


def test_a_sealed_error_and_one_about_the_device_keep_their_names():
    sealed = ShapeError("got [2]", operator="add")
    seal(sealed)
    failure = AcceleratorError("failed on device 0", operator="exp")
    for error in (sealed, failure):
        before = str(error)
        name_error(error, "item")
        assert str(error) == before


@pytest.mark.parametrize(
    "kind", [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, FlambeauError)]
)
def test_every_class_survives_pickling_with_its_fields(kind):
    made = kind(719) if kind is errors.CudaError else kind("a fact", hint="a hint", operator="add")
    copied = pickle.loads(pickle.dumps(made))
    assert type(copied) is kind and str(copied) == str(made) and vars(copied) == vars(made)


def test_the_error_of_a_call_has_its_operator():
    with pytest.raises(ShapeError) as caught:
        torch.ones(2) + torch.ones(3)
    assert caught.value.operator == "add"


def test_a_type_that_an_operator_lacks_is_not_implemented():
    with pytest.raises(NotImplementedError, match="bitwise_and: .*float32"):
        torch.bitwise_and(torch.ones(2), 1)


def _deep(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def _endless(container):
    container["a" if isinstance(container, dict) else slice(0, 0)] = container if container == {} else [container]
    return container


WALKS = {
    "tree_flatten": torch.utils._pytree.tree_flatten,
    "default_collate": lambda value: torch.utils.data.default_collate([value]),
    "default_convert": torch.utils.data.default_convert,
    "pin_memory": torch.utils.data._utils.pin_memory.pin_memory,
    "assert_close": lambda value: torch.testing.assert_close(value, value),
    "scatter": lambda value: torch.nn.parallel.scatter(value, [0]),
    "gather": lambda value: torch.nn.parallel.gather([value], 0),
}


@pytest.mark.parametrize("make", [lambda: _deep(100_000), lambda: _endless([]), lambda: _endless({})])
@pytest.mark.parametrize("name", WALKS)
def test_containers_that_nest_too_deeply_are_refused(gpus, name, make):
    with pytest.raises(ArgumentError) as caught:
        WALKS[name](make())
    assert caught.value.operator == name and "nested more than 64 deep" in caught.value.fact
    assert caught.value.hint == "a container must not contain itself"


def test_a_recursion_error_while_a_value_of_another_class_is_walked_reaches_the_program():
    class Node:
        pass

    pytree = torch.utils._pytree
    pytree.register_pytree_node(Node, lambda node: ([Node()], None), lambda children, context: Node())
    try:
        with pytest.raises(RecursionError):
            pytree.tree_flatten(Node())
    finally:
        del pytree.SUPPORTED_NODES[Node]


def test_a_recursion_error_of_a_function_that_a_walk_calls_reaches_the_program():
    def endless(value):
        return endless(value)

    with pytest.raises(RecursionError):
        torch.utils._pytree.tree_map(endless, [torch.ones(1)])


@pytest.mark.parametrize("make", [lambda: _deep(100_000), lambda: _endless([])])
def test_sizes_and_operands_that_nest_too_deeply_are_refused(make):
    for call in (lambda: torch.zeros(make()), lambda: torch.ones(1).new_zeros(make())):
        with pytest.raises(ArgumentTypeError, match="sizes must be ints"):
            call()
    with pytest.raises(ArgumentTypeError) as caught:
        torch.einsum("ij->ji", make())
    assert caught.value.operator == "einsum"
