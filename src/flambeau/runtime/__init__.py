"""Devices, streams, events, storages and copies over the door."""
