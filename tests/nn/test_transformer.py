"""Transformers: layers made of their parts, masks, state, text, and wrong arguments."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ValueRangeError

RANDOM = np.random.default_rng(4)


def randn(*shape):
    return torch.tensor(RANDOM.standard_normal(shape))


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_is_made_of_its_parts(norm_first):
    torch.manual_seed(0)
    net = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, norm_first=norm_first, dtype=torch.float64)
    x = randn(3, 2, 4)

    def feed(x):
        return net.linear2(net.linear1(x).relu())

    if norm_first:
        y = net.norm1(x)
        y = x + net.self_attn(y, y, y)[0]
        expected = y + feed(net.norm2(y))
    else:
        y = net.norm1(x + net.self_attn(x, x, x)[0])
        expected = net.norm2(y + feed(y))
    assert torch.allclose(net(x), expected)


def test_a_later_position_does_not_change_earlier_ones_under_a_causal_mask():
    torch.manual_seed(0)
    net = nn.Transformer(8, 2, 1, 2, dim_feedforward=16, batch_first=True).eval()
    src, tgt = torch.randn(2, 5, 8), torch.randn(2, 6, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(6)
    found = net(src, tgt, tgt_mask=mask, tgt_is_causal=True)
    tgt[:, 4:] = 0
    again = net(src, tgt, tgt_mask=mask)
    assert torch.allclose(found[:, :4], again[:, :4], atol=1e-5) and not torch.allclose(found[:, 4:], again[:, 4:])


def test_training_reaches_every_parameter():
    net = nn.Transformer(4, 2, 1, 1, dim_feedforward=8)
    net(torch.randn(3, 2, 4), torch.randn(5, 2, 4)).square().sum().backward()
    assert all(each.grad is not None for each in net.parameters())


def test_text_and_state():
    net = nn.TransformerEncoderLayer(4, 2, 8, activation="gelu")
    lines = repr(net).splitlines()
    assert lines[:4] == [
        "TransformerEncoderLayer(",
        "  (self_attn): MultiheadAttention(",
        "    (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)",
        "  )",
    ]
    assert [name for name, _ in nn.TransformerDecoderLayer(4, 2, 8).named_children()] == [
        "self_attn", "multihead_attn", "linear1", "dropout", "linear2", "norm1", "norm2", "norm3", "dropout1",
        "dropout2", "dropout3",
    ]  # fmt: skip
    layers = nn.TransformerEncoder(net, 2).layers
    assert layers[0].linear1.weight.equal(layers[1].linear1.weight)
    assert layers[0].linear1.weight is not layers[1].linear1.weight


@pytest.mark.parametrize(
    "body, values",
    [(lambda: nn.MultiheadAttention(5, 2), "MultiheadAttention: embed_dim 5 and num_heads 2"),
     (lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"), "TransformerEncoderLayer: .*'tanh'"),
     (lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 2, 5)] * 3), "forward: expected 4 features.* got 5"),
     (lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 2, 4)] * 3, attn_mask=torch.ones(2, 3)), r"\[2, 3\].*3, 3"),
     (lambda: nn.Transformer(4, 2, 1, 1, 8)(torch.ones(3, 2, 4), torch.ones(3, 5, 4)), r"\[3, 2, 4\].*\[3, 5, 4\]")]
)  # fmt: skip
def test_what_does_not_fit_is_refused(body, values):
    with pytest.raises((ValueError, RuntimeError), match=values):
        body()


def test_the_causal_hint_needs_a_mask():
    x = torch.ones(3, 2, 4)
    with pytest.raises(ValueRangeError, match="forward: is_causal=True needs attn_mask"):
        nn.MultiheadAttention(4, 2)(x, x, x, is_causal=True)


def test_subclasses_may_define_the_blocks_of_a_layer():
    class Watched(nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            found, self.weights = self.self_attn(
                x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=True
            )
            return self.dropout1(found)

    torch.manual_seed(0)
    layer, x = Watched(4, 2, 8, dropout=0.0), torch.randn(3, 1, 4)
    plain = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    plain.load_state_dict(layer.state_dict())
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    assert torch.allclose(layer(x, mask), plain(x, mask), atol=1e-6)
    assert layer.weights[0, 0].tolist() == [1.0, 0.0, 0.0]
    decoder = nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0)
    found = decoder._mha_block(x, x[:2], None, None) + decoder._ff_block(x)
    assert found.shape == (3, 1, 4)


def test_masks_of_two_types_give_a_warning():
    x, padding, causal = torch.ones(1, 2, 4), torch.tensor([[False, True]]), torch.zeros(2, 2)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    attend = layer.self_attn
    calls = {
        "multi_head_attention_forward": lambda mask: attend(x, x, x, key_padding_mask=padding, attn_mask=mask),
        "TransformerEncoderLayer": lambda mask: layer(x, src_mask=mask, src_key_padding_mask=padding),
        "TransformerEncoder": lambda mask: nn.TransformerEncoder(layer, 1)(x, mask, padding),
    }
    for name, call in calls.items():
        call(causal.bool())
        with pytest.warns(UserWarning, match=f"{name}: masks of two types .* is bool, the other mask float32") as seen:
            call(causal)
        assert len(seen) == 1, name


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.devices(1)
def test_an_encoder_in_evaluation_leaves_padding_out_as_pytorch_does(gpus, device):
    torch.manual_seed(0)
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).to(device).eval()
    x = torch.randn(2, 3, 4).to(device)
    ends = torch.tensor([[False, False, True], [False, True, True]], device=device)
    between = torch.tensor([[False, True, False], [False, False, False]], device=device)

    def padded(ends, **options):
        return [bool((row == 0).all()) for row in net(x, src_key_padding_mask=ends, **options)[ends]]

    with torch.no_grad():
        assert all(padded(ends)) and len(padded(ends)) == 3
        assert not any(padded(between))
        assert not any(padded(ends, mask=torch.zeros(3, 3, dtype=torch.bool, device=device)))
        expected = net(x, src_key_padding_mask=ends)
    assert not any(padded(ends))
    found = net(x, src_key_padding_mask=ends)
    assert torch.allclose(found[~ends], expected[~ends], atol=1e-5)
    net.norm = nn.LayerNorm(4).to(device)
    nn.init.constant_(net.norm.bias, 3.0)
    with torch.no_grad():
        assert net(x, src_key_padding_mask=ends)[ends].flatten().tolist() == [3.0] * 12
    plain = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1).to(device).eval()
    assert net.use_nested_tensor and not plain.use_nested_tensor


def test_an_unknown_activation_is_a_value_and_a_runtime_error():
    for error in (ValueError, RuntimeError):
        with pytest.raises(error, match="TransformerDecoderLayer: activation should be 'relu' or 'gelu', not 'tanh'"):
            nn.TransformerDecoderLayer(4, 2, activation="tanh")
