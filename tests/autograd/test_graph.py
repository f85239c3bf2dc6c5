"""Public nodes, their hooks, gradient edges, and hooks on saved tensors."""

import gc
import pickle
import weakref
from collections import OrderedDict

import pytest

import flambeau as torch
from flambeau.autograd import graph
from flambeau.autograd.node_hooks import RemovableHandle
from flambeau.errors import AutogradError
from flambeau.nn import functional as F
from flambeau.testing import machine


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


# nodes


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


# hooks of nodes


def test_hooks_of_a_node_run_in_order_around_it():
    seen = []
    x = leaf()
    y = x * 2
    y.grad_fn.register_hook(lambda to, of: seen.append(("post", to[0].tolist(), to[1], of[0].tolist())))
    y.grad_fn.register_prehook(lambda of: seen.append(("pre", of[0].tolist())))
    y.register_hook(lambda grad: seen.append(("tensor", grad.tolist())))
    y.sum().backward()
    assert seen == [
        ("tensor", [1.0] * 3),
        ("pre", [1.0] * 3),
        ("post", [2.0] * 3, None, [1.0] * 3),
    ]


def test_hooks_of_a_node_replace_gradients_and_are_removed():
    x = leaf()
    y = x * 2
    before = y.grad_fn.register_prehook(lambda of: (of[0] * 10,))
    after = y.grad_fn.register_hook(lambda to, of: (to[0] + 1, None))
    total = y.sum()
    total.backward(retain_graph=True)
    assert x.grad.tolist() == [21.0] * 3
    before.remove()
    with after:
        total.backward(retain_graph=True)
    assert x.grad.tolist() == [24.0] * 3
    total.backward()
    assert x.grad.tolist() == [26.0] * 3


@pytest.mark.parametrize(
    ("register", "error", "match"),
    [
        (lambda n: n.register_prehook(lambda of: of[0]), TypeError, "register_prehook: expected tuple.*Tensor"),
        (lambda n: n.register_prehook(lambda of: of * 2), RuntimeError, "register_prehook: .*got 2, but expected 1"),
        (lambda n: n.register_hook(lambda to, of: [to]), TypeError, "register_hook: expected tuple.*list"),
        (lambda n: n.register_hook(lambda to, of: to[:1]), RuntimeError, "register_hook: .*got 1, but expected 2"),
        (lambda n: n.register_hook(lambda to, of: (torch.ones(2), None)), RuntimeError, r"float32\[2\].*float32\[3\]"),
        (lambda n: n.register_prehook(3), TypeError, "register_prehook: hook must be a function, got 3"),
    ],
)
def test_hooks_that_return_what_does_not_fit_are_errors(register, error, match):
    x = leaf()
    y = x * 2
    with pytest.raises(error, match=match):
        register(y.grad_fn)
        y.sum().backward()
    assert x.grad is None


def test_hooks_around_a_leaf_s_node_see_the_gradient_before_and_after_it_is_added():
    seen = []
    x = leaf()
    node = x.view_as(x).grad_fn.next_functions[0][0]
    node.register_prehook(lambda of: seen.append(("pre", of[0].tolist(), x.grad)))
    node.register_hook(lambda to, of: seen.append(("post", to, x.grad.tolist())))
    x.register_hook(lambda grad: seen.append(("tensor", grad.tolist())))
    x.register_post_accumulate_grad_hook(lambda param: seen.append(("added", param is x, param.grad.tolist())))
    (x * 2).sum().backward()
    assert seen == [
        ("tensor", [2.0] * 3),
        ("pre", [2.0] * 3, None),
        ("added", True, [2.0] * 3),
        ("post", (), [2.0] * 3),
    ]


def test_a_post_accumulate_hook_may_take_the_gradient_and_is_only_for_leaves():
    x = leaf()
    handle = x.register_post_accumulate_grad_hook(lambda param: setattr(param, "grad", None))
    (x * 2).sum().backward()
    assert x.grad is None
    torch.autograd.grad((x * 2).sum(), [x])
    handle.remove()
    (x * 2).sum().backward(inputs=[x])
    assert x.grad.tolist() == [2.0] * 3
    for tensor in (x * 2, torch.ones(1)):
        with pytest.raises(AutogradError, match="register_post_accumulate_grad_hook: .*float32"):
            tensor.register_post_accumulate_grad_hook(print)


def test_the_pass_with_inputs_adds_to_those_alone_and_makes_others_retain():
    x, w = leaf(), leaf(4.0, 5.0, 6.0)
    y = x * w
    y.register_hook(lambda grad: grad * 10)
    (y * y).sum().backward(inputs=[y, w])
    assert x.grad is None and y.retains_grad
    assert y.grad.tolist() == [80.0, 200.0, 360.0] and w.grad.tolist() == [80.0, 400.0, 1080.0]


def test_an_undefined_gradient_reaches_hooks_as_none_and_functions_as_zeros():
    seen = []

    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    class Spy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(grad.tolist())
            return grad

    x = leaf()
    y = Spy.apply(x)
    y.register_hook(seen.append)
    y.retain_grad()
    Stop.apply(y).sum().backward()
    assert seen == [None, [0.0] * 3] and y.grad is None and x.grad.tolist() == [0.0] * 3


