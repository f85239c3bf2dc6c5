"""torch.distributed.flight_recorder: the last collectives of this process."""

from ..parallel.process_group import dump_flight_recorder as dump

__all__ = ["dump"]
