"""A vision transformer: patches, a class token, learned positions, pre-norm blocks."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


def pair(t):
    return t if isinstance(t, tuple) else (t, t)


class PatchEmbedding(nn.Module):
    def __init__(self, image_size, patch_size, channels, dim):
        super().__init__()
        self.patch_height, self.patch_width = pair(patch_size)
        patches = (image_size // self.patch_height) * (image_size // self.patch_width)
        patch_dim = channels * self.patch_height * self.patch_width
        self.norm1, self.proj, self.norm2 = nn.LayerNorm(patch_dim), nn.Linear(patch_dim, dim), nn.LayerNorm(dim)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.pos_embedding = nn.Parameter(torch.randn(1, patches + 1, dim))

    def forward(self, img):
        b, c, h, w = img.shape
        p1, p2 = self.patch_height, self.patch_width
        x = img.reshape(b, c, h // p1, p1, w // p2, p2).permute(0, 2, 4, 3, 5, 1).reshape(b, -1, p1 * p2 * c)
        x = self.norm2(self.proj(self.norm1(x)))
        x = torch.cat((self.cls_token.expand(b, -1, -1), x), dim=1)
        return x + self.pos_embedding[:, : x.shape[1]]


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(dim),
            nn.Linear(dim, hidden_dim),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_dim, dim),
            nn.Dropout(dropout),
        )

    def forward(self, x):
        return self.net(x)


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=8, dropout=0.0):
        super().__init__()
        inner_dim = dim_head * heads
        self.heads = heads
        self.scale = dim_head**-0.5
        self.norm = nn.LayerNorm(dim)
        self.attend = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)
        self.to_qkv = nn.Linear(dim, inner_dim * 3, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner_dim, dim), nn.Dropout(dropout))

    def forward(self, x):
        b, n, _ = x.shape
        qkv = self.to_qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = map(lambda t: t.reshape(b, n, self.heads, -1).transpose(1, 2), qkv)
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        attn = self.dropout(self.attend(dots))
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        return self.to_out(out.transpose(1, 2).flatten(2))


class ViT(nn.Module):
    def __init__(self, *, image_size, patch_size, num_classes, dim, depth, heads, mlp_dim, channels=3, dropout=0.0):
        super().__init__()
        self.embed = PatchEmbedding(image_size, patch_size, channels, dim)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(
                nn.ModuleList([Attention(dim, heads, dim // heads, dropout), FeedForward(dim, mlp_dim, dropout)])
            )
        self.norm = nn.LayerNorm(dim)
        self.to_latent = nn.Identity()
        self.mlp_head = nn.Linear(dim, num_classes)

    def forward(self, img):
        x = self.dropout(self.embed(img))
        for attn, ff in self.layers:
            x = attn(x) + x
            x = ff(x) + x
        return self.mlp_head(self.to_latent(self.norm(x)[:, 0]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(64)
    model = ViT(
        image_size=16, patch_size=4, num_classes=5, dim=24, depth=2, heads=3, mlp_dim=48, dropout=0.1
    ).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    prototypes = torch.randn(5, 3, 16, 16)
    for step in range(20):
        labels = torch.randint(0, 5, (24,))
        img = prototypes[labels] + torch.randn(24, 3, 16, 16)
        loss = F.cross_entropy(model(img.to(args.device)), labels.to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("step", step, "loss", loss.item())
