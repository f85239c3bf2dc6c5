"""An event is recorded before the work that it stands for, so the wait for it orders nothing."""

import sys

import flambeau as torch

fixed = "--fixed" in sys.argv
side, done = torch.cuda.Stream(), torch.cuda.Event()
x = torch.zeros(64, device="cuda")

done.record()
x += 1
if fixed:
    done.record()
side.wait_event(done)
with torch.cuda.stream(side):
    y = x * 2
side.synchronize()
with torch.cuda.stream(side):
    print(y[0].item())
