"""Memory layouts of results, which match PyTorch 2.13, so that view() accepts the same tensors."""

import pickle

import pytest

import flambeau as torch
from benchmarks import counts
from flambeau.errors import ArgumentTypeError, ShapeError, ValueRangeError
from flambeau.testing import machine

PERMUTED = (1, 4)  # strides of a [4, 3] matrix that was transposed
IMAGE, CHANNELS_LAST, CHANNELS_LAST_3D = (2, 3, 4, 5), (60, 1, 15, 3), (180, 1, 60, 15, 3)
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


@pytest.fixture(autouse=True)
def gpu():
    with machine(devices=2):
        yield


@pytest.fixture(params=["cpu", "cuda"])
def x(request):
    """Return a [4, 3] matrix in column-major order."""
    return torch.arange(12.0, device=request.param).view(3, 4).t()


COPIES = {
    "clone": lambda x: x.clone(),
    "to a type": lambda x: x.to(torch.float64),
    "double": lambda x: x.double(),
    "to another device": lambda x: x.to("cuda:1"),
    "to a device and a type": lambda x: x.to("cuda:1", torch.int32),
    "cpu": lambda x: x.cpu(),
    "a forced copy": lambda x: x.to(x.device, copy=True),
    "tensor": lambda x: torch.tensor(x),
}
LIKE = {
    "empty_like": torch.empty_like,
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "full_like": lambda x: torch.full_like(x, 2),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randint_like": lambda x: torch.randint_like(x, 9),
}
ELEMENTWISE = {
    "a number": lambda x: x * 2,
    "unary": lambda x: x.exp(),
    "two alike": lambda x: x + x.clone(),
    "broadcast": lambda x: x + torch.ones(3, device=x.device),
    "the first decides": lambda x: x + x.contiguous(),
    "comparison": lambda x: x > 1,
    "where": lambda x: torch.where(x > 1, x, 0),
    "clamp": lambda x: x.clamp(1, 2),
    "power": lambda x: x**2,
    "activation": lambda x: x.relu(),
}


@pytest.mark.parametrize("call", COPIES)
def test_copies_keep_the_order_of_dimensions(x, call):
    found = COPIES[call](x)
    assert found.tolist() == x.tolist()
    assert found.stride() == PERMUTED and found.data_ptr() != x.data_ptr() or found is x


@pytest.mark.parametrize("call", LIKE)
def test_tensors_made_like_another_keep_the_order_of_dimensions(x, call):
    made = LIKE[call](x)
    assert made.stride() == PERMUTED and made.shape == x.shape and made.device == x.device
    assert LIKE[call](x.contiguous()).stride() == (3, 1)


