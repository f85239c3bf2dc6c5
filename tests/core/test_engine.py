"""The backward engine: values, order, streams, versions, memory."""

import gc
import threading

import pytest

import flambeau as torch
from flambeau.core import thread
from flambeau.core.plan import Plan
from flambeau.ops.operator import REGISTRY
from flambeau.testing import gradcheck, gradgradcheck, machine


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(list(values), requires_grad=True)


def test_gradients_of_a_diamond_add_up():
    x = leaf(2.0, 3.0)
    y = x * x
    (y * x + y).sum().backward()
    assert x.grad.tolist() == [3 * 4 + 4.0, 3 * 9 + 6.0]


def test_a_chain_of_fifty_thousand_nodes_needs_no_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1.0]


def test_backward_accumulates_into_grad():
    x = leaf(1.0, 2.0)
    for _ in range(3):
        (x * 2).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_two_leaves_never_share_a_gradient():
    x, y = leaf(1.0), leaf(2.0)
    (x + y).backward()
    x.grad.add_(10)
    assert (x.grad.item(), y.grad.item()) == (11.0, 1.0)


def test_reused_ids_of_freed_storages_spoil_no_gradient():
    leaves, kept, ids = [leaf(float(number)) for number in range(30)], [], []

    def look(grad):
        ids.append(id(grad._storage))
        if len(ids) % 3 == 0:
            kept.append((grad, grad.tolist()))

    y = leaf(1.0) * 1
    for each in leaves:
        product = each * each
        product.register_hook(look)
        y = y * 2.0 + product * 2.0
        y.register_hook(look)
    y.backward(retain_graph=True)
    first = [each.grad.tolist() for each in leaves]
    y.backward()  # adds to the gradients in place
    assert len(set(ids)) < len(ids)  # storages that the hooks saw were freed, and others have their ids
    assert first == [[4.0 * number * 2.0 ** (29 - number)] for number in range(30)]
    assert [each.grad.tolist() for each in leaves] == [[2 * value] for (value,) in first]
    assert [grad.tolist() for grad, _ in kept] == [values for _, values in kept]
    assert len({each.grad.data_ptr() for each in leaves}) == len(leaves)


def test_the_gradient_given_by_the_user_is_not_taken_over():
    x = leaf(1.0, 2.0)
    seed = torch.tensor([5.0, 6.0])
    (x + 0).backward(seed)
    x.grad.zero_()
    assert seed.tolist() == [5.0, 6.0]


def test_a_second_backward_needs_retain_graph():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="second time.*\nhint: Specify retain_graph=True"):
        y.backward()


def test_a_graph_that_saves_no_tensor_may_run_again():
    x = leaf(1.0, 2.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_input_that_was_overwritten_has_a_gradient_of_zeros():
    x = leaf(1.0, 2.0)
    (x * 2).fill_(3).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_a_saved_value_that_was_overwritten_is_noticed():
    x = leaf(1.0, 2.0)
    y = x.exp()
    z = y.sum()
    y.add_(1)
    expected = r"modified by an inplace operation: float32\[2\] is at version 1; expected version 0"
    with pytest.raises(RuntimeError, match=expected):
        z.backward()
    assert x.grad is None


def test_a_value_that_backward_does_not_need_may_be_overwritten():
    x = leaf(1.0, 2.0)
    y = x * 3
    z = y * 2
    y.zero_()
    z.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_writes_through_a_view_reach_its_base():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    y[1:].mul_(10)
    y[0] = 7.0
    y.sum().backward()
    assert y.tolist() == [7.0, 20.0, 30.0] and x.grad.tolist() == [0.0, 10.0, 10.0]


def test_a_view_made_before_a_write_to_its_base_follows_it():
    x = leaf(1.0, 2.0)
    y = x * 1
    v = y[0]
    y.mul_(5)
    v.backward()
    assert v.item() == 5.0 and x.grad.tolist() == [5.0, 0.0]


def test_assigning_a_tensor_with_a_gradient_into_a_slice():
    x, value = leaf(1.0, 2.0, 3.0), leaf(10.0)
    y = x * 2
    y[1] = value[0] * 3
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 6.0] and value.grad.tolist() == [6.0]


