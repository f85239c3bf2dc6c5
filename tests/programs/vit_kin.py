"""Kin of the vision transformer, each trained for two steps: other tokens, other mixers, other heads.

With sine positions, with a distillation token, with layer scale and talking heads, with shifted windows, with
convolutional tokens and pooling over the sequence, with convolutional projections, with two scales, with rotary
positions, a masked autoencoder, an MLP mixer, and one that only pools.
"""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.init import trunc_normal_

SIZE, PATCH, DIM, CLASSES = 16, 4, 24, 5
GRID = SIZE // PATCH


class Mlp(nn.Module):
    def __init__(self, dim, hidden, out=None, act_layer=nn.GELU):
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Linear(dim, hidden), act_layer(), nn.Linear(hidden, out or dim)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class DropPath(nn.Module):
    """Drop whole paths of samples (stochastic depth)."""

    def __init__(self, drop_prob=0.0):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        if self.drop_prob == 0.0 or not self.training:
            return x
        keep_prob = 1 - self.drop_prob
        shape = (x.shape[0],) + (1,) * (x.ndim - 1)
        random_tensor = keep_prob + torch.rand(shape, dtype=x.dtype, device=x.device)
        random_tensor.floor_()
        return x.div(keep_prob) * random_tensor


class Attention(nn.Module):
    def __init__(self, dim, num_heads=3, talking=False, rotary=False):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=True)
        self.proj = nn.Linear(dim, dim)
        self.before = nn.Conv2d(num_heads, num_heads, 1) if talking else nn.Identity()
        self.after = nn.Conv2d(num_heads, num_heads, 1) if talking else nn.Identity()
        self.rotary = rotary

    def forward(self, x, bias=None):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4).unbind(0)
        if self.rotary:
            q, k = apply_rotary(q), apply_rotary(k)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        if bias is not None:
            attn = attn + bias
        attn = self.after(self.before(attn).softmax(dim=-1))
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x)


def apply_rotary(x):
    """Turn pairs of channels by an angle that grows with the position."""
    n, d = x.shape[-2:]
    inv_freq = 1.0 / (100 ** (torch.arange(0, d, 2, device=x.device).to(x.dtype) / d))
    angle = torch.outer(torch.arange(n, device=x.device, dtype=x.dtype), inv_freq).repeat_interleave(2, dim=-1)
    x1, x2 = x[..., ::2], x[..., 1::2]
    rotated = torch.stack((-x2, x1), dim=-1).flatten(-2)
    return x * angle.cos() + rotated * angle.sin()


class Block(nn.Module):
    def __init__(self, dim, init_values=None, drop_path=0.0, **kwargs):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attn, self.mlp = Attention(dim, **kwargs), Mlp(dim, dim * 2)
        self.drop_path = DropPath(drop_path) if drop_path > 0.0 else nn.Identity()
        self.gamma_1 = nn.Parameter(init_values * torch.ones(dim)) if init_values else 1.0
        self.gamma_2 = nn.Parameter(init_values * torch.ones(dim)) if init_values else 1.0

    def forward(self, x):
        x = x + self.drop_path(self.gamma_1 * self.attn(self.norm1(x)))
        return x + self.drop_path(self.gamma_2 * self.mlp(self.norm2(x)))


class PatchEmbed(nn.Module):
    def __init__(self, patch=PATCH, dim=DIM):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, kernel_size=patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


def posemb_sincos_2d(h, w, dim, temperature: int = 10000):
    y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    omega = torch.arange(dim // 4) / (dim // 4 - 1)
    omega = 1.0 / (temperature**omega)
    y = y.flatten()[:, None] * omega[None, :]
    x = x.flatten()[:, None] * omega[None, :]
    return torch.cat((x.sin(), x.cos(), y.sin(), y.cos()), dim=1)


def init_weights(m):
    if isinstance(m, nn.Linear):
        trunc_normal_(m.weight, std=0.02)
        if m.bias is not None:
            nn.init.constant_(m.bias, 0)
    elif isinstance(m, nn.LayerNorm):
        nn.init.constant_(m.bias, 0)
        nn.init.constant_(m.weight, 1.0)


class SimpleViT(nn.Module):
    def __init__(self, rotary=False):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.register_buffer("pos", posemb_sincos_2d(GRID, GRID, DIM), persistent=False)
        self.blocks = nn.Sequential(*[Block(DIM, rotary=rotary) for _ in range(2)])
        self.head = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, CLASSES))
        self.rotary = rotary
        self.apply(init_weights)

    def forward(self, x):
        x = self.patch_embed(x)
        x = x if self.rotary else x + self.pos
        return self.head(self.blocks(x).mean(dim=1))


