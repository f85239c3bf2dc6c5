"""A normalizing flow of affine couplings, whose exact likelihood on two moons is maximized; and a mixture beside it."""

import argparse
import math

import torch
import torch.distributions as D
import torch.nn as nn


class AffineCoupling(nn.Module):
    def __init__(self, mask, hidden=24):
        super().__init__()
        self.register_buffer("mask", mask)
        self.s = nn.Sequential(nn.Linear(2, hidden), nn.LeakyReLU(), nn.Linear(hidden, 2), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(2, hidden), nn.LeakyReLU(), nn.Linear(hidden, 2))

    def forward(self, x):
        kept = self.mask * x
        s, t = self.s(kept) * (1 - self.mask), self.t(kept) * (1 - self.mask)
        return kept + (1 - self.mask) * (x * torch.exp(s) + t), s.sum(dim=1)

    def inverse(self, z):
        kept = self.mask * z
        s, t = self.s(kept) * (1 - self.mask), self.t(kept) * (1 - self.mask)
        return kept + (1 - self.mask) * (z - t) * torch.exp(-s)


class RealNVP(nn.Module):
    def __init__(self, layers, prior):
        super().__init__()
        masks = torch.tensor([[0.0, 1.0], [1.0, 0.0]] * (layers // 2))
        self.couplings = nn.ModuleList(AffineCoupling(mask) for mask in masks)
        self.prior = prior

    def log_prob(self, x):
        log_det = x.new_zeros(x.shape[0])
        for coupling in reversed(self.couplings):
            x, log = coupling(x)
            log_det += log
        return self.prior.log_prob(x) + log_det

    def sample(self, count):
        z = self.prior.sample((count,))
        for coupling in self.couplings:
            z = coupling.inverse(z)
        return z


class Mixture(nn.Module):
    def __init__(self, components):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(components))
        self.means = nn.Parameter(torch.randn(components, 2))
        self.log_scales = nn.Parameter(torch.zeros(components, 2))

    def log_prob(self, x):
        parts = D.Independent(D.Normal(self.means, self.log_scales.exp()), 1)
        return D.MixtureSameFamily(D.Categorical(logits=self.logits), parts).log_prob(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(4)
    prior = D.MultivariateNormal(torch.zeros(2, device=args.device), torch.eye(2, device=args.device))
    flow, mixture = RealNVP(4, prior).to(args.device), Mixture(5).to(args.device)
    optimizer = torch.optim.Adamax([*flow.parameters(), *mixture.parameters()], lr=1e-2)
    angle = math.pi * torch.rand(20, 128)
    up = torch.rand(20, 128) < 0.5
    moons = torch.stack([torch.where(up, angle.cos(), 1 - angle.cos()), torch.where(up, angle.sin(), -angle.sin())], -1)
    for x in (moons + 0.1 * torch.randn_like(moons)).to(args.device):
        nll = -flow.log_prob(x).mean()
        loss = nll - mixture.log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"flow {nll.item():.4f} loss {loss.item()}")
    with torch.no_grad():
        print("samples", flow.sample(3).shape)


if __name__ == "__main__":
    main()
