"""The caching allocators of device memory and of pinned host memory."""
