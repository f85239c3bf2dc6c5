"""Nodes of the graph: their names, edges and saved values."""

import gc

import pytest

import flambeau as torch
from flambeau.autograd import graph
from flambeau.errors import AutogradError
from flambeau.nn import functional as F


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


def test_a_node_says_what_it_is_and_where_gradients_go():
    x = leaf()
    y = x * 2
    node = y.grad_fn
    assert node is y.grad_fn and isinstance(node, graph.Node) and type(node).__name__ == "MulBackward0"
    assert node.name() == "MulBackward0" and "<MulBackward0 object at 0x" in repr(node)
    (of_x, index), of_number = node.next_functions
    assert of_number == (None, 0) and index == 0
    assert type(of_x).__name__ == "AccumulateGrad" and of_x.name() == "torch::autograd::AccumulateGrad"
    assert of_x.variable is x
    assert of_x is (x + 1).grad_fn.next_functions[0][0]
    joined = torch.cat([x, torch.ones(2), y])
    assert [each[0] for each in joined.grad_fn.next_functions] == [of_x, None, node]
    node.metadata["note"] = 5
    assert y.grad_fn.metadata == {"note": 5} and node.requires_grad
    assert node._sequence_nr() < (y * 2).grad_fn._sequence_nr() < of_x._sequence_nr()
    assert [each is not None and each.tolist() for each in node(torch.ones(3))] == [[2.0] * 3, False]


def test_a_node_keeps_the_graph_alive_and_knows_the_saved_values():
    x, w = leaf(), leaf(4.0, 5.0, 6.0)
    node = (x * w).exp().grad_fn
    assert node._saved_result.tolist() == (x * w).exp().tolist()
    product = node.next_functions[0][0]
    gc.collect()
    assert (product._saved_self.tolist(), product._saved_other.tolist()) == ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert product._saved_self.requires_grad and {"_saved_self", "_raw_saved_other"} <= set(dir(product))
    assert x.sum(0, keepdim=True).grad_fn._saved_keepdim is True
    with pytest.raises(AttributeError, match="_saved_nothing"):
        product._saved_nothing  # noqa: B018
    product(torch.ones(3))
    y = x * w
    y.sum().backward()
    with pytest.raises(AutogradError, match="MulBackward0: .*freed.*\nhint: Specify retain_graph=True"):
        y.grad_fn._saved_self  # noqa: B018


def test_results_of_a_leaf_and_of_nothing_have_no_node():
    assert leaf().grad_fn is None and torch.ones(2).grad_fn is None
    assert (leaf() * 2).output_nr == 0
    assert torch.ones(3, 2, requires_grad=True).max(0)[0].output_nr == 0


NAMES = {
    "CloneBackward0": lambda x: x.clone(),
    "ToCopyBackward0": lambda x: x.double(),
    "CatBackward0": lambda x: torch.cat([x, x]),
    "Log1PBackward0": lambda x: x.log1p(),
    "MaxBackward0": lambda x: x.max(0)[0],
    "MmBackward0": lambda x: x @ x,
    "NllLossBackward0": lambda x: F.cross_entropy(x, torch.tensor([0, 1])),
    "WhereBackward0": lambda x: torch.where(x > 1, x, x),
    "GatherBackward0": lambda x: x.gather(0, torch.tensor([[0, 1]])),
}


@pytest.mark.parametrize("name", NAMES)
def test_nodes_have_pytorch_s_names_and_no_place_for_indices(name):
    node = NAMES[name](torch.ones(2, 2, requires_grad=True)).grad_fn
    assert type(node).__name__ == node.name() == name
    assert all(each is not None for each, _ in node.next_functions) or name == "NllLossBackward0"
