"""Balance a pole with an actor and a critic that share a body; a small simulation stands for the environment."""

import argparse
import math
from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--gamma", type=float, default=0.99)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()
torch.manual_seed(543)
device = torch.device(args.device)
SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class CartPole:
    """A pole on a cart: four numbers of state, a push to the left or to the right."""

    def reset(self):
        self.state = [0.01, -0.02, 0.03, 0.01]
        return self.state

    def step(self, action):
        x, v, angle, w = self.state
        force = 10.0 if action == 1 else -10.0
        temp = (force + 0.05 * w * w * math.sin(angle)) / 1.1
        angular = (9.8 * math.sin(angle) - math.cos(angle) * temp) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        linear = temp - 0.05 * angular * math.cos(angle) / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * linear, angle + 0.02 * w, w + 0.02 * angular]
        return self.state, 1.0, abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


env = CartPole()
model = Policy().to(device)
optimizer = optim.Adam(model.parameters(), lr=3e-2)
eps = torch.finfo(torch.get_default_dtype()).eps


def select_action(state):
    state = torch.tensor(state, device=device)
    probs, state_value = model(state)
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item()


def finish_episode():
    R = 0
    policy_losses, value_losses, returns = [], [], []
    for r in model.rewards[::-1]:
        R = r + args.gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns, device=device)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, R.reshape(1)))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss


running_reward = 10
for i_episode in range(20):
    state = env.reset()
    ep_reward = 0
    for _ in range(1, 25):
        state, reward, done = env.step(select_action(state))
        model.rewards.append(reward)
        ep_reward += reward
        if done:
            break
    running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
    loss = finish_episode()
    print(f"Episode {i_episode}\tlast reward: {ep_reward:.2f}\taverage: {running_reward:.2f}\tloss {loss.item()}")
