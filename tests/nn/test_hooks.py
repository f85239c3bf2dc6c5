"""Hooks around forward and backward."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentTypeError, ModeError, ShapeError
from flambeau.nn.modules import module as everywhere


class Double(nn.Module):
    def forward(self, x, extra=0.0):
        return 2 * x + extra


def test_forward_hooks_run_in_order_and_may_change_values():
    net, seen = Double(), []
    net.register_forward_pre_hook(lambda module, args: seen.append(("pre", args[0].item())))
    net.register_forward_pre_hook(lambda module, args: args[0] + 1)
    net.register_forward_hook(lambda module, args, out: seen.append(("post", args[0].item(), out.item())))
    net.register_forward_hook(lambda module, args, out: out * 10)
    net.register_forward_pre_hook(lambda module, args: seen.append(("first", args[0].item())), prepend=True)
    assert net(torch.tensor(1.0)).item() == 40.0
    assert seen == [("first", 1.0), ("pre", 1.0), ("post", 2.0, 4.0)]


def test_hooks_with_kwargs_see_and_change_them():
    net = Double()
    net.register_forward_pre_hook(lambda module, args, kwargs: (args, {"extra": kwargs["extra"] + 1}), with_kwargs=True)
    net.register_forward_hook(lambda module, args, kwargs, out: out + kwargs["extra"], with_kwargs=True)
    assert net(torch.tensor(1.0), extra=4.0).item() == 12.0
    net.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(ArgumentTypeError, match="must return None or a tuple"):
        net(torch.tensor(1.0), extra=4.0)


def test_a_removed_hook_is_gone_and_its_twin_stays():
    net, seen = Double(), []

    def note(module, args):
        seen.append(1)

    first, _ = net.register_forward_pre_hook(note), net.register_forward_pre_hook(note)
    first.remove()
    first.remove()
    net(torch.tensor(1.0))
    assert seen == [1]


def test_always_call_runs_after_an_exception():
    class Broken(nn.Module):
        def forward(self, x):
            raise KeyError("lost")

    net, seen = Broken(), []
    net.register_forward_hook(lambda module, args, out: seen.append("skipped"))
    net.register_forward_hook(lambda module, args, out: seen.append(out), always_call=True)
    with pytest.raises(KeyError, match="lost"):
        net(1)
    assert seen == [None]


def test_full_backward_hooks_see_both_gradients():
    net, seen = nn.Linear(2, 1, bias=False), []
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[3.0, 5.0]]))

    def note(module, grad_input, grad_output):
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))

    net.register_full_backward_hook(note)
    x = torch.ones(1, 2, requires_grad=True)
    (net(x) * 2).sum().backward()
    assert seen == [([[6.0, 10.0]], [[2.0]])]
    assert x.grad.tolist() == [[6.0, 10.0]]


def test_full_backward_hooks_may_change_gradients():
    net = Double()
    net.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3,))
    net.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] + grad_output[0],))
    x = torch.tensor(1.0, requires_grad=True)
    net(x).backward()
    assert x.grad.item() == 9.0


def test_a_backward_hook_runs_where_no_input_needs_a_gradient():
    net, seen = nn.Linear(1, 1), []
    net.register_full_backward_hook(
        lambda module, grad_input, grad_output: seen.append((grad_input, grad_output[0].item()))
    )
    with pytest.warns(UserWarning, match="Linear: a full backward hook .* no input requires a gradient"):
        net(torch.ones(1, 1)).sum().backward()
    assert seen == [((None,), 1.0)]
    assert net.weight.grad.tolist() == [[1.0]]
    net.register_full_backward_hook(lambda module, grad_input, grad_output: (torch.ones(1, 1),))
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="gradients of inputs that do not require any"):
        net(torch.ones(1, 1)).sum().backward()


def test_backward_hooks_leave_tensors_without_a_gradient_as_they_are():
    class Parts(nn.Module):
        def forward(self, x, y):
            seen.append((x.requires_grad, y.requires_grad))
            return x * 2, x * 3, x.detach(), y, torch.ones(1, dtype=torch.int64)

    net, seen, x = Parts(), [], torch.ones(1, requires_grad=True)
    net.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    out = net(x, torch.ones(1))
    assert seen.pop() == (True, False) and [tensor.requires_grad for tensor in out] == [True, True, False, False, False]
    out[0].sum().backward()
    (grad_input, grad_output), *_ = seen
    assert grad_output == (torch.ones(1), None, None, None, None) and grad_input[0].item() == x.grad.item() == 2


def test_a_backward_hook_keeps_tuples_of_outputs():
    class Pair(nn.Module):
        def forward(self, x):
            return x * 2, "text", x * 3

    net, seen = Pair(), []
    net.register_full_backward_hook(
        lambda module, grad_input, grad_output: seen.append([grad_output[1], grad_input[0].item()])
    )
    x = torch.tensor(1.0, requires_grad=True)
    a, text, b = net(x)
    (a + b).backward()
    assert (text, x.grad.item(), seen) == ("text", 5.0, [[None, 5.0]])


def test_a_backward_hook_is_called_once_when_the_module_is_differentiated_twice():
    seen = []
    loss = nn.MSELoss()
    loss.register_full_backward_hook(lambda module, to, of: seen.append((to[0].tolist(), of[0].item())))
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (first,) = torch.autograd.grad(loss(x, torch.zeros(2)), x, create_graph=True)
    assert first.tolist() == [1.0, 2.0] and seen == [([1.0, 2.0], 1.0)]
    first.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0] and len(seen) == 1


def test_handles_are_those_of_torch_utils_hooks():
    net = Double()
    with net.register_forward_hook(lambda module, args, out: out * 10) as handle:
        assert net(torch.tensor(1.0)).item() == 20.0 and handle.id in net._forward_hooks
    assert net(torch.tensor(1.0)).item() == 2.0


def test_hooks_of_all_modules_come_first_and_end_with_their_handles():
    net, seen = nn.Sequential(nn.Tanh()), []
    net[0].register_forward_hook(lambda module, args, out: seen.append("own"))
    handles = [
        everywhere.register_module_forward_pre_hook(lambda module, args: seen.append(("pre", type(module).__name__))),
        everywhere.register_module_forward_hook(
            lambda module, args, kwargs, out: seen.append(("post", kwargs)), with_kwargs=True
        ),
        everywhere.register_module_full_backward_pre_hook(
            lambda module, grads: seen.append(("before", grads[0].item()))
        ),
        everywhere.register_module_full_backward_hook(
            lambda module, to, of: seen.append(("backward", type(module).__name__, to[0].item()))
        ),
    ]
    x = torch.tensor(0.0, requires_grad=True)
    net(x).backward()
    assert seen == [
        ("pre", "Sequential"), ("pre", "Tanh"), ("post", {}), "own", ("post", {}), ("before", 1.0), ("before", 1.0),
        ("backward", "Tanh", 1.0), ("backward", "Sequential", 1.0),
    ]  # fmt: skip
    for handle in handles:
        handle.remove()
    seen.clear()
    net(x).backward()
    assert seen == ["own"]


def test_regular_backward_hooks_see_the_node_of_the_output():
    net, seen = nn.Sequential(nn.Linear(2, 1), nn.Tanh()), []
    net.register_backward_hook(lambda module, to, of: seen.append((tuple(to[0].shape), of[0].tolist())))
    net(torch.zeros(1, 2)).sum().backward()
    assert seen == [((1, 1), [[1.0]])]
    with pytest.raises(ModeError, match="regular"):
        net.register_full_backward_hook(lambda *_: None)


def test_registration_calls_hooks_that_may_replace_the_value():
    seen = []
    handles = [
        everywhere.register_module_parameter_registration_hook(lambda module, name, value: seen.append(name)),
        everywhere.register_module_buffer_registration_hook(lambda module, name, value: value + 1),
        everywhere.register_module_module_registration_hook(
            lambda module, name, value: seen.append((name, type(value).__name__))
        ),
    ]
    net = nn.Sequential(nn.Linear(1, 1))
    net.register_buffer("shift", torch.zeros(1))
    for handle in handles:
        handle.remove()
    assert (seen, net.shift.tolist()) == (["weight", "bias", ("0", "Linear")], [1.0])


def test_a_hook_that_is_always_called_sees_the_result_and_may_not_hide_the_error():
    net, seen = nn.Identity(), []
    net.register_forward_hook(lambda module, args, out: seen.append(out), always_call=True)
    net.register_forward_hook(lambda module, args, out: 1 / 0)
    net.register_forward_hook(lambda module, args, out: seen.append(out), always_call=True)
    net.register_forward_hook(lambda module, args, out: {}["lost"], always_call=True)
    with pytest.raises(ZeroDivisionError), pytest.warns(UserWarning, match="always_call=True.*lost"):
        net(5)
    assert seen == [5, 5]


def test_an_error_notes_the_path_of_the_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)
            self.encoder.layers[1].linear1 = nn.Linear(5, 8)

        def forward(self, x):
            return self.encoder(x)

    with pytest.raises(ShapeError) as caught:
        nn.Sequential(Net())(torch.ones(3, 1, 4))
    assert caught.value.__notes__ == ["in 0.encoder.layers.1.linear1 (Linear)"]
    with pytest.raises(ShapeError) as caught:
        nn.Linear(2, 2)(torch.ones(3))
    assert not hasattr(caught.value, "__notes__")