def test_values_of_tensors_made_like_another(x):
    assert torch.full_like(x, 2).tolist() == [[2] * 3] * 4
    torch.manual_seed(1)
    drawn = torch.rand_like(x)
    torch.manual_seed(1)
    assert torch.rand(3, 4, device=x.device).t().tolist() == drawn.tolist()  # in the order of the memory
    leaf = torch.ones_like(x, requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad and leaf.stride() == PERMUTED
    assert torch.zeros_like(x, memory_format=torch.contiguous_format).stride() == (3, 1)


@pytest.mark.parametrize("call", ELEMENTWISE)
def test_elementwise_results_keep_the_order_of_dimensions(x, call):
    found = ELEMENTWISE[call](x)
    assert found.stride() == PERMUTED
    assert found.tolist() == ELEMENTWISE[call](x.contiguous()).tolist()
    with pytest.raises(RuntimeError, match="view"):
        found.view(-1)
    assert found.reshape(-1).tolist() == [each for row in found.tolist() for each in row]


def test_gaps_are_closed_and_repeats_are_not_ordered(x):
    assert x[:, ::2].clone().stride() == PERMUTED and (x[::2] * 2).stride() == (1, 2)
    row = torch.ones(3, device=x.device).expand(4, 3)
    assert (row * 2).stride() == (3, 1) and row.clone().stride() == (3, 1)
    assert (x.contiguous() + x).stride() == (3, 1)


def test_what_has_one_order_only_is_contiguous(x):
    assert x.contiguous().stride() == (3, 1) and x.reshape(-1).stride() == (1,)
    assert x.repeat(1, 1).stride() == (3, 1) and x.softmax(1).is_contiguous()


def test_gradients_lie_as_their_leaves_do(x):
    for leaf, other in ((x.clone(), x), (x.clone(), x.contiguous()), (x.contiguous(), x)):
        leaf.requires_grad_()
        (leaf * other).sum().backward()
        assert leaf.grad.stride() == leaf.stride() and leaf.grad.tolist() == x.tolist()
    gaps = torch.ones(4, 6, device=x.device)[:, ::2].requires_grad_()
    (gaps * 2).sum().backward()
    assert gaps.grad.stride() == (3, 1)


def test_writes_through_views_of_permuted_tensors_have_their_gradients(x):
    leaf = torch.ones(4, 3, device=x.device, requires_grad=True)
    y = leaf * 2
    y[0].mul_(3)
    (y * x).sum().backward()
    assert leaf.grad.tolist() == [[each * (6 if row == 0 else 2) for each in x[row].tolist()] for row in range(4)]


def test_a_move_of_a_permuted_tensor_is_one_copy_and_no_launch(x):
    there = x.cuda() if not x.is_cuda else x
    assert "launch" not in counts.of(lambda: there.to("cuda:1"))


# memory formats


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_objects_with_names(name):
    one = getattr(torch, name)
    assert repr(one) == f"torch.{name}" and type(one) is torch.memory_format
    assert pickle.loads(pickle.dumps(one)) is one


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_channels_last(device):
    x = torch.arange(120.0, device=device).view(IMAGE)
    for made in (
        x.to(memory_format=torch.channels_last),
        x.contiguous(memory_format=torch.channels_last),
        x.clone(memory_format=torch.channels_last),
        x.cpu(memory_format=torch.channels_last),
        x.cuda(memory_format=torch.channels_last),
        x.double(memory_format=torch.channels_last),
        x.type(torch.int32, memory_format=torch.channels_last),
        x.to("cuda:1", torch.float64, memory_format=torch.channels_last),
    ):
        assert made.stride() == CHANNELS_LAST and made.is_contiguous(memory_format=torch.channels_last)
        assert not made.is_contiguous() and made.tolist() == x.tolist()
        assert (made + 1).stride() == CHANNELS_LAST and made.to(memory_format=torch.channels_last) is made
        assert made.contiguous(memory_format=torch.channels_last) is made
        assert made.contiguous().stride() == x.stride()
    assert torch.zeros_like(x, memory_format=torch.channels_last).stride() == CHANNELS_LAST
    assert torch.empty(IMAGE, device=device, memory_format=torch.channels_last).stride() == CHANNELS_LAST
    volume = torch.empty(2, 3, 3, 4, 5, device=device)
    assert volume.to(memory_format=torch.channels_last_3d).stride() == CHANNELS_LAST_3D
    assert not x[0].is_contiguous(memory_format=torch.channels_last)
    assert x.to(memory_format=torch.preserve_format) is x


def test_a_gradient_flows_through_a_change_of_format():
    x = torch.ones(IMAGE, requires_grad=True)
    (x.to(memory_format=torch.channels_last) * 2).sum().backward()
    assert x.grad.stride() == x.stride() and x.grad.eq(2).all()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.to(memory_format=torch.channels_last), ShapeError, "to: required rank 4 .* [4, 3]"),
        (lambda x: x.contiguous(memory_format=torch.channels_last_3d), ShapeError, "contiguous: required rank 5"),
        (lambda x: x.clone(memory_format=torch.channels_last), ShapeError, "clone: required rank 4"),
        (lambda x: torch.empty_like(x, memory_format=torch.channels_last), ShapeError, "empty_like: required rank 4"),
        (lambda x: torch.empty(2, 3, memory_format=torch.preserve_format), ValueRangeError, "empty: unsupported"),
        (lambda x: x.to(memory_format=3), ArgumentTypeError, "to: memory_format must be a torch.memory_format, got 3"),
        (lambda x: x.clone(memory_format="x"), ArgumentTypeError, "clone: memory_format"),
        (lambda x: x.is_contiguous(memory_format=1), ArgumentTypeError, "is_contiguous: memory_format"),
        (lambda x: x.cpu(memory_format=1), ArgumentTypeError, "cpu: memory_format"),
        (lambda x: torch.zeros_like(x, memory_format=1), ArgumentTypeError, "zeros_like: memory_format"),
    ],
)
def test_what_is_no_format_of_a_tensor(x, call, error, text):
    with pytest.raises(error, match=text.replace("[", r"\[").replace("]", r"\]")):
        call(x)


# copies that were none, and blocks that were not needed


def test_ravel_copies_what_is_not_contiguous(x):
    line = torch.arange(6.0, device=x.device)
    line[::2].ravel().fill_(9)
    assert line.tolist() == [0, 1, 2, 3, 4, 5]
    line.ravel()[0] = 7
    assert line[0].item() == 7


def test_sum_to_size_of_a_number_is_new(x):
    number = torch.tensor(3.0, device=x.device)
    number.sum_to_size(()).fill_(1)
    assert number.item() == 3 and x.sum_to_size(()).item() == 66


@pytest.mark.parametrize("kind", [torch.float32, torch.bool, torch.int64])
def test_a_strided_fill_takes_no_memory(kind):
    target = torch.zeros(5, 6, dtype=kind, device="cuda")
    for view in (target[1:4, ::2], target.t(), target[:, 1], target.diagonal()):
        for fill in (lambda view=view: view.fill_(1), lambda view=view: view.zero_().fill_(True)):
            taken = torch.cuda.memory_stats()["allocation.all.allocated"]
            fill()
            assert torch.cuda.memory_stats()["allocation.all.allocated"] == taken
        assert counts.of(lambda view=view: view.fill_(1)) == {"launch": 1}
    assert target.to(torch.int64).tolist()[0] == [1] * 6


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_joined_images_stay_channels_last(device):
    image = torch.arange(120.0, device=device).reshape(IMAGE)
    last = image.contiguous(memory_format=torch.channels_last)
    for dim in range(4):
        found = torch.cat([last, last], dim)
        assert found.equal(torch.cat([image, image], dim)) and found.is_contiguous(memory_format=torch.channels_last)
        assert torch.cat([last, image], dim).is_contiguous() and torch.roll(last, 1, dim).stride() == CHANNELS_LAST
    for dim, strides in enumerate([(120, 60, 1, 15, 3), (120, 3, 1, 30, 6), (120, 1, 60, 15, 3), (120, 1, 30, 15, 3)]):
        found = torch.stack([last, last], dim)
        assert found.equal(torch.stack([image, image], dim)) and found.stride() == strides and not found._is_view()
    assert torch.stack([last, last], 4).is_contiguous()


def test_a_conversion_follows_the_format_it_is_given(x):
    assert x.to(torch.float64, memory_format=torch.contiguous_format).is_contiguous()
    assert x.to("cuda:1", memory_format=torch.contiguous_format).is_contiguous()
    assert x.to(memory_format=torch.contiguous_format) is x
