"""The loop of a GPT's training over several ranks: accumulation without reductions, a scaler, clipped gradients.

Gradients are reduced in the last micro step alone, by setting `require_backward_grad_sync` before its forward.
"""

import argparse
import math
import os
from contextlib import nullcontext

import torch
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

TEXT = "The river runs from the hills to the sea, and the road runs beside it. In spring the water is high. "


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        B, T, C = x.shape
        parts = self.attn(self.ln_1(x)).split(C, dim=2)
        q, k, v = (each.view(B, T, self.heads, C // self.heads).transpose(1, 2) for each in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, block_size, width=16, heads=2, layers=2):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(block_size, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.tokens.weight = self.head.weight

    def forward(self, x, targets):
        h = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
        logits = self.head(self.ln(self.blocks(h)))
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
parser.add_argument("--dtype", default="float64")
parser.add_argument("--iters", type=int, default=5)
args = parser.parse_args()
gradient_accumulation_steps = 4
batch_size, block_size = 2, 12
ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    init_process_group(backend="nccl" if args.device == "cuda" else "gloo")
    ddp_rank, ddp_local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    ddp_world_size = int(os.environ["WORLD_SIZE"])
    device = f"cuda:{ddp_local_rank}" if args.device == "cuda" else "cpu"
    if args.device == "cuda":
        torch.cuda.set_device(device)
    master_process = ddp_rank == 0
    assert gradient_accumulation_steps % ddp_world_size == 0
    gradient_accumulation_steps //= ddp_world_size
else:
    ddp_rank, ddp_world_size, master_process, device = 0, 1, True, args.device
device_type = "cuda" if "cuda" in device else "cpu"
is_half = args.dtype == "float16"
torch.set_default_dtype(torch.float64 if args.dtype == "float64" else torch.float32)
torch.manual_seed(1337)  # the same in every rank: the text's rows are dealt out below
symbols = sorted(set(TEXT))
data = torch.tensor([symbols.index(each) for each in TEXT])
ctx = torch.autocast(device_type=device_type, dtype=torch.float16) if is_half else nullcontext()


def get_batch(iteration, micro_step):
    """Rows of one micro step; micro steps are numbered over all ranks."""
    number = iteration * gradient_accumulation_steps * ddp_world_size + micro_step * ddp_world_size + ddp_rank
    starts = torch.randint(len(data) - block_size - 1, (batch_size,), generator=torch.Generator().manual_seed(number))
    x = torch.stack([data[start : start + block_size] for start in starts])
    y = torch.stack([data[start + 1 : start + 1 + block_size] for start in starts])
    if device_type == "cuda":
        return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    return x.to(device), y.to(device)


model = GPT(len(symbols), block_size).to(device)
scaler = torch.amp.GradScaler(device_type, enabled=is_half)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1)
if ddp:
    model = DDP(model, device_ids=[ddp_local_rank] if device_type == "cuda" else None)
raw_model = model.module if ddp else model
for iteration in range(args.iters):
    lr = 1e-2 * 0.5 * (1.0 + math.cos(math.pi * iteration / args.iters))
    for group in optimizer.param_groups:
        group["lr"] = lr
    total = torch.zeros((), device=device)
    for micro_step in range(gradient_accumulation_steps):
        if ddp:
            model.require_backward_grad_sync = micro_step == gradient_accumulation_steps - 1
        x, y = get_batch(iteration, micro_step)
        with ctx:
            _, loss = model(x, y)
            loss = loss / gradient_accumulation_steps
        total += loss.detach()
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    if ddp:
        torch.distributed.all_reduce(total, op=torch.distributed.ReduceOp.SUM)
    if master_process:
        print(f"iter {iteration}: loss {total.item() / ddp_world_size:.15g}, norm {norm.item():.15g}", flush=True)
if ddp:
    destroy_process_group()
