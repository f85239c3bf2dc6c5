"""Spectral normalization, as a parametrization and as a hook."""

import flambeau as torch
from flambeau import nn
from flambeau.nn.utils import parametrizations


def test_spectral_norm_divides_by_the_largest_singular_value():
    for new in (True, False):
        torch.manual_seed(0)
        layer = nn.Linear(4, 3)
        expected = layer.weight.detach() / torch.linalg.matrix_norm(layer.weight.detach(), 2)
        (parametrizations if new else nn.utils).spectral_norm(layer, n_power_iterations=30)
        layer(torch.ones(1, 4))
        assert torch.allclose(layer.weight, expected, atol=1e-5)
        layer.eval()
        assert torch.equal(layer(torch.ones(1, 4)), layer(torch.ones(1, 4)))
    names = [name for name, _ in layer.named_buffers()]
    assert names == ["weight_u", "weight_v"] and "weight_orig" in layer.state_dict()
    nn.utils.remove_spectral_norm(layer)
    assert torch.allclose(layer.weight, expected, atol=1e-5) and list(layer.state_dict()) == ["bias", "weight"]
    conv = parametrizations.spectral_norm(nn.ConvTranspose2d(3, 2, 1))
    assert conv.parametrizations.weight[0]._u.shape == (2,)