def test_a_hook_on_a_leaf_makes_no_node_and_no_cycle():
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        x.register_hook(lambda grad: grad)
        graph.register_multi_grad_hook([x], lambda grads: None)
        (x * x).sum().backward()
        alive = weakref.ref(x)
        del x
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.devices(1)
def test_a_leaf_belongs_to_the_stream_of_its_first_use_whatever_the_hooks(gpus, recwarn):
    side = torch.cuda.Stream()
    x = torch.ones(3, device="cuda", requires_grad=True)
    x.register_hook(lambda grad: seen.append(torch.cuda.current_stream()))
    graph.register_multi_grad_hook([x], lambda grads: None)
    seen = []
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = (x * 2).sum()
    y.backward()
    assert seen == [side] and x.grad.tolist() == [2.0] * 3 and not recwarn.list


# several tensors


def test_a_hook_on_several_tensors_is_called_once_per_pass():
    a, b, c = leaf(), leaf(), leaf()
    seen = []
    handle = graph.register_multi_grad_hook([a, b, c], seen.append)
    first = graph.register_multi_grad_hook((a, b), lambda grad: seen.append(grad.tolist()), mode="any")
    total = (a * 2 + b * 3).sum()
    for _ in range(2):
        total.backward(retain_graph=True)
    lists = [each for each in seen if len(each) == 3 and each[2] is None]
    assert [[each.tolist() for each in grads[:2]] for grads in lists] == [[[2.0] * 3, [3.0] * 3]] * 2
    assert len(seen) == 4
    first.remove()
    handle.remove()
    total.backward()
    assert len(seen) == 4
    with pytest.raises(ValueError, match="register_multi_grad_hook: .*'some'"):
        graph.register_multi_grad_hook([a], print, mode="some")
    with pytest.raises(RuntimeError, match=r"register_multi_grad_hook: .*float32\[1\] on cpu"):
        graph.register_multi_grad_hook([a, torch.ones(1)], print)


# edges


def test_edges_take_the_place_of_tensors():
    x = leaf()
    y = x * 2
    out = (y * y).sum()
    edge = graph.get_gradient_edge(y)
    assert (edge.node, edge.output_nr, edge.ownership_token) == (y.grad_fn, 0, None) and tuple(edge) == edge
    (found,) = torch.autograd.grad(out, edge, retain_graph=True)
    assert found.tolist() == [4.0, 8.0, 12.0]
    del y
    (found,) = torch.autograd.grad(edge, x, torch.ones(3))
    assert found.tolist() == [2.0] * 3
    torch.autograd.backward(graph.get_gradient_edge(x.exp().sum()), inputs=[graph.get_gradient_edge(x)])
    assert torch.equal(x.grad, x.exp())
    for value in (torch.ones(1), 3):
        with pytest.raises(AutogradError, match="get_gradient_edge: "):
            graph.get_gradient_edge(value)
    with pytest.raises(AutogradError, match="implicitly created only for scalar outputs"):
        torch.autograd.backward(graph.get_gradient_edge(x * 2))


def test_grad_takes_dictionaries_and_makes_zeros():
    x, unused = leaf(), leaf()
    found = torch.autograd.grad((x * 2).sum(), {"x": x, "unused": unused}, materialize_grads=True)
    assert {name: each.tolist() for name, each in found.items()} == {"x": [2.0] * 3, "unused": [0.0] * 3}
    with pytest.raises(ValueError, match="allow_unused=False"):
        torch.autograd.grad(x.sum(), [x], allow_unused=False, materialize_grads=True)


# saved tensors


def test_saved_tensors_are_packed_and_unpacked():
    packed, unpacked = [], []
    x = leaf()

    def pack(tensor):
        packed.append(tensor.tolist())
        assert not torch.is_grad_enabled()
        return len(packed) - 1, tensor.clone()

    def unpack(value):
        unpacked.append(value[0])
        return value[1]

    with graph.saved_tensors_hooks(pack, unpack):
        y = x * x
        z = y.exp()
    out = z * 2
    (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    assert packed == [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], z.tolist()] and unpacked == [2, 0, 1]
    (second,) = torch.autograd.grad(first.sum(), x)
    expected = [4 * (1 + 2 * v * v) * e for v, e in zip([1.0, 2.0, 3.0], (x * x).exp().tolist())]
    assert torch.allclose(second, torch.tensor(expected))


def test_a_pack_hook_gets_a_saved_leaf_itself_and_records_nothing():
    weight = torch.nn.Parameter(torch.ones(2, 3))
    seen = []

    def pack(tensor):
        seen.append(tensor)
        return None if tensor is weight else tensor * 1

    def unpack(value):
        return weight if value is None else value

    x = leaf()
    with graph.saved_tensors_hooks(pack, unpack):
        y = F.linear(x * 2, weight)
        is_recording = torch.is_grad_enabled()
    assert any(tensor is weight for tensor in seen) and is_recording
    y.sum().backward()
    assert x.grad.tolist() == [4.0] * 3 and weight.grad.tolist() == [[2.0, 4.0, 6.0]] * 2
    with graph.saved_tensors_hooks(lambda tensor: seen.append((tensor * 1).requires_grad), unpack):
        x * x
    assert seen[-2:] == [False, False]


