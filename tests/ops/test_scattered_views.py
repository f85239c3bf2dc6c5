"""Copies with a part replaced equal a copy whose view is written."""

import pytest

import flambeau as torch
from flambeau.errors import ShapeError

CASES = {
    "select": (1, 2), "slice": (1, 0, 3, 2), "diagonal": (1,), "as_strided": ((2, 2), (4, 1), 1),
}  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_part_is_replaced(name, device, gpus):
    x = torch.arange(12.0, device=device).reshape(3, 4)
    wanted, arguments = x.clone(), CASES[name]
    view = wanted[:, 0:3:2] if name == "slice" else getattr(wanted, name)(*arguments)
    view.mul_(-1)
    found = getattr(torch, f"{name}_scatter")(x, view.clone(), *arguments)
    assert found.equal(wanted) and x[0].tolist() == [0, 1, 2, 3]
    assert getattr(x, f"{name}_scatter")(view.double(), *arguments).dtype is torch.float32
    assert getattr(x.t().contiguous().t(), f"{name}_scatter")(view, *arguments).equal(wanted)
    with pytest.raises(ShapeError, match=f"{name}_scatter: "):
        getattr(torch, f"{name}_scatter")(x, torch.zeros(7, device=device), *arguments)
