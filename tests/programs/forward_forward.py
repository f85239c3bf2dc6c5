"""Train every layer of a network by itself, with a positive and a negative pass in place of backpropagation."""

import argparse

import torch
import torch.nn as nn
from torch.optim import Adam


def overlay_label(x, y, classes=10):
    """Write the label, one hot, over the first pixels."""
    x_ = x.clone()
    x_[:, :classes] *= 0.0
    x_[range(x.shape[0]), y] = x.max()
    return x_


class Layer(nn.Linear):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device, dtype)
        self.relu = nn.ReLU()
        self.opt = Adam(self.parameters(), lr=0.03)
        self.threshold = 1.5

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def train_step(self, x_pos, x_neg):
        g_pos = self.forward(x_pos).pow(2).mean(1)
        g_neg = self.forward(x_neg).pow(2).mean(1)
        loss = torch.log(1 + torch.exp(torch.cat([-g_pos + self.threshold, g_neg - self.threshold]))).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss


class Net(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = nn.ModuleList(Layer(a, b) for a, b in zip(dims[:-1], dims[1:]))

    @torch.no_grad()
    def predict(self, x):
        goodness_per_label = []
        for label in range(10):
            h = overlay_label(x, torch.full((x.shape[0],), label, dtype=torch.long, device=x.device))
            goodness = []
            for layer in self.layers:
                h = layer(h)
                goodness += [h.pow(2).mean(1)]
            goodness_per_label += [sum(goodness).unsqueeze(1)]
        return torch.cat(goodness_per_label, 1).argmax(1)

    def train_all(self, x_pos, x_neg, epochs):
        h_pos, h_neg = x_pos, x_neg
        for number, layer in enumerate(self.layers):
            for _ in range(epochs):
                loss = layer.train_step(h_pos, h_neg)
                print("layer", number, "loss", loss.item())
            h_pos, h_neg = layer(h_pos).detach(), layer(h_neg).detach()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(1234)

    templates = torch.rand(10, 100)
    y = torch.randint(0, 10, (200,))
    x = (templates[y] + 0.1 * torch.randn(200, 100)).clamp(0, 1)
    x_pos = overlay_label(x, y)
    x_neg = overlay_label(x, y[torch.randperm(x.size(0))])

    net = Net([100, 64, 64]).to(args.device)
    net.train_all(x_pos.to(args.device), x_neg.to(args.device), epochs=10)
    error = 1.0 - net.predict(x.to(args.device)).cpu().eq(y).double().mean().item()
    print("train error:", error)
