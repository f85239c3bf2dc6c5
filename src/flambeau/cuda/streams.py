"""torch.cuda.streams: the classes of streams and events."""

from ..runtime.stream import Event, Stream
from ..runtime.stream import external_stream as ExternalStream  # noqa: N812

__all__ = ["Event", "ExternalStream", "Stream"]
