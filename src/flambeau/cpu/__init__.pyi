# Written by scripts/stubs, not by hand.
from . import amp as amp
from ..runtime.cpu import Event as Event
from ..runtime.cpu import Stream as Stream
from ..runtime.cpu import StreamContext as StreamContext
from ..runtime.cpu import current_device as current_device
from ..runtime.cpu import current_stream as current_stream
from ..runtime.cpu import device_count as device_count
from ..runtime.cpu import get_capabilities as get_capabilities
from ..runtime.cpu import is_available as is_available
from ..runtime.cpu import is_initialized as is_initialized
from ..runtime.cpu import set_device as set_device
from ..runtime.cpu import stream as stream
from ..runtime.cpu import synchronize as synchronize
__all__ = ["Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count", "get_capabilities", "is_available", "is_initialized", "set_device", "stream", "synchronize"]
