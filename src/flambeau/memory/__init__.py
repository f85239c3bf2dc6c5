"""Caching allocators of device memory and of pinned host memory."""
