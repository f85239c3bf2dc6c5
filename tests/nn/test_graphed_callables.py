"""make_graphed_callables.  Row 1.10.13 of the semantics."""

import copy
import gc

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import AcceleratorError, ArgumentError, ArgumentTypeError, AutogradError

ROWS, WIDE = 8, 16


def net():
    torch.manual_seed(1)
    layers = [nn.Linear(WIDE, WIDE), nn.GELU(), nn.Dropout(0.3), nn.LayerNorm(WIDE), nn.Linear(WIDE, 4)]
    return nn.Sequential(*layers).cuda()


def inputs(count):
    torch.manual_seed(2)
    return [torch.randn(ROWS, WIDE, device="cuda") for _ in range(count)]


def trained(model, batches, steps_per_update=1):
    """Losses and parameters after some steps of SGD."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(7)
    losses = []
    for index, x in enumerate(batches):
        loss = model(x).square().mean()
        loss.backward()
        losses.append(loss.item())
        if index % steps_per_update == steps_per_update - 1:
            optimizer.step()
            optimizer.zero_grad()
    return losses, [each.tolist() for each in model.parameters()]


@pytest.mark.parametrize("steps_per_update", [1, 2])
def test_a_module_trains_as_it_does_eagerly(gpus, steps_per_update):
    model = net()
    graphed = torch.cuda.make_graphed_callables(copy.deepcopy(model), (torch.randn(ROWS, WIDE, device="cuda"),))
    batches = inputs(6)
    assert trained(graphed, batches, steps_per_update) == trained(model, batches, steps_per_update)


def test_a_module_out_of_training_runs_its_own_forward(gpus):
    model = net()
    own = copy.deepcopy(model)
    graphed = torch.cuda.make_graphed_callables(model, (torch.randn(ROWS, WIDE, device="cuda"),))
    assert graphed is model
    (x,) = inputs(1)
    assert torch.equal(graphed.eval()(x[:3]), own.eval()(x[:3]))
    with pytest.raises(
        ArgumentError, match=r"argument 0 is float32\[3, 16\] on cuda:0.*captured with float32\[8, 16\]"
    ):
        graphed.train()(x[:3])


def test_gradients_of_inputs_and_results_in_containers(gpus):
    def work(a, b):
        return {"sum": a + b, "both": [a * b, (a.detach() * 2,)]}

    samples = tuple(torch.ones(4, device="cuda", requires_grad=True) for _ in range(2))
    graphed = torch.cuda.make_graphed_callables(work, samples)
    for value in (2.0, 3.0):
        a, b = (torch.full((4,), each, device="cuda", requires_grad=True) for each in (value, 10.0))
        found = graphed(a, b)
        assert found["sum"].tolist() == [value + 10] * 4 and found["both"][1][0].tolist() == [2 * value] * 4
        assert not found["both"][1][0].requires_grad
        (found["sum"] + found["both"][0]).sum().backward()
        assert a.grad.tolist() == [11.0] * 4 and b.grad.tolist() == [1 + value] * 4


def test_gradients_are_not_overwritten_by_later_calls(gpus):
    graphed = torch.cuda.make_graphed_callables(lambda x: x * x, (torch.ones(4, device="cuda", requires_grad=True),))
    leaves = [torch.full((4,), value, device="cuda", requires_grad=True) for value in (1.0, 2.0, 3.0)]
    for each in leaves:
        graphed(each).sum().backward()
    assert [each.grad.tolist() for each in leaves] == [[2.0 * value] * 4 for value in (1.0, 2.0, 3.0)]


def test_a_result_that_was_overwritten_gives_no_gradient(gpus):
    graphed = torch.cuda.make_graphed_callables(lambda x: x * 2, (torch.ones(4, device="cuda", requires_grad=True),))
    x = torch.ones(4, device="cuda", requires_grad=True)
    squared = graphed(x).square().sum()
    graphed(x)
    with pytest.raises(AutogradError, match="modified by an inplace operation"):
        squared.backward()


def test_several_callables_share_a_pool(gpus):
    first, second = nn.Linear(WIDE, WIDE).cuda(), nn.Linear(WIDE, 4).cuda()
    own = copy.deepcopy(first), copy.deepcopy(second)
    sample = torch.randn(ROWS, WIDE, device="cuda")
    hidden = torch.randn(ROWS, WIDE, device="cuda", requires_grad=True)
    made = torch.cuda.make_graphed_callables((first, second), ((sample,), (hidden,)))
    for x in inputs(3):
        for one, two in (made, own):
            two(one(x).relu()).square().sum().backward()
    for mine, theirs in zip(made, own):
        for a, b in zip(mine.parameters(), theirs.parameters()):
            assert torch.equal(a.grad, b.grad)


def test_unused_inputs(gpus):
    samples = tuple(torch.ones(2, device="cuda", requires_grad=True) for _ in range(2))
    with pytest.raises(AutogradError, match="sample argument 1, .* appears to not have been used.*\nhint: .*_input="):
        torch.cuda.make_graphed_callables(lambda a, b: a * 2, samples)
    graphed = torch.cuda.make_graphed_callables(lambda a, b: a * 2, samples, allow_unused_input=True)
    a, b = (torch.ones(2, device="cuda", requires_grad=True) for _ in range(2))
    graphed(a, b).sum().backward()
    assert a.grad.tolist() == [2.0, 2.0] and b.grad is None


def test_arguments_have_positions_and_lie_on_a_gpu(gpus):
    x = torch.ones(2, 3, device="cuda")
    graphed = torch.cuda.make_graphed_callables(lambda x: x * 2, (x,)), torch.cuda.make_graphed_callables(
        nn.Linear(3, 3).cuda(), (x,)
    )
    for each in graphed:
        with pytest.raises(ArgumentTypeError, match="the argument x was given by name\nhint: "):
            each(x=x)
    with pytest.raises(ArgumentError, match=r"sample argument 0 is float32\[2, 3\] on cpu(.|\n)*hint: .*cuda"):
        torch.cuda.make_graphed_callables(lambda x: x * 2, (x.cpu(),))
    with pytest.raises(ArgumentError, match=r"parameter weight is float32\[3, 3\] on cpu"):
        torch.cuda.make_graphed_callables(nn.Linear(3, 3), (x,))


def test_without_gradients(gpus):
    graphed = torch.cuda.make_graphed_callables(lambda x: x + 1, (torch.zeros(3, device="cuda"),))
    for value in (1.0, 2.0):
        assert graphed(torch.full((3,), value, device="cuda")).tolist() == [value + 1] * 3


def test_what_cannot_be_captured(gpus):
    x = torch.ones(ROWS, WIDE, device="cuda")
    with pytest.raises(ArgumentTypeError, match="sample argument 1 must be a Tensor, not int"):
        torch.cuda.make_graphed_callables(lambda a, b: a, (x, 3))
    model = net()
    model.register_forward_hook(lambda *_: None)
    with pytest.raises(ArgumentError, match="Sequential has hooks"):
        torch.cuda.make_graphed_callables(model, (x,))
    with pytest.raises(AcceleratorError, match="Tensor.item"):
        torch.cuda.make_graphed_callables(lambda a: a * a.sum().item(), (x,))
    with pytest.raises(ArgumentTypeError, match="a result is 1.0, and only tensors can be"):
        torch.cuda.make_graphed_callables(lambda a: 1.0, (x,))


def test_nothing_is_left_behind(gpus):
    x = torch.ones(ROWS, WIDE, device="cuda")

    def figures():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return torch.cuda.memory_allocated(), torch.cuda.memory_reserved()

    before = figures()
    model = torch.cuda.make_graphed_callables(net(), (x,))
    model(x).sum().backward()
    gc.collect()
    gc.disable()
    try:
        del model
        assert figures() == before
    finally:
        gc.enable()


@pytest.mark.devices(2)
def test_a_callable_is_captured_on_the_device_of_its_samples(gpus):
    layer = nn.Linear(3, 2).to("cuda:1")
    own = copy.deepcopy(layer)
    graphed = torch.cuda.make_graphed_callables(layer, (torch.ones(4, 3, device="cuda:1"),))
    assert torch.cuda.current_device() == 0
    for value in (2.0, 3.0):
        x = torch.full((4, 3), value, device="cuda:1")
        for module in (graphed, own):
            module(x).square().sum().backward()
        assert torch.equal(graphed(x), own(x))
    assert torch.equal(graphed.weight.grad, own.weight.grad)


def test_an_argument_in_the_samples_memory_with_other_strides_is_copied(gpus):
    x = torch.arange(4.0, device="cuda").reshape(2, 2)
    graphed = torch.cuda.make_graphed_callables(lambda a: a * 1, (x,))
    assert graphed(x).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert graphed(x.t()).tolist() == [[0.0, 2.0], [1.0, 3.0]]


def test_arguments_without_gradients_may_stand_for_samples_with_them(gpus):
    samples = torch.ones(2, device="cuda", requires_grad=True), torch.ones(2, device="cuda")
    graphed = torch.cuda.make_graphed_callables(lambda a, b: a * b, samples)
    a, b = torch.full((2,), 3.0, device="cuda"), torch.full((2,), 4.0, device="cuda")
    assert graphed(a, b).tolist() == [12.0, 12.0]
    with torch.no_grad():  # nothing would get a gradient
        result = graphed(a.clone().requires_grad_(), b.clone().requires_grad_())
    assert result.tolist() == [12.0, 12.0] and not result.requires_grad
    with pytest.raises(ArgumentError, match=r"argument 1 is float32\[2\] on cuda:0, requires_grad=True"):
        graphed(a, b.requires_grad_())


def test_an_error_in_the_first_runs_leaves_no_unordered_work():
    with torch.testing.machine(devices=2, races="error"):
        for device in (0, 1):
            with pytest.raises(ArgumentTypeError, match="a result is None"):
                torch.cuda.make_graphed_callables(lambda x: (x * 2, None), (torch.ones(2, device=device),))
            assert torch.full((2,), 7.0, device=device).tolist() == [7.0, 7.0]
