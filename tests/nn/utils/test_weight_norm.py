"""Weight normalization, as a parametrization and as a hook."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn.utils import parametrizations
from flambeau.nn.utils.parametrize import remove_parametrizations


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("new", [True, False])
def test_weight_norm_splits_norms_from_directions(dim, new):
    layer = nn.Linear(3, 2)
    before = layer.weight.detach().clone()
    if new:
        parametrizations.weight_norm(layer, dim=dim)
        norms = layer.parametrizations.weight.original0
    else:
        with pytest.warns(FutureWarning, match=r"parametrizations\.weight_norm"):
            nn.utils.weight_norm(layer, dim=dim)
        norms = layer.weight_g
    others = [each for each in (0, 1) if each != dim]
    assert torch.allclose(norms, before.norm(dim=others, keepdim=True) if dim is not None else before.norm())
    with torch.no_grad():
        norms.mul_(2)
    x = torch.ones(1, 3)
    assert torch.allclose(layer(x), 2 * before.sum(1) + layer.bias)
    (remove_parametrizations if new else nn.utils.remove_weight_norm)(layer, "weight")
    assert torch.allclose(layer.weight, 2 * before) and isinstance(layer.weight, nn.Parameter)


def test_weight_norm_loads_the_former_names():
    with pytest.warns(FutureWarning):
        old = nn.utils.weight_norm(nn.Linear(2, 2))
    new = parametrizations.weight_norm(nn.Linear(2, 2))
    assert repr(new.load_state_dict(old.state_dict())) == "<All keys matched successfully>"
    assert torch.allclose(new.weight, old.weight)
