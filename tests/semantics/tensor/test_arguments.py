"""PyTorch's options of factories and methods: out=, layout=, device= and their kin."""

import inspect

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import (
    ArgumentTypeError,
    AutogradError,
    DeviceMismatchError,
    DtypeError,
    NotSupportedError,
    ShapeError,
)

FACTORIES = {
    "zeros": lambda **options: torch.zeros(2, 3, **options),
    "ones": lambda **options: torch.ones((2, 3), **options),
    "empty": lambda **options: torch.empty(2, 3, **options),
    "full": lambda **options: torch.full((2, 3), 5, **options),
    "rand": lambda **options: torch.rand(2, 3, **options),
    "randn": lambda **options: torch.randn(size=(2, 3), **options),
    "randint": lambda **options: torch.randint(1, 5, (2, 3), **options),
    "eye": lambda **options: torch.eye(2, 3, **options),
    "arange": lambda **options: torch.arange(1, 7, **options),
    "linspace": lambda **options: torch.linspace(0, 1, 6, **options),
    "randperm": lambda **options: torch.randperm(6, **options),
}


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
def test_a_factory_writes_into_out(name, device, gpus):
    make = FACTORIES[name]
    torch.manual_seed(3)
    wanted = make(dtype=torch.float32, device=device)
    for out in (torch.full(wanted.shape, -1.0, device=device), torch.empty(0, device=device)):
        address = out.data_ptr() if out.numel() else None
        torch.manual_seed(3)
        assert make(out=out) is out and out.shape == wanted.shape and out.device == wanted.device
        assert out.numel() != wanted.numel() or name == "empty" or out.equal(wanted)
        assert address in (None, out.data_ptr())
    version = out._version
    make(out=out, dtype=torch.float32, device=device, layout=torch.strided)
    assert out._version > version


@pytest.mark.parametrize("name", FACTORIES)
def test_what_a_factory_cannot_write_into_is_refused(name, gpus):
    make = FACTORIES[name]
    with pytest.raises(ShapeError, match=rf"{name}: .*\[2\]"):
        make(out=torch.zeros(2))
    with pytest.raises(DtypeError, match=f"{name}: .*float64.*float32"):
        make(out=torch.zeros(0), dtype=torch.float64)
    with pytest.raises(DeviceMismatchError, match=f"{name}: .*cuda:0.*cpu"):
        make(out=torch.zeros(0), device="cuda")
    with pytest.raises(ArgumentTypeError, match=f"{name}: out must be a Tensor"):
        make(out=[1])
    with pytest.raises(AutogradError, match=f"{name}: out"):
        make(out=torch.zeros(6, requires_grad=True))


@pytest.mark.parametrize("name", [*FACTORIES, "empty_strided", "empty_like"])
def test_layout_is_strided(name):
    make = FACTORIES.get(name) or {
        "empty_strided": lambda **options: torch.empty_strided((2,), (1,), **options),
        "empty_like": lambda **options: torch.empty_like(torch.ones(2), **options),
    }.get(name)
    assert make(layout=torch.strided).shape == make(layout=None).shape == make().shape
    with pytest.raises(ArgumentTypeError, match="layout must be a torch.layout, got 'strided'"):
        make(layout="strided")


def test_the_layout_and_its_class_have_pytorchs_names():
    assert isinstance(torch.strided, torch.layout) and repr(torch.strided) == "torch.strided"


def test_options_of_the_rarer_factories(gpus):
    assert torch.eye(2, pin_memory=True).is_pinned() and torch.linspace(0, 1, 3, pin_memory=True).is_pinned()
    made = torch.empty_strided((2, 2), (1, 2), pin_memory=True, requires_grad=True)
    assert made.is_pinned() and made.requires_grad and made.stride() == (1, 2)
    assert torch.randperm(3, dtype=torch.float32, requires_grad=True).requires_grad
    assert torch.asarray(obj=[1.0], requires_grad=True).requires_grad
    array = np.ones(2)
    assert torch.asarray(array, requires_grad=True).requires_grad and torch.from_numpy(ndarray=array).shape == (2,)
    assert torch.asarray(array).data_ptr() == torch.from_numpy(array).data_ptr()
    leaf = torch.ones(2, requires_grad=True)
    found = torch.asarray(leaf, requires_grad=False)
    assert not found.requires_grad and found.data_ptr() == leaf.data_ptr()


