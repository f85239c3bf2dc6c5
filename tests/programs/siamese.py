"""Two copies of one network learn whether two images are of the same class."""

import argparse
import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d((2, 2)),
        )
        self.fc = nn.Sequential(nn.Linear(16 * 4 * 2, 32), nn.ReLU(inplace=True), nn.Linear(32, 1))
        self.sigmoid = nn.Sigmoid()
        self.encoder.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.encoder(x)
        return output.view(output.size()[0], -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


class Pairs(Dataset):
    """Even indexes are pairs of one class, odd ones of two."""

    def __init__(self, count, classes=5):
        self.count = count
        self.templates = torch.randn(classes, 1, 12, 12)
        self.data = self.templates.repeat_interleave(8, dim=0) + 0.2 * torch.randn(classes * 8, 1, 12, 12)
        self.grouped = {label: torch.arange(label * 8, label * 8 + 8) for label in range(classes)}

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        first = random.randint(0, len(self.grouped) - 1)
        second = first
        while index % 2 and second == first:
            second = random.randint(0, len(self.grouped) - 1)
        image_1 = self.data[random.choice(self.grouped[first].tolist())].clone()
        image_2 = self.data[random.choice(self.grouped[second].tolist())].clone()
        target = torch.tensor(1 - index % 2, dtype=torch.get_default_dtype())
        return image_1, image_2, target


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    random.seed(3)
    torch.manual_seed(3)

    loader = DataLoader(Pairs(160), shuffle=True, batch_size=16)
    model = SiameseNetwork().to(args.device)
    criterion = nn.BCELoss()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(2):
        model.train()
        correct = 0
        for images_1, images_2, targets in loader:
            images_1, images_2 = images_1.to(args.device), images_2.to(args.device)
            targets = targets.to(args.device)
            optimizer.zero_grad()
            outputs = model(images_1, images_2).squeeze()
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            correct += torch.where(outputs > 0.5, 1, 0).eq(targets.view_as(outputs)).sum().item()
            print(f"epoch {epoch}, loss {loss.item()}")
        scheduler.step()
        print("lr", scheduler.get_last_lr()[0], "correct", correct)


if __name__ == "__main__":
    main()
