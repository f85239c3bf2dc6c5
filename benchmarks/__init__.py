"""Counts, which are exact and gate the tests, and times, which are published with machine, versions and spread."""
