"""A pinned buffer is refilled while the copy of its last contents is still queued."""

import sys

import flambeau as torch

fixed = "--fixed" in sys.argv
main = torch.cuda.current_stream()
buffer = torch.zeros(4).pin_memory()
total = torch.zeros(4, device="cuda")

for step in range(3):
    if fixed:
        main.synchronize()
    buffer.fill_(step)
    total += buffer.to("cuda", non_blocking=True)
print(total.tolist())
