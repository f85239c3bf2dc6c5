# Written by scripts/stubs, not by hand.
from ..runtime.stream import Event as Event
from ..runtime.stream import Stream as Stream
from ..runtime.stream import external_stream as ExternalStream
__all__ = ["Event", "ExternalStream", "Stream"]
