"""A DenseNet: every layer sees what all layers before it made."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Bottleneck(nn.Module):
    def __init__(self, in_planes, growth_rate):
        super(Bottleneck, self).__init__()
        self.bn1 = nn.BatchNorm2d(in_planes)
        self.conv1 = nn.Conv2d(in_planes, 4 * growth_rate, kernel_size=1, bias=False)
        self.bn2 = nn.BatchNorm2d(4 * growth_rate)
        self.conv2 = nn.Conv2d(4 * growth_rate, growth_rate, kernel_size=3, padding=1, bias=False)

    def forward(self, x):
        out = self.conv1(F.relu(self.bn1(x)))
        out = self.conv2(F.relu(self.bn2(out)))
        return torch.cat([out, x], 1)


class Transition(nn.Module):
    def __init__(self, in_planes, out_planes):
        super(Transition, self).__init__()
        self.bn = nn.BatchNorm2d(in_planes)
        self.conv = nn.Conv2d(in_planes, out_planes, kernel_size=1, bias=False)

    def forward(self, x):
        return F.avg_pool2d(self.conv(F.relu(self.bn(x))), 2)


class DenseNet(nn.Module):
    def __init__(self, block, nblocks, growth_rate=4, reduction=0.5, num_classes=10):
        super(DenseNet, self).__init__()
        num_planes = 2 * growth_rate
        stages = [nn.Conv2d(3, num_planes, kernel_size=3, padding=1, bias=False)]
        for stage, count in enumerate(nblocks):
            for _ in range(count):
                stages.append(block(num_planes, growth_rate))
                num_planes += growth_rate
            if stage < len(nblocks) - 1:
                out_planes = int(math.floor(num_planes * reduction))
                stages.append(Transition(num_planes, out_planes))
                num_planes = out_planes
        self.stages = nn.Sequential(*stages)
        self.bn = nn.BatchNorm2d(num_planes)
        self.linear = nn.Linear(num_planes, num_classes)

    def forward(self, x):
        out = F.adaptive_avg_pool2d(F.relu(self.bn(self.stages(x))), 1)
        return self.linear(out.squeeze(-1).squeeze(-1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(2024)
    labels = torch.randint(10, (160,))
    images = torch.randn(10, 3, 12, 12)[labels] + torch.randn(160, 3, 12, 12)
    loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)
    net = DenseNet(Bottleneck, [2, 2, 2]).to(args.device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, amsgrad=True)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min", patience=0)
    for epoch in range(2):
        total = 0.0
        for data, target in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(data.to(args.device)), target.to(args.device))
            loss.backward()
            nn.utils.clip_grad_value_(net.parameters(), 0.5)
            optimizer.step()
            total += loss.item()
            print("loss", loss.item())
        scheduler.step(total / len(loader))
        print("epoch", epoch, "mean", total / len(loader), "lr", optimizer.param_groups[0]["lr"])
