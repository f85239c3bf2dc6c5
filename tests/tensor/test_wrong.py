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
    refused(lambda: make(2, -1), RuntimeError, f"{name}: trying to create a tensor with negative dimension: [2, -1]")
    refused(lambda: make(2, -1), ValueError, f"{name}: ")
    refused(lambda: make("x"), TypeError, f"{name}: sizes must be ints, size 0 is 'x'")
    refused(lambda: make(2, 1.5), TypeError, f"{name}: sizes must be ints, size 1 is 1.5 (all: [2, 1.5])")
    refused(lambda: make(True), TypeError, f"{name}: sizes must be ints, size 0 is True")
    refused(lambda: make(), TypeError, f"{name}: got no size")
    refused(
        lambda: make(2, dtype="float"),
        TypeError,
        f"{name}: dtype must be a torch.dtype, got 'float'\nhint: use torch.float32",
    )
    refused(
        lambda: make(2, dtype=complex),
        TypeError,
        f"{name}: dtype must be a torch.dtype, got type complex\nhint: use one such as torch.float32",
    )
    refused(lambda: make(2, size=(2,)), TypeError, f"{name}: got two sizes, [2] and size=(2,)")
    refused(lambda: make(size="x"), TypeError, f"{name}: sizes must be ints, size 0 is 'x'")
    refused(
        lambda: make(2, device="foo"),
        RuntimeError,
        f"{name}: Expected one of cpu, cuda device type at start of device string: foo",
    )
    refused(lambda: make(2, device=1.5), TypeError, f"{name}: 1.5 is not a device")
    refused(lambda: make(2, requires_grad="x"), TypeError, f"{name}: requires_grad must be a bool, got 'x'")
    refused(lambda: make(2, pin_memory="x"), TypeError, f"{name}: pin_memory must be a bool, got 'x'")
    like = getattr(torch, f"{name}_like")
    refused(lambda: like([1, 2]), TypeError, f"{name}_like: input must be a Tensor, got [1, 2]")
    refused(lambda: like(A, dtype="x"), TypeError, f"{name}_like: dtype must be a torch.dtype, got 'x'")
    refused(lambda: like(A, foo=1), TypeError, f"{name}_like: got an unexpected keyword argument 'foo'")


