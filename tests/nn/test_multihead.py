"""Attention of several heads, against attention by hand: masks, layouts, and other features of keys."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn

RANDOM = np.random.default_rng(4)


def randn(*shape):
    return torch.tensor(RANDOM.standard_normal(shape))


def by_hand(net, x, blocked=None):
    """(result, weights of each head) of self-attention, batch first, in NumPy."""
    parts = (x @ net.in_proj_weight.detach().numpy().T + net.in_proj_bias.detach().numpy()).reshape(
        *x.shape[:2], 3, net.num_heads, net.head_dim
    )
    q, k, v = (parts[:, :, each].swapaxes(1, 2) for each in range(3))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(net.head_dim)
    scores = scores if blocked is None else np.where(blocked, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    joined = (weights @ v).swapaxes(1, 2).reshape(x.shape)
    return joined @ net.out_proj.weight.detach().numpy().T + net.out_proj.bias.detach().numpy(), weights


@pytest.fixture
def attention():
    torch.manual_seed(0)
    return nn.MultiheadAttention(6, 3, batch_first=True, dtype=torch.float64)


def test_attention_of_every_head(attention):
    x = randn(2, 4, 6)
    expected, weights = by_hand(attention, x.numpy())
    found, average = attention(x, x, x)
    np.testing.assert_allclose(found.detach().numpy(), expected)
    np.testing.assert_allclose(average.detach().numpy(), weights.mean(1))
    every = attention(x, x, x, average_attn_weights=False)[1]
    np.testing.assert_allclose(every.detach().numpy(), weights)
    without = attention(x, x, x, need_weights=False)
    assert without[1] is None
    np.testing.assert_allclose(without[0].detach().numpy(), expected)


@pytest.mark.parametrize("need_weights", [True, False])
def test_masks(attention, need_weights):
    x = randn(2, 4, 6)
    causal = np.triu(np.ones((4, 4), bool), 1)
    padded = np.array([[False, False, False, True], [False, False, True, True]])
    expected, _ = by_hand(attention, x.numpy(), causal | padded[:, None, None])
    options = {"need_weights": need_weights, "key_padding_mask": torch.tensor(padded)}
    found = attention(x, x, x, attn_mask=torch.tensor(causal), **options)[0]
    np.testing.assert_allclose(found.detach().numpy(), expected)
    added = nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
    found = attention(x, x, x, attn_mask=added, is_causal=True, need_weights=need_weights)[0]
    np.testing.assert_allclose(found.detach().numpy(), by_hand(attention, x.numpy(), causal)[0])


def test_layouts(attention):
    other = nn.MultiheadAttention(6, 3, dtype=torch.float64)
    other.load_state_dict(attention.state_dict())
    x = randn(2, 4, 6)
    found = other(*[x.transpose(0, 1)] * 3)[0].transpose(0, 1)
    assert torch.allclose(found, attention(x, x, x)[0]) and torch.allclose(other(x[0], x[0], x[0])[0], found[0])


def test_more_keys_and_other_features():
    net = nn.MultiheadAttention(4, 2, kdim=5, vdim=3, add_bias_kv=True, add_zero_attn=True)
    names = ["q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight",
             "out_proj.bias"]  # fmt: skip
    assert list(net.state_dict()) == names and net.in_proj_bias.eq(0).all()
    out, weights = net(torch.ones(3, 2, 4), torch.ones(6, 2, 5), torch.ones(6, 2, 3))
    assert out.shape == (3, 2, 4) and weights.shape == (2, 3, 8)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3))


def test_an_empty_batch():
    x = torch.ones(3, 0, 4, requires_grad=True)
    layer = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)
    for need_weights in (True, False):
        out, weights = layer(x, x, x, key_padding_mask=torch.zeros(0, 3).bool(), need_weights=need_weights)
        assert out.shape == (3, 0, 4) and (weights.shape == (0, 3, 5) if need_weights else weights is None)
    out.sum().backward()
    assert x.grad.shape == (3, 0, 4) and not layer.in_proj_weight.grad.any()
