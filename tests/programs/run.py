"""Run programs of this folder one after another in one process, and write a report of each as JSON.

    python -m tests.programs.run --dtype float64 --device cpu mnist_cnn dcgan            with PyTorch
    flambeau run --as-torch -m tests.programs.run --device cuda mnist_cnn                with flambeau

A report has `losses`, the first 20 numbers that follow the word "loss" in the program's output; `seconds`, the time
that it took; and `error`, the traceback if it failed.  Without names all programs run.
"""

import argparse
import contextlib
import io
import json
import random
import re
import runpy
import sys
import time
import traceback
from pathlib import Path

import torch

HERE = Path(__file__).parent
OTHERS = {"run", "record"}
LOSS = re.compile(r"\bloss:? ([-+\d.einfa]+)")
COUNT = 20


def names():
    """The programs of this folder."""
    found = {path.stem for path in HERE.glob("*.py")} - OTHERS
    return sorted(name for name in found if not name.startswith("test_"))


def report(name, dtype, device, *more):
    """Run one program as `__main__` and return its report."""
    output, error = io.StringIO(), None
    random.seed(0)
    torch.set_default_device(None)
    torch.set_default_dtype(getattr(torch, dtype))
    sys.argv = [name, "--device", device, *more]
    started = time.perf_counter()
    with contextlib.redirect_stdout(output):
        try:
            runpy.run_path(str(HERE / f"{name}.py"), run_name="__main__")
        except Exception:  # noqa: BLE001 whatever it is, it belongs to the report
            error = traceback.format_exc()
    seconds = round(time.perf_counter() - started, 3)
    losses = [float(text) for text in LOSS.findall(output.getvalue())][:COUNT]
    return {"losses": losses, "seconds": seconds, **({"error": error} if error else {})}


def make_noise(optimizer, generator):
    """Multiply every parameter by numbers that are as close to 1 as a few rounding errors of float32."""
    with torch.no_grad():
        for group in optimizer.param_groups:
            for param in group["params"]:
                noise = torch.randn(param.shape, generator=generator, device="cpu").to(param.device)
                param.mul_(1 + 2**-22 * noise)


def main():
    parser = argparse.ArgumentParser(description="Run programs and report their losses.")
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--noise", type=int, metavar="SEED", help="change parameters a little before each step")
    parser.add_argument("--amp", action="store_true", help="pass --amp on to the programs")
    parser.add_argument("programs", nargs="*", default=names())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    if options.noise is not None:
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        generator = torch.Generator().manual_seed(options.noise)
        register_optimizer_step_pre_hook(lambda *call: make_noise(call[0], generator))
    more = ["--amp"] if options.amp else []
    json.dump({name: report(name, options.dtype, options.device, *more) for name in options.programs}, sys.stdout)


if __name__ == "__main__":
    main()
