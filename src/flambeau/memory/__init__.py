"""Segments in, blocks out: the allocators of device memory and of pinned host memory."""
