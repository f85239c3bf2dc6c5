"""The namespace of the array API: its names, and what it says of itself."""

import flambeau as torch
from flambeau import array_api as xp

# Names of the standard, version 2024.12, without those of complex numbers and of Fourier transforms.
FUNCTIONS = """
    abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh bitwise_and
    bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays broadcast_to can_cast
    ceil clip concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide empty empty_like
    equal exp expand_dims expm1 eye finfo flip floor floor_divide from_dlpack full full_like greater greater_equal hypot
    iinfo imag isdtype isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and
    logical_not logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply
    negative nextafter nonzero not_equal ones ones_like permute_dims positive pow prod real reciprocal remainder repeat
    reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum
    take take_along_axis tan tanh tensordot tile tril triu trunc unique_all unique_counts unique_inverse unique_values
    unstack var vecdot where zeros zeros_like
"""
LINALG = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer
    pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
"""
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64"


def test_every_name_of_the_standard_is_there():
    assert [name for name in FUNCTIONS.split() if not callable(getattr(xp, name, None))] == []
    assert set(LINALG.split()) == set(xp.linalg.__all__)
    assert [getattr(xp, name) for name in DTYPES.split()] == [getattr(torch, name) for name in DTYPES.split()]
    assert 2 < xp.e < 3 < xp.pi < 4 and xp.inf > 0 and xp.nan != xp.nan and xp.newaxis is None
    assert not hasattr(xp, "complex64") and not hasattr(xp, "fft") and xp.__array_api_version__ == "2024.12"


def test_it_describes_itself(gpus):
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    gpus = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    assert len(gpus) >= 2 and info.devices() == [torch.device("cpu"), *gpus]
    assert info.default_device() in info.devices()
    assert info.default_dtypes() == {
        "real floating": torch.float32, "integral": torch.int64, "indexing": torch.int64
    }  # fmt: skip
    assert set(info.dtypes()) == set(DTYPES.split())
    assert list(info.dtypes(kind=("bool", "real floating"))) == ["bool", "float32", "float64"]
    assert info.dtypes(kind="complex floating") == {}


def test_functions_run_where_their_arrays_are(gpus):
    x = torch.tensor([[3, 1], [2, 2]], dtype=torch.uint16, device="cuda")
    assert xp.add(x, torch.tensor([1, -1], dtype=torch.int8, device="cuda")).tolist() == [[4, 0], [3, 1]]
    assert xp.add(x, 1).dtype is torch.uint16 and xp.sum(x, axis=0).device == x.device
    assert xp.unique_all(x).indices.tolist() == [1, 2, 0] and xp.unique_all(x).values.is_cuda
    assert xp.sort(x, axis=1).tolist() == [[1, 3], [2, 2]] and xp.eye(2, k=1, device="cuda").sum().item() == 1.0
