"""flambeau, PyTorch and CuPy in one process on two GPUs: no call of flambeau's changes the thread's CUDA context."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

PROGRAM = """
import ctypes, json
import cupy
import torch as pytorch
import flambeau as torch

libcuda = ctypes.CDLL("libcuda.so.1")


def state():
    context = ctypes.c_void_p()
    assert libcuda.cuCtxGetCurrent(ctypes.byref(context)) == 0
    return context.value, pytorch.cuda.current_device(), cupy.cuda.runtime.getDevice()


def product(device):
    a = torch.ones(8, 8, device=f"cuda:{device}", requires_grad=True)
    (a @ a).relu().sum().backward()
    return a.grad.sum().item()


def side_stream(device):
    with torch.cuda.device(device), torch.cuda.stream(torch.cuda.Stream()) as stream:
        event = torch.cuda.Event(enable_timing=True)
        x = torch.arange(6.0, device="cuda").mul(2)
        event.record()
        event.synchronize()
        torch.cuda.current_stream().wait_event(event)
        return x.sum().item()


def captured(device):
    with torch.cuda.device(device):
        x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x + 1
        graph.replay()
        return y.sum().item()


def replicas(device):
    model = torch.nn.DataParallel(torch.nn.Linear(4, 2).cuda(), device_ids=[0, 1])
    out = model(torch.ones(6, 4, device="cuda:0"))
    out.sum().backward()
    return model.module.weight.grad[0].tolist()


def moved(device):
    x = torch.arange(5, device=f"cuda:{device}").to(f"cuda:{1 - device}")
    x = x.cpu().pin_memory().cuda(device, non_blocking=True)
    torch.cuda.synchronize(1 - device)
    torch.cuda.empty_cache()
    return x.tolist()


ACTIONS = product, side_stream, captured, replicas, moved
found, wrong = [], []
for ours in (0, 1):
    for theirs in (0, 1):
        pytorch.cuda.set_device(theirs)
        for action in ACTIONS:
            before = state()
            found.append(action(ours))
            if state() != before:
                wrong.append([action.__name__, ours, theirs, before, state()])
            same = [pytorch.ones(3, device="cuda").device.index, cupy.ones(3).device.id]
            if same != [theirs, theirs]:
                wrong.append([action.__name__, ours, theirs, "devices", same])
        x = torch.arange(4.0, device=f"cuda:{ours}")
        torch.cuda.synchronize(ours)
        with cupy.cuda.Device(ours):
            y = cupy.asarray(pytorch.as_tensor(x, device=f"cuda:{ours}") + 1) * 2
            cupy.cuda.runtime.deviceSynchronize()
        before = state()
        found.append([*x.add_(1).tolist(), *y.tolist()])
        if state() != before:
            wrong.append(["exchange", ours, theirs, before, state()])
print(json.dumps([found, wrong]))
"""


@pytest.mark.gpu
@pytest.mark.two_gpus
@pytest.mark.devices(2)
@pytest.mark.skipif(os.environ.get("FLAMBEAU_GPUS") != "nvidia", reason="FLAMBEAU_GPUS is not nvidia")
@pytest.mark.skipif(not (find_spec("torch") and find_spec("cupy")), reason="PyTorch or CuPy is not installed")
def test_no_call_changes_the_context_of_the_thread(gpus):
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    found, wrong = json.loads(ran.stdout.splitlines()[-1])
    assert wrong == []
    once = [1024.0, 30.0, 8.0, [6.0] * 4, [0, 1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0, 2.0, 4.0, 6.0, 8.0]]
    assert found == once * 4
