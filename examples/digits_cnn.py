"""Train a convolutional network with batch norm on handwritten digits; the last line is its accuracy on unseen images.

    python examples/digits_cnn.py --plot losses.png             on a GPU if there is one, else on the CPU
    python examples/digits_cnn.py --amp --save cnn.pt           in mixed precision
"""

from collections.abc import Sequence

from training import Training, digits, parser

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F

TEST_IMAGES = 360


def network(width: int) -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(8 * width, 10)),
    )


def main(argv: Sequence[str] | None = None) -> list[float]:
    """Train and test; return the loss of every step."""
    options_of = parser("Train a convolutional network on digits.", steps=300, batch_size=64)
    options_of.add_argument("--width", type=int, default=16, help="channels of the first layer")
    options = options_of.parse_args(argv)
    torch.manual_seed(options.seed)

    images, targets = digits()
    order = torch.randperm(len(images))
    train, test = order[TEST_IMAGES:], order[:TEST_IMAGES]
    net = network(options.width).to(options.device)
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, max(options.steps, 300))
    training = Training(options, {"net": net, "optimizer": optimizer, "scheduler": scheduler})

    def step() -> dict[str, torch.Tensor]:
        chosen = train[torch.randint(len(train), (options.batch_size,))]
        batch, labels = images[chosen].to(options.device), targets[chosen].to(options.device)
        with training.autocast():
            loss = F.cross_entropy(net(batch), labels)
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
