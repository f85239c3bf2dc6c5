"""A stream reads what another stream still writes: the consumer does not wait for the producer."""

import sys

import flambeau as torch

fixed = "--fixed" in sys.argv
main, side = torch.cuda.current_stream(), torch.cuda.Stream()

x = torch.ones(1000, device="cuda")
if fixed:
    side.wait_stream(main)
with torch.cuda.stream(side):
    y = x * 2
if fixed:
    main.wait_stream(side)
print(y.sum().item())
