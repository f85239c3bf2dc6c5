"""Attention: values and gradients against float64, layouts, masks, dropout, and what is refused."""

import os
from collections.abc import Iterator

import numpy as np
import pytest

import flambeau as torch
from benchmarks import counts
from flambeau import dtypes
from flambeau.errors import ShapeError
from flambeau.nn.functional import scaled_dot_product_attention as attention
from flambeau.ops import attention as ops
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, gradgradcheck, machine

HALVES = [dtypes.float16, dtypes.bfloat16]
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}
SHAPES = [  # batch, heads, groups, queries, keys, dims of a head, of a value
    (1, 1, 1, 1, 1, 8, 8),
    (2, 3, 3, 31, 33, 16, 16),
    (1, 4, 2, 65, 40, 24, 8),
    (2, 2, 1, 3, 129, 64, 64),
    (1, 2, 2, 130, 7, 40, 128),
]


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    if os.environ.get("FLAMBEAU_GPUS") == "nvidia":
        yield
        return
    with machine(devices=1):
        yield


def numbers(shape, seed, low=-1.0):
    return np.random.default_rng(seed).uniform(low, 1, shape)


def operands(shape, kind, device="cuda"):
    """(query, key, value, grad) as tensors of `kind`, and their values in float64."""
    b, h, g, q, k, d, e = shape
    shapes = (b, h, q, d), (b, g, k, d), (b, g, k, e), (b, h, q, e)
    tensors = [tensor(numbers(each, seed), dtype=kind, device=device) for seed, each in enumerate(shapes)]
    return tensors, [wide(each) for each in tensors]


def wide(found):
    return found.detach().to(dtypes.float64).cpu().numpy()


