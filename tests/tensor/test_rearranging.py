"""func.rearrange: patterns of named dimensions."""

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, ArgumentTypeError, ShapeError

X = torch.arange(24).reshape(2, 4, 3)
CASES = [
    ("a b c -> c a b", {}, lambda x: x.permute(2, 0, 1)),
    ("a (b c) d -> (a b) (d c)", {"c": 2}, lambda x: x.reshape(4, 2, 3).transpose(1, 2).reshape(4, 6)),
    ("... a -> a ...", {}, lambda x: x.permute(2, 0, 1)),
    ("a ... -> (a ...)", {}, lambda x: x.reshape(24)),
    ("a b c -> a 1 b () c", {}, lambda x: x.reshape(2, 1, 4, 1, 3)),
    ("... (h w) -> h w ...", {"w": 3}, lambda x: x.permute(2, 0, 1).reshape(1, 3, 2, 4)),
]


@pytest.mark.parametrize(("pattern", "sizes", "expected"), CASES)
def test_values(pattern, sizes, expected):
    assert torch.func.rearrange(X, pattern, **sizes).tolist() == expected(X).tolist()


def test_a_list_is_stacked_and_a_gradient_flows():
    parts = [torch.ones(2, requires_grad=True), torch.zeros(2)]
    result = torch.func.rearrange(parts, "list x -> x list")
    assert result.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    (result[:, 0] * torch.tensor([2.0, 3.0])).sum().backward()
    assert parts[0].grad.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("pattern", "sizes", "error", "words"),
    [
        ("a b -> b a", {}, ShapeError, ["2 dimensions", "the tensor has 3"]),
        ("a a c -> c a", {}, ArgumentError, ["a occurs twice"]),
        ("a b c -> a b", {}, ArgumentError, ["c occurs on one side"]),
        ("a (b c) d -> a b c d", {}, ArgumentError, ["sizes of b, c"]),
        ("a (b c) d -> a b c d", {"b": 3}, ShapeError, ["size 4", "product is 3"]),
        ("a b c -> a b c", {"z": 2}, ArgumentError, ["z=2"]),
        ("a b c", {}, ArgumentError, ["'->'", "got 0"]),
        ("a (b c -> a", {}, ArgumentError, ["parentheses"]),
        ("a 1 c -> a c", {}, ShapeError, ["size 4", "(1)"]),
        ("a b 2 -> a b", {}, ArgumentError, ["'2'"]),
        (3, {}, ArgumentTypeError, ["got", "3"]),
    ],
)
def test_wrong_patterns(pattern, sizes, error, words):
    with pytest.raises(error) as raised:
        torch.func.rearrange(X, pattern, **sizes)
    assert str(raised.value).startswith("rearrange: ") and all(word in str(raised.value) for word in words)
