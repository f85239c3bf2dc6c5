"""Trains a GPT of GPT-2's form, 124M parameters by default, for some steps, and writes the time of one.

A window is several steps between two synchronisations; the figure is the fastest window's.  One batch is trained on, so
the loss falls.  The next batch is copied from pinned memory on a stream of its own, as a loader does.
"""

import argparse
import json
import time
from pathlib import Path

import flambeau as torch

nn = torch.nn
F = nn.functional


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm_1(x)).chunk(3, -1)
        query, key, value = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class GPT(nn.Module):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.places = nn.Embedding(options.context, options.width)
        self.blocks = nn.Sequential(*[Block(options.width, options.heads) for _ in range(options.layers)])
        self.norm = nn.LayerNorm(options.width)
        self.head = nn.Linear(options.width, options.vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.places(places))))


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (
        ("layers", 12), ("width", 768), ("heads", 12), ("context", 512), ("batch", 4), ("vocabulary", 50257),
        ("windows", 3), ("steps", 5),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--bf16", action="store_true", help="train under autocast")
    parser.add_argument("--out", metavar="FILE", required=True)
    options = parser.parse_args()

    torch.manual_seed(0)
    model = GPT(options).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    copies, main_stream = torch.cuda.Stream(), torch.cuda.current_stream()
    source = torch.randint(0, options.vocabulary, (options.batch, options.context + 1)).pin_memory()

    def fetched():
        with torch.cuda.stream(copies):
            return source.to("cuda", non_blocking=True)

    def step(batch):
        main_stream.wait_stream(copies)
        batch.record_stream(main_stream)
        following = fetched()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=options.bf16):
            logits = model(batch[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return following, loss

    batch, first = step(fetched())
    batch, _ = step(batch)
    torch.cuda.synchronize()
    windows, cpu = [], []
    for _ in range(options.windows):
        start, begun = time.perf_counter(), time.process_time()
        for _ in range(options.steps):
            batch, loss = step(batch)
        torch.cuda.synchronize()
        windows.append(1e3 * (time.perf_counter() - start) / options.steps)
        cpu.append(1e3 * (time.process_time() - begun) / options.steps)
    found = {"step_ms": min(windows), "cpu_ms": min(cpu), "windows_ms": windows, "loss": [first.item(), loss.item()]}
    Path(options.out).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