def test_from_dlpack_copies_and_moves(gpus):
    array = np.arange(3.0)
    made = torch.from_dlpack(ext_tensor=array)
    assert made.data_ptr() == torch.from_dlpack(array, copy=False).data_ptr() == array.ctypes.data
    assert torch.from_dlpack(array, copy=True).data_ptr() != array.ctypes.data
    assert torch.from_dlpack(array, device="cuda:1").device == torch.device("cuda:1")
    assert torch.from_dlpack(array, device="cpu").data_ptr() == array.ctypes.data
    with pytest.raises(ValueError, match="from_dlpack: .*cuda:1.*copy is False"):
        torch.from_dlpack(array, device="cuda:1", copy=False)


def test_names_of_arguments_of_methods(gpus):
    x = torch.zeros(2, 3)
    assert x.copy_(other=torch.ones(3)).sum().item() == 6.0
    assert x.sum_to_size(size=(3,)).tolist() == x.sum_to_size(3).tolist() == [2.0, 2.0, 2.0]
    assert x.double().view(int).dtype is torch.int64
    assert x.view(size=(6,)).shape == (6,) and x.view(dtype=torch.int32).dtype is torch.int32
    assert x.new_zeros(size=(2,), layout=torch.strided).shape == x.new_ones(size=[2], dtype=int).shape == (2,)
    y = torch.ones(2, device="cuda")
    y.record_stream(s=torch.cuda.current_stream())


def test_a_device_for_pinned_memory_is_checked_and_chooses_nothing(gpus):
    x = torch.zeros(2)
    assert x.pin_memory("cuda:1").is_pinned(device="cuda") and x.pin_memory(device=None).is_pinned()
    for call in (x.pin_memory, x.is_pinned):
        with pytest.raises(ValueError, match="(pin_memory|is_pinned): .*cpu"):
            call("cpu")


def test_signatures_of_factories_like_a_tensor_name_their_options():
    for name, options in {
        "zeros_like": ["input", "dtype", "layout", "device", "requires_grad", "pin_memory", "memory_format"],
        "full_like": ["input", "fill_value", "dtype"], "randint_like": ["input", "low", "high", "generator"],
    }.items():  # fmt: skip
        assert set(options) <= set(inspect.signature(getattr(torch, name)).parameters)
    parameters = inspect.signature(torch.Tensor.new_full).parameters
    assert list(parameters)[:3] == ["self", "size", "fill_value"] and "requires_grad" in parameters


def test_randint_like_by_name():
    x = torch.zeros(50, dtype=torch.int64)
    assert set(torch.randint_like(x, high=2).tolist()) == {0, 1}
    assert set(torch.randint_like(x, low=3, high=5).tolist()) == {3, 4}
    made = torch.rand_like(x, dtype=torch.float32, generator=torch.Generator().manual_seed(1))
    assert made.equal(torch.rand(50, generator=torch.Generator().manual_seed(1)))


def test_sparse_results_are_refused():
    with pytest.raises(NotSupportedError, match="embedding: sparse"):
        torch.nn.functional.embedding(torch.tensor([0]), torch.ones(2, 2), sparse=True)


def test_sizes_are_joined_and_repeated():
    size = torch.Size([2])
    for found, wanted in ((size + (3,), (2, 3)), ((1, *()) + size, (1, 2)), (size * 2, (2, 2)), (2 * size, (2, 2))):
        assert type(found) is torch.Size and found == wanted
    with pytest.raises(TypeError):
        size + [3]


def test_functions_of_methods_that_write():
    x = torch.arange(4)
    assert torch.fill(x, 7).tolist() == [7] * 4 and x.tolist() == [0, 1, 2, 3]
    assert torch.fill(x, torch.tensor(2)).tolist() == [2] * 4
    assert torch.as_strided_(x, (2, 2), (1, 2)) is x and x.tolist() == [[0, 2], [1, 3]]
    assert torch.resize_as_(x, torch.zeros(1, 4)).shape == (1, 4)
    y = torch.ones(2, 3, requires_grad=True).t()
    assert torch.detach_copy(y).is_contiguous() and not torch.detach_copy(y).requires_grad
    out = torch.zeros_like(y)
    assert torch.detach_copy(y, out=out) is out and out.equal(y) and not out.requires_grad
    assert x.module_load(torch.tensor([[5, 6, 7, 8]])).data_ptr() == x.data_ptr() and x[0, 0] == 5
    other = torch.ones(4)
    assert x.module_load(other, assign=True).data_ptr() == other.data_ptr()


