"""Hooks of nodes, leaves and saved tensors: their order, and what they may replace."""

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


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


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


def test_hooks_see_and_replace_gradients():
    seen = []
    x = leaf(1.0, 2.0)
    y = x * 2
    handle = y.register_hook(lambda grad: seen.append(grad.tolist()) or grad * 10)
    x.register_hook(lambda grad: grad + 1)
    y.sum().backward()
    assert seen == [[1.0, 1.0]] and x.grad.tolist() == [21.0, 21.0]
    handle.remove()
    z = x.detach().requires_grad_() * 2
    z.sum().backward()
    assert seen == [[1.0, 1.0]]


def test_retain_grad_keeps_the_gradient_of_a_non_leaf():
    x = leaf(3.0)
    y = x * 2
    y.retain_grad()
    (y * y).backward()
    assert y.grad.tolist() == [12.0] and x.grad.tolist() == [24.0]