def expected(query, key, value, grad, scale=None, seen=None, added=0.0):
    """Attention's result and gradients, in float64 and from the definition."""
    group = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * query @ key.swapaxes(-1, -2) + added
    scores = scores if seen is None else np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    slopes = grad @ value.swapaxes(-1, -2)
    slopes = weights * (slopes - (weights * slopes).sum(-1, keepdims=True)) * scale
    of_key, of_value = slopes.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ grad
    split = (key.shape[0], key.shape[1] // group, group)
    of_key, of_value = (each.reshape(*split, *each.shape[2:]).sum(2) for each in (of_key, of_value))
    return weights @ value, slopes @ key, of_key, of_value


def causal(shape):
    return np.tri(*shape[3:5], dtype=bool)


def close(found, wanted, kind, what=""):
    found = wide(found)
    scale = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(found, wanted, rtol=0, atol=TOLERANCE[kind.name] * scale, err_msg=what)


def check(tensors, wanted, kind, **options):
    *inputs, grad = tensors
    inputs = [each.detach().requires_grad_() for each in inputs]
    out = attention(*inputs, **options)
    out.backward(grad)
    assert out.dtype is kind
    for name, found, want in zip(("out", "query", "key", "value"), (out, *(each.grad for each in inputs)), wanted):
        close(found, want, kind, name)
    return out


@pytest.mark.parametrize("kind", [*HALVES, dtypes.float32, dtypes.float64], ids=lambda each: each.name)
@pytest.mark.parametrize("is_causal", [False, True], ids=["all keys", "causal"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients(shape, is_causal, kind):
    tensors, values = operands(shape, kind)
    wanted = expected(*values, seen=causal(shape) if is_causal else None)
    check(tensors, wanted, kind, is_causal=is_causal, enable_gqa=shape[1] != shape[2])


@pytest.mark.parametrize("scale", [0.0, -0.7, 3.0])
def test_a_scale_of_any_sign(scale):
    shape = (1, 2, 2, 20, 20, 16, 16)
    tensors, values = operands(shape, dtypes.float16)
    wanted = expected(*values, scale=scale, seen=causal(shape))
    check(tensors, wanted, dtypes.float16, is_causal=True, scale=scale)


def test_large_scores_do_not_overflow():
    query = tensor(np.full((1, 1, 2, 8), 100.0), dtype=dtypes.float16, device="cuda")
    value = numbers((1, 1, 2, 8), 1)
    found = attention(query, query, tensor(value, dtype=dtypes.float16, device="cuda"))
    close(found, np.broadcast_to(value.mean(2, keepdims=True), value.shape), dtypes.float16)


# layouts


@pytest.mark.parametrize("kind", [dtypes.bfloat16, dtypes.float32], ids=lambda each: each.name)
def test_heads_inside_of_rows(kind):
    shape = (2, 4, 4, 17, 17, 16, 16)
    tensors, values = operands(shape, kind)
    inside = [each.transpose(1, 2).contiguous().transpose(1, 2) for each in tensors]
    out = check(inside, expected(*values, seen=causal(shape)), kind, is_causal=True)
    assert out.transpose(1, 2).is_contiguous()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_strides_are_those_of_pytorch(device):
    """Those of a query of four dimensions; contiguous where PyTorch's CPU computes products and a softmax."""

    def lying(shape, order, kind):
        memory = torch.zeros([shape[dim] for dim in order], dtype=kind, device=device)
        return memory.permute(*(order.index(dim) for dim in range(len(shape))))

    four, by_rows, rows_first = (2, 3, 4, 8), (0, 2, 1, 3), (2, 1, 0, 3)
    mask = torch.zeros(4, 4, device=device)
    for kind in (torch.float16, torch.float32, torch.float64):
        query, other, slow = (lying(four, order, kind) for order in (by_rows, rows_first, (0, 1, 3, 2)))
        key = lying(four, range(4), kind)
        added = mask.to(kind)
        for name, found, strides in (
            ("heads in rows", attention(query, key, key), (96, 8, 24, 1)),
            ("causal", attention(query, key, key, is_causal=True), (96, 8, 24, 1)),
            ("rows first", attention(other, key, key), (8, 16, 48, 1)),
            ("gaps", attention(lying((2, 3, 8, 8), by_rows, kind)[:, :, ::2], key, key), (96, 8, 24, 1)),
            ("mask", attention(query, key, key, added), (96, 8, 24, 1)),
            ("mask of one matrix", attention(query, key, key, added[None]), (96, 32, 8, 1)),
            ("mask of truths", attention(other, key, key, added == 0), (8, 16, 48, 1)),
            ("groups", attention(query, key[:, :1], key[:, :1], enable_gqa=True), (96, 8, 24, 1)),
            ("value of another width", attention(query, key, torch.cat([key, key], -1)), (192, 64, 16, 1)),
            ("one head", attention(query, key[:, :1], key[:, :1]), (96, 32, 8, 1)),
            ("width not last", attention(slow, key, key), (96, 32, 8, 1)),
            ("key's width not last", attention(query, slow, key), (96, 32, 8, 1)),
            ("no keys", attention(query, key[:, :, :0], key[:, :, :0]), (96, 32, 8, 1)),
            ("dropout", attention(query, key, key, dropout_p=0.5), (96, 32, 8, 1)),
            ("three dimensions", attention(lying((3, 4, 8), (1, 0, 2), kind), key[0], key[0]), (32, 8, 1)),
        ):
            assert found.stride() == strides, (kind, name)


def test_one_projection_for_query_key_and_value():
    packed = tensor(numbers((2, 9, 3 * 2 * 8), 5), dtype=dtypes.float16, device="cuda")
    parts = [packed[:, :, 16 * i : 16 * i + 16].reshape((2, 9, 2, 8)).transpose(1, 2) for i in range(3)]
    grad = tensor(numbers((2, 2, 9, 8), 6), dtype=dtypes.float16, device="cuda")
    check([*parts, grad], expected(*map(wide, parts), wide(grad)), dtypes.float16)


def test_rows_that_do_not_begin_at_16_bytes_are_copied():
    values = [numbers((1, 2, 5, 9), seed) for seed in range(4)]
    tensors = [tensor(each, dtype=dtypes.float16, device="cuda")[..., 1:] for each in values]
    check(tensors, expected(*map(wide, tensors)), dtypes.float16)


def test_a_misaligned_dense_operand_is_copied():
    flat = tensor(numbers(1 * 2 * 4 * 8 + 1, 3), dtype=dtypes.bfloat16, device="cuda")[1:]
    shifted = flat.reshape((1, 2, 4, 8))
    tensors = [shifted, shifted, shifted, shifted]
    check(tensors, expected(*map(wide, tensors)), dtypes.bfloat16)


def test_leading_sizes_broadcast_and_their_gradients_are_summed():
    kind = dtypes.float16
    query, key, value, grad = (tensor(numbers(shape, seed), dtype=kind, device="cuda") for seed, shape in enumerate(
        [(2, 3, 4, 8), (1, 3, 6, 8), (2, 1, 6, 8), (2, 3, 4, 8)]
    ))  # fmt: skip
    full = [np.broadcast_to(wide(each), (2, 3, *each.shape[2:])) for each in (query, key, value)]
    out, of_query, of_key, of_value = expected(*full, wide(grad))
    wanted = out, of_query, of_key.sum(0, keepdims=True), of_value.sum(1, keepdims=True)
    check([query, key, value, grad], wanted, kind)


def test_three_dimensions_are_heads():
    tensors, values = operands((1, 3, 3, 4, 5, 8, 8), dtypes.float16)
    wanted = [each[0] for each in expected(*values)]
    check([each.squeeze(0) for each in tensors], wanted, dtypes.float16)


# masks and dropout


@pytest.mark.parametrize("kind", [dtypes.float16, dtypes.float32], ids=lambda each: each.name)
def test_a_mask_of_truths(kind):
    shape = (2, 2, 2, 5, 6, 8, 8)
    tensors, values = operands(shape, kind)
    seen = numbers((5, 6), 9) > -0.5
    seen[:, 0] = True
    wanted = expected(*values, seen=seen)
    check(tensors, wanted, kind, attn_mask=tensor(seen, device="cuda"))


def test_a_mask_of_numbers_and_its_gradient():
    kind = dtypes.float64
    shape = (2, 2, 2, 3, 4, 8, 8)
    (query, key, value, _), values = operands(shape, kind, device="cpu")
    mask = numbers((2, 1, 3, 4), 7)
    close(attention(query, key, value, tensor(mask)), expected(*values, added=mask)[0], kind)
    assert gradcheck(lambda given: attention(query, key, value, given), [tensor(mask).requires_grad_()])


@pytest.mark.parametrize("as_numbers", [False, True])
def test_a_query_that_sees_no_key_gives_0(as_numbers):
    (query, key, value, _), _ = operands((1, 1, 1, 3, 4, 8, 8), dtypes.float32)
    seen = np.ones((3, 4), bool)
    seen[1] = False
    mask = tensor(np.where(seen, 0.0, -np.inf), dtype=dtypes.float32) if as_numbers else tensor(seen)
    inputs = [each.requires_grad_() for each in (query, key, value)]
    out = attention(*inputs, mask.to("cuda"))
    out.sum().backward()
    assert (wide(out)[0, 0, 1] == 0).all() and (wide(out)[0, 0, ::2] != 0).all()
    assert (wide(query.grad)[0, 0, 1] == 0).all()
    assert all(np.isfinite(wide(each.grad)).all() for each in inputs)


def test_no_keys_at_all_give_0():
    query, nothing = torch.ones(1, 2, 3, 8, device="cuda"), torch.ones(1, 2, 0, 8, device="cuda")
    assert attention(query, nothing, nothing).tolist() == np.zeros((1, 2, 3, 8)).tolist()


@pytest.mark.parametrize("kind", [dtypes.float16, dtypes.float32], ids=lambda each: each.name)
def test_nan_stays_in_its_query(kind):
    (query, key, value, _), _ = operands((1, 1, 1, 4, 5, 8, 8), kind)
    query[0, 0, 2, 3] = float("nan")
    found = np.isnan(wide(attention(query, key, value))).all(-1)[0, 0]
    assert found.tolist() == [False, False, True, False]


def test_dropout_sets_weights_to_0_and_scales_the_rest():
    query = torch.zeros(1, 1, 40, 8, device="cuda")  # all weights are 1 / 64
    key, value = torch.zeros(1, 1, 64, 8, device="cuda"), torch.eye(64, device="cuda").reshape((1, 1, 64, 64))
    found = wide(attention(query, key, value, dropout_p=0.25))
    assert np.isin(found, (0, np.float32(1 / 64) / np.float32(0.75))).all()
    assert 0.68 < (found != 0).mean() < 0.82
    assert (wide(attention(query, key, value, dropout_p=1.0)) == 0).all()


# what is refused, and what it costs


@pytest.mark.parametrize("is_causal", [False, True], ids=["all keys", "causal"])
def test_the_second_derivative_of_the_fused_one(is_causal):
    def fused(*inputs):
        return ops.fused_attention(*inputs, is_causal, 0.4)[0]

    inputs, _ = operands((1, 4, 2, 3, 4, 3, 2), dtypes.float64)
    assert gradgradcheck(fused, [each.requires_grad_() for each in inputs[:3]])


def test_the_second_derivative_of_half_types_and_of_short_sequences():
    def slopes(kind):
        inputs = [tensor(numbers((1, 2, 9, 8), seed), dtype=kind, device="cuda") for seed in range(3)]
        inputs = [each.requires_grad_() for each in inputs]
        first = torch.autograd.grad(attention(*inputs, is_causal=True).square().sum(), inputs, create_graph=True)
        return torch.autograd.grad(sum(each.square().sum() for each in first), inputs)

    wanted = slopes(dtypes.float64)
    for kind in (dtypes.bfloat16, dtypes.float32):
        for found, want in zip(slopes(kind), wanted):
            close(found, wide(want), kind)


def test_the_composed_one_has_a_second_derivative():
    def squared(query):
        return attention(query, key, value).square()

    (query, key, value, _), _ = operands((1, 1, 1, 2, 3, 4, 4), dtypes.float64, device="cpu")
    assert gradgradcheck(squared, [query.requires_grad_()])


def test_leading_sizes_that_do_not_broadcast():
    (query, key, value, _), _ = operands((1, 2, 3, 4, 5, 8, 8), dtypes.float16)
    with pytest.raises(ShapeError, match="broadcast"):
        attention(query, key, value)
    with pytest.raises(ShapeError, match="do not divide 2"):
        attention(query, key, value, enable_gqa=True)


def test_the_logarithms_are_those_of_the_denominators():
    (query, key, value, _), (q, k, _, _) = operands((1, 2, 1, 5, 6, 8, 8), dtypes.float64)
    found = ops.fused_attention(query, key, value, True, 0.4)[1]
    scores = np.where(np.tri(5, 6, dtype=bool), 0.4 * q @ k.swapaxes(-1, -2), -np.inf)
    np.testing.assert_allclose(wide(found), np.log(np.exp(scores).sum(-1)), rtol=1e-12)


@pytest.mark.parametrize("kind", HALVES, ids=lambda each: each.name)
def test_the_fused_one_agrees_with_products_and_a_softmax(kind):
    shape = (1, 2, 2, 9, 11, 16, 16)
    tensors, _ = operands(shape, kind)
    seen = tensor(causal(shape), device="cuda")
    composed = attention(*tensors[:3], attn_mask=seen)
    close(attention(*tensors[:3], is_causal=True), wide(composed), kind)


@pytest.mark.parametrize("dims", [(32, 32), (64, 5), (1, 33)], ids=str)
def test_short_float32_sequences_are_one_launch_each_way(dims):
    shape = (2, 4, 2, 37, 70, *dims)
    tensors, values = operands(shape, dtypes.float32)
    inputs = [each.requires_grad_() for each in tensors[:3]]
    out = attention(*inputs, is_causal=True, enable_gqa=True)
    found = counts.of(lambda: attention(*inputs, is_causal=True, enable_gqa=True))
    assert found == {"block": 2, "launch": 1}
    found = counts.of(lambda: torch.autograd.grad(out, inputs, tensors[3], retain_graph=True))
    assert found == {"block": 3, "launch": 1}
    check(tensors, expected(*values, seen=causal(shape)), dtypes.float32, is_causal=True, enable_gqa=True)


def test_long_float32_sequences_and_wide_heads_use_products():
    for shape in ((1, 64, 64, 256, 256, 32, 32), (1, 1, 1, 4, 4, 65, 8), (1, 1, 1, 4, 4, 8, 65)):
        (query, key, value, _), _ = operands(shape, dtypes.float32)
        with torch.no_grad():
            assert counts.of(lambda q=query, k=key, v=value: attention(q, k, v))["launch"] > 1
