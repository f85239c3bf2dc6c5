"""A prefetcher writes the next batch into a buffer that the last step still reads."""

import sys

import flambeau as torch

fixed = "--fixed" in sys.argv
main, side = torch.cuda.current_stream(), torch.cuda.Stream()
batches = [torch.full((64,), float(step)).pin_memory() for step in range(4)]
buffer = torch.zeros(64, device="cuda")
torch.cuda.synchronize()
total = torch.zeros(64, device="cuda")

for batch in batches:
    if fixed:
        side.wait_stream(main)
    with torch.cuda.stream(side):
        buffer.copy_(batch, non_blocking=True)
    main.wait_stream(side)
    total += buffer
print(total[0].item())
