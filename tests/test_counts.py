"""Counts of driver and allocator calls per warm call.  They are exact on every machine, so they are gated.

A number here may go down.  One that goes up wants a reason in the change that raises it.
"""

import pytest

import flambeau as torch
from flambeau.testing import machine

EXPECTED = {
    "a + b": {"block": 1, "launch": 1},
    "a.add_(b)": {"launch": 1},
    "a + b.t()": {"block": 1, "launch": 1},
    "a.exp()": {"block": 1, "launch": 1},
    "a.sum()": {"block": 1, "launch": 1},
    "a @ b": {"block": 1, "launch": 1},
    "relu of addmm": {"block": 1, "launch": 1},
    "softmax(a)": {"block": 1, "launch": 1},
    "conv2d": {"block": 1, "launch": 1},
    "conv2d with bias": {"block": 1, "launch": 2},
    "max_pool2d": {"block": 2, "launch": 1},
    "empty": {"block": 1},
    "zeros": {"block": 1, "launch": 1},
    "randn": {"block": 1, "launch": 1},
    "a[1:]": {},
    "a.item()": {"copy": 1, "host wait": 1},
    "_assert_async": {"launch": 1},
    "pinned to cuda": {"block": 1, "copy": 1},
    "cuda to cpu": {"copy": 1, "host wait": 1},
    "cuda to pinned": {"copy": 1, "record": 1},
    "with stream": {},
    "wait_stream": {"record": 1, "stream wait": 1},
    "event.record": {"record": 1},
    "forward + backward": {"block": 14, "launch": 12},
    "gru": {"block": 3, "launch": 2},
    "gru, forward + backward": {"block": 18, "launch": 16},
    "AdamW.step": {"launch": 1},
    "SGD.step": {"launch": 1},
    "zero_grad": {},
    "clip_grad_norm_": {"block": 2, "launch": 3},
    "clip_grad_value_": {"launch": 1},
}


@pytest.fixture(scope="module")
def found():
    from benchmarks import counts

    with machine(devices=1):
        return {each["name"]: each["counts"] for each in counts.measure()}


def test_every_watched_call_has_an_expectation(found):
    assert set(found) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_warm_call_costs_what_it_should(found, name):
    assert found[name] == EXPECTED[name]


@pytest.mark.devices(1)
@pytest.mark.parametrize("amsgrad", [False, True])
def test_a_capturable_step_counts_and_updates(amsgrad, gpus):
    from benchmarks import counts
    from flambeau import nn, optim

    net = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 3), nn.Linear(3, 2)).cuda()
    optimizer = optim.AdamW(net.parameters(), amsgrad=amsgrad, capturable=True)
    for each in net.parameters():
        each.grad = each.detach().clone()
    assert len(list(net.parameters())) == 6
    assert counts.of(optimizer.step) == {"launch": 2}


@pytest.mark.devices(2)
def test_a_small_copy_to_another_device_is_a_copy_and_two_waits(gpus):
    from benchmarks import counts

    a = torch.ones(16, 16, device="cuda:0")
    assert counts.of(lambda: a.to("cuda:1")) == {"block": 1, "copy": 1, "record": 2, "stream wait": 2}


@pytest.mark.devices(1)
@pytest.mark.parametrize("pieces_of", [lambda x: x.split([1, 3, 2], 1), lambda x: x.chunk(3, 1), lambda x: x.unbind(1)])
def test_gradients_of_pieces_are_joined_in_one_launch(pieces_of, gpus):
    from benchmarks import counts

    x = torch.randn(4, 6, device="cuda", requires_grad=True)
    pieces = pieces_of(x)
    grads = [torch.randn_like(piece) for piece in pieces]
    joined = counts.of(lambda: torch.autograd.grad(pieces, x, grads, retain_graph=True))
    assert joined == {"block": 1, "launch": 1}
    (found,) = torch.autograd.grad(pieces, x, grads)
    expected = torch.stack(grads, 1) if pieces[0].ndim == 1 else torch.cat(grads, 1)
    assert torch.equal(found, expected)


@pytest.mark.devices(1)
def test_pieces_without_a_gradient_get_zeros(gpus):
    x = torch.randn(4, 6, device="cuda", requires_grad=True)
    one, _, other = x.split(2, 1)
    (found,) = torch.autograd.grad(one.sum() + 2 * other.sum(), x)
    assert found.tolist() == [[1, 1, 0, 0, 2, 2]] * 4
    (found,) = torch.autograd.grad(x.unbind(0)[1].sum(), x)
    assert found.sum(1).tolist() == [0, 6, 0, 0]


