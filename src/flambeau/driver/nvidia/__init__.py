"""NVIDIA GPUs through the driver API: `driver.NvidiaDriver`.  Importing this package loads nothing of NVIDIA's."""
