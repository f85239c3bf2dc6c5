"""Windows of signal processing, compared with SciPy's."""

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, ValueRangeError
from flambeau.host import np
from flambeau.signal import windows

scipy_windows = pytest.importorskip("scipy.signal.windows")
CASES = {
    "bartlett": ({}, ()), "blackman": ({}, ()), "cosine": ({}, ()), "hamming": ({}, ()), "hann": ({}, ()),
    "nuttall": ({}, ()), "kaiser": ({"beta": 3.0}, (3.0,)), "gaussian": ({"std": 0.7}, (0.7,)),
    "exponential": ({"tau": 2.0}, (None, 2.0)), "general_hamming": ({"alpha": 0.3}, (0.3,)),
    "general_cosine": ({"a": [0.1, 0.2, 0.3]}, ([0.1, 0.2, 0.3],)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_windows_are_scipys(name):
    named, placed = CASES[name]
    for size in (1, 2, 3, 8):
        for is_symmetric in (True, False):
            found = getattr(windows, name)(size, sym=is_symmetric, dtype=torch.float64, **named)
            wanted = getattr(scipy_windows, name)(size, *placed, sym=is_symmetric)
            np.testing.assert_allclose(found.numpy(), wanted, atol=1e-12)
    assert getattr(windows, name)(0, **named).shape == (0,)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_windows_of_the_package_are_periodic(name, device, gpus):
    named = {"beta": 12.0} if name == "kaiser" else {}
    make = getattr(torch, f"{name}_window")
    for size in (0, 1, 2, 7):
        for is_periodic in (True, False):
            found = make(size, is_periodic, dtype=torch.float64, device=device, **named)
            wanted = getattr(windows, name)(size, sym=not is_periodic, dtype=torch.float64, **named)
            assert found.device.type == device and found.tolist() == pytest.approx(wanted.tolist(), abs=1e-12)
    assert make(4).equal(make(5, False)[:4]) and make(4, dtype=torch.float16).dtype is torch.float16
    with pytest.raises(ValueRangeError, match=f"{name}_window: .*-1"):
        make(-1)
    with pytest.raises(ValueRangeError, match=f"{name}_window: .*int64"):
        make(4, dtype=torch.int64)


def test_parameters_of_windows():
    assert torch.hamming_window(3, False, 0.7, 0.3).tolist() == pytest.approx([0.4, 1.0, 0.4])
    assert torch.hann_window(4, requires_grad=True).requires_grad
    assert windows.exponential(3, center=0, sym=False).tolist() == pytest.approx([1.0, 0.36788, 0.13534], abs=1e-4)
    for call, text in (
        (lambda: windows.exponential(3, center=1.0), "center.*1.0"), (lambda: windows.exponential(3, tau=0), "tau.*0"),
        (lambda: windows.gaussian(3, std=-1.0), "deviation.*-1.0"), (lambda: windows.kaiser(3, beta=-2), "beta.*-2"),
        (lambda: windows.general_cosine(3, a=[]), "empty"), (lambda: windows.hann(3, dtype=torch.float16), "float16"),
    ):  # fmt: skip
        with pytest.raises(ValueRangeError, match=text):
            call()
    with pytest.raises(ArgumentTypeError, match="general_cosine: .*3"):
        windows.general_cosine(3, a=3)
