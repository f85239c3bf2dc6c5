# Written by scripts/stubs, not by hand.
from ....parallel.comm_hooks import allreduce_hook as allreduce_hook
from ....parallel.comm_hooks import bf16_compress_hook as bf16_compress_hook
from ....parallel.comm_hooks import bf16_compress_wrapper as bf16_compress_wrapper
from ....parallel.comm_hooks import fp16_compress_hook as fp16_compress_hook
from ....parallel.comm_hooks import fp16_compress_wrapper as fp16_compress_wrapper
__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"]