@cases(
    (
        lambda: torch.zeros(2, dtype=torch.int64, requires_grad=True),
        RuntimeError,
        "zeros: only Tensors of floating point dtype can require gradients, this is int64[2] on cpu",
    ),
    (lambda: torch.rand(2, dtype=torch.int64), RuntimeError, "rand: "),
    (lambda: torch.full((2,), "x"), TypeError, "full: the value must be a number or a tensor of one element, got 'x'"),
    (
        lambda: torch.full((2,), None),
        TypeError,
        "full: the value must be a number or a tensor of one element, got None",
    ),
    (
        lambda: torch.full((2,), B),
        TypeError,
        "full: the value must be a number or a tensor of one element, got float32[5] on cpu",
    ),
    (lambda: torch.full(2, 1), TypeError, "full: a size must be a tuple of ints, got 2"),
    (lambda: torch.full((-1,), 1), RuntimeError, "full: trying to create a tensor with negative dimension: [-1]"),
    (
        lambda: torch.full((2,), 300, dtype=torch.uint8),
        RuntimeError,
        "full: value cannot be converted to type uint8 without overflow: 300\nhint: uint8 holds 0 to 255",
    ),
    (
        lambda: torch.full((2,), 2**70),
        RuntimeError,
        f"full: value cannot be converted to type int64 without overflow: {2**70}",
    ),
    (lambda: torch.full_like(A, "x"), TypeError, "full_like: the value must be a number"),
    (lambda: torch.randint(low=3, size=(2,)), TypeError, "randint: low comes with high: low=3, high=None"),
    (lambda: torch.randint(5, low=9, size=(2,)), TypeError, "randint: low comes with high: 5, low=9, high=None"),
    (lambda: torch.randint(5, low=0, high=9, size=(2,)), TypeError, "randint: low comes with high: 5, low=0, high=9"),
    (lambda: torch.arange("x"), TypeError, "arange: end must be a number, got 'x'"),
    (lambda: torch.arange(0, 5, 0), RuntimeError, "arange: step must be nonzero, got start, end and step 0, 5, 0"),
    (
        lambda: torch.arange(0, 5, -1),
        ValueError,
        "arange: upper bound and lower bound inconsistent with step sign: 0, 5, -1\nhint: use step=1",
    ),
    (lambda: torch.arange(math.inf), RuntimeError, "arange: unsupported range, end is inf"),
    (lambda: torch.arange(math.nan), RuntimeError, "arange: unsupported range, end is nan"),
    (lambda: torch.arange(5, dtype=torch.bool), NotImplementedError, "arange: not implemented for torch.bool"),
    (lambda: torch.arange(B), TypeError, "arange: end must be a number, got float32[5] on cpu"),
    (lambda: torch.linspace(0, 1, -1), RuntimeError, "linspace: the number of steps must not be negative, got -1"),
    (lambda: torch.linspace(0, "x", 3), TypeError, "linspace: end must be a number, got 'x'"),
    (lambda: torch.linspace(0, 1, 2.5), TypeError, "linspace: the number of steps must be an int, got 2.5"),
    (lambda: torch.eye(-1), RuntimeError, "eye: n must not be negative, got -1"),
    (lambda: torch.eye(2, "x"), TypeError, "eye: m must be an int, got 'x'"),
    (lambda: torch.eye(2, dtype="x"), TypeError, "eye: dtype must be a torch.dtype, got 'x'"),
    (lambda: torch.randint(5, 2, (3,)), RuntimeError, "randint: expects low to be less than high, got low=5 >= high=2"),
    (lambda: torch.randint(2.5, (3,)), TypeError, "randint: high must be an int, got 2.5"),
    (lambda: torch.randint(5), TypeError, "randint: takes (high, size) or (low, high, size), got 1 arguments: 5"),
    (lambda: torch.randint(5, 3), TypeError, "randint: a size must be a tuple of ints, got 3"),
    (
        lambda: torch.randint(0, 500, (3,), dtype=torch.uint8),
        ValueError,
        "randint: values from 0 to 499 do not fit uint8",
    ),
    (lambda: torch.randint_like(A, 5, 2), RuntimeError, "randint_like: expects low to be less than high, got low=5"),
    (lambda: torch.randperm(-1), RuntimeError, "randperm: n must not be negative, got -1"),
    (lambda: torch.randperm("x"), TypeError, "randperm: n must be an int, got 'x'"),
    (
        lambda: torch.empty_strided((2, 3), (1,)),
        RuntimeError,
        "empty_strided: dimensionality of size [2, 3] must match dimensionality of stride [1]",
    ),
    (
        lambda: torch.empty_strided((2, 3), (-1, 1)),
        RuntimeError,
        "empty_strided: stride must not have negative entries: [-1, 1]",
    ),
    (lambda: torch.empty_strided((2,), ("x",)), TypeError, "empty_strided: an entry of stride must be an int, got 'x'"),
    (
        lambda: torch.tensor([[1], [1, 2]]),
        ValueError,
        "tensor: the data's nested sequences differ in length: expected sequence of length 1 at dim 1 (got 2, data[1])",
    ),
    (lambda: torch.tensor([[1], 2]), TypeError, "tensor: data[1] is 2 and data[0] is [1]: one of them is a sequence"),
    (lambda: torch.tensor("x"), TypeError, "tensor: could not infer dtype of str, data is 'x'"),
    (lambda: torch.tensor([["x", 1]]), ValueError, "tensor: could not infer dtype of str, data[0][0] is 'x'"),
    (lambda: torch.tensor([[1, "x"]]), TypeError, "tensor: could not infer dtype of str, data[0][1] is 'x'"),
    (lambda: torch.tensor([b"x"]), TypeError, "tensor: could not infer dtype of bytes, data[0] is b'x'"),
    (lambda: torch.tensor([1, None]), RuntimeError, "tensor: could not infer dtype of NoneType, data[1] is None"),
    (lambda: torch.tensor([2**70]), ValueError, f"tensor: data[0] does not fit in int64: {2**70}"),
    (lambda: torch.tensor([2**63]), ValueError, f"tensor: data[0] does not fit in int64: {2**63}"),
    (
        lambda: torch.tensor([1, 300], dtype=torch.uint8),
        RuntimeError,
        "tensor: value cannot be converted to type uint8 without overflow: 300",
    ),
    (
        lambda: torch.tensor(math.nan, dtype=torch.int64),
        RuntimeError,
        "tensor: value cannot be converted to type int64 without overflow: nan",
    ),
    (lambda: torch.tensor([1j]), RuntimeError, "tensor: data[0] is complex: 1j"),
    (lambda: torch.tensor([1], dtype="x"), TypeError, "tensor: dtype must be a torch.dtype, got 'x'"),
    (
        lambda: torch.tensor([1], device="foo"),
        RuntimeError,
        "tensor: Expected one of cpu, cuda device type at start of device string: foo",
    ),
    (lambda: torch.tensor(np.array(["x"])), TypeError, "tensor: NumPy type <U1 has no torch type"),
    (lambda: torch.as_tensor(A, dtype="x"), TypeError, "as_tensor: dtype must be a torch.dtype, got 'x'"),
    (lambda: torch.as_tensor([[1], [1, 2]]), ValueError, "as_tensor: the data's nested sequences differ in length"),
    (
        lambda: torch.as_tensor(A, device="foo"),
        RuntimeError,
        "as_tensor: Expected one of cpu, cuda device type at start of device string: foo",
    ),
    (
        lambda: torch.asarray([1, 2], copy=False),
        ValueError,
        "asarray: can't make int64[2] on cpu of [1, 2] without copying",
    ),
    (lambda: torch.asarray(A, copy="x"), TypeError, "asarray: copy must be a bool, got 'x'"),
    (lambda: torch.from_numpy([1]), TypeError, "from_numpy: expected np.ndarray (got list): [1]"),
    (lambda: torch.from_numpy(np.array(["x"])), TypeError, "from_numpy: NumPy type <U1 has no torch type"),
    (lambda: torch.from_numpy(np.ones(3)[::-1]), ValueError, "from_numpy: strides of (-8,) bytes are negative"),
    (lambda: torch.from_dlpack(3), RuntimeError, "from_dlpack: 3 has no __dlpack__ method"),
    (lambda: torch.is_floating_point(3), TypeError, "is_floating_point: input must be a Tensor, got 3"),
    (lambda: torch.numel([1]), TypeError, "numel: input must be a Tensor, got [1]"),
    (lambda: torch.equal(A, 3), TypeError, "equal: other must be a Tensor, got 3"),
    (
        lambda: torch.isclose(A, A, rtol=-1),
        RuntimeError,
        "isclose: tolerances must not be negative, got rtol=-1 and atol=1e-08",
    ),
    (
        lambda: torch.allclose(A, A, rtol=-1),
        RuntimeError,
        "allclose: tolerances must not be negative, got rtol=-1 and atol=1e-08",
    ),
    (lambda: torch.allclose(A, A.double()), RuntimeError, "allclose: float32 did not match float64"),
    (
        lambda: torch.allclose(A, B),
        RuntimeError,
        "allclose: The size of tensor a (4) must match the size",
    ),
    (lambda: torch.FloatTensor("x"), TypeError, "torch.FloatTensor: could not infer dtype of str, data is 'x'"),
    (
        lambda: torch.FloatTensor(-1),
        RuntimeError,
        "torch.FloatTensor: trying to create a tensor with negative dimension: [-1]",
    ),
    (lambda: torch.FloatTensor(2, "x"), TypeError, "torch.FloatTensor: sizes must be ints, size 1 is 'x'"),
    (
        lambda: torch.Tensor(2, dtype=torch.float64),
        TypeError,
        "torch.FloatTensor: takes sizes or data, and device=, got dtype",
    ),
    (lambda: torch.autograd.Variable([1]), TypeError, "Variable: data must be a Tensor, got [1]"),
    (lambda: torch.save(A, 3), AttributeError, "save: f must be a path or a binary file, got 3"),
    (lambda: torch.load(None), AttributeError, "load: f must be a path or a binary file, got None"),
)
def test_factories(call, error, begins):
    refused(call, error, begins)