def test_required_arguments_are_required():
    x, number = torch.ones(2, 3), torch.tensor(1.0)
    calls = [(x, name) for name in ("flip", "tile", "sum_to_size")]
    calls += [(number, name) for name in ("view", "expand", "repeat", "reshape", "permute", "broadcast_to", "tile")]
    for tensor, name in calls:
        with pytest.raises(ArgumentTypeError, match=f"^{name}: missing 1 required positional argument"):
            getattr(tensor, name)()
    for name in ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"):
        for given in ((), (0.5,)):
            with pytest.raises(ArgumentTypeError, match=f"^{name}: missing 1 required positional argument"):
                getattr(torch, name)(x, *given)
    assert number.view(()).shape == number.expand(()).shape == x.sum_to_size(()).shape == ()
    assert x.flip(()).tolist() == x.tile(()).tolist() == x.tolist()


def test_a_bool_is_no_dimension():
    x = torch.ones(2, 3)
    names = ("sum", "mean", "prod", "amax", "argmax", "max", "median", "all", "logsumexp", "cumsum", "softmax", "sort")
    for name in names:
        with pytest.raises(ArgumentTypeError, match=f"^{name}: argument 'dim' must be .*True"):
            getattr(x, name)(True)
    with pytest.raises(ArgumentTypeError, match=r"^sum: argument 'dim' must be .*\[True, 0\]"):
        x.sum([True, 0])
    assert x.sum(1, True).shape == (2, 1) and x.std(True).shape == ()


def test_max_and_min_take_a_dimension_or_a_second_tensor():
    x, one = torch.tensor([[1, 5, 3], [4, 2, 6]]), torch.tensor(1)
    for name, values, indices in (("max", [5, 6], [1, 2]), ("min", [1, 2], [0, 1])):
        choose = getattr(torch, name)
        for found in (choose(x, 1), choose(x, dim=1), choose(x, dim=one), choose(x, axis=1)):
            assert (found.values.tolist(), found.indices.tolist()) == (values, indices), name
        other = getattr(torch, f"{name}imum")(x, one * 3).tolist()
        assert choose(x, one * 3).tolist() == choose(x, other=one * 3).tolist() == other
        with pytest.raises(ArgumentTypeError, match=f"^{name}: .*1.5"):
            choose(x, dim=1.5)
        with pytest.raises(ArgumentTypeError, match=f"^{name}: "):
            choose(x, dim=torch.tensor(1.5))
        with pytest.raises(ArgumentTypeError, match=f"^{name}: .*other=int64.*dim=1"):
            choose(x, x, dim=1)
        with pytest.raises(ArgumentTypeError, match=f"^{name}: keepdim=True"):
            choose(x, x, keepdim=True)


def test_a_tensor_where_none_is_taken_is_named():
    x, one = torch.ones(2, 3), torch.tensor(1)
    for name in ("cumsum", "softmax", "log_softmax"):
        with pytest.raises(ArgumentTypeError, match=f"^{name}: argument 'dtype' must be a dtype or None, not Tensor"):
            getattr(x, name)(1, one)
    with pytest.raises(ArgumentTypeError, match="^flip: .*dims=int64"):
        torch.flip(x, one)
    with pytest.raises(ArgumentTypeError, match=r"^broadcast_tensors: tensors\[1\] must be a Tensor, got 1"):
        torch.broadcast_tensors(x, 1)
    with pytest.raises(ArgumentTypeError, match=r"^chain_matmul: matrices\[1\] must be a Tensor, got 1"):
        torch.chain_matmul(x, 1)


def test_functions_of_numpy_take_tensors():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (np.sum(x).item(), np.mean(x).item(), np.max(x).item(), np.prod(x).item()) == (10, 2.5, 4, 24)
    assert np.max(x, axis=1).values.tolist() == [2, 4]


