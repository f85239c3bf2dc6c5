"""Tensors print as in PyTorch 2.13; tests/oracle/print_cases.py recorded the texts."""

import json
from pathlib import Path

import numpy as np
import pytest

import flambeau
import flambeau as torch
from flambeau.dtypes import BY_NAME
from flambeau.errors import ArgumentError, ArgumentTypeError, ValueRangeError
from flambeau.tensor import format

CASES = json.loads((Path(__file__).parent.parent / "oracle" / "print_cases.json").read_text())


@pytest.fixture(autouse=True)
def default_options():
    format.options.reset()
    yield
    format.options.reset()


def made(case):
    values = np.arange(case["count"]) if "count" in case else np.array([float(each) for each in case["values"]])
    tensor = flambeau.tensor(values).reshape(case["shape"])
    return tensor.to(BY_NAME[case["dtype"]])


def test_every_recorded_case_prints_as_recorded():
    for case in CASES:
        format.options.reset()
        flambeau.set_printoptions(**case["options"])
        assert repr(made(case)) == case["text"]


def test_other_layouts_print_their_values():
    x = flambeau.arange(6).reshape(2, 3)
    assert repr(x.t()) == "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])"


def test_what_autograd_knows_is_said():
    x = flambeau.ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    assert repr(x + x) == "tensor([2., 2.], grad_fn=<AddBackward0>)"
    assert repr(x.detach()) == "tensor([1., 1.])"


def test_facts_go_to_a_new_line_where_the_line_is_full():
    x = flambeau.zeros(12, dtype=flambeau.float64, requires_grad=True)
    assert repr(x) == (
        "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.], dtype=torch.float64,\n       requires_grad=True)"
    )


def test_an_unknown_profile_is_refused():
    with pytest.raises(ArgumentError, match="unknown profile 'tiny'"):
        flambeau.set_printoptions(profile="tiny")


def test_a_number_in_a_text_is_the_number():
    loss = torch.tensor(0.25, requires_grad=True)
    assert f"loss {loss}" == "loss 0.25" and f"{loss * 2:.3f}" == "0.500" and f"{torch.tensor(7)}" == "7"
    assert f"{torch.tensor(True)}" == "True" and f"{torch.tensor(3):>4d}" == "   3"
    assert f"{torch.tensor([0.25])}" == "tensor([0.2500])" and f"{loss!r}" == "tensor(0.2500, requires_grad=True)"
    assert f"{torch.nn.Parameter(torch.tensor(0.25))}".startswith("Parameter containing:\ntensor(0.2500")
    for several in (torch.ones(2), torch.nn.Parameter(torch.tensor(0.25))):
        with pytest.raises(TypeError, match="'.2f'"):
            several.__format__(".2f")


def test_without_edge_items_the_size_is_printed():
    flambeau.set_printoptions(edgeitems=0, threshold=2)
    assert repr(torch.ones(2, dtype=torch.float64)) == "tensor([1., 1.], size=(2,), dtype=torch.float64)"
    assert repr(torch.tensor(1.0)) == "tensor(1., size=())" and repr(torch.ones(0, 3)) == "tensor([], size=(0, 3))"
    assert repr(torch.ones(4)) == "tensor([...], size=(4,))" and repr(torch.arange(4)) == "tensor([...], size=(4,))"
    assert repr(torch.ones(2, 2)) == "tensor([...], size=(2, 2))"


def test_parts_of_the_text_are_made_alone():
    from flambeau import _tensor_str

    x = torch.tensor([[1.0, 2.5]])
    assert _tensor_str._tensor_str(x, 7) == "[[1.0000, 2.5000]]"
    assert _tensor_str._str(x, tensor_contents="...") == "tensor(...)"
    assert _tensor_str._add_suffixes("f(1", ["a=2"], 2, False) == "f(1, a=2)"
    assert _tensor_str._add_suffixes("f(1", ["a=2"], 2, True) == "f(1,\n  a=2)"
    with _tensor_str.printoptions(precision=1):
        assert str(x) == "tensor([[1.0, 2.5]])" and _tensor_str.get_printoptions()["precision"] == 1
    assert str(x) == "tensor([[1.0000, 2.5000]])"


@pytest.mark.parametrize(
    ("options", "error", "shown"),
    [
        ({"precision": -1}, ValueRangeError, "precision must not be negative, got -1"),
        ({"precision": 2.5}, ArgumentTypeError, "precision must be an int, got 2.5"),
        ({"edgeitems": "3"}, ArgumentTypeError, "edgeitems must be an int, got '3'"),
        ({"threshold": [10]}, ArgumentTypeError, "threshold must be a number, got [10]"),
        ({"linewidth": "wide"}, ArgumentTypeError, "linewidth must be a number, got 'wide'"),
    ],
)
def test_options_that_cannot_be_printed_with_are_refused_and_change_nothing(options, error, shown):
    before = format.get_printoptions()
    with pytest.raises(error) as caught:
        torch.set_printoptions(sci_mode=True, **options)
    assert caught.value.operator == "set_printoptions" and shown in caught.value.fact
    assert format.get_printoptions() == before
