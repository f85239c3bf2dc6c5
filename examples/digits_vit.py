"""Train a small vision transformer on handwritten digits; the last line is its accuracy on unseen images.

    python examples/digits_vit.py --plot losses.png
"""

from collections.abc import Sequence

from training import Training, digits, parser

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F

TEST_IMAGES = 360


class VisionTransformer(nn.Module):
    """A transformer over a class token and the sixteen patches of 2 by 2 pixels."""

    def __init__(self, width: int, heads: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, width, kernel_size=2, stride=2)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 17, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        patches = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(len(images), -1, -1), patches], dim=1)
        logits: torch.Tensor = self.head(self.encoder(tokens + self.positions)[:, 0])
        return logits


def main(argv: Sequence[str] | None = None) -> list[float]:
    """Train and test; return the loss of every step."""
    options_of = parser("Train a small vision transformer on digits.", steps=400, batch_size=64)
    options_of.add_argument("--width", type=int, default=32)
    options_of.add_argument("--layers", type=int, default=2)
    options = options_of.parse_args(argv)
    torch.manual_seed(options.seed)

    images, targets = digits()
    order = torch.randperm(len(images))
    train, test = order[TEST_IMAGES:], order[:TEST_IMAGES]
    net = VisionTransformer(options.width, 4, options.layers, dropout=0.1).to(options.device)
    optimizer = optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.996)
    training = Training(options, {"net": net, "optimizer": optimizer, "scheduler": scheduler})

    def step() -> dict[str, torch.Tensor]:
        chosen = train[torch.randint(len(train), (options.batch_size,))]
        batch, labels = images[chosen].to(options.device), targets[chosen].to(options.device)
        with training.autocast():
            loss = F.cross_entropy(net(batch), labels, label_smoothing=0.1)
        training.update(loss, optimizer)
        scheduler.step()
        return {"loss": loss}

    training.run(step)
    net.eval()
    with torch.no_grad():
        found = net(images[test].to(options.device)).argmax(1).cpu()
    print(f"test accuracy {(found == targets[test]).float().mean().item():.3f}")
    return training.losses["loss"]


if __name__ == "__main__":
    main()
