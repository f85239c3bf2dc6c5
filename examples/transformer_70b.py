"""Train a transformer of 70 billion parameters, of the shape of Llama 2 70B, on random words.

It fits no single card.  `flambeau fit` reports the memory that it needs, and how many layers fit a card:

    flambeau fit --card h200 examples/transformer_70b.py
    flambeau fit --card h200 --batch-option=--layers examples/transformer_70b.py
"""

import argparse

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F

WIDTH, HEADS, GROUPS, INNER, WORDS = 8192, 64, 8, 28672, 32000
SIDE = WIDTH // HEADS  # the width of a head


class Layer(nn.Module):
    """Grouped-query attention, and a gated feed-forward network (SwiGLU)."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2))
        self.query, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(WIDTH, GROUPS * SIDE, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(WIDTH, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norms[0](x)
        query, key, value = (f(y).unflatten(-1, (-1, SIDE)).transpose(1, 2) for f in (self.query, self.key, self.value))
        key, value = (each.repeat_interleave(HEADS // GROUPS, 1) for each in (key, value))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        y = self.norms[1](x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--layers", type=int, default=80)
parser.add_argument("--batch-size", type=int, default=1)
parser.add_argument("--length", type=int, default=4096, help="words of each text")
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--on-cpu-first", action="store_true", help="create the model on the CPU, then move it")
args = parser.parse_args()

torch.set_default_dtype(torch.bfloat16)
with torch.device("cpu" if args.on_cpu_first else "cuda"):
    layers = [Layer() for _ in range(args.layers)]
    net = nn.Sequential(nn.Embedding(WORDS, WIDTH), *layers, nn.RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False))
net.cuda()
print(f"{sum(each.numel() for each in net.parameters()) / 1e9:.1f} billion parameters")
optimizer = optim.AdamW(net.parameters(), fused=True)
for step in range(args.steps):
    words = torch.randint(WORDS, (args.batch_size, args.length + 1), device="cuda")
    loss = F.cross_entropy(net(words[:, :-1]).float().flatten(0, 1), words[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.3f}")
