"""--as-torch: programs that import torch get flambeau, with its submodules, its version and its metadata."""

import importlib

import pytest

AS_TORCH = """
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
import flambeau
assert torch is flambeau and torch.nn is flambeau.nn and F is flambeau.nn.functional
import torch.cuda.comm
from torch.cuda import memory, nvtx
assert torch.cuda.comm is flambeau.cuda.comm and memory is flambeau.cuda.memory and nvtx is flambeau.cuda.nvtx
assert flambeau.__spec__.name == "flambeau" and flambeau.nn.__name__ == "flambeau.nn"
try:
    import torch.no_such_module
except ModuleNotFoundError as failure:
    print(failure)
x = torch.ones(2, device="cuda")
print((x + x).tolist())
"""


def test_torch_is_flambeau_where_asked(flambeau, script):
    done = flambeau("run", "--gpus", "virtual:1", "--as-torch", script(AS_TORCH))
    assert done.stderr == ""
    assert done.stdout == "No module named 'torch.no_such_module'\n[2.0, 2.0]\n"


SUBMODULES = """
from importlib.util import find_spec
import torch
import torch._C, torch._custom_ops, torch._dynamo.config, torch._dynamo.utils, torch._inductor.config
import torch._dynamo._trace_wrapped_higher_order_op, torch._subclasses.fake_tensor, torch.distributed._composable.fsdp
import torch.ao.quantization, torch.compiler, torch.distributed.distributed_c10d, torch.export, torch.fx.graph_module
import torch.distributed._functional_collectives, torch.distributed.checkpoint.hf_storage, torch.distributed.fsdp
import torch.distributed.tensor._utils, torch.fx.experimental.proxy_tensor, torch.fx.experimental.symbolic_shapes
import torch.fx.node, torch.fx.proxy, torch.nn.attention.flex_attention
import torch.hub, torch.jit.annotations, torch.library, torch.nn.parallel.distributed, torch.onnx.symbolic_helper
import torch.onnx.symbolic_opset9, torch.testing, torch.utils.benchmark, torch.utils.cpp_extension, torch.utils.dlpack
import torch.utils.data.distributed, torch.utils.model_zoo, torch.utils._pytree, torch.version
import torch.__config__, torch._dynamo.eval_frame, torch.backends.cpu, torch.storage
import torch.distributed.fsdp.fully_sharded_data_parallel
from torch.fft import fft2, rfft
import torch.distributed as dist
from torch import torch as same
from torch.nn.parallel import DistributedDataParallel as DDP
assert same is torch and find_spec("torch.jit") is not None and find_spec("torch.no_such_module") is None
torch.backends.cudnn.benchmark = True

@torch.compile
def double(x):
    return x * 2

print(double(torch.ones(1)).item(), dist.is_available() and dist.is_initialized(), torch.jit.is_scripting())
"""


def test_the_imports_of_programs_are_there(flambeau, script):
    done = flambeau("run", "--gpus", "none", "--as-torch", script(SUBMODULES))
    assert (done.stdout, done.stderr) == ("2.0 False False\n", "")


@pytest.mark.parametrize("source", ["import torch.no_such_module", "from torch import no_such_name"])
def test_what_is_missing_is_told_with_where_to_look(flambeau, script, source):
    done = flambeau("run", "--gpus", "none", "--as-torch", script(source))
    first, hint = done.stderr.splitlines()[-2:]
    assert done.returncode == 1 and source.split()[-1] in first
    assert hint.startswith("hint: it is not in flambeau") and "docs/reference/coverage.md" in hint


def test_the_import_of_a_part_that_is_left_out_is_told_with_what_replaces_it(flambeau, script):
    done = flambeau("run", "--gpus", "none", "--as-torch", script("import torch.sparse"))
    first, hint = done.stderr.splitlines()[-2:]
    assert done.returncode == 1 and "torch.sparse" in first and hint.startswith("hint: there are no sparse tensors")


VERSION = """
import torch
version = torch.__version__
print(version, version.split("+")[0], version >= "2.4", version < (2, 4), "1.10.0" <= version, version > "2.13")
print(version == "2.13.0")
try:
    version < 2.4
except TypeError as failure:
    print(failure)
"""
METADATA = """
from importlib import metadata
print(metadata.version("torch"), metadata.metadata("Torch")["Name"], metadata.distribution("torch").requires)
import torch
print("torch" in {each.name for each in metadata.distributions()}, metadata.version("numpy").count("."))
"""


def test_importlib_metadata_finds_a_package_torch(flambeau, script):
    done = flambeau("run", "--gpus", "none", "--as-torch", script(METADATA))
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["2.13.0+flambeau torch None", "True 2"]


def test_the_version_is_that_of_pytorch_s_interface(flambeau, script):
    done = flambeau("run", "--gpus", "none", "--as-torch", script(VERSION))
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "2.13.0+flambeau 2.13.0 True False True True",
        "False",
        "a version compares with a text or a tuple of numbers, not with 2.4",
    ]
    native = script("import flambeau, flambeau.cli.as_torch\nprint(flambeau.__version__)\n", "native.py")
    assert flambeau("run", "--gpus", "none", native).stdout == f"{importlib.import_module('flambeau').__version__}\n"


CHILDREN = """
import subprocess, sys
import torch
import torch.multiprocessing as mp
def work(rank, queue):
    import torch.nn as nn
    queue.put((rank, nn.Identity()(torch.ones(2, device="cuda") * rank).sum().item(), torch.__spec__.name))
if __name__ == "__main__":
    queue = mp.get_context("spawn").Queue()
    mp.spawn(work, args=(queue,), nprocs=2)
    print(sorted(queue.get() for _ in range(2)))
    said = "from torch import cuda; import torch; print(torch.__spec__.name, cuda.device_count())"
    subprocess.run([sys.executable, "-c", said], check=True)
"""


def test_the_processes_of_such_a_program_find_flambeau_too(flambeau, script):
    done = flambeau("run", "--gpus", "virtual:3", "--as-torch", script(CHILDREN))
    assert done.stderr == ""
    assert done.stdout == "[(0, 0.0, 'flambeau'), (1, 2.0, 'flambeau')]\nflambeau 3\n"


def test_the_package_has_pytorchs_name_under_as_torch(flambeau, script):
    program = "import torch\nfrom torch import fx\nprint(torch.__name__, fx.__name__)"
    done = flambeau("run", "--as-torch", script(program))
    assert done.stdout == "torch flambeau.fx\n"