class DistilledViT(nn.Module):
    """A class token and a distillation token, each with a head of its own."""

    def __init__(self):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, DIM))
        self.dist_token = nn.Parameter(torch.zeros(1, 1, DIM))
        self.pos_embed = nn.Parameter(torch.zeros(1, GRID**2 + 2, DIM))
        for token in (self.cls_token, self.dist_token, self.pos_embed):
            trunc_normal_(token, std=0.02)
        self.blocks = nn.Sequential(*[Block(DIM, drop_path=rate.item()) for rate in torch.linspace(0, 0.2, 2)])
        self.norm = nn.LayerNorm(DIM)
        self.head, self.head_dist = nn.Linear(DIM, CLASSES), nn.Linear(DIM, CLASSES)

    def forward(self, x):
        x = self.patch_embed(x)
        tokens = [token.expand(x.shape[0], -1, -1) for token in (self.cls_token, self.dist_token)]
        x = self.norm(self.blocks(torch.cat((*tokens, x), dim=1) + self.pos_embed))
        return self.head(x[:, 0]), self.head_dist(x[:, 1])


class CaiT(nn.Module):
    """Layer scale, talking heads, and a class token that comes late."""

    def __init__(self):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.blocks = nn.ModuleList([Block(DIM, init_values=1e-1, talking=True) for _ in range(2)])
        self.cls_token = nn.Parameter(torch.randn(1, 1, DIM) * 0.02)
        self.class_attention = nn.MultiheadAttention(DIM, 3, batch_first=True)
        self.norm, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, CLASSES)

    def forward(self, x):
        x = self.patch_embed(x)
        for block in self.blocks:
            x = block(x)
        token = self.cls_token.expand(len(x), -1, -1)
        context = self.norm(torch.cat((token, x), dim=1))
        token = token + self.class_attention(context[:, :1], context, context, need_weights=True)[0]
        return self.head(token[:, 0])


def window_partition(x, window_size):
    B, H, W, C = x.shape
    x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size**2, C)


