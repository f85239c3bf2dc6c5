"""REINFORCE with a Gaussian policy: push a point to the middle of a line."""

import argparse
from collections import deque
from itertools import count

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(2, 16)
        self.dropout = nn.Dropout(p=0.1)
        self.mean = nn.Linear(16, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return Normal(torch.tanh(self.mean(x)), F.softplus(self.log_std))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gamma", type=float, default=0.9)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(10)
    policy = Policy().to(args.device)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-2)
    for episode in count(1):
        position, speed = 1.0, 0.0
        log_probs, rewards, entropies = [], [], []
        for _ in range(8):
            pi = policy(torch.as_tensor([position, speed], device=args.device).to(torch.get_default_dtype()))
            action = pi.sample()
            log_probs.append(pi.log_prob(action))
            entropies.append(pi.entropy())
            speed = 0.9 * speed + 0.1 * max(-1.0, min(1.0, action.item()))
            position += speed
            rewards.append(-abs(position))
        returns = deque()
        R = 0.0
        for r in reversed(rewards):
            R = r + args.gamma * R
            returns.appendleft(R)
        returns = torch.tensor(list(returns), device=args.device)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        policy_loss = torch.cat([-p * r for p, r in zip(log_probs, returns)]).sum() - 0.01 * torch.cat(entropies).sum()
        optimizer.zero_grad()
        policy_loss.backward()
        optimizer.step()
        print(f"Episode {episode}\treward {sum(rewards):.3f}\tloss {policy_loss.item()}")
        if episode == 20:
            break


if __name__ == "__main__":
    main()
