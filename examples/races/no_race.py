"""Controls that are ordered: a call of record_stream, views that share no byte, a wait through a third stream."""

import flambeau as torch

main, side, third = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
x = torch.zeros(64, device="cuda")
x.record_stream(side)
side.wait_stream(main)
x[::2].add_(1)
with torch.cuda.stream(side):
    x[1::2].add_(2)
third.wait_stream(side)
third.wait_stream(main)
main.wait_stream(third)
print(x.sum().item())
