"""Train a network with custom CUDA kernels: silu(x + bias), forward and backward, each in one pass over memory.

    python examples/own_kernel.py                                on an NVIDIA GPU
    flambeau run --gpus virtual:1 examples/own_kernel.py         on a virtual GPU, where the NumPy references run
    flambeau check --gpus virtual:1 examples/own_kernel.py       the same, and reports races
    python examples/own_kernel.py --check                        compare the kernels with their references
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import flambeau as torch
from flambeau import nn, optim
from flambeau.testing import check_kernel

SOURCE = """
__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// One thread for each element; blocks of 32 x 8 threads cover rows and columns.
#define ELEMENT                                              \\
  int column = blockIdx.x * blockDim.x + threadIdx.x;        \\
  int row = blockIdx.y * blockDim.y + threadIdx.y;           \\
  if (row >= rows || column >= columns) return;              \\
  long long at = (long long)row * columns + column;

extern "C" __global__ void biased_silu(float* out, const float* x, const float* bias, int rows, int columns) {
  ELEMENT
  float value = x[at] + bias[column];
  out[at] = value * sigmoid(value);
}

extern "C" __global__ void biased_silu_backward(
    float* grad_x, const float* grad, const float* x, const float* bias, int rows, int columns) {
  ELEMENT
  float value = x[at] + bias[column], s = sigmoid(value);
  grad_x[at] = grad[at] * s * (1.0f + value * (1.0f - s));
}
"""
MATRIX = "[rows, columns]"


def forward_reference(out: Any, x: Any, bias: Any, rows: int, columns: int) -> None:
    value = x + bias
    out[...] = value / (1 + np.exp(-value))


def backward_reference(grad_x: Any, grad: Any, x: Any, bias: Any, rows: int, columns: int) -> None:
    value = x + bias
    s = 1 / (1 + np.exp(-value))
    grad_x[...] = grad * s * (1 + value * (1 - s))


biased_silu = torch.cuda.kernel(
    SOURCE,
    "biased_silu",
    {"out": f"w{MATRIX}", "x": f"r{MATRIX}", "bias": "r[columns]"},
    reference=forward_reference,
)
biased_silu_backward = torch.cuda.kernel(
    SOURCE,
    "biased_silu_backward",
    {"grad_x": f"w{MATRIX}", "grad": f"r{MATRIX}", "x": f"r{MATRIX}", "bias": "r[columns]"},
    reference=backward_reference,
)


def launch_of(rows: int, columns: int, *tensors: Any) -> dict[str, Any]:
    """Return the arguments of a launch of either kernel."""
    return {"grid": (-(-columns // 32), -(-rows // 8)), "block": (32, 8), "args": [*tensors, rows, columns]}


class BiasedSilu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        biased_silu(**launch_of(*x.shape, out, x, bias))
        ctx.save_for_backward(x, bias)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, bias = ctx.saved_tensors
        grad_x = torch.empty_like(x)
        biased_silu_backward(**launch_of(*x.shape, grad_x, grad.contiguous(), x, bias))
        return grad_x, grad_x.sum(0)


class Network(nn.Module):
    """Two layers with the kernel between them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(2, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))
        self.second = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(BiasedSilu.apply(self.first(x), self.bias))


def samples(inputs: int) -> list[dict[str, Any]]:
    """Return launches with sizes that fill blocks, and sizes that do not."""
    found: list[dict[str, Any]] = []
    for rows, columns in ((1, 1), (8, 32), (9, 33), (100, 70)):
        tensors = [torch.randn(rows, columns) for _ in range(inputs)]
        found.append(launch_of(rows, columns, torch.empty(rows, columns), *tensors, torch.randn(columns)))
    return found


def main(arguments: Sequence[str] | None = None) -> list[float]:
    """Train; return the losses."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="compare the kernels with their references, and stop")
    options.add_argument("--steps", type=int, default=200)
    chosen = options.parse_args(arguments)
    torch.manual_seed(0)
    if chosen.check:
        check_kernel(biased_silu, samples(1))
        check_kernel(biased_silu_backward, samples(2))
        print("the kernels agree with their references")
        return []
    net = Network(64).to("cuda")
    optimizer = optim.Adam(net.parameters(), lr=1e-2)
    points = torch.rand(512, 2, device="cuda") * 4 - 2
    heights = points[:, :1].sin() * points[:, 1:]
    losses: list[torch.Tensor] = []
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(chosen.steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(points), heights)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    end.record()
    end.synchronize()
    found: list[float] = torch.stack(losses).tolist()
    print(f"loss {found[0]:.4f} at first, {found[-1]:.4f} after {len(found)} steps")
    print(f"{start.elapsed_time(end) / len(found):.3f} ms per step on {torch.cuda.get_device_name()}")
    return found


if __name__ == "__main__":
    main()