@pytest.mark.devices(1)
@pytest.mark.parametrize("kind", ["SGD", "AdamW", "Adadelta"])
def test_a_step_of_channels_last_parameters_copies_nothing(kind, gpus):
    from benchmarks import counts
    from flambeau import nn, optim

    nets = [nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 1)).cuda() for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    nets[1].to(memory_format=torch.channels_last)
    options = {"momentum": 0.9} if kind == "SGD" else {}
    for net in nets:
        for at, each in enumerate(net.parameters()):
            values = torch.arange(at, at + each.numel(), device="cuda").reshape(each.shape)
            each.grad = torch.empty_like(each).copy_(values)
    steps = [getattr(optim, kind)(net.parameters(), **options).step for net in nets]
    assert [counts.of(step) for step in steps] == [{"launch": 1}] * 2
    for one, other in zip(*(net.parameters() for net in nets)):
        assert torch.allclose(one, other, rtol=1e-6, atol=1e-7)  # a GPU may contract products otherwise
    assert nets[1][0].weight.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.devices(1)
def test_batch_norm_in_training_is_three_launches(gpus):
    """One for the statistics, which moves the running ones, one for the result, and one that counts the batch."""
    from benchmarks import counts
    from flambeau import nn

    norm, images = nn.BatchNorm2d(8).cuda(), torch.randn(16, 8, 12, 12, device="cuda")
    assert counts.of(lambda: norm(images))["launch"] == 3
    many = torch.randn(16, 8, 64, 64, device="cuda")  # whose statistics are joined from pieces
    assert counts.of(lambda: norm(many))["launch"] == 4


@pytest.mark.devices(1)
def test_backward_of_batch_norm_is_three_launches_and_keeps_channels_last(gpus):
    from benchmarks import counts
    from flambeau import nn

    norm = nn.BatchNorm2d(8).cuda()
    images = torch.randn(16, 8, 12, 12, device="cuda").to(memory_format=torch.channels_last).requires_grad_()
    out, inputs = norm(images), (images, norm.weight, norm.bias)
    grad = torch.randn(16, 8, 12, 12, device="cuda")
    found = counts.of(lambda: torch.autograd.grad(out, inputs, grad, retain_graph=True))
    assert found["launch"] == 3
    of_images = torch.autograd.grad(out, inputs, grad)[0]
    assert of_images.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.devices(1)
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_autocast_makes_no_float32_copy_of_logits(reduction, gpus):
    from benchmarks import counts
    from flambeau.nn import functional as F

    logits = torch.randn(6, 40, device="cuda").bfloat16().requires_grad_()
    classes = torch.randint(0, 40, (6,), device="cuda")
    grad = torch.rand(6 if reduction == "none" else (), device="cuda")

    def loss():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return F.cross_entropy(logits, classes, reduction=reduction)

    found, expected = loss(), F.cross_entropy(logits.float(), classes, reduction=reduction)
    assert found.dtype is torch.float32 and torch.allclose(found, expected, rtol=1e-6)
    gradients = [torch.autograd.grad(each, logits, grad, retain_graph=True)[0] for each in (found, expected)]
    assert gradients[0].dtype is torch.bfloat16
    # two programs may sum in different orders: one step of bfloat16
    assert torch.allclose(*gradients, rtol=2**-7, atol=1e-6)
    assert counts.of(loss)["launch"] == 1
    assert counts.of(lambda: torch.autograd.grad(found, logits, grad, retain_graph=True)) == {"block": 1, "launch": 1}


@pytest.mark.devices(1)
def test_sums_of_columns_in_backward_are_one_launch_for_few_rows(gpus):
    from benchmarks import counts
    from flambeau.nn import functional as F

    for rows, more in ((1024, 0), (4096, 1)):
        x, grad = (torch.randn(rows, 24, device="cuda", requires_grad=True) for _ in range(2))
        shapes = (24,), (24,), (24, 24)
        weight, bias, square = (torch.randn(*shape, device="cuda", requires_grad=True) for shape in shapes)
        for out, inputs, launches in (
            (F.layer_norm(x, (24,), weight, bias), (x, weight, bias), 2),
            (F.linear(x, square, bias), (x, square, bias), 3),
        ):
            found = counts.of(lambda out=out, inputs=inputs: torch.autograd.grad(out, inputs, grad, retain_graph=True))
            assert found["launch"] == launches + more
