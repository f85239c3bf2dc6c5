"""Learn to learn sine waves: gradients through the steps of an inner loop."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

parser = argparse.ArgumentParser()
parser.add_argument("--inner", type=float, default=0.05)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()
torch.manual_seed(12)

net = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 1)).to(args.device)
meta_optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)


def sample_task(k=10):
    amplitude = torch.empty(1).uniform_(0.5, 3.0)
    phase = torch.rand(1) * math.pi
    x = torch.rand(2 * k, 1) * 10 - 5
    y = amplitude * torch.sin(x - phase)
    return x[:k].to(args.device), y[:k].to(args.device), x[k:].to(args.device), y[k:].to(args.device)


for iteration in range(20):
    meta_optimizer.zero_grad()
    meta_loss = 0.0
    for _ in range(3):
        x_spt, y_spt, x_qry, y_qry = sample_task()
        fast_weights = dict(net.named_parameters())
        for _ in range(2):
            loss = F.mse_loss(functional_call(net, fast_weights, (x_spt,)), y_spt)
            grads = torch.autograd.grad(loss, list(fast_weights.values()), create_graph=True)
            fast_weights = {n: w - args.inner * g for (n, w), g in zip(fast_weights.items(), grads)}
        meta_loss = meta_loss + F.mse_loss(functional_call(net, fast_weights, (x_qry,)), y_qry)
    meta_loss = meta_loss / 3
    meta_loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 10.0, norm_type=2.0)
    meta_optimizer.step()
    print("iteration", iteration, "loss", meta_loss.item())
