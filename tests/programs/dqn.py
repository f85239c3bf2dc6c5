"""Deep Q-learning with a replay memory and a target network that follows slowly."""

import argparse
import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 32)
        self.layer2 = nn.Linear(32, 32)
        self.layer3 = nn.Linear(32, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


class Corridor:
    """Walk to the end of a corridor; the walk ends after twelve steps."""

    def reset(self):
        self.position, self.steps = 2, 0
        return self.observe()

    def observe(self):
        return [self.position / 6, math.sin(self.position), self.steps / 12]

    def step(self, action):
        self.position = max(0, self.position + (1 if action else -1))
        self.steps += 1
        return self.observe(), float(self.position == 6), self.position == 6 or self.steps == 12


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()
device = torch.device(args.device)
random.seed(33)
torch.manual_seed(33)
BATCH_SIZE, GAMMA, TAU, LR = 16, 0.95, 0.05, 5e-3

policy_net = DQN(3, 2).to(device)
target_net = DQN(3, 2).to(device)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
memory = ReplayMemory(200)
env = Corridor()
steps_done = losses = 0


def select_action(state):
    eps_threshold = 0.1 + 0.8 * math.exp(-1.0 * steps_done / 20)
    if random.random() > eps_threshold:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randint(0, 1)]], device=device, dtype=torch.long)


def optimize_model():
    transitions = memory.sample(BATCH_SIZE)
    batch = Transition(*zip(*transitions))
    non_final_mask = torch.tensor(tuple(s is not None for s in batch.next_state), device=device, dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH_SIZE, device=device)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected_state_action_values = (next_state_values * GAMMA) + reward_batch
    criterion = nn.SmoothL1Loss()
    loss = criterion(state_action_values, expected_state_action_values.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss


while losses < 20:
    state = torch.tensor(env.reset(), device=device).unsqueeze(0)
    done = False
    while not done and losses < 20:
        action = select_action(state)
        steps_done += 1
        observation, reward, done = env.step(action.item())
        reward = torch.tensor([reward], device=device)
        next_state = None if done else torch.tensor(observation, device=device).unsqueeze(0)
        memory.push(state, action, next_state, reward)
        state = next_state
        if len(memory) < BATCH_SIZE:
            continue
        loss = optimize_model()
        losses += 1
        target_net_state_dict = target_net.state_dict()
        policy_net_state_dict = policy_net.state_dict()
        for key in policy_net_state_dict:
            target_net_state_dict[key] = policy_net_state_dict[key] * TAU + target_net_state_dict[key] * (1 - TAU)
        target_net.load_state_dict(target_net_state_dict)
        print("optimization", losses, "loss", loss.item())
