"""Fields, names and pickling of flambeau's errors."""

import pickle

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.errors import AcceleratorError, FlambeauError, NamingError, ShapeError, name_error, naming, seal


def test_the_text_is_made_of_the_fields():
    error = ShapeError("got [2] and [3]", hint="make them equal", operator="add")
    assert (error.operator, error.what, error.hint) == ("add", "got [2] and [3]", "make them equal")
    assert error.fact == "add: got [2] and [3]"
    assert str(error) == error.args[0] == "add: got [2] and [3]\nhint: make them equal"
    error.operator = "sub"
    assert str(error) == "sub: got [2] and [3]\nhint: make them equal"


def test_a_fact_without_operation_and_hint_is_the_whole_text():
    assert str(ShapeError("got [2]")) == "got [2]"


def test_a_value_with_a_long_text_is_shown_by_its_type():
    assert [errors.shown(value) for value in (object(), {1: "x" * 1000}, 2.5)] == ["an object", "a dict", "2.5"]


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
