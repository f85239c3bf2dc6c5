"""Programs of README.md and docs/guides with types, and real use of the whole interface: mypy and pyright check them.

`assert_type` says what a checker must infer.  tests/test_surface.py runs the file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, assert_type

import numpy as np

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F
from flambeau.utils.data import DataLoader, Dataset, TensorDataset


def arithmetic() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert_type(x + x, torch.Tensor)
    assert_type(2 * x - 1, torch.Tensor)
    assert_type(1 / x, torch.Tensor)
    assert_type(x @ x, torch.Tensor)
    assert_type(-x, torch.Tensor)
    assert_type(x**2, torch.Tensor)
    assert_type(x == x, torch.Tensor)
    assert_type(x != 1, torch.Tensor)
    assert_type(x < 2, torch.Tensor)
    assert_type(~(x > 2) & (x < 4), torch.Tensor)
    assert_type(x.exp(), torch.Tensor)
    assert_type(torch.exp(x), torch.Tensor)
    assert_type(torch.where(x > 2, x, 0.0), torch.Tensor)
    assert_type(torch.where(x > 2), tuple[torch.Tensor, ...])
    assert_type(x.max(), torch.Tensor)
    assert_type(x.max(1).indices, torch.Tensor)
    assert_type(torch.max(x, x), torch.Tensor)
    values, places = torch.sort(x, descending=True)
    assert_type(values, torch.Tensor)
    assert_type(places, torch.Tensor)
    assert_type(x.split(1), tuple[torch.Tensor, ...])
    assert_type(torch.cat([x, x], dim=1), torch.Tensor)
    assert_type(x.sum(dim=(0, 1)), torch.Tensor)
    assert_type(x.clamp(min=0).mean(), torch.Tensor)
    y = x.detach().clone()
    y += 1
    y[0] = 5
    y[:, 1] *= 2
    assert_type(y.add_(1).mul_(2), torch.Tensor)
    assert_type(torch.allclose(x, x), bool)
    assert_type(torch.Tensor([1.0]), torch.Tensor)
    assert_type(torch.FloatTensor([1.0]), torch.FloatTensor)


def indexing() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert_type(x[0], torch.Tensor)
    assert_type(x[0, 1:], torch.Tensor)
    assert_type(x[..., None], torch.Tensor)
    assert_type(x[x > 2], torch.Tensor)
    assert_type(x[[0, 1]], torch.Tensor)
    assert_type(x[torch.tensor([1])], torch.Tensor)
    assert_type(x.view(3, 2).permute(1, 0).unsqueeze(0), torch.Tensor)
    assert_type(x.view(-1), torch.Tensor)
    assert_type(x.view(torch.int32), torch.Tensor)
    for row in x:
        assert_type(row, torch.Tensor)
    assert 3 in x and len(x) == 2


def properties() -> None:
    x = torch.zeros(2, 3, dtype=torch.float64, device="cpu", requires_grad=True)
    assert_type(x.shape, torch.Size)
    rows, columns = x.shape
    assert_type(rows * columns, int)
    assert_type(x.size(), torch.Size)
    assert_type(x.size(0), int)
    assert_type(x.dtype, torch.dtype)
    assert_type(x.device, torch.device)
    assert_type(x.requires_grad, bool)
    assert_type(x.ndim, int)
    assert_type(x.T, torch.Tensor)
    assert_type(x.numel(), int)
    x.sum().backward()
    assert_type(x.grad, torch.Tensor | None)
    if x.grad is not None:
        assert_type(x.grad.norm(), torch.Tensor)
    x.grad = None
    total: float = x.sum().item()
    assert total == float(x.sum())
    assert_type(x.to("cpu"), torch.Tensor)
    assert_type(x.to(torch.float32), torch.Tensor)
    assert_type(x.to(torch.device("cpu"), torch.float32, non_blocking=True), torch.Tensor)
    assert_type(x.to(x), torch.Tensor)
    assert_type(x.float().half().cpu(), torch.Tensor)
    array = x.detach().numpy()
    assert_type(torch.from_numpy(np.asarray(array)), torch.Tensor)


def factories() -> None:
    generator = torch.Generator()
    generator.manual_seed(0)
    made = [
        torch.empty(2), torch.empty((2, 3)), torch.ones(2, 3, dtype=torch.int64), torch.full((2,), 7.0),
        torch.arange(3), torch.arange(0, 1, 0.25), torch.linspace(0, 1, 5), torch.eye(3),
        torch.rand(2, generator=generator), torch.randn(2, 3), torch.randint(10, (2,)), torch.randint(0, 10, (2,)),
        torch.randperm(4), torch.zeros_like(torch.ones(2)), torch.as_tensor([1, 2]),
    ]  # fmt: skip
    assert_type(made, list[torch.Tensor])


def modes() -> None:
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        assert not (x * 2).requires_grad
    with torch.set_grad_enabled(False), torch.enable_grad(), torch.inference_mode():
        assert not (x * 2).requires_grad
    assert_type(doubled(x), torch.Tensor)
    assert_type(tripled(x), torch.Tensor)


@torch.no_grad()
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.inference_mode
def tripled(x: torch.Tensor) -> torch.Tensor:
    return x * 3


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.out = nn.Linear(8, 2)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(F.relu(self.norm(self.hidden(x)))) * self.scale


class Squares(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.full((4,), float(index)), torch.tensor(index % 2)


def training() -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    schedule = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    images: torch.Tensor
    targets: torch.Tensor
    for images, targets in DataLoader(Squares(), batch_size=2, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), targets)
        assert_type(loss, torch.Tensor)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    schedule.step()
    for name, parameter in net.named_parameters():
        assert_type(name, str)
        assert_type(parameter, nn.Parameter)
    net.eval()
    assert_type(torch.nn.Linear(2, 2).weight, nn.Parameter)
    assert_type(torch.nn.Linear(4, 2)(torch.ones(4)), torch.Tensor)
    layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.5)).to("cpu")
    assert_type(layers, nn.Sequential)
    layers.load_state_dict(layers.state_dict())
    data = TensorDataset(torch.arange(6.0).reshape(3, 2), torch.tensor([0, 1, 0]))
    for images, _ in DataLoader(data, batch_size=2):
        assert images.ndim == 2


def streams() -> None:
    torch.virtual(2)
    x = torch.arange(6.0, device="cuda:0").reshape(3, 2)
    side = torch.cuda.Stream()
    y = x * 2
    with torch.cuda.stream(side):
        side.wait_stream(torch.cuda.current_stream())
        right = y + 1
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    event.synchronize()
    y.record_stream(side)
    torch.cuda.synchronize()
    assert_type(right.to("cuda:1"), torch.Tensor)
    assert_type(torch.cuda.memory_allocated(), int)
    assert_type(torch.cuda.is_available(), bool)
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.mul_(2)
    graph.replay()


class Exp(torch.autograd.Function):
    # pyright refuses methods that take fewer arguments than Function's own, (ctx, *args)
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (result,) = ctx.saved_tensors
        found: torch.Tensor = grad * result
        return found


def gradients() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    result: torch.Tensor = Exp.apply(x)
    gradient: torch.Tensor
    (gradient,) = torch.autograd.grad(result.sum(), x)
    assert gradient.tolist() == result.tolist()
    handle = x.register_hook(lambda grad: grad * 2)
    handle.remove()


def files() -> None:
    file = io.BytesIO()
    torch.save({"x": torch.ones(2)}, file)
    file.seek(0)
    found: dict[str, torch.Tensor] = torch.load(file)
    assert found["x"].tolist() == [1.0, 1.0]


def programs() -> Iterator[str]:
    for program in (arithmetic, indexing, properties, factories, modes, training, gradients, files, streams):
        program()
        yield program.__name__


if __name__ == "__main__":
    print(*programs())
