"""A VGG of few channels from a list of widths, with batch norm and dropout."""

import argparse

import torch
import torch.nn as nn

cfg = {
    "VGG6": [8, "M", 16, "M", 32, 32, "M"],
    "VGG8": [8, "M", 16, 16, "M", 32, 32, "M"],
}


class VGG(nn.Module):
    def __init__(self, vgg_name):
        super(VGG, self).__init__()
        self.features = self._make_layers(cfg[vgg_name])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Sequential(
            nn.Linear(32, 32), nn.ReLU(True), nn.Dropout(p=0.5), nn.Linear(32, 32), nn.ReLU(True), nn.Linear(32, 10)
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.1)
                nn.init.constant_(m.bias, 0)

    def forward(self, x):
        out = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(out, 1))

    def _make_layers(self, cfg):
        layers = []
        in_channels = 3
        for x in cfg:
            if x == "M":
                layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
            else:
                conv = nn.Conv2d(in_channels, x, kernel_size=3, padding=1)
                layers += [conv, nn.BatchNorm2d(x), nn.ReLU(inplace=True)]
                in_channels = x
        return nn.Sequential(*layers)


class AverageMeter(object):
    def __init__(self):
        self.sum = self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def accuracy(output, target, topk=(1,)):
    """The percentage of targets among the k best answers, for each k."""
    maxk = max(topk)
    _, pred = output.topk(maxk, 1, True, True)
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    return [correct[:k].reshape(-1).double().sum(0).mul_(100.0 / target.size(0)) for k in topk]


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()
torch.manual_seed(11)

prototypes = torch.randn(10, 3, 16, 16)
model = VGG("VGG8").to(args.device)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1).to(args.device)
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[10, 15], gamma=0.1)
top1, top5 = AverageMeter(), AverageMeter()
for step in range(20):
    target = torch.randint(10, (32,))
    input = prototypes[target] + 0.5 * torch.randn(32, 3, 16, 16)
    input, target = input.to(args.device, non_blocking=True), target.to(args.device, non_blocking=True)
    output = model(input)
    loss = criterion(output, target)
    prec1, prec5 = accuracy(output.data, target, topk=(1, 5))
    top1.update(prec1.item(), input.size(0))
    top5.update(prec5.item(), input.size(0))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    print("[{0}/20] loss {1} Prec@1 {2:.3f} Prec@5 {3:.3f}".format(step, loss.item(), top1.avg, top5.avg))