@cases(
    (lambda: A.to("foo"), RuntimeError, "to: Expected one of cpu, cuda device type at start of device string: foo"),
    (lambda: A.to("cpu", device="cuda"), TypeError, "to: received ('cpu', device='cuda'), which passes device twice"),
    (
        lambda: A.to(torch.float64, dtype=torch.float32),
        TypeError,
        "to: received (torch.float64, dtype=torch.float32), which passes dtype twice",
    ),
    (
        lambda: A.to(B, dtype=torch.float64),
        TypeError,
        "to: received (float32[5] on cpu, dtype=torch.float64), which passes dtype twice",
    ),
    (
        lambda: A.to("cpu", torch.float32, True, non_blocking=True),
        TypeError,
        "to: received ('cpu', torch.float32, True, non_blocking=True), which passes non_blocking twice",
    ),
    (lambda: A.to(dtype="x"), TypeError, "to: dtype must be a torch.dtype, got 'x'"),
    (lambda: A.to("cpu", copy=None), TypeError, "to: copy must be a bool, got None"),
    (lambda: A.to("cpu", foo=1), TypeError, "to: got an unexpected keyword argument 'foo'"),
    (lambda: A.cuda("foo"), RuntimeError, "cuda: Expected one of cpu, cuda device type at start of device string: foo"),
    (lambda: A.type(3), TypeError, "type: dtype must be a type, a class such as torch.FloatTensor or its name, not 3"),
    (lambda: A.type_as(3), TypeError, "type_as: other must be a Tensor, got 3"),
    (lambda: A.copy_([1]), TypeError, "copy_: other must be a Tensor or a number, got [1]"),
    (lambda: A.fill_("x"), TypeError, "fill_: the value must be a number or a tensor of one element, got 'x'"),
    (
        lambda: A.fill_(A),
        RuntimeError,
        "fill_: only supports 0-dimension value tensor but got tensor with 2 dimensions: float32[3, 4] on cpu",
    ),
    (
        lambda: torch.zeros(2, dtype=torch.int8).fill_(200),
        RuntimeError,
        "fill_: value cannot be converted to type int8 without overflow: 200",
    ),
    (
        lambda: A.item(),
        ValueError,
        "item: a Tensor with 12 elements cannot be converted to Scalar: float32[3, 4] on cpu",
    ),
    (lambda: A.item(), RuntimeError, "item: "),
    (lambda: float(A), ValueError, "float: only one element tensors can be converted to Python scalars"),
    (lambda: int(torch.empty(0)), ValueError, "int: only one element tensors can be converted to Python scalars"),
    (lambda: bool(A), RuntimeError, "bool: Boolean value of Tensor with more than one value is ambiguous"),
    (lambda: A.numpy(force="x"), TypeError, "numpy: force must be a bool, got 'x'"),
    (
        lambda: torch.ones(2, requires_grad=True).numpy(),
        RuntimeError,
        "numpy: Can't call numpy() on Tensor that requires grad: float32[2] on cpu",
    ),
    (lambda: len(torch.tensor(1)), TypeError, "len: len() of a 0-d tensor, int64[] on cpu"),
    (lambda: list(torch.tensor(1)), TypeError, "iter: iteration over a 0-d tensor, int64[] on cpu"),
    (
        lambda: [1, 2][torch.tensor(1.5)],
        TypeError,
        "index: only integer tensors of a single element can be converted to an index, this is float32[] on cpu",
    ),
    (lambda: "x" in A, RuntimeError, "in: expected a tensor or a number, got 'x'"),
    (lambda: format(A, ".2f"), TypeError, "format: unsupported format string '.2f' for float32[3, 4] on cpu"),
    (lambda: A.size(5), IndexError, "size: Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
    (lambda: A.stride("x"), TypeError, "stride: dim must be an int, got 'x'"),
    (lambda: A.view("x"), TypeError, "view: expected ints, got ('x')"),
    (lambda: A.view(True, 6), TypeError, "view: expected ints, got (True, 6)"),
    (lambda: A.reshape(2.0, 6), TypeError, "reshape: expected ints, got (2.0, 6)"),
    (lambda: A.permute(None), TypeError, "permute: expected ints, got (None)"),
    (lambda: A.expand("x"), TypeError, "expand: expected ints, got ('x')"),
    (lambda: A.repeat(1.5, 2), TypeError, "repeat: expected ints, got (1.5, 2)"),
    (lambda: A.flip("x"), TypeError, "flip: expected ints, got ('x')"),
    (lambda: A.view_as(3), TypeError, "view_as: other must be a Tensor, got 3"),
    (lambda: A.expand_as("x"), TypeError, "expand_as: other must be a Tensor, got 'x'"),
    (lambda: A.sum_to_size(2, 4), RuntimeError, "sum_to_size: size [2, 4] is not expandable to size [3, 4]"),
    (
        lambda: I.requires_grad_(),
        RuntimeError,
        "requires_grad_: only Tensors of floating point dtype can require gradients, this is int64[3] on cpu",
    ),
    (lambda: A.requires_grad_("x"), TypeError, "requires_grad_: must be a bool, got 'x'"),
    (lambda: setattr(A, "requires_grad", "x"), RuntimeError, "requires_grad: must be a bool, got 'x'"),
    (lambda: setattr(A, "data", 3), TypeError, "data: the assigned value must be a Tensor, got 3"),
    (
        lambda: setattr(torch.ones(2, requires_grad=True), "data", I),
        RuntimeError,
        "data: the value assigned to a tensor that requires gradients must be floating point, got int64[3] on cpu",
    ),
    (lambda: setattr(A, "grad", "x"), TypeError, "grad: expected a Tensor or None, got 'x'"),
    (lambda: A.retain_grad(), RuntimeError, "retain_grad: float32[3, 4] on cpu does not require a gradient"),
    (lambda: A.register_hook(3), TypeError, "register_hook: hook must be callable, got 3"),
    (
        lambda: A.register_hook(print),
        RuntimeError,
        "register_hook: cannot register a hook on a tensor that doesn't require gradient: float32[3, 4] on cpu",
    ),
    (lambda: A.record_stream(3), TypeError, "record_stream: expected a Stream, got 3"),
    (lambda: A.new("x"), TypeError, "new: could not infer dtype of str, data is 'x'"),
    (lambda: A.new_empty(-1), RuntimeError, "new_empty: trying to create a tensor with negative dimension: [-1]"),
    (lambda: A.new_full((2,), "x"), TypeError, "new_full: the value must be a number"),
    (lambda: A.new_tensor([[1], [1, 2]]), ValueError, "new_tensor: the data's nested sequences differ in length"),
)
def test_methods(gpus, call, error, begins):
    refused(call, error, begins)


@cases(
    (lambda: A[5], IndexError, "index: index 5 is out of bounds for dimension 0 with size 3"),
    (lambda: A[[5]], IndexError, "index: index 5 is out of bounds for dimension 0 with size 3"),
    (lambda: A[0, 0, 0], IndexError, "index: too many indices for tensor of dimension 2: 3 for float32[3, 4] on cpu"),
    (lambda: A[::-1], ValueError, "index: slice step must be greater than zero, got -1"),
    (
        lambda: A["x"],
        TypeError,
        "index: only integers, slices (`:`), ellipsis (`...`), None and integer or bool tensors are valid indices "
        "(got str): 'x'",
    ),
    (lambda: A[1.5], IndexError, "index: only integers"),
    (lambda: A["x":], TypeError, "index: slice indices must be integers or None, got 'x'"),
    (
        lambda: A[B > 0],
        IndexError,
        "index: The shape of the mask [5] at index 0 does not match the shape of the indexed tensor [3, 4]",
    ),
    (
        lambda: A[torch.ones(3)],
        IndexError,
        "index: tensors used as indices must be integers, bytes or bool, got float32",
    ),
    (lambda: A.__setitem__(0, "x"), TypeError, "index: can't assign a str to a torch.FloatTensor: 'x'"),
    (lambda: A.__setitem__(0, B), RuntimeError, "index: The size of tensor a (5) must match the size of tensor b (4)"),
    (
        lambda: A.__setitem__([0, 1], B),
        RuntimeError,
        "index: shape mismatch: value tensor of shape [5] cannot be broadcast",
    ),
    (lambda: A.__setitem__(7, 1), IndexError, "index: index 7 is out of bounds for dimension 0 with size 3"),
    (lambda: I.__setitem__(0, 2**70), RuntimeError, "index: value cannot be converted to type int64 without overflow"),
)
def test_indexing(call, error, begins):
    refused(call, error, begins)


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
    refused(x.numpy, TypeError, "numpy: can't convert cuda:0 device type tensor to numpy: float32[2] on cuda:0")
    refused(
        x.pin_memory, RuntimeError, "pin_memory: only dense CPU tensors can be pinned, this is float32[2] on cuda:0"
    )
    refused(lambda: x.to("cuda:9"), RuntimeError, "to: cuda:9: there is no such device")
    refused(lambda: torch.ones(2, device="cuda:9"), RuntimeError, "ones: cuda:9: there is no such device")
    refused(
        lambda: torch.ones(2, device="cuda", pin_memory=True),
        ValueError,
        "ones: only CPU tensors can be pinned, and device is cuda:0",
    )
    refused(
        lambda: torch.FloatTensor(2, device="cuda"),
        RuntimeError,
        "torch.FloatTensor: legacy constructor expects device type: cpu, got cuda",
    )


@cases(
    (lambda: torch.set_rng_state("x"), TypeError, "set_rng_state: a state is a tensor of uint8, got 'x'"),
    (
        lambda: torch.random.get_rng_state("x"),
        RuntimeError,
        "get_rng_state: Expected one of cpu, cuda device type at start of device string: x",
    ),
    (
        lambda: torch.cuda.set_rng_state_all(3),
        TypeError,
        "set_rng_state_all: new_states must be a list of states, got 3",
    ),
    (
        lambda: torch.random.fork_rng(devices=3).__enter__(),
        TypeError,
        "fork_rng: devices must be a list of devices, got 3",
    ),
    (
        lambda: torch.random.fork_rng(devices=["foo"]).__enter__(),
        RuntimeError,
        "fork_rng: Expected one of cpu, cuda device type at start of device string: foo",
    ),
)
def test_random_states(gpus, call, error, begins):
    refused(call, error, begins)


@cases(
    (lambda: torch.nn.functional.batch_norm(A, 1, None), TypeError, "batch_norm: running_mean must be a Tensor, got 1"),
    (
        lambda: torch.nn.functional.batch_norm(A, torch.ones(4), "a"),
        TypeError,
        "batch_norm: running_var must be a Tensor, got 'a'",
    ),
    (
        lambda: torch.nn.functional.instance_norm(torch.ones(2, 3, 4), 0.5, None),
        TypeError,
        "instance_norm: running_mean must be a Tensor, got 0.5",
    ),
    (
        lambda: torch.nn.functional.affine_grid(torch.ones(1, 2, 3), 4),
        TypeError,
        "affine_grid: size must be a list of ints, got 4",
    ),
    (
        lambda: torch.affine_grid_generator(torch.ones(1, 2, 3), None, True),
        TypeError,
        "affine_grid_generator: size must be a list of ints, got None",
    ),
    (lambda: torch.nn.functional.group_norm(A, "a"), TypeError, "group_norm: num_groups must be an int, got 'a'"),
    (lambda: torch.nn.functional.gumbel_softmax(A, "a"), TypeError, "gumbel_softmax: tau must be a number, got 'a'"),
    (lambda: torch.nn.functional.gumbel_softmax(A, None), TypeError, "gumbel_softmax: tau must be a number, got None"),
    (lambda: torch.nn.functional.softmin(object, 0), TypeError, "softmin: input must be a Tensor, got type object"),
    (lambda: torch.rrelu_(A, "a"), TypeError, "rrelu_: lower must be a number, got 'a'"),
    (lambda: torch.rrelu_(A, 0.1, [1]), TypeError, "rrelu_: upper must be a number, got [1]"),
    (
        lambda: torch.broadcast_shapes(None),
        TypeError,
        "broadcast_shapes: expected tuples of ints or single ints, got (None)",
    ),
    (
        lambda: torch.broadcast_shapes((2, 1), "a"),
        TypeError,
        "broadcast_shapes: expected tuples of ints or single ints, got ((2, 1), 'a')",
    ),
    (lambda: torch.einsum(A, 1.5), TypeError, "einsum: labels must be a list of numbers, got 1.5"),
    (lambda: torch.einsum(A, [0, 1], None), TypeError, "einsum: labels must be a list of numbers, got None"),
    (lambda: torch.embedding(A, torch.tensor([1]), "a"), TypeError, "embedding: padding_idx must be an int, got 'a'"),
    (
        lambda: torch.nn.functional.embedding(torch.tensor([1]), A, max_norm=2.0, norm_type="a"),
        TypeError,
        "embedding_renorm_: norm_type must be a number, got 'a'",
    ),
    (lambda: torch.empty_permuted(1, (0,)), TypeError, "empty_permuted: size must be a list of ints, got 1"),
    (
        lambda: torch.empty_permuted((2, 3), True),
        TypeError,
        "empty_permuted: physical_layout must be a list of ints, got True",
    ),
    (
        lambda: torch.empty_permuted((2, 3), (0, "a")),
        TypeError,
        "empty_permuted: each dimension must be an int, got 'a'",
    ),
    (
        lambda: torch.grid_sampler_2d(None, A, 0, 0, True),
        TypeError,
        "grid_sampler_2d: input must be a Tensor, got None",
    ),
    (lambda: torch.grid_sampler_3d(A, 1, 0, 0, True), TypeError, "grid_sampler_3d: grid must be a Tensor, got 1"),
    (lambda: torch.index_put_(1, (torch.tensor([0]),), A), TypeError, "index_put_: input must be a Tensor, got 1"),
    (lambda: A.index_put_(1, A), TypeError, "index_put_: indices must be a tuple of tensors, got 1"),
    (lambda: A.index_put_([1], A), TypeError, "index_put_: indices[0] must be a Tensor, got 1"),
    (lambda: A.index_put_((torch.tensor([0]),), 2.0), TypeError, "index_put_: values must be a Tensor, got 2.0"),
    (lambda: torch.lstm_cell(A, 1, A, A), TypeError, "lstm_cell: hx must be a list of tensors, got 1"),
    (lambda: torch.lstm_cell(A, [A], A, A), ValueError, "lstm_cell: hx must have two states, got 1"),
    (lambda: torch.normal("a", torch.ones(2)), TypeError, "normal: mean must be a number, got 'a'"),
    (lambda: torch.pca_lowrank(A, "a"), TypeError, "pca_lowrank: q must be an int, got 'a'"),
    (lambda: torch.svd_lowrank(A, object), TypeError, "svd_lowrank: q must be an int, got type object"),
)
def test_what_is_no_tensor_or_number_where_one_is_needed(gpus, call, error, begins):
    refused(call, error, begins)


@cases(
    (lambda: torch.Tensor.t_(None), TypeError, "t_: self must be a Tensor, got None"),
    (lambda: torch.Tensor.squeeze_(None), TypeError, "squeeze_: self must be a Tensor, got None"),
    (lambda: torch.Tensor.as_strided_(None, (1,), (1,)), TypeError, "as_strided_: self must be a Tensor, got None"),
    (lambda: torch.Tensor.set_(None), TypeError, "set_: self must be a Tensor, got None"),
    (lambda: torch.Tensor.resize_(None, 2), TypeError, "resize_: self must be a Tensor, got None"),
    (
        lambda: torch.Tensor._make_subclass(None, A),
        TypeError,
        "_make_subclass: expected a subclass of Tensor, got None",
    ),
    (lambda: torch.Tensor._make_subclass(torch.Tensor, 1), TypeError, "_make_subclass: data must be a Tensor, got 1"),
    (
        lambda: torch.nn.functional.ctc_loss(A, I, [3], [1], blank="a"),
        TypeError,
        "ctc_loss: blank must be an int, got 'a'",
    ),
)
def test_methods_without_their_tensor(gpus, call, error, begins):
    refused(call, error, begins)
