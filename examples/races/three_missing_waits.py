"""Three streams update one tensor, and none waits for another."""

import sys

import flambeau as torch

fixed = "--fixed" in sys.argv
main, one, two = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
x = torch.zeros(64, device="cuda")
torch.cuda.synchronize()

x += 1
if fixed:
    one.wait_stream(main)
with torch.cuda.stream(one):
    x *= 2
if fixed:
    two.wait_stream(one)
with torch.cuda.stream(two):
    x -= 3
if fixed:
    main.wait_stream(two)
print(x[0].item())
