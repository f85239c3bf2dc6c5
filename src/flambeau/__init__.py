"""flambeau: CUDA semantics, devices, streams and memory, on NVIDIA GPUs and on virtual ones."""