def test_bools_are_no_ints_of_views_and_shapes(gpus):
    for device in ("cpu", "cuda"):
        x = torch.arange(6.0, device=device).reshape(2, 3)
        row, image, weight = x[:1], torch.ones(1, 1, 2, 2, device=device), torch.ones(1, 1, 1, 1, device=device)
        calls = {
            "transpose": (lambda one: x.transpose(0, one), lambda one: x.transpose(dim0=one, dim1=0)),
            "swapaxes": (lambda one: x.swapaxes(0, one),),
            "chunk": (lambda one: x.chunk(one), lambda one: x.chunk(2, one), lambda one: x.chunk(2, dim=one)),
            "split": (lambda one: x.split(one), lambda one: x.split(1, one), lambda one: x.split([one, 1])),
            "split_with_sizes": (lambda one: x.split_with_sizes([one, 1]),),
            "tensor_split": (lambda one: x.tensor_split(one), lambda one: x.tensor_split([one])),
            "hsplit": (lambda one: x.hsplit(one), lambda one: x.hsplit((one,))),
            "vsplit": (lambda one: x.vsplit(one),),
            "view": (lambda one: x.view(one, 6), lambda one: row.view([one])),
            "reshape": (lambda one: x.reshape(one, 6), lambda one: torch.reshape(x, (one, 6))),
            "expand": (lambda one: row.expand(one, 3),),
            "broadcast_to": (lambda one: torch.broadcast_to(row, (one, 3)),),
            "squeeze": (lambda one: row.squeeze(one), lambda one: row.squeeze((one,))),
            "unsqueeze": (lambda one: x.unsqueeze(one),),
            "flatten": (lambda one: x.flatten(one), lambda one: x.flatten(0, one)),
            "unflatten": (lambda one: x.unflatten(1, (one, 3)),),
            "movedim": (lambda one: x.movedim(0, one), lambda one: x.movedim((0, 1), (one, 0))),
            "permute": (lambda one: x.permute(one, 0),),
            "narrow": (lambda one: x.narrow(0, one, 1), lambda one: x.narrow(0, 0, one)),
            "unfold": (
                lambda one: x.unfold(one, 1, 1),
                lambda one: x.unfold(0, one, 1),
                lambda one: x.unfold(0, 1, one),
            ),
            "select": (lambda one: x.select(one, 0), lambda one: x.select(0, one)),
            "unbind": (lambda one: x.unbind(one),),
            "diagonal": (lambda one: x.diagonal(one), lambda one: x.diagonal(0, one, 0)),
            "as_strided": (
                lambda one: x.as_strided((one,), (1,)),
                lambda one: x.as_strided((1,), (one,)),
                lambda one: x.as_strided((1,), (1,), one),
            ),
            "roll": (lambda one: x.roll(one), lambda one: x.roll(1, one)),
            "repeat": (lambda one: x.repeat(one, 1),),
            "repeat_interleave": (lambda one: x.repeat_interleave(one),),
            "tile": (lambda one: torch.tile(x, (one,)),),
            "size": (lambda one: x.size(one),),
            "stride": (lambda one: x.stride(one),),
            "zeros": (lambda one: torch.zeros(one), lambda one: torch.zeros([one, 2])),
            "empty": (lambda one: torch.empty(one, 2),),
            "full": (lambda one: torch.full((one,), 2.0),),
            "pad": (lambda one: torch.nn.functional.pad(x, (one, 1)),),
            "max_pool2d": (lambda one: torch.nn.functional.max_pool2d(image, one),),
            "adaptive_avg_pool2d": (lambda one: torch.nn.functional.adaptive_avg_pool2d(image, one),),
            "conv2d": (lambda one: torch.nn.functional.conv2d(image, weight, stride=one),),
        }
        for name, forms in calls.items():
            for form in forms:
                takes_tensors = name in ("tensor_split", "repeat_interleave")
                for one in (True, False) if takes_tensors else (True, False, torch.tensor(True)):
                    with pytest.raises(TypeError, match=name) as caught:
                        form(one)
                    assert "bool" in str(caught.value) or "True" in str(caught.value) or "False" in str(caught.value)


def test_bools_after_the_first_integer_of_a_list_are_integers(gpus):
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    assert torch.zeros(2, True).shape == x.new_full((2, True), 1).shape == torch.empty([2, True]).shape == (2, 1)
    assert torch.empty_strided((2, True), (1, True)).stride() == (1, 1)
    assert x.view(6, True).shape == x.reshape((6, True)).shape == (6, 1)
    assert x.repeat(2, True).equal(x.tile((2, True))) and x.repeat(2, True).shape == (4, 3)
    assert x.permute(0, True).equal(x) and x.movedim((0, 1), (0, True)).equal(x)
    assert x.flip(0, True).equal(x.flip(0, 1)) and x.sum([0, True]).item() == 15 and x.amax((0, True)).item() == 5
    assert [piece.shape for piece in x.split([1, True])] == [(1, 3), (1, 3)]
    assert torch.tensordot(x, x, ([0, True], [0, 1])).item() == 55


def test_strings_and_ambiguous_bools_of_norms_and_variances(gpus):
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    with pytest.raises(RuntimeError, match="norm: .*'1'"):
        x.norm("1")
    with pytest.raises(TypeError, match="dist: .*'1'"):
        torch.dist(x, x, "1")
    assert x.var(False).allclose(x.var(unbiased=False))
    for name in ("var", "std", "var_mean", "std_mean"):
        with pytest.raises(TypeError, match=f"{name}: .*True"):
            getattr(torch, name)(x, True, keepdim=True)
        with pytest.raises(TypeError, match=f"{name}: .*False"):
            getattr(torch, name)(x, False, correction=1)
