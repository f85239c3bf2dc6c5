"""Frequencies and shifts of torch.fft, compared with NumPy's."""

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, IndexRangeError, ShapeError, ValueRangeError
from flambeau.host import np


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_frequencies_are_numpys(device, gpus):
    for n in (1, 2, 5, 8):
        for d in (1, 0.25, -3.0):
            for name in ("fftfreq", "rfftfreq"):
                found = getattr(torch.fft, name)(n, d, dtype=torch.float64, device=device)
                assert found.device.type == device
                np.testing.assert_allclose(found.cpu().numpy(), getattr(np.fft, name)(n, d), rtol=1e-15)
    assert torch.fft.fftfreq(0).shape == (0,) and torch.fft.rfftfreq(4).dtype is torch.float32
    assert str(torch.fft.fftfreq(4, 0).tolist()) == "[nan, inf, -inf, -inf]"
    half = torch.fft.rfftfreq(8, 0.3, dtype=torch.float16, requires_grad=True)
    assert half.requires_grad and half.tolist() == [0.0, 0.416748046875, 0.83349609375, 1.25, 1.6669921875]


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_options_of_frequencies(name):
    frequencies = getattr(torch.fft, name)
    out = torch.empty(0, dtype=torch.float64)
    assert frequencies(4, out=out) is out and out.equal(frequencies(4, dtype=torch.float64, layout=torch.strided))
    for wrong, error, text in (
        (lambda: frequencies(4.0), ArgumentTypeError, "n must be an int, got 4.0"),
        (lambda: frequencies(4, "a"), ArgumentTypeError, "d must be a number, got 'a'"),
        (lambda: frequencies(-1), ValueRangeError, "n .*-1"),
        (lambda: frequencies(4, dtype=torch.int64), ValueRangeError, "int64"),
        (lambda: frequencies(4, out=torch.empty(9)), ShapeError, r"\[9\]"),
    ):
        with pytest.raises(error, match=f"^{name}: .*{text}"):
            wrong()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_shifts_are_numpys(device, gpus):
    x = torch.arange(30).reshape(2, 3, 5)
    for dim in (None, 0, -1, (1, 2), [0, 0]):
        for name in ("fftshift", "ifftshift"):
            found = getattr(torch.fft, name)(x.to(device), dim)
            assert found.device.type == device
            assert np.array_equal(found.cpu().numpy(), getattr(np.fft, name)(x.numpy(), dim))
    assert torch.fft.fftshift(torch.empty(2, 0)).shape == (2, 0)
    weight = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (torch.fft.fftshift(weight) * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert weight.grad.tolist() == [10.0, 100.0, 1.0]


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_wrong_shifts(name):
    shift, x = getattr(torch.fft, name), torch.arange(6).reshape(2, 3)
    for wrong, error, text in (
        (lambda: shift([1, 2]), ArgumentTypeError, r"input must be a Tensor, got \[1, 2\]"),
        (lambda: shift(x, "a"), ArgumentTypeError, "dim must be an int, got 'a'"),
        (lambda: shift(x, 2), IndexRangeError, r"\[-2, 1\], but got 2"),
        (lambda: shift(x, ()), ShapeError, "shifts are required, got none"),
        (lambda: shift(torch.tensor(3)), ShapeError, "shifts are required, got none"),
        (lambda: shift(torch.tensor(3), 0), IndexRangeError, "no dimensions"),
    ):
        with pytest.raises(error, match=f"^{name}: .*{text}"):
            wrong()