def test_a_leaf_cannot_be_written_in_place():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad.*\nhint"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[0].add_(1)
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0]


def test_second_derivatives():
    x = leaf(2.0, 3.0)
    (first,) = torch.autograd.grad((x * x * x).sum(), [x], create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), [x])
    assert second.tolist() == [12.0, 18.0]
    x64 = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda t: (t.exp() * t).sum(), [x64]) and gradgradcheck(lambda t: (t.exp() * t).sum(), [x64])


def test_gradcheck_refuses_a_wrong_derivative():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="input 0 .* differs from central differences by up to"):
        assert gradcheck(Wrong.apply, [x])


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad * ctx.scale, None


def test_a_function_of_the_users_own():
    x = leaf(2.0)
    Cube.apply(x, 5).backward()
    assert x.grad.tolist() == [60.0]
    x64 = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda t: Cube.apply(t, 2), [x64]) and gradgradcheck(lambda t: Cube.apply(t, 2), [x64])


def test_no_grad_records_nothing_and_enable_grad_does():
    x = leaf(1.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad

    @torch.no_grad()
    def f():
        return x * 2

    assert not f().requires_grad and (x * 2).requires_grad


def test_errors_say_what_is_missing():
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.tensor([1.0]).backward()
    with pytest.raises(RuntimeError, match=r"only for scalar outputs, not for float32\[2\] on cpu"):
        (leaf(1.0, 2.0) * 2).backward()
    with pytest.raises(RuntimeError, match=r"gradient has shape \[3\], the output \[2\]"):
        (leaf(1.0, 2.0) * 2).backward(torch.ones(3))
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        torch.tensor([1], requires_grad=True)


def test_memory_returns_by_reference_count_alone():
    with machine(devices=1) as made:
        allocator = made.devices[0].allocator
        gc.collect()
        gc.disable()
        try:
            start = allocator.allocated_bytes
            x = torch.randn(64, 64, device="cuda", requires_grad=True)
            for _ in range(3):
                y = torch.softmax(x @ x, -1)
                y = torch.relu(y[:, :32]).exp()
                z = Cube.apply(y, 2)
                z[0].mul_(2)
                z.sum().backward()
            del x, y, z
            assert allocator.allocated_bytes == start
        finally:
            gc.enable()


@pytest.mark.usefixtures("gpus")
def test_a_gradient_crosses_devices():
    x = torch.tensor([1.0, 2.0], device="cuda:0", requires_grad=True)
    y = (x * 3).to("cuda:1")
    (y * y).cpu().sum().backward()
    assert x.grad.device == torch.device("cuda:0") and x.grad.tolist() == [18.0, 36.0]


def test_threads_that_share_a_leaf_lose_no_gradient():
    leaf = torch.zeros(8, requires_grad=True)

    def work() -> None:
        for _ in range(50):
            (leaf * 1).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert leaf.grad.tolist() == [400.0] * 8


def test_leaves_do_not_share_their_gradients_under_create_graph():
    x, y, seed = (torch.ones(1, requires_grad=True) for _ in range(3))
    (x + y).backward(seed.detach(), create_graph=True)
    with torch.no_grad():
        x.grad.add_(10)
    assert (x.grad.item(), y.grad.item(), seed.item()) == (11.0, 1.0, 1.0)


def test_a_view_learns_that_its_base_joined_a_graph():
    x, base = torch.ones(2, requires_grad=True), torch.zeros(2)
    view = base[1]
    base.copy_(x)
    assert view.requires_grad and not view.is_leaf


MIXED = {
    "add": lambda s, w: w + s,
    "add of a number": lambda s, w: s + w,
    "sub": lambda s, w: s - w,
    "mul": lambda s, w: s * w,
    "div": lambda s, w: w / s,
    "pow": lambda s, w: w**s,
    "base": lambda s, w: s**w,
    "where": lambda s, w: torch.where(w > 1, s, w),
    "maximum": lambda s, w: torch.maximum(w, s),
    "clamp": lambda s, w: w.clamp(min=s),
    "lerp": lambda s, w: torch.lerp(w, w * 2, s),
    "masked_fill": lambda s, w: w.masked_fill(w > 1, s),
    "mul_": lambda s, w: (w * 1).mul_(s),
    "add_": lambda s, w: (w * 1).add_(s, alpha=2),
    "fill_": lambda s, w: (w * 1).fill_(s),
}


@pytest.mark.devices(1)
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("name", MIXED)
def test_a_number_on_the_cpu_among_operands_of_a_gpu_gets_its_gradient(name, both, gpus):
    found = []
    for device in ("cpu", "cuda"):
        number = torch.tensor(2.0, requires_grad=True)
        weight = torch.tensor([1.0, 0.5, 3.0], device=device, requires_grad=both)
        MIXED[name](number, weight).sum().backward()
        assert number.grad.device == torch.device("cpu")
        found.append([number.grad.item(), *(weight.grad.tolist() if both else [])])
    assert found[0] == pytest.approx(found[1])


@pytest.mark.devices(1)
def test_second_derivatives_reach_a_number_on_the_cpu(gpus):
    number = torch.tensor(2.0, requires_grad=True)
    weight = torch.tensor([1.0, 3.0], device="cuda")
    (first,) = torch.autograd.grad((number * number * weight).sum(), number, create_graph=True)
    (second,) = torch.autograd.grad(first, number)
    assert (first.item(), second.item()) == (16.0, 8.0)
    with torch.no_grad():
        assert not (number * weight).requires_grad


def derivatives(name):
    found = REGISTRY[name].derivative_call
    return [entry for key, entry in thread.machine().plans.entries.items() if key[0] is found]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_derivative_is_one_plan_for_every_pass(new_gpus, device):
    before = derivatives("mul")
    for scale in (2.0, 3.0):
        x = torch.full((2, 37), scale, device=device, requires_grad=True)
        y = torch.full((37,), 5.0, device=device, requires_grad=True)
        (x * y).sum().backward()
        assert x.grad.tolist() == [[5.0] * 37] * 2 and y.grad.tolist() == [2 * scale] * 37
    entries = [plan for plan in derivatives("mul") if plan.device.public == x.device and plan not in before]
    assert [type(plan) for plan in entries] == [Plan]


def test_a_gradient_that_is_a_view_begins_where_the_incoming_one_does():
    x = torch.zeros(2, 3, requires_grad=True)
    (grad,) = torch.autograd.grad(x.sum(0, keepdim=True), x, torch.arange(6.0).view(2, 3)[1:])
    assert grad.tolist() == [[3, 4, 5], [3, 4, 5]]


def test_a_second_derivative_takes_the_ordinary_path():
    x = torch.tensor([2.0], requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [12] and second.tolist() == [12]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_derivative_is_lowered_where_some_results_have_no_gradient(gpus, device):
    before = derivatives("native_layer_norm")
    for _ in range(2):
        x = torch.tensor([[1.0, 2.0, 6.0, 3.0, 3.0]], device=device, requires_grad=True)
        mean = torch.native_layer_norm(x, (5,), None, None, 0.0)[1]
        mean.sum().backward()  # the first result has none: the derivative's body runs
        assert x.grad.tolist() == [[0.2] * 5] or torch.allclose(x.grad, torch.tensor(0.2, device=device))
        torch.nn.functional.layer_norm(x, (5,)).sum().backward()
    entries = [plan for plan in derivatives("native_layer_norm") if plan not in before]
    assert [type(plan) for plan in entries] == [Plan]


def test_an_output_without_a_gradient_does_not_keep_a_derivative_from_being_lowered(gpus):
    before = derivatives("native_layer_norm")
    for _ in range(2):
        x = torch.randn(3, 5, device="cuda", requires_grad=True)
        torch.nn.functional.layer_norm(x, (5,)).sum().backward()  # without gradients of means and deviations
        assert x.grad.abs().max() < 1e-5
    entries = [entry for entry in derivatives("native_layer_norm") if entry not in before]
    assert [type(entry) for entry in entries] == [Plan]
