"""nn.functional: names of torch bound to operators."""

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, DtypeError, IndexRangeError, ShapeError
from flambeau.nn import functional as F


def test_functions_take_torch_s_arguments():
    x = torch.tensor([[-1.0, 2.0]], requires_grad=True)
    assert F.relu(x).tolist() == [[0.0, 2.0]]
    assert F.linear(x, torch.ones(1, 2), bias=torch.ones(1)).tolist() == [[2.0]]
    assert F.softmax(x, dim=-1).sum().item() == pytest.approx(1.0)
    assert F.log_softmax(x, dim=1, dtype=torch.float64).dtype is torch.float64
    assert F.layer_norm(x, (2,), None, None, 0.0).tolist() == [[-1.0, 1.0]]
    assert F.embedding(torch.tensor([1]), torch.eye(2)).tolist() == [[0.0, 1.0]]
    assert F.mse_loss(x, torch.zeros(1, 2), reduction="sum").item() == 5.0
    assert F.cross_entropy(torch.zeros(1, 4), torch.tensor([3])).item() == pytest.approx(1.3862944)
    assert F.dropout(x, 0.9, training=False).tolist() == x.tolist()


def test_in_place_forms_write_their_input():
    x = torch.tensor([-1.0, 2.0])
    assert F.relu_(x) is x
    assert x.tolist() == [0.0, 2.0]


def test_a_weight_of_one_dimension_gives_a_number_for_each_row():
    x = torch.arange(6.0).view(2, 3)
    assert F.linear(x, torch.ones(3)).tolist() == [3, 12] and F.linear(x[0], torch.ones(3)).item() == 3
    with pytest.raises(RuntimeError, match="linear: weight must have 2 dimensions"):
        F.linear(x, torch.ones(3), torch.ones(1))


def test_a_row_of_classes_takes_a_target_of_one_element():
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    for reduction in ("mean", "none", "sum"):
        assert F.nll_loss(x, torch.tensor([1]), reduction=reduction).item() == -1
        F.cross_entropy(x, torch.tensor([1]), reduction=reduction).backward()
    assert x.grad[1].item() < 0
    with pytest.raises(ValueError, match=r"nll_loss: .*\[3\].*\[2\]"):
        F.nll_loss(x, torch.tensor([1, 2]))


def test_a_mean_over_no_probabilities_is_nan():
    nothing = torch.ones(0, 3)
    assert F.cross_entropy(nothing, nothing).isnan() and F.cross_entropy(nothing, nothing, reduction="sum").item() == 0


def test_errors_have_the_name_of_the_function():
    x, whole = torch.ones(2, 4), torch.ones(2, 4, dtype=torch.int64)
    images = torch.ones(1, 2, 6, 6)
    cases = [
        ("softmin", lambda: F.softmin(x, 5), IndexRangeError, "got 5"),
        ("softmin", lambda: F.softmin(x > 0, 0), DtypeError, "bool"),
        ("gumbel_softmax", lambda: F.gumbel_softmax(whole), DtypeError, "int64"),
        ("gumbel_softmax", lambda: F.gumbel_softmax(x, dim=4), IndexRangeError, "got 4"),
        ("lp_pool1d", lambda: F.lp_pool1d(x, 2, 5), ShapeError, "5"),
        ("lp_pool1d", lambda: F.lp_pool1d(x, "a", 2), ArgumentTypeError, "norm_type must be a number"),
        ("max_unpool1d", lambda: F.max_unpool1d(x, x, 2), DtypeError, "float32"),
        ("max_unpool1d", lambda: F.max_unpool1d(x, whole * 100, 2), IndexRangeError, "100"),
        ("max_unpool1d", lambda: F.max_unpool1d(x, whole, 2, output_size=8), ArgumentTypeError, "got 8"),
        ("max_unpool1d", lambda: F.max_unpool1d(x, whole, 2, output_size=["a"]), ArgumentTypeError, "got 'a'"),
        (
            "fractional_max_pool2d",
            lambda: F.fractional_max_pool2d(images, 2, output_size=2, _random_samples=torch.ones(1)),
            ShapeError,
            r"shape \[1, 2, 2\], got \[1\]",
        ),
        (
            "fractional_max_pool2d",
            lambda: F.fractional_max_pool2d(images.long(), 2, output_size=2),
            DtypeError,
            "int64",
        ),
        ("batch_norm", lambda: F.batch_norm(x, None, None, training=True, eps="a"), ArgumentTypeError, "eps"),
        ("Hardtanh", lambda: torch.nn.Hardtanh("a"), ArgumentTypeError, "min_val must be a number"),
        ("LPPool1d", lambda: torch.nn.LPPool1d("a", 2), ArgumentTypeError, "norm_type must be a number"),
        ("FractionalMaxPool2d", lambda: torch.nn.FractionalMaxPool2d(2, output_ratio="a"), ArgumentTypeError, "'a'"),
        ("Upsample", lambda: torch.nn.Upsample(scale_factor="a"), ArgumentTypeError, "scale_factor must be a number"),
        (
            "convert_sync_batchnorm",
            lambda: torch.nn.SyncBatchNorm.convert_sync_batchnorm(3),
            ArgumentTypeError,
            "module must be a Module, got 3",
        ),
        ("ctc_loss", lambda: F.ctc_loss(x, whole[0], [2], ["a"]), ArgumentTypeError, "target_lengths"),
        (
            "triplet_margin_with_distance_loss",
            lambda: F.triplet_margin_with_distance_loss(x, x, x, margin="a"),
            ArgumentTypeError,
            "margin must be a number",
        ),
        (
            "triplet_margin_with_distance_loss",
            lambda: F.triplet_margin_with_distance_loss(x, x, x, distance_function=3),
            ArgumentTypeError,
            "distance_function must be callable",
        ),
    ]
    for name, call, error, fact in cases:
        with pytest.raises(error, match=f"^{name}: .*{fact}"):
            call()


def test_a_bias_of_one_number_is_added_to_every_output():
    x, weight = torch.arange(6.0).view(2, 3), torch.ones(2, 3, requires_grad=True)
    for shape in ((1,), ()):
        bias = torch.full(shape, 2.0, requires_grad=True)
        out = F.linear(x, weight, bias)
        out.sum().backward()
        assert out.tolist() == [[5, 5], [14, 14]] and bias.grad.item() == 4, shape
    with pytest.raises(RuntimeError, match=r"linear: bias has shape \[3\], expected \[2\]"):
        F.linear(x, weight, torch.ones(3))


def test_sizes_are_counted_before_the_mode_is_looked_at():
    for keyword in ("size", "scale_factor"):
        with pytest.raises(ValueError, match=f"interpolate: {keyword} has 2 numbers for 1 spatial dimensions"):
            F.interpolate(torch.ones(1, 2, 3), mode="bilinear", **{keyword: (5, 7)})
