"""torch.cuda.streams: the classes of streams and events."""

from ..runtime.external import external_stream as ExternalStream  # noqa: N812
from ..runtime.stream import Event, Stream

__all__ = ["Event", "ExternalStream", "Stream"]
