"""Pruning: masks of parameters."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ArgumentTypeError, IndexRangeError
from flambeau.nn.utils import prune


def layer():
    made = nn.Linear(3, 2)
    made.weight.data = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])
    return made


def mask(module):
    return module.weight_mask.tolist()


def test_a_pruned_parameter_is_computed_from_its_original_and_its_mask():
    net = prune.l1_unstructured(layer(), "weight", 2)
    assert list(net.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    assert net.weight.tolist() == [[0.0, 0.0, 3.0], [-4.0, 5.0, -6.0]]
    net(torch.ones(1, 3)).sum().backward()
    assert net.weight_orig.grad.tolist() == mask(net) == [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    with torch.no_grad():
        net.weight_orig.add_(1)
    net(torch.ones(1, 3))
    assert net.weight.tolist() == [[0.0, 0.0, 4.0], [-3.0, 6.0, -5.0]]
    assert prune.is_pruned(nn.Sequential(net)) and prune.remove(net, "weight") is net
    assert list(net.state_dict()) == ["bias", "weight"] and not prune.is_pruned(net)
    assert isinstance(net.weight, nn.Parameter) and net.weight.tolist() == [[0.0, 0.0, 4.0], [-3.0, 6.0, -5.0]]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda net: prune.l1_unstructured(net, "weight", 0.5), [[0, 0, 0], [1, 1, 1]]),
        (lambda net: prune.l1_unstructured(net, "weight", 2, torch.arange(6.0).view(2, 3).flip(0)),
         [[1, 1, 1], [0, 0, 1]]),
        (lambda net: prune.ln_structured(net, "weight", 1, 2, 0), [[0, 0, 0], [1, 1, 1]]),
        (lambda net: prune.ln_structured(net, "weight", 1, float("inf"), -1), [[0, 1, 1], [0, 1, 1]]),
        (lambda net: prune.custom_from_mask(net, "weight", torch.tensor([[1, 0, 1], [0, 1, 1]])),
         [[1, 0, 1], [0, 1, 1]]),
        (lambda net: prune.identity(net, "weight"), [[1, 1, 1], [1, 1, 1]]),
        (lambda net: prune.ln_structured(prune.l1_unstructured(net, "weight", 1), "weight", 1, 2, 1),
         [[0, 1, 1], [0, 1, 1]]),
        (lambda net: prune.l1_unstructured(prune.ln_structured(net, "weight", 1, 2, 0), "weight", 1),
         [[0, 0, 0], [0, 1, 1]]),
    ],
)  # fmt: skip
def test_masks(call, expected):
    assert mask(call(layer())) == expected


def test_norms_of_channels_are_those_of_the_values_that_earlier_masks_left():
    rows = prune.custom_from_mask(layer(), "weight", torch.tensor([[1, 1, 1], [1, 0, 0]]))
    assert mask(prune.ln_structured(rows, "weight", 1, 1, 0)) == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    columns = prune.custom_from_mask(layer(), "weight", torch.tensor([[1, 1, 1], [1, 0, 1]]))
    assert mask(prune.ln_structured(columns, "weight", 1, 2, 1)) == [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]


def test_random_masks_have_the_number_that_was_asked_for():
    assert prune.random_unstructured(layer(), "weight", 4).weight_mask.sum().item() == 2.0
    columns = prune.random_structured(layer(), "weight", 1, dim=1).weight_mask.sum(0).tolist()
    assert sorted(columns) == [0.0, 2.0, 2.0]


def test_later_methods_extend_the_mask_and_form_a_container():
    net = prune.l1_unstructured(prune.l1_unstructured(layer(), "weight", 1), "weight", 2)
    assert mask(net) == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    (hook,) = net._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2
    assert [type(each) for each in hook] == [prune.L1Unstructured] * 2 and hook[0].amount == 1
    with pytest.raises(ArgumentTypeError, match="int is not a BasePruningMethod"):
        hook.add_pruning_method(3)
    other = prune.L1Unstructured(1)
    other._tensor_name = "bias"
    with pytest.raises(ArgumentError, match="'weight', this is of 'bias'"):
        hook.add_pruning_method(other)


def test_parameters_are_pruned_together():
    net = nn.Sequential(layer(), nn.Linear(2, 1))
    net[1].weight.data = torch.tensor([[0.5, 10.0]])
    pairs = [(net[0], "weight"), (net[1], "weight")]
    for _ in range(2):
        prune.global_unstructured(pairs, prune.L1Unstructured, amount=2)
    assert (mask(net[0]), mask(net[1])) == ([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], [[0.0, 1.0]])
    with pytest.raises(ArgumentTypeError, match="LnStructured is 'structured'"):
        prune.global_unstructured(pairs, prune.LnStructured, amount=1, n=2)
    with pytest.raises(ArgumentError, match="parameters is empty"):
        prune.global_unstructured([], prune.L1Unstructured, amount=1)


def test_a_tensor_may_be_pruned_alone():
    assert prune.L1Unstructured(2).prune(torch.tensor([1.0, -3.0, 0.5, 2.0])).tolist() == [0.0, -3.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: prune.l1_unstructured(layer(), "weight", -1), ArgumentError, "amount=-1"),
        (lambda: prune.l1_unstructured(layer(), "weight", True), ArgumentTypeError, "amount: True"),
        (lambda: prune.l1_unstructured(layer(), "weight", 1.5), ArgumentError, r"amount=1\.5"),
        (lambda: prune.l1_unstructured(layer(), "weight", 7), ArgumentError, "amount=7 .*=6"),
        (lambda: prune.l1_unstructured(layer(), "weight", "all"), ArgumentTypeError, "'all'"),
        (lambda: prune.l1_unstructured(layer(), "weight", 1, torch.ones(3)), AssertionError, r"\[2, 3\], got \[3\]"),
        (lambda: prune.custom_from_mask(layer(), "weight", torch.ones(3)), AssertionError, r"\[3\] .*\[2, 3\]"),
        (lambda: prune.ln_structured(layer(), "bias", 1, 2, 0), ArgumentError, r"multidimensional .*\[2\]"),
        (lambda: prune.ln_structured(layer(), "weight", 1, 2, 5), IndexRangeError, r"dimension 5 .*\[2, 3\]"),
        (lambda: prune.l1_unstructured(layer(), "nothing", 1), AttributeError, "nothing"),
        (lambda: prune.remove(layer(), "weight"), ArgumentError, "'weight' of Linear"),
    ],
)
def test_nothing_changes_after_an_error(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_error_leaves_the_module():
    net = layer()
    with pytest.raises(ArgumentError):
        prune.l1_unstructured(net, "weight", 7)
    assert list(net.state_dict()) == ["weight", "bias"] and not net._forward_pre_hooks


def test_entries_that_are_no_methods_or_pairs_are_named():
    with pytest.raises(TypeError, match="Tensor is not a BasePruningMethod subclass"):
        prune.PruningContainer(torch.ones(3, 2))
    for pair in (3, (nn.Linear(1, 1), 3), (3, "weight")):
        with pytest.raises(TypeError, match=r"global_unstructured: .*parameters\[0\] must be a"):
            prune.global_unstructured([pair], prune.L1Unstructured, amount=1)