def window_reverse(windows, window_size, H, W):
    B = int(windows.shape[0] / (H * W / window_size / window_size))
    x = windows.view(B, H // window_size, W // window_size, window_size, window_size, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)


class SwinBlock(nn.Module):
    def __init__(self, dim, resolution, window, shift, heads=3):
        super().__init__()
        self.resolution, self.window, self.shift = resolution, window, shift
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn, self.mlp = Attention(dim, heads), Mlp(dim, 2 * dim)
        self.relative_position_bias_table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        trunc_normal_(self.relative_position_bias_table, std=0.02)
        coords = torch.stack(torch.meshgrid([torch.arange(window), torch.arange(window)], indexing="ij")).flatten(1)
        relative = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0).contiguous() + window - 1
        relative[:, :, 0] *= 2 * window - 1
        self.register_buffer("relative_position_index", relative.sum(-1))
        attn_mask = None
        if shift > 0:
            img_mask = torch.zeros((1, resolution, resolution, 1))
            slices = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
            for count, (h, w) in enumerate((h, w) for h in slices for w in slices):
                img_mask[:, h, w, :] = count
            mask_windows = window_partition(img_mask, window).squeeze(-1)
            attn_mask = mask_windows.unsqueeze(1) - mask_windows.unsqueeze(2)
            attn_mask = attn_mask.masked_fill(attn_mask != 0, -100.0).masked_fill(attn_mask == 0, 0.0)
        self.register_buffer("attn_mask", attn_mask)

    def forward(self, x):
        H = W = self.resolution
        B, L, C = x.shape
        shortcut = x
        x = self.norm1(x).view(B, H, W, C)
        if self.shift > 0:
            x = torch.roll(x, shifts=(-self.shift, -self.shift), dims=(1, 2))
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        bias = bias.view(self.window**2, self.window**2, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
        if self.attn_mask is not None:
            bias = bias + self.attn_mask.unsqueeze(1).repeat(B, 1, 1, 1)
        x = window_reverse(self.attn(window_partition(x, self.window), bias), self.window, H, W)
        if self.shift > 0:
            x = torch.roll(x, shifts=(self.shift, self.shift), dims=(1, 2))
        x = shortcut + x.view(B, L, C)
        return x + self.mlp(self.norm2(x))


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.layers = nn.Sequential(SwinBlock(DIM, GRID, 2, 0), SwinBlock(DIM, GRID, 2, 1))
        self.reduction = nn.Linear(4 * DIM, 2 * DIM, bias=False)
        self.norm = nn.LayerNorm(4 * DIM)
        self.avgpool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(2 * DIM, CLASSES)

    def forward(self, x):
        x = self.layers(self.patch_embed(x)).view(-1, GRID, GRID, DIM)
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        x = self.reduction(self.norm(x.flatten(1, 2)))
        return self.head(torch.flatten(self.avgpool(x.transpose(1, 2)), 1))


class CompactTransformer(nn.Module):
    """Convolutions make the tokens; a learned average over the sequence takes the place of the class token."""

    def __init__(self):
        super().__init__()
        self.tokenizer = nn.Sequential(
            nn.Conv2d(3, DIM, 3, padding=1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Flatten(2, 3)
        )
        self.positional_emb = nn.Parameter(torch.empty(1, 64, DIM))
        nn.init.trunc_normal_(self.positional_emb, std=0.2)
        layer = nn.TransformerEncoderLayer(
            DIM, 3, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, 1, norm=nn.LayerNorm(DIM), enable_nested_tensor=False)
        self.attention_pool = nn.Linear(DIM, 1)
        self.fc = nn.Linear(DIM, CLASSES)

    def forward(self, x):
        x = self.blocks(self.tokenizer(x).transpose(-2, -1) + self.positional_emb)
        x = torch.matmul(F.softmax(self.attention_pool(x), dim=1).transpose(-1, -2), x).squeeze(-2)
        return self.fc(x)


class CvT(nn.Module):
    """Queries, keys and values come from depthwise convolutions."""

    def __init__(self, heads=3):
        super().__init__()
        self.embed = nn.Conv2d(3, DIM, 7, 4, 3)
        self.convs = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(DIM, DIM, 3, stride, 1, groups=DIM, bias=False),
                nn.BatchNorm2d(DIM),
                nn.Conv2d(DIM, DIM, 1, bias=False),
            )
            for stride in (1, 2, 2)
        )
        self.heads = heads
        self.to_out = nn.Conv2d(DIM, DIM, 1)
        self.mlp_head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(DIM, CLASSES))

    def forward(self, x):
        x = self.embed(x)
        x = F.layer_norm(x.permute(0, 2, 3, 1), (DIM,)).permute(0, 3, 1, 2)
        q, k, v = (conv(x).unflatten(1, (self.heads, -1)).flatten(3).mT for conv in self.convs)
        out = F.scaled_dot_product_attention(q, k, v).mT.flatten(1, 2).view_as(x)
        return self.mlp_head(x + self.to_out(out))


class CrossViT(nn.Module):
    """Two sizes of patches, whose class tokens look at the other's patches."""

    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleDict({"small": PatchEmbed(4, DIM), "large": PatchEmbed(8, DIM)})
        self.tokens = nn.ParameterDict({name: nn.Parameter(torch.randn(1, 1, DIM)) for name in self.branches})
        self.blocks = nn.ModuleDict({name: Block(DIM) for name in self.branches})
        self.cross = nn.MultiheadAttention(DIM, 3, batch_first=True, bias=False)
        self.heads = nn.ModuleDict({name: nn.Linear(DIM, CLASSES) for name in self.branches})

    def forward(self, x):
        seen = {}
        for name, embed in self.branches.items():
            patches = embed(x)
            tokens = self.tokens[name].expand(patches.size(0), -1, -1)
            seen[name] = self.blocks[name](torch.cat([tokens, patches], dim=1))
        logits = []
        for ours, theirs in (("small", "large"), ("large", "small")):
            token = seen[ours][:, :1]
            other = torch.cat([token, seen[theirs][:, 1:]], dim=1)
            logits.append(self.heads[ours]((token + self.cross(token, other, other)[0]).squeeze(1)))
        return sum(logits)


