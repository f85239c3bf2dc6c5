"""A variational autoencoder: the reparametrization trick, and a sum of reconstruction error and divergence."""

from __future__ import print_function

import argparse

import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

parser = argparse.ArgumentParser(description="VAE")
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()
torch.manual_seed(1)
device = torch.device(args.device)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(144, 40)
        self.fc21 = nn.Linear(40, 6)
        self.fc22 = nn.Linear(40, 6)
        self.fc3 = nn.Linear(6, 40)
        self.fc4 = nn.Linear(40, 144)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 144))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 144), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


class Discs(torch.utils.data.IterableDataset):
    """Images of a disc somewhere."""

    def __init__(self, count):
        self.centres = 12 * torch.rand(count, 2)

    def __iter__(self):
        grid = torch.arange(12)
        for row, column in self.centres:
            distance = (grid[:, None] - row) ** 2 + (grid[None, :] - column) ** 2
            yield torch.exp(-distance / 8)[None], 0


train_loader = torch.utils.data.DataLoader(Discs(160), batch_size=args.batch_size)
test_loader = torch.utils.data.DataLoader(Discs(32), batch_size=args.batch_size)
model = VAE().to(device)
optimizer = optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(1, args.epochs + 1):
    model.train()
    train_loss = 0
    for data, _ in train_loader:
        data = data.to(device)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
        print("Train Epoch: {}\tloss: {}".format(epoch, loss.item() / len(data)))
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for data, _ in test_loader:
            data = data.to(device)
            test_loss += loss_function(*(model(data)[:1]), data, *model(data)[1:]).item()
        sample = model.decode(torch.randn(4, 6).to(device)).cpu()
    print("====> Test set: {:.4f}, sample {}".format(test_loss / 32, tuple(sample.view(4, 1, 12, 12).shape)))
