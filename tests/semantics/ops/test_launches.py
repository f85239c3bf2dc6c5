"""Launches of operators that were once several: a call of few elements is as many as stand here."""

import flambeau as torch
from benchmarks import counts
from flambeau.nn import functional as F

SINGLE = {
    "addr": lambda x, y: torch.addr(x, x[:, 0], x[0], alpha=2),
    "affine_grid": lambda x, y: F.affine_grid(x.view(8, 2, 3), (8, 1, 5, 6), align_corners=False),
    "aminmax": lambda x, y: torch.aminmax(x),
    "aminmax along a dimension": lambda x, y: torch.aminmax(x.t(), dim=0),
    "cross_entropy": lambda x, y: F.cross_entropy(x, y),
    "cross_entropy, sum": lambda x, y: F.cross_entropy(x, y, reduction="sum"),
    "frexp": lambda x, y: torch.frexp(x.t()),
    "nll_loss": lambda x, y: F.nll_loss(x, y),
    "mvlgamma": lambda x, y: torch.mvlgamma(x, 4),
    "std_mean": lambda x, y: torch.std_mean(x, 1),
    "var_mean": lambda x, y: torch.var_mean(x),
}
DOUBLE = {
    "conv_tbc": lambda x, y: torch.conv_tbc(x.unsqueeze(1), x.view(3, 8, 2), x[0, :2]),
    "group_norm": lambda x, y: F.group_norm(x, 2, x[0], x[1]),
    "masked_scatter, and the comparison": lambda x, y: x.masked_scatter(x > 2, x),
    "renorm": lambda x, y: torch.renorm(x, 2, 0, 1.5),
}
TRIPLE = {
    "local_response_norm": lambda x, y: F.local_response_norm(x.unsqueeze(2), 3),
}
QUADRUPLE = {"gaussian_nll_loss": lambda x, y: F.gaussian_nll_loss(x, x, x)}


def test_launches_of_segments(gpus):
    """Two, and three that check the lengths."""
    x, lengths = torch.rand(6, 8, device="cuda"), torch.tensor([2, 0, 4], device="cuda")
    for unsafe, wanted in (
        (True, {"block": 2, "launch": 2}),
        (False, {"block": 5, "copy": 1, "host wait": 1, "launch": 5}),
    ):
        found = counts.of(lambda unsafe=unsafe: torch.segment_reduce(x, "mean", lengths=lengths, unsafe=unsafe))
        assert found == wanted


def test_launches_of_a_call(gpus):
    x, y = torch.rand(6, 8, device="cuda") + 2, torch.arange(6, device="cuda")
    for wanted, calls in ((1, SINGLE), (2, DOUBLE), (3, TRIPLE), (4, QUADRUPLE)):
        for name, call in calls.items():
            found = counts.of(lambda call=call: call(x, y))
            assert found.get("launch") == wanted, (name, found)