class MaskedAutoencoder(nn.Module):
    def __init__(self, mask_ratio=0.5):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.pos = nn.Parameter(posemb_sincos_2d(GRID, GRID, DIM)[None], requires_grad=False)
        self.encoder, self.decoder = Block(DIM), Block(DIM)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, DIM))
        self.pred = nn.Linear(DIM, PATCH**2 * 3)
        self.mask_ratio = mask_ratio
        nn.init.normal_(self.mask_token, std=0.02)

    def forward(self, imgs):
        x = self.patch_embed(imgs) + self.pos
        N, L, D = x.shape
        len_keep = int(L * (1 - self.mask_ratio))
        noise = torch.rand(N, L, device=x.device)
        ids_shuffle = torch.argsort(noise, dim=1)
        ids_restore = torch.argsort(ids_shuffle, dim=1)
        x = torch.gather(x, 1, ids_shuffle[:, :len_keep].unsqueeze(-1).repeat(1, 1, D))
        mask = torch.ones([N, L], device=x.device)
        mask[:, :len_keep] = 0
        mask = torch.gather(mask, dim=1, index=ids_restore)
        x = self.encoder(x)
        x = torch.cat([x, self.mask_token.repeat(N, L - len_keep, 1)], dim=1)
        x = torch.gather(x, 1, ids_restore.unsqueeze(-1).expand(-1, -1, D)) + self.pos
        pred = self.pred(self.decoder(x))
        target = imgs.reshape(N, 3, GRID, PATCH, GRID, PATCH)
        target = torch.einsum("nchpwq->nhwpqc", target).reshape(N, L, PATCH**2 * 3)
        target = (target - target.mean(dim=-1, keepdim=True)) / (target.var(dim=-1, keepdim=True) + 1.0e-6) ** 0.5
        loss = ((pred - target) ** 2).mean(dim=-1)
        return (loss * mask).sum() / mask.sum()


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = PatchEmbed()
        self.norms = nn.ModuleList([nn.LayerNorm(DIM) for _ in range(3)])
        self.tokens, self.channels = Mlp(GRID**2, 32), Mlp(DIM, 48, act_layer=nn.Mish)
        self.head = nn.Linear(DIM, CLASSES)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norms[1](x))
        return self.head(self.norms[2](x).mean(1))


class PoolFormer(nn.Module):
    """The mixer of tokens is an average over neighbours."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(3, DIM, 3, 2, 1)
        self.norm1, self.norm2 = nn.GroupNorm(1, DIM), nn.GroupNorm(1, DIM)
        self.pool = nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
        self.mlp = nn.Sequential(nn.Conv2d(DIM, 48, 1), nn.Hardswish(), nn.Conv2d(48, DIM, 1))
        self.layer_scale = nn.Parameter(0.1 * torch.ones(DIM))
        self.head = nn.Linear(DIM, CLASSES)

    def forward(self, x):
        x = self.embed(x)
        y = self.norm1(x)
        x = x + self.layer_scale.unsqueeze(-1).unsqueeze(-1) * (self.pool(y) - y)
        x = x + self.mlp(self.norm2(x))
        return self.head(x.mean([-2, -1]))


def loss_of(output, labels):
    if isinstance(output, tuple):  # one head learns the labels, the other from the first, as from a teacher
        hard, soft = output
        teacher = hard.detach() / 2
        divergence = F.kl_div(
            F.log_softmax(soft / 2, dim=1), F.log_softmax(teacher, dim=1), reduction="sum", log_target=True
        )
        return F.cross_entropy(hard, labels) + divergence * 4 / soft.numel()
    return output if output.dim() == 0 else F.cross_entropy(output, labels)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(256)
    prototypes = torch.randn(CLASSES, 3, SIZE, SIZE)
    kin = [SimpleViT, lambda: SimpleViT(rotary=True), DistilledViT, CaiT, Swin, CompactTransformer, CvT, CrossViT]
    for make in [*kin, MaskedAutoencoder, Mixer, PoolFormer]:
        model = make().to(args.device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3 * math.sqrt(10), betas=(0.9, 0.95))
        for _ in range(2):
            labels = torch.randint(0, CLASSES, (12,))
            images = prototypes[labels] + torch.randn(12, 3, SIZE, SIZE)
            loss = loss_of(model(images.to(args.device)), labels.to(args.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(type(model).__name__, "loss", loss.item())
