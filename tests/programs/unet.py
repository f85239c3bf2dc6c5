"""Segment discs in noise with a UNet, by cross entropy and the Dice coefficient; --amp for mixed precision."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, random_split


class DoubleConv(nn.Module):
    """(convolution => batch norm => ReLU) twice"""

    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(in_channels, out_channels))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.n_classes = n_classes
        self.inc = DoubleConv(n_channels, 8)
        self.down1 = Down(8, 16)
        self.down2 = Down(16, 16)
        self.up1 = Up(32, 8)
        self.up2 = Up(16, 8, bilinear=True)
        self.up3 = Up(8, 8, bilinear=False)
        self.down0 = nn.Conv2d(8, 4, 1)
        self.outc = nn.Conv2d(8, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up2(self.up1(x3, x2), x1)
        x = self.up3(F.max_pool2d(x, 2), self.down0(x))
        return self.outc(x)


def dice_coeff(input: Tensor, target: Tensor, reduce_batch_first: bool = False, epsilon: float = 1e-6):
    assert input.size() == target.size()
    sum_dim = (-1, -2) if input.dim() == 2 or not reduce_batch_first else (-1, -2, -3)
    inter = 2 * (input * target).sum(dim=sum_dim)
    sets_sum = input.sum(dim=sum_dim) + target.sum(dim=sum_dim)
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    return ((inter + epsilon) / (sets_sum + epsilon)).mean()


def dice_loss(input: Tensor, target: Tensor):
    return 1 - dice_coeff(input.flatten(0, 1), target.flatten(0, 1), reduce_batch_first=True)


class Discs(Dataset):
    def __init__(self, count, size=18):
        grid = torch.arange(size)
        centres = torch.randint(4, size - 4, (count, 2, 1, 1))
        distance = (grid[:, None] - centres[:, 0]) ** 2 + (grid[None, :] - centres[:, 1]) ** 2
        self.masks = (distance < 16).long()
        self.images = self.masks.unsqueeze(1) + 0.5 * torch.randn(count, 1, size, size)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return {"image": self.images[idx].contiguous(), "mask": self.masks[idx].contiguous()}


@torch.inference_mode()
def evaluate(net, dataloader, device):
    net.eval()
    dice_score = 0
    for batch in dataloader:
        image = batch["image"].to(device=device, dtype=torch.get_default_dtype(), memory_format=torch.channels_last)
        mask_true = batch["mask"].to(device=device, dtype=torch.long)
        mask_pred = F.one_hot(net(image).argmax(dim=1), net.n_classes).permute(0, 3, 1, 2)
        mask_true = F.one_hot(mask_true, net.n_classes).permute(0, 3, 1, 2)
        dice_score += dice_coeff(mask_pred[:, 1:].double(), mask_true[:, 1:].double(), reduce_batch_first=False)
    net.train()
    return dice_score / max(len(dataloader), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--amp", action="store_true", default=False)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device(args.device)
    dataset = Discs(44)
    train_set, val_set = random_split(dataset, [40, 4], generator=torch.Generator().manual_seed(0))
    train_loader = DataLoader(train_set, shuffle=True, batch_size=4, num_workers=0, pin_memory=device.type == "cuda")
    val_loader = DataLoader(val_set, shuffle=False, drop_last=True, batch_size=4)
    model = UNet(n_channels=1, n_classes=2)
    model = model.to(memory_format=torch.channels_last)
    model.to(device=device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9, foreach=True)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=1)
    grad_scaler = torch.amp.GradScaler("cuda", enabled=args.amp and device.type == "cuda")
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, 3):
        model.train()
        for batch in train_loader:
            images, true_masks = batch["image"], batch["mask"]
            images = images.to(device=device, dtype=torch.get_default_dtype(), memory_format=torch.channels_last)
            true_masks = true_masks.to(device=device, dtype=torch.long)
            with torch.autocast(device.type if device.type != "mps" else "cpu", enabled=args.amp):
                masks_pred = model(images)
                loss = criterion(masks_pred, true_masks)
                one_hot = F.one_hot(true_masks, model.n_classes).permute(0, 3, 1, 2).to(masks_pred.dtype)
                loss += dice_loss(F.softmax(masks_pred, dim=1), one_hot)
            optimizer.zero_grad(set_to_none=True)
            grad_scaler.scale(loss).backward()
            grad_scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            grad_scaler.step(optimizer)
            grad_scaler.update()
            print("epoch", epoch, "loss", loss.item())
        val_score = evaluate(model, val_loader, device)
        scheduler.step(val_score)
        print("Validation Dice score: {:.4f}".format(val_score.item()))
