"""A graph's input is written on another stream than the one that launches the graph."""

import sys

import flambeau as torch

fixed = "--fixed" in sys.argv
main, side = torch.cuda.current_stream(), torch.cuda.Stream()
x = torch.zeros(64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2

x.fill_(3)
if fixed:
    side.wait_stream(main)
with torch.cuda.stream(side):
    graph.replay()
side.synchronize()
print(y[0].item())
