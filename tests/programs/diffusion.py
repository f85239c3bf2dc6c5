"""Denoising diffusion on points of two moons: a linear schedule, sine embeddings of time, sampling, an EMA."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half_dim = self.dim // 2
        emb = math.log(10000) / (half_dim - 1)
        emb = torch.exp(torch.arange(half_dim, device=x.device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, hidden=48, time_dim=16):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(time_dim), nn.Linear(time_dim, hidden), nn.SiLU())
        self.inp = nn.Linear(2, hidden)
        self.scale_shift = nn.Linear(hidden, 2 * hidden)
        self.norm = nn.GroupNorm(8, hidden)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, x, time):
        t = self.time_mlp(time)
        scale, shift = self.scale_shift(t).chunk(2, dim=1)
        return self.out(torch.addcmul(shift, self.norm(self.inp(x)), scale + 1))


def extract(a, t, x_shape):
    return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


class Diffusion(nn.Module):
    def __init__(self, model, timesteps=50):
        super().__init__()
        self.model = model
        self.num_timesteps = timesteps
        betas = torch.linspace(1e-4, 0.05, timesteps)
        alphas = 1.0 - betas
        alphas_cumprod = torch.cumprod(alphas, dim=0)
        alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
        self.register_buffer("betas", betas)
        self.register_buffer("sqrt_recip_alphas", alphas.rsqrt())
        self.register_buffer("sqrt_alphas_cumprod", alphas_cumprod.sqrt())
        self.register_buffer("sqrt_one_minus_alphas_cumprod", (1.0 - alphas_cumprod).sqrt())
        variance = betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)
        self.register_buffer("posterior_log_variance", variance.clamp(min=1e-20).log())

    def forward(self, x_start):
        t = torch.randint(0, self.num_timesteps, (x_start.shape[0],), device=x_start.device).long()
        noise = torch.randn_like(x_start)
        x = extract(self.sqrt_alphas_cumprod, t, x_start.shape) * x_start
        x = x + extract(self.sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise
        loss = F.smooth_l1_loss(self.model(x, t), noise, reduction="none")
        return loss.flatten(1).mean(dim=1).mean()

    @torch.inference_mode()
    def sample(self, count):
        device = self.betas.device
        x = torch.randn((count, 2), device=device)
        for i in reversed(range(self.num_timesteps)):
            t = torch.full((count,), i, device=device, dtype=torch.long)
            noise = self.model(x, t) * extract(self.betas, t, x.shape)
            mean = extract(self.sqrt_recip_alphas, t, x.shape) * (
                x - noise / extract(self.sqrt_one_minus_alphas_cumprod, t, x.shape)
            )
            x = mean
            if i > 0:
                x = x + (0.5 * extract(self.posterior_log_variance, t, x.shape)).exp() * torch.randn_like(x)
        return x


def two_moons(count):
    angle = torch.rand(count) * math.pi
    which = torch.rand(count) < 0.5
    x = torch.where(which, torch.cos(angle), 1 - torch.cos(angle))
    y = torch.where(which, torch.sin(angle), 0.5 - torch.sin(angle))
    return torch.stack([x, y], dim=1) + 0.05 * torch.randn(count, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(21)
    diffusion = Diffusion(Denoiser()).to(args.device)
    ema = AveragedModel(diffusion, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.Adam(diffusion.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.2, total_iters=5),
            torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=15),
        ],
        milestones=[5],
    )
    for step in range(20):
        loss = diffusion(two_moons(64).to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        ema.update_parameters(diffusion)
        print("step", step, "lr", scheduler.get_last_lr()[0], "loss", loss.item())
    print("samples:", ema.module.sample(16).mean(dim=0).tolist())
