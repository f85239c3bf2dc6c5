"""Train a small GPT on the characters of an English text, and generate text with it.

    python examples/char_gpt.py --plot losses.png               on a GPU if there is one, else on the CPU
    python examples/char_gpt.py --device cpu --save gpt.pt
    python examples/char_gpt.py --device cpu --resume gpt.pt --steps 600
"""

from collections.abc import Sequence

from training import Training, english, parser, windows

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F


def learning_rate(done: int) -> float:
    """Return the factor of the learning rate after `done` steps: it rises for 20 steps, then falls."""
    return min(1.0, (done + 1) / 20) * 0.997**done


class Block(nn.Module):
    """Causal self-attention and a two-layer network, each with a layer norm before and a residual connection."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.project = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.attention_norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.drop(self.project(mixed.transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.mlp(x))


class GPT(nn.Module):
    def __init__(self, vocabulary: int, context: int, width: int, heads: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self.initialize)
        self.head.weight = self.tokens.weight

    def initialize(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.blocks(self.tokens(tokens) + self.positions(places))
        logits: torch.Tensor = self.head(self.norm(x))
        return logits

    @torch.no_grad()
    def write(self, tokens: torch.Tensor, count: int, temperature: float = 0.8) -> torch.Tensor:
        """Append `count` tokens, each drawn from the distribution that the network predicts."""
        self.eval()
        for _ in range(count):
            logits = self(tokens[:, -self.context :])[:, -1] / temperature
            tokens = torch.cat([tokens, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        self.train()
        return tokens


def main(argv: Sequence[str] | None = None) -> list[float]:
    """Train, print generated text, and return the loss of every step."""
    options_of = parser("Train a small GPT on characters.", steps=300, batch_size=16)
    options_of.add_argument("--context", type=int, default=64, help="characters that the network sees at once")
    options_of.add_argument("--width", type=int, default=64)
    options_of.add_argument("--layers", type=int, default=2)
    options_of.add_argument("--characters", type=int, default=200, help="number of characters to generate")
    options = options_of.parse_args(argv)
    torch.manual_seed(options.seed)

    text = english(200_000)
    letters = sorted(set(text))
    number = {letter: index for index, letter in enumerate(letters)}
    tokens = torch.tensor([number[letter] for letter in text])

    net = GPT(len(letters), options.context, options.width, 4, options.layers, dropout=0.1).to(options.device)
    matrices = [param for param in net.parameters() if param.dim() >= 2]
    others = [param for param in net.parameters() if param.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.99))
    scheduler = optim.lr_scheduler.LambdaLR(optimizer, learning_rate)
    training = Training(options, {"net": net, "optimizer": optimizer, "scheduler": scheduler})

    def step() -> dict[str, torch.Tensor]:
        seen, next_ones = windows(tokens, options.context, options.batch_size)
        with training.autocast():
            logits = net(seen.to(options.device))
            loss = F.cross_entropy(logits.flatten(0, 1), next_ones.to(options.device).flatten())
        training.update(loss, optimizer, clipped=net.parameters())
        scheduler.step()
        return {"loss": loss}

    training.run(step)
    written = net.write(tokens[None, :16].to(options.device), options.characters)
    indexes: list[int] = written[0].tolist()
    print("".join(letters[index] for index in indexes))
    return training.losses["loss"]


if __name__ == "__main__":
    main()
