"""Modules of PyTorch without a counterpart: programs import their names, which do nothing or say what is missing."""
