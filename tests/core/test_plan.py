"""Plans: their buffers, launches that wait, and writes in place on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import flambeau as torch
from flambeau.core.storage import placeholder
from flambeau.core.tensor import new_tensor
from flambeau.core.thread import CPU
from flambeau.dtypes import float32
from flambeau.kernel import Grid, Kernel, Pointer, Scalar
from flambeau.lowering import launch_of
from flambeau.ops.operator import Number


def test_a_spare_buffer_serves_one_call_which_overwrites_all_that_differs():
    kernel = Kernel(
        "shift", "", [Pointer("out", float32, "w", ("n",)), Scalar("by", "float32"), Scalar("n", "int64")], id
    )
    layout = torch.empty(4)._layout
    step = launch_of(
        kernel,
        None,
        Grid((1, 1, 1), 32),
        [new_tensor(placeholder(CPU, layout.nbytes, 0), layout), Number(1, float), 4],
        "shift",
    )
    first, second = torch.empty(4), torch.empty(4)
    spare = step.spare = step.filled([first, 2.0], [])
    assert kernel.pack([first.data_ptr(), 2.0, 4]) == bytes(spare)
    assert step.filled([second, 3.0], []) is spare
    assert kernel.pack([second.data_ptr(), 3.0, 4]) == bytes(spare)
    assert step.filled([second, 3.0], []) is not spare and step.spare is None


@pytest.mark.devices(1)
def test_launches_that_wait_keep_their_own_numbers(busy):
    side = torch.cuda.Stream()
    x = torch.ones(4, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        busy()
        results = [x * float(n) for n in range(5)]
        assert [each.tolist() for each in results] == [[float(n)] * 4 for n in range(5)]


IN_PLACE = """
import sys
import flambeau as torch
x, calls = torch.ones(4), []
def profile(frame, event, called):
    if event == "call" and frame.f_code.co_filename.endswith("pointwise.py"):
        calls.append(frame.f_code.co_name)
for write in (lambda: x.div_(2), lambda: x.add_(x), lambda: x[1:].mul_(0.5)):
    write()
    sys.setprofile(profile)
    write()
    sys.setprofile(None)
print(calls, x.tolist())
"""


def test_a_write_in_place_on_the_cpu_is_one_call_of_numpy():
    environment = {**os.environ, "FLAMBEAU_GPUS": "none"}  # where no tool follows the host
    done = subprocess.run([sys.executable, "-c", IN_PLACE], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[] [1.0, 0.25, 0.25, 0.25]\n", "")
