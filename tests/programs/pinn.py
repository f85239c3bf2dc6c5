"""A network that solves the heat equation: derivatives of its output by its inputs are terms of the loss."""

import argparse
import math

import torch
import torch.nn as nn


class PINN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(len(layers) - 1):
            self.layers.append(nn.Linear(layers[i], layers[i + 1]))
        for layer in self.layers:
            nn.init.xavier_normal_(layer.weight, gain=nn.init.calculate_gain("tanh"))
            nn.init.zeros_(layer.bias)
        self.k = nn.Parameter(torch.tensor(0.3))  # the conductivity is learned, too

    def forward(self, x, t):
        h = torch.hstack([x, t])
        for layer in self.layers[:-1]:
            h = torch.tanh(layer(h))
        return self.layers[-1](h)


def gradient(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True, retain_graph=True)[0]


def residual(model, x, t):
    x.requires_grad_(True)
    t.requires_grad_(True)
    u = model(x, t)
    u_t = gradient(u, t)
    u_xx = gradient(gradient(u, x), x)
    return u_t - model.k * u_xx


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(2)
    model = PINN([2, 16, 16, 1]).to(args.device)
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=10)
    for step in range(20):
        x, t = torch.rand(64, 1), torch.rand(64, 1)
        x0 = torch.linspace(0, 1, 32).unsqueeze(1)
        side = torch.randint(0, 2, (32, 1)).to(x.dtype)
        x, t, x0, side = (each.to(args.device) for each in (x, t, x0, side))
        f = residual(model, x, t)
        initial = model(x0, torch.zeros_like(x0)) - torch.sin(math.pi * x0)
        border = model(side, torch.full_like(x0, 0.5))
        loss = f.square().mean() + initial.square().mean() + border.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} k {model.k.item():.4f} loss {loss.item()}")
    with torch.no_grad():
        grid = torch.cartesian_prod(torch.linspace(0, 1, 3), torch.linspace(0, 1, 3)).to(args.device)
        print("solution", model(grid[:, :1], grid[:, 1:]).view(3, 3).shape)
