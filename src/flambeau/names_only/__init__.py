"""Modules of PyTorch without a counterpart here: programs import their names, which do nothing or say what is missing."""
