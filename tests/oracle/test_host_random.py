"""Random numbers on the CPU, compared with PyTorch's: every draw twice, in every type and layout, and the states."""

import zlib
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau import dtypes

pytestmark = pytest.mark.full

FLOATING = [dtype.name for dtype in dtypes.FLOATING_TYPES]
WIDE = ["float32", "float64"]
EVERY = [dtype.name for dtype in dtypes.ALL]
LAYOUTS = {
    "short": lambda m, dtype: m.empty(15, dtype=dtype),
    "none": lambda m, dtype: m.empty((), dtype=dtype),
    "matrix": lambda m, dtype: m.empty(16, 16, dtype=dtype),
    "tail": lambda m, dtype: m.empty(37, dtype=dtype),
    "transposed": lambda m, dtype: m.empty(4, 7, dtype=dtype).t(),
    "permuted": lambda m, dtype: m.empty(3, 4, 5, dtype=dtype).permute(2, 0, 1),
    "gaps": lambda m, dtype: m.zeros(6, 10, dtype=dtype)[:, ::2],
    "transposed gaps": lambda m, dtype: m.zeros(6, 10, dtype=dtype)[:, ::3].t(),
    "empty": lambda m, dtype: m.empty(0, 3, dtype=dtype),
    "ones": lambda m, dtype: m.empty(3, 1, 4, dtype=dtype),
    "long": lambda m, dtype: m.empty(70001, dtype=dtype),
}
DRAWS = {
    "uniform": (lambda x, m: x.uniform_(), FLOATING),
    "uniform around 0": (lambda x, m: x.uniform_(-1.3, 2.7), FLOATING),
    "uniform far": (lambda x, m: x.uniform_(1000, 1001), FLOATING),
    "normal": (lambda x, m: x.normal_(), FLOATING),
    "normal around 1": (lambda x, m: x.normal_(1.3, 2.7), FLOATING),
    "random": (lambda x, m: x.random_(), EVERY),
    "random bit": (lambda x, m: x.random_(2), EVERY),
    "random range": (lambda x, m: x.random_(-100, 77), ["int64", "int16", "float32"]),
    "random wide": (lambda x, m: x.random_(-(1 << 40), 1 << 41), ["int64", "float64"]),
    "bernoulli": (lambda x, m: x.bernoulli_(0.3), EVERY),
    "bernoulli each": (lambda x, m: x.bernoulli_(m.linspace(0, 1, x.numel()).reshape(x.shape)), EVERY),
    "bernoulli of": (lambda x, m: m.bernoulli(x.fill_(0.25)), FLOATING),
    "dropout": (lambda x, m: m.nn.functional.dropout(x.fill_(1.3), 0.3), FLOATING),
    "exponential": (lambda x, m: x.exponential_(1.7), FLOATING),
    "cauchy": (lambda x, m: x.cauchy_(0.3, 1.7), FLOATING),
    "log_normal": (lambda x, m: x.log_normal_(0.3, 0.7), FLOATING),
    "geometric": (lambda x, m: x.geometric_(0.3), [name for name in EVERY if name != "bool"]),
    "rand_like": (lambda x, m: m.rand_like(x), FLOATING),
    "randn_like": (lambda x, m: m.randn_like(x), FLOATING),
    "multinomial": (lambda x, m: m.multinomial(m.rand(4, 9).to(x.dtype), 5), WIDE),
    "multinomial replaced": (lambda x, m: m.multinomial(m.rand(4, 300).to(x.dtype), 50, True), FLOATING),
    "poisson": (lambda x, m: m.poisson(m.rand(300).to(x.dtype) * 30), FLOATING),
    "binomial": (lambda x, m: m.binomial(m.full((300,), 100.0, dtype=x.dtype), m.rand(300).to(x.dtype)), WIDE),
}
TOLERANCE = {"float32": 4e-6, "float16": 8e-3, "bfloat16": 6e-2, "float64": 0.0}  # of normal values; 1 ulp of a half


def drawn(library, name, dtype, layout, seed):
    """Two draws with their strides, and the state after them."""
    library.manual_seed(seed)
    found = []
    for _ in range(2):
        tensor = DRAWS[name][0](LAYOUTS[layout](library, getattr(library, dtype)), library)
        strides = [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1 and tensor.numel()]
        found.append((tensor.double().numpy(), strides))
    return found, bytes(library.get_rng_state().tolist())


@pytest.mark.parametrize("name", DRAWS)
def test_draws_equal_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    if torch.backends.mkl.is_available() and "GenuineIntel" in Path("/proc/cpuinfo").read_text():
        pytest.skip("PyTorch draws with MKL on Intel's processors")
    for dtype in DRAWS[name][1]:
        for layout in LAYOUTS:
            seed = zlib.crc32(f"{name} {dtype} {layout}".encode())
            ours, theirs = (drawn(library, name, dtype, layout, seed) for library in (flambeau, torch))
            case = f"{name} {dtype} {layout}"
            assert ours[1] == theirs[1], case
            tolerance = TOLERANCE[dtype] if "normal" in name and "log" not in name or name == "randn_like" else 0.0
            for (one, strides), (other, expected) in zip(ours[0], theirs[0]):
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=case)
                assert strides == expected, case


def test_a_state_goes_from_one_library_to_the_other():
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    torch.randn(1)
    state = torch.get_rng_state()
    expected = torch.randn(5).tolist()
    flambeau.set_rng_state(flambeau.tensor(state.tolist(), dtype=flambeau.uint8))
    assert flambeau.randn(5).tolist() == expected
    back = flambeau.get_rng_state().tolist()
    expected = flambeau.rand(700).tolist()
    torch.set_rng_state(torch.tensor(back, dtype=torch.uint8))
    assert torch.rand(700).tolist() == expected
