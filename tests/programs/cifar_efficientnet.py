"""EfficientNet in small: squeeze and excitation, SiLU, stochastic depth, and an average of the weights."""

import argparse
import copy
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F

BatchNorm = partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)


def drop_connect(x, drop_ratio):
    """Drop whole samples of a batch, in place."""
    keep_ratio = 1.0 - drop_ratio
    mask = torch.empty([x.shape[0], 1, 1, 1], dtype=x.dtype, device=x.device)
    mask.bernoulli_(keep_ratio)
    x.div_(keep_ratio)
    x.mul_(mask)
    return x


class SE(nn.Module):
    def __init__(self, in_channels, se_channels):
        super().__init__()
        self.se1 = nn.Conv2d(in_channels, se_channels, kernel_size=1, bias=True)
        self.se2 = nn.Conv2d(se_channels, in_channels, kernel_size=1, bias=True)

    def forward(self, x):
        out = F.adaptive_avg_pool2d(x, (1, 1))
        out = F.silu(self.se1(out))
        return x * self.se2(out).sigmoid()


class Block(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, expand_ratio=1, se_ratio=0.25, drop_rate=0.0):
        super().__init__()
        self.drop_rate = drop_rate
        channels = expand_ratio * in_channels
        self.expand = nn.Sequential(nn.Conv2d(in_channels, channels, 1, bias=False), BatchNorm(channels), nn.SiLU())
        padding = 1 if kernel_size == 3 else 2
        self.depthwise = nn.Sequential(
            nn.Conv2d(channels, channels, kernel_size, stride, padding, groups=channels, bias=False),
            BatchNorm(channels),
            nn.SiLU(),
        )
        self.se = SE(channels, max(1, int(in_channels * se_ratio)))
        self.project = nn.Sequential(nn.Conv2d(channels, out_channels, 1, bias=False), BatchNorm(out_channels))
        self.has_skip = stride == 1 and in_channels == out_channels

    def forward(self, x):
        out = self.project(self.se(self.depthwise(self.expand(x))))
        if self.has_skip:
            if self.training and self.drop_rate > 0:
                out = drop_connect(out, self.drop_rate)
            out = out + x
        return out


class EfficientNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1, bias=False), BatchNorm(8), nn.SiLU())
        self.blocks = nn.Sequential(
            Block(8, 8, 3, 1, expand_ratio=1, drop_rate=0.1),
            Block(8, 12, 3, 2, expand_ratio=4),
            Block(12, 12, 5, 1, expand_ratio=4, drop_rate=0.2),
            Block(12, 16, 5, 2, expand_ratio=4),
        )
        self.head = nn.Linear(16, num_classes)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.head(F.dropout(x.mean((-2, -1)), 0.2, self.training))


@torch.no_grad()
def update_ema(ema, model, decay=0.9):
    for ours, theirs in zip(ema.state_dict().values(), model.state_dict().values()):
        if ours.dtype.is_floating_point:
            ours.mul_(decay).add_(theirs, alpha=1 - decay)
        else:
            ours.copy_(theirs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(8)
    prototypes = torch.randn(10, 3, 16, 16)
    model = EfficientNet().to(args.device)
    ema = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=20)
    for step in range(20):
        target = torch.randint(10, (24,))
        data = (prototypes[target] + 0.5 * torch.randn(24, 3, 16, 16)).to(args.device)
        loss = F.cross_entropy(model(data), target.to(args.device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        update_ema(ema, model)
        print(step, "loss", loss.item())
    ema.eval()
    with torch.inference_mode():
        print("mean of the averaged model's answers", ema(data).softmax(-1).amax(-1).mean().item())
