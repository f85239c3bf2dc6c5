"""Phrases of PyTorch's error texts that programs look for: they are part of the texts here too."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F

X = torch.ones(2, 3)
TEXTS = [
    (lambda: bool(torch.ones(2)), "Boolean value of Tensor with more than one value is ambiguous"),
    (lambda: bool(torch.ones(0)), "Boolean value of Tensor with no values is ambiguous"),
    (
        lambda: torch.ones(3) + torch.ones(2),
        "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0",
    ),
    (
        lambda: X + torch.ones(4),
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
    ),
    (lambda: X @ X, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    (lambda: X.view(7), "shape '[7]' is invalid for input of size 6"),
    (lambda: X.reshape(-1, 4), "shape '[-1, 4]' is invalid for input of size 6"),
    (lambda: X.t().view(6), "view size is not compatible with input tensor's size and stride"),
    (
        lambda: X.expand(4, 3),
        "The expanded size of the tensor (4) must match the existing size (2) at non-singleton dimension 0.",
    ),
    (lambda: X.expand(4, 3), "Target sizes: [4, 3].  Tensor sizes: [2, 3]"),
    (lambda: X.sum(5), "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
    (
        lambda: X.permute(0),
        "number of dimensions in the tensor input does not match the length of the desired ordering",
    ),
    (lambda: X.long().requires_grad_(), "only Tensors of floating point dtype can require gradients"),
    (lambda: float(torch.ones(2)), "only one element tensors can be converted to Python scalars"),
    (lambda: int(torch.ones(2)), "only one element tensors can be converted to Python scalars"),
    (lambda: torch.ones(2).item(), "a Tensor with 2 elements cannot be converted to Scalar"),
    (lambda: torch.ones(1, requires_grad=True).numpy(), "Can't call numpy() on Tensor that requires grad"),
    (
        lambda: torch.cat([torch.ones(2, 3), torch.ones(3, 4)]),
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4",
    ),
    (lambda: torch.stack([torch.ones(2), torch.ones(3)]), "stack expects each tensor to be equal size, but got [2]"),
    (lambda: F.embedding(torch.tensor([5]), X), "index out of range in self"),
    (lambda: F.cross_entropy(X, torch.tensor([1, 7])), "Target 7 is out of bounds."),
    (lambda: F.nll_loss(X, torch.tensor([1])), "Expected input batch_size (2) to match target batch_size (1)."),
    (lambda: F.cross_entropy(X, torch.tensor([1])), "Expected input batch_size (2) to match target batch_size (1)."),
    (lambda: X.sum().backward(), "element 0 of tensors does not require grad and does not have a grad_fn"),
    (lambda: torch.ones(2, requires_grad=True).backward(), "grad can be implicitly created only for scalar outputs"),
    (
        lambda: torch.ones(1, requires_grad=True).add_(1),
        "a leaf Variable that requires grad is being used in an in-place operation",
    ),
    (lambda: nn.Linear(2, 2).load_state_dict({}), "Error(s) in loading state_dict for Linear:"),
]


@pytest.mark.parametrize(("call", "phrase"), TEXTS, ids=[phrase[:40] for _, phrase in TEXTS])
def test_a_text_has_the_phrase_that_programs_look_for(call, phrase):
    with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)) as raised:
        call()
    assert phrase in str(raised.value)


def test_a_missing_method_names_where_to_look():
    for owner in (torch.ones(1), torch.Tensor, nn.Parameter(torch.ones(1))):
        with pytest.raises(AttributeError, match=r"has no attribute 'sspaddmm'\nhint: .*docs/differences\.md"):
            owner.sspaddmm  # noqa: B018
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'no_such_method'$"):
        torch.ones(1).no_such_method  # noqa: B018
    assert not hasattr(torch.ones(1), "sspaddmm") and "sspaddmm" not in dir(torch.Tensor) + dir(torch.ones(1))
    own = torch.ones(1)
    own.sspaddmm = 5
    assert own.sspaddmm == 5


def test_streams_and_events_show_themselves_by_pytorchs_names(gpus):
    assert repr(torch.cuda.Stream()).startswith("<torch.cuda.Stream device=cuda:0 cuda_stream=0x")
    event = torch.cuda.Event()
    assert repr(event) == "<torch.cuda.Event uninitialized>"
    event.record()
    assert repr(event).startswith("<torch.cuda.Event device=cuda:0")


def test_out_of_memory_is_told_in_pytorchs_order(gpus):
    with pytest.raises(torch.OutOfMemoryError) as raised:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
    text = str(raised.value)
    total = torch.cuda.get_device_properties(0).total_memory / (1 << 30)
    assert "CUDA out of memory. Tried to allocate 32768.00 GiB. GPU 0 has a total capacity of " in text
    assert f"{total:.2f} GiB of which" in text and " is free." in text
    assert "Of the allocated memory " in text and " is reserved by flambeau but unallocated." in text


def test_what_does_not_exist_or_may_not_be_is_told_in_cudas_words(gpus):
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        torch.cuda.set_device(1000)
    with pytest.raises(RuntimeError, match="CUDA graphs must be captured on a non-default stream"):
        torch.cuda.CUDAGraph().capture_begin()
    with pytest.raises(RuntimeError, match="gather: .*at least one tensor"):
        torch.cuda.comm.gather(())


@pytest.mark.parametrize(
    ("code", "text"), [(2, "out of memory"), (101, "invalid device ordinal"), (710, "device-side assert triggered")]
)
def test_codes_of_cuda_have_their_text(code, text):
    with pytest.raises(torch.cuda.CudaError, match=rf"CUDA error: {text} \({code}\)"):
        torch.cuda.check_error(code)
