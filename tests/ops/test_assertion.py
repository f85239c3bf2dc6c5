"""A failed assertion in a kernel has its own error on hardware, as in PyTorch, and not that of any failed launch."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json
import flambeau as torch
x = torch.arange(6.0, device="cuda").reshape(2, 3)
index = torch.tensor([0, 5], device="cuda")
calls = {
    "index_select": lambda: x.index_select(0, index),
    "gather": lambda: x.gather(1, index[None]),
    "embedding": lambda: torch.nn.functional.embedding(index, x),
    "nll_loss": lambda: torch.nn.functional.nll_loss(x, index),
    "bernoulli": lambda: torch.bernoulli(x),
    "binary_cross_entropy": lambda: torch.nn.functional.binary_cross_entropy(x, x),
    "_assert_async": lambda: torch._assert_async(index[:1]),
}
try:
    calls[NAME]()
    torch.cuda.synchronize()
except torch.AcceleratorError as error:
    print(json.dumps([error.error_code, error.sticky, str(error).splitlines()[0]]))
"""
NAMES = ["index_select", "gather", "embedding", "nll_loss", "bernoulli", "binary_cross_entropy", "_assert_async"]


@pytest.mark.gpu
@pytest.mark.skipif(os.environ.get("FLAMBEAU_GPUS") != "nvidia", reason="FLAMBEAU_GPUS is not nvidia")
@pytest.mark.parametrize("name", NAMES)
def test_a_failed_assertion_is_error_710(name):
    text = PROGRAM.replace("NAME", repr(name))
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert ran.stdout, ran.stderr[-2000:]
    code, sticky, line = json.loads(ran.stdout.splitlines()[-1])
    assert (code, sticky) == (710, True) and "device-side assert triggered" in line
