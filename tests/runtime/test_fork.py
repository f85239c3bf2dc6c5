"""What a forked child finds of its parent's GPUs.  Row 1.15.1"""

import subprocess
import sys

PROGRAM = """
import gc, os, sys
import flambeau as torch
torch.virtual(2)
x, event = torch.ones(3, device="cuda"), torch.cuda.Event()
event.record()
if os.fork() == 0:
    for use in (lambda: x + 1, lambda: x.add_(1), torch.cuda.current_stream, event.query, lambda: x.to("cuda:1")):
        try:
            print("worked", use())
        except torch.errors.ForkError as error:
            print("refused", error.fact.rpartition(" at ")[2], flush=True)
    del x, event
    gc.collect()
    sys.stdout.flush()
    os._exit(0)
_, status = os.wait()
print(status, event.query(), (x + 1).tolist())
"""


def test_a_child_is_told_who_started_and_forgets_quietly():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["refused <string>:5"] * 5 + ["0 True [2.0, 2.0, 2.0]"]
    assert done.stderr == ""


CHILDS_OWN = """
import os
import flambeau as torch
torch.virtual(1)
if os.fork() == 0:
    print(torch.ones(2, device="cuda").tolist(), flush=True)
    os._exit(0)
os.wait()
"""


def test_a_child_forked_before_the_start_has_gpus_of_its_own():
    done = subprocess.run([sys.executable, "-c", CHILDS_OWN], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[1.0, 1.0]\n", "")
