"""Wrong calls of factories, tensor methods and indexing."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import FlambeauError
from tests.wrong import cases, refused

A, B, I = torch.ones(3, 4), torch.ones(5), torch.ones(3, dtype=torch.int64)  # noqa: E741
SHAPED = ("empty", "zeros", "ones", "rand", "randn")


@pytest.mark.parametrize("name", SHAPED)
def test_shapes_and_options_of_factories(name):
    make = getattr(torch, name)
    refused(lambda: make(2, -1), RuntimeError, name, "[2, -1]")
    refused(lambda: make(2, -1), ValueError, name)
    refused(lambda: make("x"), TypeError, name, "'x'")
    refused(lambda: make(2, 1.5), TypeError, name, "1.5", "[2, 1.5]")
    refused(lambda: make(True), TypeError, name, "True")
    refused(lambda: make(), TypeError, name)
    refused(lambda: make(2, dtype="float"), TypeError, name, "'float'")
    refused(lambda: make(2, dtype=complex), TypeError, name, "type complex")
    refused(lambda: make(2, size=(2,)), TypeError, name, "[2]", "(2,)")
    refused(lambda: make(size="x"), TypeError, name, "'x'")
    refused(lambda: make(2, device="foo"), RuntimeError, name, "foo")
    refused(lambda: make(2, device=1.5), TypeError, name, "1.5")
    refused(lambda: make(2, requires_grad="x"), TypeError, name, "'x'")
    refused(lambda: make(2, pin_memory="x"), TypeError, name, "'x'")
    like = getattr(torch, f"{name}_like")
    refused(lambda: like([1, 2]), TypeError, f"{name}_like", "[1, 2]")
    refused(lambda: like(A, dtype="x"), TypeError, f"{name}_like", "'x'")
    refused(lambda: like(A, foo=1), TypeError, f"{name}_like", "'foo'")


@cases(
    (lambda: torch.zeros(2, dtype=torch.int64, requires_grad=True), RuntimeError, "zeros", "int64[2] on cpu"),
    (lambda: torch.rand(2, dtype=torch.int64), RuntimeError, "rand", "int64"),
    (lambda: torch.full((2,), "x"), TypeError, "full", "'x'"),
    (lambda: torch.full((2,), None), TypeError, "full", "None"),
    (lambda: torch.full((2,), B), TypeError, "full", "float32[5] on cpu"),
    (lambda: torch.full(2, 1), TypeError, "full", "2"),
    (lambda: torch.full((-1,), 1), RuntimeError, "full", "[-1]"),
    (lambda: torch.full((2,), 300, dtype=torch.uint8), RuntimeError, "full", "300"),
    (lambda: torch.full((2,), 2**70), RuntimeError, "full", str(2**70)),
    (lambda: torch.full_like(A, "x"), TypeError, "full_like", "'x'"),
    (lambda: torch.randint(low=3, size=(2,)), TypeError, "randint", "3", "None"),
    (lambda: torch.randint(5, low=9, size=(2,)), TypeError, "randint", "5", "9", "None"),
    (lambda: torch.randint(5, low=0, high=9, size=(2,)), TypeError, "randint", "5", "0", "9"),
    (lambda: torch.arange("x"), TypeError, "arange", "'x'"),
    (lambda: torch.arange(0, 5, 0), RuntimeError, "arange", "0", "5"),
    (lambda: torch.arange(0, 5, -1), ValueError, "arange", "0", "5", "-1"),
    (lambda: torch.arange(math.inf), RuntimeError, "arange", "inf"),
    (lambda: torch.arange(math.nan), RuntimeError, "arange", "nan"),
    (lambda: torch.arange(5, dtype=torch.bool), NotImplementedError, "arange", "torch.bool"),
    (lambda: torch.arange(B), TypeError, "arange", "float32[5] on cpu"),
    (lambda: torch.linspace(0, 1, -1), RuntimeError, "linspace", "-1"),
    (lambda: torch.linspace(0, "x", 3), TypeError, "linspace", "'x'"),
    (lambda: torch.linspace(0, 1, 2.5), TypeError, "linspace", "2.5"),
    (lambda: torch.eye(-1), RuntimeError, "eye", "-1"),
    (lambda: torch.eye(2, "x"), TypeError, "eye", "'x'"),
    (lambda: torch.eye(2, dtype="x"), TypeError, "eye", "'x'"),
    (lambda: torch.randint(5, 2, (3,)), RuntimeError, "randint", "5", "2"),
    (lambda: torch.randint(2.5, (3,)), TypeError, "randint", "2.5"),
    (lambda: torch.randint(5), TypeError, "randint", "5"),
    (lambda: torch.randint(5, 3), TypeError, "randint", "3"),
    (lambda: torch.randint(0, 500, (3,), dtype=torch.uint8), ValueError, "randint", "0", "499"),
    (lambda: torch.randint_like(A, 5, 2), RuntimeError, "randint_like", "5"),
    (lambda: torch.randperm(-1), RuntimeError, "randperm", "-1"),
    (lambda: torch.randperm("x"), TypeError, "randperm", "'x'"),
    (lambda: torch.empty_strided((2, 3), (1,)), RuntimeError, "empty_strided", "[2, 3]", "[1]"),
    (lambda: torch.empty_strided((2, 3), (-1, 1)), RuntimeError, "empty_strided", "[-1, 1]"),
    (lambda: torch.empty_strided((2,), ("x",)), TypeError, "empty_strided", "'x'"),
    (lambda: torch.tensor([[1], [1, 2]]), ValueError, "tensor", "1", "2"),
    (lambda: torch.tensor([[1], 2]), TypeError, "tensor", "data[1]", "2", "[1]"),
    (lambda: torch.tensor("x"), TypeError, "tensor", "'x'"),
    (lambda: torch.tensor([["x", 1]]), ValueError, "tensor", "data[0][0]", "'x'"),
    (lambda: torch.tensor([[1, "x"]]), TypeError, "tensor", "data[0][1]", "'x'"),
    (lambda: torch.tensor([b"x"]), TypeError, "tensor", "b'x'"),
    (lambda: torch.tensor([1, None]), RuntimeError, "tensor", "None"),
    (lambda: torch.tensor([2**70]), ValueError, "tensor", str(2**70)),
    (lambda: torch.tensor([2**63]), ValueError, "tensor", str(2**63)),
    (lambda: torch.tensor([1, 300], dtype=torch.uint8), RuntimeError, "tensor", "300"),
    (lambda: torch.tensor(math.nan, dtype=torch.int64), RuntimeError, "tensor", "nan"),
    (lambda: torch.tensor([1j]), RuntimeError, "tensor", "1j"),
    (lambda: torch.tensor([1], dtype="x"), TypeError, "tensor", "'x'"),
    (lambda: torch.tensor([1], device="foo"), RuntimeError, "tensor", "foo"),
    (lambda: torch.tensor(np.array(["x"])), TypeError, "tensor", "<U1"),
    (lambda: torch.as_tensor(A, dtype="x"), TypeError, "as_tensor", "'x'"),
    (lambda: torch.as_tensor([[1], [1, 2]]), ValueError, "as_tensor"),
    (lambda: torch.as_tensor(A, device="foo"), RuntimeError, "as_tensor", "foo"),
    (lambda: torch.asarray([1, 2], copy=False), ValueError, "asarray", "[1, 2]"),
    (lambda: torch.asarray(A, copy="x"), TypeError, "asarray", "'x'"),
    (lambda: torch.from_numpy([1]), TypeError, "from_numpy", "[1]"),
    (lambda: torch.from_numpy(np.array(["x"])), TypeError, "from_numpy", "<U1"),
    (lambda: torch.from_numpy(np.ones(3)[::-1]), ValueError, "from_numpy", "(-8,)"),
    (lambda: torch.from_dlpack(3), RuntimeError, "from_dlpack", "3"),
    (lambda: torch.is_floating_point(3), TypeError, "is_floating_point", "3"),
    (lambda: torch.numel([1]), TypeError, "numel", "[1]"),
    (lambda: torch.equal(A, 3), TypeError, "equal", "3"),
    (lambda: torch.isclose(A, A, rtol=-1), RuntimeError, "isclose", "-1", "1e-08"),
    (lambda: torch.allclose(A, A, rtol=-1), RuntimeError, "allclose", "-1", "1e-08"),
    (lambda: torch.allclose(A, A.double()), RuntimeError, "allclose", "float32", "float64"),
    (lambda: torch.allclose(A, B), RuntimeError, "allclose", "(4)", "(5)"),
    (lambda: torch.FloatTensor("x"), TypeError, "torch.FloatTensor", "'x'"),
    (lambda: torch.FloatTensor(-1), RuntimeError, "torch.FloatTensor", "[-1]"),
    (lambda: torch.FloatTensor(2, "x"), TypeError, "torch.FloatTensor", "'x'"),
    (lambda: torch.Tensor(2, dtype=torch.float64), TypeError, "torch.FloatTensor"),
    (lambda: torch.autograd.Variable([1]), TypeError, "Variable", "[1]"),
    (lambda: torch.save(A, 3), AttributeError, "save", "3"),
    (lambda: torch.load(None), AttributeError, "load", "None"),
)
def test_factories(case):
    refused(*case)


@cases(
    (lambda: A.to("foo"), RuntimeError, "to", "foo"),
    (lambda: A.to("cpu", device="cuda"), TypeError, "to", "'cpu'", "'cuda'"),
    (lambda: A.to(torch.float64, dtype=torch.float32), TypeError, "to", "torch.float64", "torch.float32"),
    (lambda: A.to(B, dtype=torch.float64), TypeError, "to", "float32[5] on cpu", "torch.float64"),
    (lambda: A.to("cpu", torch.float32, True, non_blocking=True), TypeError, "to", "'cpu'", "True"),
    (lambda: A.to(dtype="x"), TypeError, "to", "'x'"),
    (lambda: A.to("cpu", copy=None), TypeError, "to", "None"),
    (lambda: A.to("cpu", foo=1), TypeError, "to", "'foo'"),
    (lambda: A.cuda("foo"), RuntimeError, "cuda", "foo"),
    (lambda: A.type(3), TypeError, "type", "3"),
    (lambda: A.type_as(3), TypeError, "type_as", "3"),
    (lambda: A.copy_([1]), TypeError, "copy_", "[1]"),
    (lambda: A.fill_("x"), TypeError, "fill_", "'x'"),
    (lambda: A.fill_(A), RuntimeError, "fill_", "float32[3, 4] on cpu"),
    (lambda: torch.zeros(2, dtype=torch.int8).fill_(200), RuntimeError, "fill_", "200"),
    (lambda: A.item(), ValueError, "item", "12", "float32[3, 4] on cpu"),
    (lambda: A.item(), RuntimeError, "item"),
    (lambda: float(A), ValueError, "float", "12"),
    (lambda: int(torch.empty(0)), ValueError, "int", "0"),
    (lambda: bool(A), RuntimeError, "bool", "float32[3, 4] on cpu"),
    (lambda: A.numpy(force="x"), TypeError, "numpy", "'x'"),
    (lambda: torch.ones(2, requires_grad=True).numpy(), RuntimeError, "numpy", "float32[2] on cpu"),
    (lambda: len(torch.tensor(1)), TypeError, "len", "int64[] on cpu"),
    (lambda: list(torch.tensor(1)), TypeError, "iter", "int64[] on cpu"),
    (lambda: [1, 2][torch.tensor(1.5)], TypeError, "index", "float32[] on cpu"),
    (lambda: "x" in A, RuntimeError, "in", "'x'"),
    (lambda: format(A, ".2f"), TypeError, "format", "'.2f'", "float32[3, 4] on cpu"),
    (lambda: A.size(5), IndexError, "size", "5"),
    (lambda: A.stride("x"), TypeError, "stride", "'x'"),
    (lambda: A.view("x"), TypeError, "view", "'x'"),
    (lambda: A.view(True, 6), TypeError, "view", "(True, 6)"),
    (lambda: A.reshape(2.0, 6), TypeError, "reshape", "(2.0, 6)"),
    (lambda: A.permute(None), TypeError, "permute", "None"),
    (lambda: A.expand("x"), TypeError, "expand", "'x'"),
    (lambda: A.repeat(1.5, 2), TypeError, "repeat", "(1.5, 2)"),
    (lambda: A.flip("x"), TypeError, "flip", "'x'"),
    (lambda: A.view_as(3), TypeError, "view_as", "3"),
    (lambda: A.expand_as("x"), TypeError, "expand_as", "'x'"),
    (lambda: A.sum_to_size(2, 4), RuntimeError, "sum_to_size", "[2, 4]", "[3, 4]"),
    (lambda: I.requires_grad_(), RuntimeError, "requires_grad_", "int64[3] on cpu"),
    (lambda: A.requires_grad_("x"), TypeError, "requires_grad_", "'x'"),
    (lambda: setattr(A, "requires_grad", "x"), RuntimeError, "requires_grad", "'x'"),
    (lambda: setattr(A, "data", 3), TypeError, "data", "3"),
    (lambda: setattr(torch.ones(2, requires_grad=True), "data", I), RuntimeError, "data", "int64[3] on cpu"),
    (lambda: setattr(A, "grad", "x"), TypeError, "grad", "'x'"),
    (lambda: A.retain_grad(), RuntimeError, "retain_grad", "float32[3, 4] on cpu"),
    (lambda: A.register_hook(3), TypeError, "register_hook", "3"),
    (lambda: A.register_hook(print), RuntimeError, "register_hook", "float32[3, 4] on cpu"),
    (lambda: A.record_stream(3), TypeError, "record_stream", "3"),
    (lambda: A.new("x"), TypeError, "new", "'x'"),
    (lambda: A.new_empty(-1), RuntimeError, "new_empty", "[-1]"),
    (lambda: A.new_full((2,), "x"), TypeError, "new_full", "'x'"),
    (lambda: A.new_tensor([[1], [1, 2]]), ValueError, "new_tensor"),
)
def test_methods(gpus, case):
    refused(*case)


@cases(
    (lambda: A[5], IndexError, "index", "5", "3"),
    (lambda: A[[5]], IndexError, "index", "5", "3"),
    (lambda: A[0, 0, 0], IndexError, "index", "3", "float32[3, 4] on cpu"),
    (lambda: A[::-1], ValueError, "index", "-1"),
    (lambda: A["x"], TypeError, "index", "'x'"),
    (lambda: A[1.5], IndexError, "index", "1.5"),
    (lambda: A["x":], TypeError, "index", "'x'"),
    (lambda: A[B > 0], IndexError, "index", "[5]", "[3, 4]"),
    (lambda: A[torch.ones(3)], IndexError, "index", "float32"),
    (lambda: A.__setitem__(0, "x"), TypeError, "index", "'x'"),
    (lambda: A.__setitem__(0, B), RuntimeError, "index", "(5)", "(4)"),
    (lambda: A.__setitem__([0, 1], B), RuntimeError, "index", "[5]", "[2, 4]"),
    (lambda: A.__setitem__(7, 1), IndexError, "index", "7", "3"),
    (lambda: I.__setitem__(0, 2**70), RuntimeError, "index", str(2**70)),
)
def test_indexing(case):
    refused(*case)


def test_nothing_has_changed_after_a_refusal():
    x, whole = torch.zeros(2, 3), torch.zeros(2, dtype=torch.uint8)
    for call in (
        lambda: x.fill_("x"),
        lambda: x.fill_(torch.ones(2, 3)),
        lambda: x.copy_([1]),
        lambda: x.__setitem__(0, torch.ones(5)),
        lambda: x.requires_grad_("x"),
        lambda: setattr(x, "data", 3),
        lambda: setattr(x, "grad", "x"),
        lambda: whole.fill_(300),
        lambda: whole.__setitem__(0, 300),
    ):
        with pytest.raises(FlambeauError):
            call()
    assert (x.tolist(), x.requires_grad, x.grad, x._version) == ([[0.0] * 3] * 2, False, None, 0)
    assert (whole.tolist(), whole._version) == ([0, 0], 0)


def test_numbers_wrap_in_unsigned_types_as_in_pytorch():
    assert torch.tensor([-1, -255], dtype=torch.uint8).tolist() == [255, 1]


def test_a_gpu_s_tensor_says_so(gpus):
    x = torch.ones(2, device="cuda")
    refused(x.numpy, TypeError, "numpy", "float32[2] on cuda:0")
    refused(x.pin_memory, RuntimeError, "pin_memory", "float32[2] on cuda:0")
    refused(lambda: x.to("cuda:9"), RuntimeError, "to", "cuda:9")
    refused(lambda: torch.ones(2, device="cuda:9"), RuntimeError, "ones", "cuda:9")
    refused(lambda: torch.ones(2, device="cuda", pin_memory=True), ValueError, "ones", "cuda:0")
    refused(lambda: torch.FloatTensor(2, device="cuda"), RuntimeError, "torch.FloatTensor", "cuda")


@cases(
    (lambda: torch.set_rng_state("x"), TypeError, "set_rng_state", "'x'"),
    (lambda: torch.random.get_rng_state("x"), RuntimeError, "get_rng_state", "x"),
    (lambda: torch.cuda.set_rng_state_all(3), TypeError, "set_rng_state_all", "3"),
    (lambda: torch.random.fork_rng(devices=3).__enter__(), TypeError, "fork_rng", "3"),
    (lambda: torch.random.fork_rng(devices=["foo"]).__enter__(), RuntimeError, "fork_rng", "foo"),
)
def test_random_states(gpus, case):
    refused(*case)


@cases(
    (lambda: torch.nn.functional.batch_norm(A, 1, None), TypeError, "batch_norm", "1"),
    (lambda: torch.nn.functional.batch_norm(A, torch.ones(4), "a"), TypeError, "batch_norm", "'a'"),
    (lambda: torch.nn.functional.instance_norm(torch.ones(2, 3, 4), 0.5, None), TypeError, "instance_norm", "0.5"),
    (lambda: torch.nn.functional.affine_grid(torch.ones(1, 2, 3), 4), TypeError, "affine_grid", "4"),
    (lambda: torch.affine_grid_generator(torch.ones(1, 2, 3), None, True), TypeError, "affine_grid_generator", "None"),
    (lambda: torch.nn.functional.group_norm(A, "a"), TypeError, "group_norm", "'a'"),
    (lambda: torch.nn.functional.gumbel_softmax(A, "a"), TypeError, "gumbel_softmax", "'a'"),
    (lambda: torch.nn.functional.gumbel_softmax(A, None), TypeError, "gumbel_softmax", "None"),
    (lambda: torch.nn.functional.softmin(object, 0), TypeError, "softmin", "type object"),
    (lambda: torch.rrelu_(A, "a"), TypeError, "rrelu_", "'a'"),
    (lambda: torch.rrelu_(A, 0.1, [1]), TypeError, "rrelu_", "[1]"),
    (lambda: torch.broadcast_shapes(None), TypeError, "broadcast_shapes", "None"),
    (lambda: torch.broadcast_shapes((2, 1), "a"), TypeError, "broadcast_shapes", "(2, 1)", "'a'"),
    (lambda: torch.einsum(A, 1.5), TypeError, "einsum", "1.5"),
    (lambda: torch.einsum(A, [0, 1], None), TypeError, "einsum", "None"),
    (lambda: torch.embedding(A, torch.tensor([1]), "a"), TypeError, "embedding", "'a'"),
    (
        lambda: torch.nn.functional.embedding(torch.tensor([1]), A, max_norm=2.0, norm_type="a"),
        TypeError,
        "embedding",
        "'a'",
    ),
    (lambda: torch.empty_permuted(1, (0,)), TypeError, "empty_permuted", "1"),
    (lambda: torch.empty_permuted((2, 3), True), TypeError, "empty_permuted", "True"),
    (lambda: torch.empty_permuted((2, 3), (0, "a")), TypeError, "empty_permuted", "'a'"),
    (lambda: torch.grid_sampler_2d(None, A, 0, 0, True), TypeError, "grid_sampler_2d", "None"),
    (lambda: torch.grid_sampler_3d(A, 1, 0, 0, True), TypeError, "grid_sampler_3d", "1"),
    (lambda: torch.index_put_(1, (torch.tensor([0]),), A), TypeError, "index_put_", "1"),
    (lambda: A.index_put_(1, A), TypeError, "index_put_", "1"),
    (lambda: A.index_put_([1], A), TypeError, "index_put_", "1"),
    (lambda: A.index_put_((torch.tensor([0]),), 2.0), TypeError, "index_put_", "2.0"),
    (lambda: torch.lstm_cell(A, 1, A, A), TypeError, "lstm_cell", "1"),
    (lambda: torch.lstm_cell(A, [A], A, A), ValueError, "lstm_cell", "1"),
    (lambda: torch.normal("a", torch.ones(2)), TypeError, "normal", "'a'"),
    (lambda: torch.pca_lowrank(A, "a"), TypeError, "pca_lowrank", "'a'"),
    (lambda: torch.svd_lowrank(A, object), TypeError, "svd_lowrank", "type object"),
)
def test_what_is_no_tensor_or_number_where_one_is_needed(gpus, case):
    refused(*case)


@cases(
    (lambda: torch.Tensor.t_(None), TypeError, "t_", "None"),
    (lambda: torch.Tensor.squeeze_(None), TypeError, "squeeze_", "None"),
    (lambda: torch.Tensor.as_strided_(None, (1,), (1,)), TypeError, "as_strided_", "None"),
    (lambda: torch.Tensor.set_(None), TypeError, "set_", "None"),
    (lambda: torch.Tensor.resize_(None, 2), TypeError, "resize_", "None"),
    (lambda: torch.Tensor._make_subclass(None, A), TypeError, "_make_subclass", "None"),
    (lambda: torch.Tensor._make_subclass(torch.Tensor, 1), TypeError, "_make_subclass", "1"),
    (lambda: torch.nn.functional.ctc_loss(A, I, [3], [1], blank="a"), TypeError, "ctc_loss", "'a'"),
)
def test_methods_without_their_tensor(gpus, case):
    refused(*case)
