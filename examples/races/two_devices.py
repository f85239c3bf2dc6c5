"""A tensor of one device is read on a stream of another one that did not wait."""

import sys

import flambeau as torch

fixed = "--fixed" in sys.argv
x = torch.ones(64, device="cuda:0")
side = torch.cuda.Stream("cuda:0")
if fixed:
    side.wait_stream(torch.cuda.current_stream("cuda:0"))
with torch.cuda.stream(side):
    y = x.to("cuda:1", non_blocking=True)
print(y.sum().item())
