"""Launches of operators that were once several: a call of few elements is as many as stand here."""

import flambeau as torch
from benchmarks import counts

SINGLE = {
    "addr": lambda x: torch.addr(x, x[:, 0], x[0], alpha=2),
    "aminmax": lambda x: torch.aminmax(x),
    "aminmax along a dimension": lambda x: torch.aminmax(x.t(), dim=0),
    "frexp": lambda x: torch.frexp(x.t()),
    "mvlgamma": lambda x: torch.mvlgamma(x, 4),
    "std_mean": lambda x: torch.std_mean(x, 1),
    "var_mean": lambda x: torch.var_mean(x),
}
DOUBLE = {
    "renorm": lambda x: torch.renorm(x, 2, 0, 1.5),
}


def test_launches_of_a_call(gpus):
    x = torch.rand(6, 8, device="cuda") + 2
    for wanted, calls in ((1, SINGLE), (2, DOUBLE)):
        for name, call in calls.items():
            found = counts.of(lambda call=call: call(x))
            assert found.get("launch") == wanted, (name, found)
