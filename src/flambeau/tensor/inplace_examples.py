"""Examples of the in-place versions of operators, for their docstrings.

operator: (the tensor `x`, the other arguments, what the call prints).  tests/test_docstrings.py runs them.
"""

from __future__ import annotations

EXAMPLES = {
    "abs": ("torch.tensor([-1.5, 0.0, 2.0])", "", "tensor([1.5000, 0.0000, 2.0000])"),
    "acos": ("torch.tensor([0.0, 1.0, 2.0])", "", "tensor([1.5708, 0.0000,    nan])"),
    "acosh": ("torch.tensor([1.0, 2.0])", "", "tensor([0.0000, 1.3170])"),
    "add": ("torch.tensor([1.0, 2.0, 3.0])", "10", "tensor([11., 12., 13.])"),
    "addbmm": ("torch.ones(1, 1)", "torch.ones(2, 1, 3), torch.ones(2, 3, 1)", "tensor([[7.]])"),
    "addcdiv": (
        "torch.tensor([1.0, 1.0])", "torch.tensor([2.0, 3.0]), torch.tensor([4.0, 6.0]), value=2",
        "tensor([2., 2.])",
    ),
    "addcmul": (
        "torch.tensor([1.0, 1.0])", "torch.tensor([2.0, 3.0]), torch.tensor([4.0, 5.0]), value=0.5",
        "tensor([5.0000, 8.5000])",
    ),
    "addmm": (
        "torch.tensor([[100.0]])", "torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]), beta=0.5",
        "tensor([[61.]])",
    ),
    "addmv": ("torch.tensor([10, 20])", "torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 1])", "tensor([13, 27])"),
    "addr": (
        "torch.zeros(2, 2)", "torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])",
        "tensor([[ 1., 10.],\n        [ 2., 20.]])",
    ),
    "asin": ("torch.tensor([0.0, 1.0, 2.0])", "", "tensor([0.0000, 1.5708,    nan])"),
    "asinh": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 0.8814])"),
    "atan": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 0.7854])"),
    "atan2": (
        "torch.tensor([1.0, 1.0, -1.0])", "torch.tensor([1.0, -1.0, -1.0])",
        "tensor([ 0.7854,  2.3562, -2.3562])",
    ),
    "atanh": ("torch.tensor([0.0, 0.5, 1.0])", "", "tensor([0.0000, 0.5493,    inf])"),
    "baddbmm": ("torch.ones(1, 1, 1)", "torch.ones(1, 1, 3), torch.ones(1, 3, 1)", "tensor([[[4.]]])"),
    "bernoulli": ("torch.zeros(4)", "torch.tensor([0.0, 1.0, 1.0, 0.0])", "tensor([0., 1., 1., 0.])"),
    "bitwise_and": ("torch.tensor([0b1100, 0b1010])", "0b0110", "tensor([4, 2])"),
    "bitwise_left_shift": ("torch.tensor([1, 3])", "4", "tensor([16, 48])"),
    "bitwise_not": ("torch.tensor([0, 5])", "", "tensor([-1, -6])"),
    "bitwise_or": ("torch.tensor([0b1100, 0b1010])", "0b0001", "tensor([13, 11])"),
    "bitwise_right_shift": ("torch.tensor([48, -16])", "4", "tensor([ 3, -1])"),
    "bitwise_xor": ("torch.tensor([0b1100, 0b1010])", "0b1111", "tensor([3, 5])"),
    "ceil": ("torch.tensor([-1.5, 0.2, 2.0])", "", "tensor([-1.,  1.,  2.])"),
    "celu": ("torch.tensor([-1.0, 2.0])", "0.5", "tensor([-0.4323,  2.0000])"),
    "clamp": ("torch.tensor([-5.0, 0.5, 5.0])", "min=-1, max=1", "tensor([-1.0000,  0.5000,  1.0000])"),
    "clamp_max": ("torch.tensor([0.5, 5.0])", "1", "tensor([0.5000, 1.0000])"),
    "clamp_min": ("torch.tensor([-5.0, 0.5])", "0", "tensor([0.0000, 0.5000])"),
    "copysign": ("torch.tensor([1.0, -2.0])", "torch.tensor([-0.0, 3.0])", "tensor([-1.,  2.])"),
    "cos": ("torch.tensor([0.0, 3.14159265 / 3])", "", "tensor([1.0000, 0.5000])"),
    "cosh": ("torch.tensor([0.0, 1.0])", "", "tensor([1.0000, 1.5431])"),
    "cumprod": (
        "torch.tensor([[1, 2, 3], [4, 5, 6]])", "dim=1",
        "tensor([[  1,   2,   6],\n        [  4,  20, 120]])",
    ),
    "cumsum": ("torch.tensor([[1, 2, 3], [4, 5, 6]])", "dim=1", "tensor([[ 1,  3,  6],\n        [ 4,  9, 15]])"),
    "deg2rad": ("torch.tensor([0.0, 180.0])", "", "tensor([0.0000, 3.1416])"),
    "digamma": ("torch.tensor([0.5, 1.0, 5.0])", "", "tensor([-1.9635, -0.5772,  1.5061])"),
    "div": ("torch.tensor([7.0, -7.0])", "2", "tensor([ 3.5000, -3.5000])"),
    "elu": ("torch.tensor([-1.0, 2.0])", "", "tensor([-0.6321,  2.0000])"),
    "eq": ("torch.tensor([1, 2, 3])", "torch.tensor([1, 0, 3])", "tensor([1, 0, 1])"),
    "erf": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 0.8427])"),
    "erfc": ("torch.tensor([0.0, 1.0])", "", "tensor([1.0000, 0.1573])"),
    "erfinv": ("torch.tensor([0.0, 0.5, 1.0])", "", "tensor([0.0000, 0.4769,    inf])"),
    "exp": ("torch.tensor([0.0, 1.0])", "", "tensor([1.0000, 2.7183])"),
    "exp2": ("torch.tensor([0.0, 3.0])", "", "tensor([1., 8.])"),
    "expm1": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 1.7183])"),
    "float_power": (
        "torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)", "-1",
        "tensor([1.0000, 0.5000, 0.2500], dtype=torch.float64)",
    ),
    "floor": ("torch.tensor([-1.5, 0.2, 2.0])", "", "tensor([-2.,  0.,  2.])"),
    "floor_divide": ("torch.tensor([7, -7])", "2", "tensor([ 3, -4])"),
    "fmod": ("torch.tensor([7, -7])", "3", "tensor([ 1, -1])"),
    "frac": ("torch.tensor([1.0, 2.5, -3.25])", "", "tensor([ 0.0000,  0.5000, -0.2500])"),
    "gcd": ("torch.tensor([12, 7, 0])", "torch.tensor([18, 14, 5])", "tensor([6, 7, 5])"),
    "ge": ("torch.tensor([1, 2, 3])", "2", "tensor([0, 1, 1])"),
    "gt": ("torch.tensor([1, 2, 3])", "2", "tensor([0, 0, 1])"),
    "hardtanh": ("torch.tensor([-3.0, 0.5, 3.0])", "", "tensor([-1.0000,  0.5000,  1.0000])"),
    "heaviside": ("torch.tensor([-1.5, 0.0, 2.0])", "torch.tensor([0.5])", "tensor([0.0000, 0.5000, 1.0000])"),
    "hypot": ("torch.tensor([3.0])", "torch.tensor([4.0])", "tensor([5.])"),
    "i0": ("torch.tensor([0.0, 1.0, 2.0])", "", "tensor([1.0000, 1.2661, 2.2796])"),
    "igamma": ("torch.tensor([4.0, 4.0])", "torch.tensor([3.0, 4.0])", "tensor([0.3528, 0.5665])"),
    "igammac": ("torch.tensor([4.0, 4.0])", "torch.tensor([3.0, 4.0])", "tensor([0.6472, 0.4335])"),
    "index_add": ("torch.zeros(3)", "0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0])", "tensor([0., 5., 0.])"),
    "index_copy": ("torch.zeros(3)", "0, torch.tensor([2, 0]), torch.tensor([7.0, 9.0])", "tensor([9., 0., 7.])"),
    "index_fill": ("torch.tensor([1.0, 2.0, 3.0])", "0, torch.tensor([0, 2]), -1", "tensor([-1.,  2., -1.])"),
    "index_reduce": (
        "torch.ones(3)", '0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0]), "prod"',
        "tensor([1., 6., 1.])",
    ),
    "lcm": ("torch.tensor([4, 7, 0])", "torch.tensor([6, 14, 5])", "tensor([12, 14,  0])"),
    "ldexp": ("torch.tensor([1.0, 3.0])", "torch.tensor([4, -1])", "tensor([16.0000,  1.5000])"),
    "le": ("torch.tensor([1, 2, 3])", "2", "tensor([1, 1, 0])"),
    "leaky_relu": ("torch.tensor([-1.0, 2.0])", "0.1", "tensor([-0.1000,  2.0000])"),
    "lerp": ("torch.tensor([0.0, 10.0])", "torch.tensor([100.0, 20.0]), 0.25", "tensor([25.0000, 12.5000])"),
    "lgamma": ("torch.tensor([0.5, 1.0, 5.0])", "", "tensor([0.5724, 0.0000, 3.1781])"),
    "log": ("torch.tensor([1.0, 2.718281828, 0.0])", "", "tensor([0., 1., -inf])"),
    "log10": ("torch.tensor([100.0, 0.5])", "", "tensor([ 2.0000, -0.3010])"),
    "log1p": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 0.6931])"),
    "log2": ("torch.tensor([8.0, 0.5])", "", "tensor([ 3., -1.])"),
    "logical_and": ("torch.tensor([0, 1, 2])", "torch.tensor([True, True, False])", "tensor([0, 1, 0])"),
    "logical_not": ("torch.tensor([0, 1, 2])", "", "tensor([1, 0, 0])"),
    "logical_or": ("torch.tensor([0, 1, 2])", "torch.tensor([False, False, True])", "tensor([0, 1, 1])"),
    "logical_xor": ("torch.tensor([0, 1, 2])", "torch.tensor([True, True, False])", "tensor([1, 0, 1])"),
    "logit": ("torch.tensor([0.25, 0.5, 1.0])", "", "tensor([-1.0986,  0.0000,     inf])"),
    "lt": ("torch.tensor([1, 2, 3])", "2", "tensor([1, 0, 0])"),
    "masked_fill": ("torch.tensor([0.1, 0.7, 0.2])", "x < 0.15, -1.0", "tensor([-1.0000,  0.7000,  0.2000])"),
    "masked_scatter": ("torch.tensor([1, 2, 3])", "x > 1, torch.tensor([8, 9])", "tensor([1, 8, 9])"),
    "mul": ("torch.tensor([1, 2, 3])", "10", "tensor([10, 20, 30])"),
    "mvlgamma": ("torch.tensor([2.0, 3.0])", "2", "tensor([0.4516, 1.5502])"),
    "nan_to_num": ('torch.tensor([float("nan"), 2.0, -float("inf")])', "neginf=-1.0", "tensor([ 0.,  2., -1.])"),
    "ne": ("torch.tensor([1, 2, 3])", "2", "tensor([1, 0, 1])"),
    "neg": ("torch.tensor([1, -2, 0])", "", "tensor([-1,  2,  0])"),
    "nextafter": (
        "torch.tensor([65504.0], dtype=torch.float16)", "torch.tensor([0.0], dtype=torch.float16)",
        "tensor([65472.], dtype=torch.float16)",
    ),
    "pow": ("torch.tensor([1.0, 2.0, 3.0])", "2", "tensor([1., 4., 9.])"),
    "put": (
        "torch.zeros(2, 2)", "torch.tensor([1, -1]), torch.tensor([5.0, 6.0])",
        "tensor([[0., 5.],\n        [0., 6.]])",
    ),
    "rad2deg": ("torch.tensor([0.0, 3.14159265])", "", "tensor([  0., 180.])"),
    "reciprocal": ("torch.tensor([4.0, 8.0])", "", "tensor([0.2500, 0.1250])"),
    "relu": ("torch.tensor([-1.0, 0.0, 2.0])", "", "tensor([0., 0., 2.])"),
    "remainder": ("torch.tensor([7, -7])", "3", "tensor([1, 2])"),
    "renorm": (
        "torch.tensor([[3.0, 4.0], [0.6, 0.8]])", "2, 0, 2.5",
        "tensor([[1.5000, 2.0000],\n        [0.6000, 0.8000]])",
    ),
    "round": ("torch.tensor([0.5, 1.5, 2.6])", "", "tensor([0., 2., 3.])"),
    "rsqrt": ("torch.tensor([4.0, 0.25])", "", "tensor([0.5000, 2.0000])"),
    "scatter": (
        "torch.zeros(2, 3)", "1, torch.tensor([[0], [2]]), 1.0",
        "tensor([[1., 0., 0.],\n        [0., 0., 1.]])",
    ),
    "scatter_add": (
        "torch.zeros(3)", "0, torch.tensor([0, 2, 2]), torch.tensor([1.0, 5.0, 6.0])",
        "tensor([ 1.,  0., 11.])",
    ),
    "scatter_reduce": (
        "torch.ones(3)", '0, torch.tensor([0, 2, 2]), torch.tensor([2.0, 3.0, 5.0]), "prod"',
        "tensor([ 2.,  1., 15.])",
    ),
    "selu": ("torch.tensor([-1.0, 2.0])", "", "tensor([-1.1113,  2.1014])"),
    "sigmoid": ("torch.tensor([0.0, 100.0])", "", "tensor([0.5000, 1.0000])"),
    "sign": ("torch.tensor([-3.0, 0.0, 0.5])", "", "tensor([-1.,  0.,  1.])"),
    "sin": ("torch.tensor([0.0, 3.14159265 / 6])", "", "tensor([0.0000, 0.5000])"),
    "sinc": ("torch.tensor([0.0, 0.5])", "", "tensor([1.0000, 0.6366])"),
    "sinh": ("torch.tensor([0.0, 1.0])", "", "tensor([0.0000, 1.1752])"),
    "sqrt": ("torch.tensor([4.0, 2.0, -1.0])", "", "tensor([2.0000, 1.4142,    nan])"),
    "square": ("torch.tensor([-3, 2])", "", "tensor([9, 4])"),
    "sub": ("torch.tensor([5, 7, 9])", "torch.tensor([1, 2, 3])", "tensor([4, 5, 6])"),
    "tan": ("torch.tensor([0.0, 3.14159265 / 4])", "", "tensor([0., 1.])"),
    "tanh": ("torch.tensor([0.0, 1.0, 100.0])", "", "tensor([0.0000, 0.7616, 1.0000])"),
    "threshold": ("torch.tensor([-1.0, 0.5, 2.0])", "0.5, 7.0", "tensor([7., 7., 2.])"),
    "tril": ("torch.ones(3, 3)", "", "tensor([[1., 0., 0.],\n        [1., 1., 0.],\n        [1., 1., 1.]])"),
    "triu": (
        "torch.ones(3, 3)", "diagonal=1",
        "tensor([[0., 1., 1.],\n        [0., 0., 1.],\n        [0., 0., 0.]])",
    ),
    "trunc": ("torch.tensor([-1.5, 0.2, 2.0])", "", "tensor([-1.,  0.,  2.])"),
    "xlogy": ("torch.tensor([0.0, 2.0])", "torch.tensor([0.0, 3.0])", "tensor([0.0000, 2.1972])"),
}  # fmt: skip


def example(name: str, call: str) -> str:
    """Return the example of the in-place version of an operator, or "" if it has none.

    call: the start of the call, such as "x.exp_(" or "torch.relu_(x".
    """
    if name not in EXAMPLES:
        return ""
    tensor, arguments, printed = EXAMPLES[name]
    separator = "" if call.endswith("(") or not arguments else ", "
    lines = [f">>> x = {tensor}", f">>> {call}{separator}{arguments})", *printed.split("\n")]
    return "\nExample:\n    " + "\n    ".join(lines)
