"""Dropout of channels and alpha dropout: shares, moments, gradients and what is refused."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(3)


@pytest.mark.parametrize("drop, rank", [(F.dropout1d, 1), (F.dropout2d, 2), (F.dropout3d, 3)])
def test_whole_channels_are_dropped(drop, rank):
    x = torch.ones(40, 50, *[2] * rank, requires_grad=True)
    out = drop(x, 0.25)
    channels = out.reshape(2000, -1)
    assert channels.eq(channels[:, :1]).all() and sorted(set(channels[:, 0].tolist())) == [0, pytest.approx(4 / 3)]
    assert channels[:, 0].eq(0).float().mean().item() == pytest.approx(0.25, abs=0.05)
    out.sum().backward()
    assert x.grad.equal(out.detach())
    assert drop(x, 0.25, training=False) is x and drop(x, 1.0).eq(0).all()


def test_channels_of_one_instance():
    x = torch.ones(200, 3)
    assert F.dropout1d(x).shape == (200, 3)
    assert F.dropout1d(x, inplace=True) is x and set(x.flatten().tolist()) == {0.0, 2.0}
    assert F.dropout3d(torch.ones(4, 2, 2, 2)).shape == (4, 2, 2, 2)
    with pytest.warns(UserWarning, match="3D"):
        F.dropout2d(torch.ones(2, 3, 4))
    with pytest.raises(RuntimeError, match=r"dropout1d: .*4D input of shape \[1, 1, 1, 1\]"):
        F.dropout1d(torch.ones(1, 1, 1, 1))


@pytest.mark.parametrize("drop", [F.alpha_dropout, F.feature_alpha_dropout])
def test_alpha_dropout_keeps_mean_and_variance(drop):
    x = torch.randn(400, 500)
    out = drop(x, 0.3, training=True)
    assert out.mean().item() == pytest.approx(0, abs=0.03) and out.var().item() == pytest.approx(1, abs=0.05)
    assert drop(x, 0.3) is x
    assert drop(x, 1.0, training=True).eq(0).all()


def test_layers():
    for layer in (nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout):
        assert repr(layer(0.2)) == f"{layer.__name__}(p=0.2, inplace=False)"
        with pytest.raises(ValueError, match=f"{layer.__name__}: .*1.5"):
            layer(1.5)
        x = torch.ones(2, 3, 4, 5)
        assert layer().eval()(x if layer is not nn.Dropout1d else x[0]).sum().item() in (120, 60)


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"])
def test_forms_in_place_draw_the_same(name):
    x = torch.rand(4, 3, 2)
    torch.manual_seed(2)
    wanted = getattr(torch, name)(x, 0.5, True)
    torch.manual_seed(2)
    written = x.clone()
    assert getattr(torch, f"{name}_")(written, 0.5, True) is written and written.equal(wanted)
    assert getattr(torch, f"{name}_")(x, 0.5, False) is x
