"""Devices, streams, events, graphs, copies and IPC on top of the Driver."""
