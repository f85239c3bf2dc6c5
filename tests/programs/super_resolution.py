"""Enlarge images with an efficient sub-pixel convolutional network (PixelShuffle)."""

from __future__ import print_function

import argparse
from math import log10

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super(Net, self).__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)


class Waves(Dataset):
    """Smooth images of 24 by 24 pixels, and the same ones three times smaller."""

    def __init__(self, count):
        grid = torch.linspace(0, 6.0, 24)
        phase = torch.rand(count, 2, 1) * 6.0
        rows, columns = torch.sin(grid + phase[:, 0]), torch.cos(grid + phase[:, 1])
        self.target = (rows[:, :, None] * columns[:, None, :]).unsqueeze(1)

    def __getitem__(self, index):
        target = self.target[index]
        small = F.interpolate(target[None], scale_factor=1 / 3, mode="bilinear", align_corners=False)[0]
        return small, target

    def __len__(self):
        return self.target.size(0)


parser = argparse.ArgumentParser(description="super resolution")
parser.add_argument("--upscale_factor", type=int, default=3)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
opt = parser.parse_args()
torch.manual_seed(123)
device = torch.device(opt.device)

train_loader = DataLoader(dataset=Waves(40), batch_size=4, shuffle=True)
test_loader = DataLoader(dataset=Waves(8), batch_size=4, shuffle=False)
model = Net(upscale_factor=opt.upscale_factor).to(device)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)

for epoch in range(1, 3):
    epoch_loss = 0
    for iteration, batch in enumerate(train_loader, 1):
        input, target = batch[0].to(device), batch[1].to(device)
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
        print("epoch[{}]({}/{}): loss {}".format(epoch, iteration, len(train_loader), loss.item()))

    avg_psnr = 0
    with torch.no_grad():
        for batch in test_loader:
            input, target = batch[0].to(device), batch[1].to(device)
            mse = criterion(model(input), target)
            avg_psnr += 10 * log10(1 / mse.item())
    print("average PSNR: {:.4f} dB".format(avg_psnr / len(test_loader)))
