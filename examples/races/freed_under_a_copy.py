"""Memory is freed while another stream still uses it: the allocator hands it to the next step."""

import sys

import flambeau as torch

fixed = "--fixed" in sys.argv
main, side = torch.cuda.current_stream(), torch.cuda.Stream()
copies: list[torch.Tensor] = []

for step in range(3):
    batch = torch.full((4096,), float(step), device="cuda")
    side.wait_stream(main)
    with torch.cuda.stream(side):
        copies.append(batch.to("cpu", non_blocking=True))
    if fixed:
        batch.record_stream(side)
    del batch
side.synchronize()
print([copy[0].item() for copy in copies])
