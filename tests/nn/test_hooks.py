"""Hooks around forward and backward."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentTypeError


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
    net(torch.ones(1, 1)).sum().backward()
    assert seen == [((None,), 1.0)]
    assert net.weight.grad.tolist() == [[1.0]]


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
