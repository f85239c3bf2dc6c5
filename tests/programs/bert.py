"""A small BERT: masked words and next-sentence prediction, with padding masks and a warm-up schedule."""

import argparse
import math
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F


class Config(NamedTuple):
    vocab_size: int = 40
    dim: int = 32
    n_layers: int = 2
    n_heads: int = 4
    dim_ff: int = 64
    max_len: int = 16
    n_segments: int = 2
    p_drop: float = 0.1


PAD, CLS, SEP, MASK = range(4)


def gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


class LayerNorm(nn.Module):
    """A layernorm with the epsilon inside of the square root."""

    def __init__(self, cfg, variance_epsilon=1e-12):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(cfg.dim))
        self.beta = nn.Parameter(torch.zeros(cfg.dim))
        self.variance_epsilon = variance_epsilon

    def forward(self, x):
        u = x.mean(-1, keepdim=True)
        s = (x - u).pow(2).mean(-1, keepdim=True)
        x = (x - u) / torch.sqrt(s + self.variance_epsilon)
        return self.gamma * x + self.beta


class Embeddings(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok_embed = nn.Embedding(cfg.vocab_size, cfg.dim)
        self.pos_embed = nn.Embedding(cfg.max_len, cfg.dim)
        self.seg_embed = nn.Embedding(cfg.n_segments, cfg.dim)
        self.norm = LayerNorm(cfg)
        self.drop = nn.Dropout(cfg.p_drop)

    def forward(self, x, seg):
        seq_len = x.size(1)
        pos = torch.arange(seq_len, dtype=torch.long, device=x.device)
        pos = pos.unsqueeze(0).expand_as(x)
        return self.drop(self.norm(self.tok_embed(x) + self.pos_embed(pos) + self.seg_embed(seg)))


class MultiHeadedSelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.proj_q, self.proj_k, self.proj_v = (nn.Linear(cfg.dim, cfg.dim) for _ in range(3))
        self.drop = nn.Dropout(cfg.p_drop)
        self.n_heads = cfg.n_heads

    def forward(self, x, mask):
        b, s, _ = x.shape
        q, k, v = (
            proj(x).view(b, s, self.n_heads, -1).transpose(1, 2) for proj in (self.proj_q, self.proj_k, self.proj_v)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scores -= 10000.0 * (1.0 - mask[:, None, None, :].to(scores.dtype))
        scores = self.drop(F.softmax(scores, dim=-1))
        return (scores @ v).transpose(1, 2).contiguous().view(b, s, -1)


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.attn = MultiHeadedSelfAttention(cfg)
        self.proj = nn.Linear(cfg.dim, cfg.dim)
        self.norm1, self.norm2 = LayerNorm(cfg), LayerNorm(cfg)
        self.fc1, self.fc2 = nn.Linear(cfg.dim, cfg.dim_ff), nn.Linear(cfg.dim_ff, cfg.dim)
        self.drop = nn.Dropout(cfg.p_drop)

    def forward(self, x, mask):
        h = self.norm1(x + self.drop(self.proj(self.attn(x, mask))))
        return self.norm2(h + self.drop(self.fc2(gelu(self.fc1(h)))))


class BertForPretraining(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = Embeddings(cfg)
        self.blocks = nn.ModuleList([Block(cfg) for _ in range(cfg.n_layers)])
        self.pooler = nn.Linear(cfg.dim, cfg.dim)
        self.classifier = nn.Linear(cfg.dim, 2)
        self.linear = nn.Linear(cfg.dim, cfg.dim)
        self.norm = LayerNorm(cfg)
        embed_weight = self.embed.tok_embed.weight
        n_vocab, n_dim = embed_weight.size()
        self.decoder = nn.Linear(n_dim, n_vocab, bias=False)
        self.decoder.weight = embed_weight
        self.decoder_bias = nn.Parameter(torch.zeros(n_vocab))

    def forward(self, input_ids, segment_ids, input_mask, masked_pos):
        h = self.embed(input_ids, segment_ids)
        for block in self.blocks:
            h = block(h, input_mask)
        pooled_h = torch.tanh(self.pooler(h[:, 0]))
        masked_pos = masked_pos[:, :, None].expand(-1, -1, h.size(-1))
        h_masked = torch.gather(h, 1, masked_pos)
        h_masked = self.norm(gelu(self.linear(h_masked)))
        return self.decoder(h_masked) + self.decoder_bias, self.classifier(pooled_h)


def make_batch(cfg, size, n_pred=3):
    """Sentences that count upwards; the second goes on where the first ended, or not."""
    length = torch.randint(9, cfg.max_len + 1, (size,))
    position = torch.arange(cfg.max_len)
    mask = (position[None] < length[:, None]).long()
    start, is_next = torch.randint(0, 36, (size, 1)), torch.randint(0, 2, (size,))
    segment = (position[None] >= 7).long().expand(size, -1) * mask
    jump = torch.randint(5, 20, (size, 1)) * (1 - is_next[:, None]) * segment
    ids = 4 + (start + position[None] + jump) % 36
    ids[:, 0], ids[:, 7] = CLS, SEP
    ids = torch.where(mask.bool(), ids, torch.full_like(ids, PAD))
    masked_pos = torch.rand(size, 8)[:, 1:7].argsort(dim=1)[:, :n_pred] + 1
    masked_ids = ids.gather(1, masked_pos)
    return ids.scatter(1, masked_pos, MASK), segment, mask, masked_pos, masked_ids, is_next


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()
torch.manual_seed(30)
cfg = Config()
model = BertForPretraining(cfg).to(args.device)
decay = [p for n, p in model.named_parameters() if not any(nd in n for nd in ("bias", "gamma", "beta"))]
no_decay = [p for n, p in model.named_parameters() if any(nd in n for nd in ("bias", "gamma", "beta"))]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=3e-3, eps=1e-6
)
warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
criterion1 = nn.CrossEntropyLoss(reduction="none")
criterion2 = nn.CrossEntropyLoss()
model.train()
for step in range(20):
    batch = [t.to(args.device) for t in make_batch(cfg, 16)]
    input_ids, segment_ids, input_mask, masked_pos, masked_ids, is_next = batch
    optimizer.zero_grad()
    logits_lm, logits_clsf = model(input_ids, segment_ids, input_mask, masked_pos)
    loss_lm = criterion1(logits_lm.transpose(1, 2), masked_ids).mean()
    loss_clsf = criterion2(logits_clsf, is_next)
    loss = loss_lm + loss_clsf
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    warmup.step()
    print(f"Iter {step} (words {loss_lm.item():5.3f}, sentences {loss_clsf.item():5.3f}) loss {loss.item()}")