def test_saved_tensors_of_functions_and_writes_in_place_are_packed():
    saved = []

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x * x * x
            ctx.save_for_backward(x, None, out)
            return out

        @staticmethod
        def backward(ctx, grad):
            x, _, out = ctx.saved_tensors
            assert torch.equal(out, x * x * x)
            return grad * 3 * x * x

    x = leaf()
    with graph.saved_tensors_hooks(lambda each: saved.append(each.tolist()) or each.clone(), lambda each: each):
        y = Cube.apply(x)
        y.sigmoid_()
        y.mul_(x)
    y.sum().backward()
    other = leaf()
    (Cube.apply(other).sigmoid() * other).sum().backward()
    assert torch.allclose(x.grad, other.grad) and len(saved) == 5
    assert saved[:2] == [[1.0, 2.0, 3.0], [1.0, 8.0, 27.0]]


def test_packing_may_not_write_and_unpacking_returns_a_tensor():
    x = leaf()
    with (
        graph.saved_tensors_hooks(lambda each: each.mul_(2), lambda each: each),
        pytest.raises(AutogradError, match=r"pack hook is modifying its input in place: float32\[3\]"),
    ):
        x * x
    x = leaf()
    with graph.saved_tensors_hooks(lambda each: 5, lambda each: each):
        y = (x * x).sum()
    with pytest.raises(TypeError, match="mul: a saved tensor unpack hook must return a Tensor, got 5"):
        y.backward()


def test_hooks_nest_and_can_be_disabled():
    seen = []

    def noting(name):
        return graph.saved_tensors_hooks(lambda each: seen.append(name) or each, lambda each: each)

    x = leaf()
    with noting("outer"):
        with noting("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert seen == ["inner", "outer"]
    with graph.disable_saved_tensors_hooks("not here"):
        x.exp()
        with pytest.raises(AutogradError, match="saved_tensors_hooks: not here"), noting("never"):
            pass
    with noting("last"):
        with pytest.raises(AutogradError, match="not now"), graph.disable_saved_tensors_hooks("not now"):
            pass
        x.exp()
    assert seen == ["inner", "outer", "last"]


def test_hooks_of_one_saved_tensor():
    x = leaf()
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda each: each.tolist(), lambda each: torch.tensor(each) * 2)
    with pytest.raises(AutogradError, match="register_hooks"):
        y.grad_fn._raw_saved_result.register_hooks(lambda each: each, lambda each: each)
    raw = x.exp().grad_fn._raw_saved_result
    other = x.exp()
    kept = other.grad_fn._raw_saved_result
    other.sum().backward()
    x.grad = None
    with pytest.raises(AutogradError, match="ExpBackward0: .*freed"):
        kept.register_hooks(lambda each: each, lambda each: each)
    raw.register_hooks(lambda each: each, lambda each: each)
    y.sum().backward()
    assert torch.allclose(x.grad, x.exp() * 2)


@pytest.mark.parametrize("pinned", [False, True])
def test_saved_tensors_are_held_on_the_cpu(pinned):
    with machine(devices=1) as made:
        allocator = made.devices[0].allocator
        x = torch.randn(1024, device="cuda", requires_grad=True)
        before = allocator.allocated_bytes
        with graph.save_on_cpu(pin_memory=pinned):
            y = (x * 2).exp()
            out = y.sum()
        del y
        assert allocator.allocated_bytes - before < 1024 * 4
        out.backward()
        assert torch.allclose(x.grad, (x * 2).exp() * 2)


def test_saved_tensors_may_be_written_where_that_is_allowed():
    x = leaf()
    with graph.allow_mutation_on_saved_tensors() as mutations:
        y = x * 2
        z = y * y
        y.mul_(5)
        y[0] = 9.0
        out = z.sum()
        out.backward(retain_graph=True)
        assert x.grad.tolist() == [8.0, 16.0, 24.0]
        with pytest.raises(AutogradError, match="cannot be nested"), graph.allow_mutation_on_saved_tensors():
            pass
        mutations.clear()
    with pytest.raises(AutogradError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        out.backward()


# handles


def test_a_handle_removes_its_hook_from_every_dictionary():
    hooks, extra = OrderedDict(), OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=[extra])
    hooks[handle.id] = extra[handle.id] = "hook"
    other = RemovableHandle(hooks)
    hooks[other.id] = "other"
    stored, kept = pickle.loads(pickle.dumps((handle, hooks)))
    assert stored.id == handle.id
    stored.remove()
    assert list(kept.values()) == ["other"]
    handle.remove()
    handle.remove()
    assert list(hooks.values()) == ["other"] and not extra
    del hooks
    other.remove()
