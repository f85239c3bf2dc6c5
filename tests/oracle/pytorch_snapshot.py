"""Records tests/oracle/pytorch_snapshot.pickle.xz: a memory snapshot that PyTorch writes on an NVIDIA GPU.

    python -m tests.oracle.pytorch_snapshot OUT             two steps of a small GPT; needs PyTorch and a GPU
    python -m tests.oracle.pytorch_snapshot OUT --of FILE RESERVED ALLOCATED
                                                            a snapshot of a program that PyTorch wrote before

The file has PyTorch's own peaks as `counters`, and of each stack the frames of Python, the innermost one and the first
of an operator, without the folders of their files.  Everything else is as PyTorch wrote it.
"""

import argparse
import lzma
import pickle
import tempfile

OPERATOR = "at::_ops::"


def kept_frames(frames):
    """The frames of a stack that the sample keeps."""
    operator = next((frame for frame in frames if frame["name"].startswith(OPERATOR)), None)
    kept = [frame for frame in frames if frame["line"] or frame is operator or frame is frames[0]]
    return [{**frame, "filename": shown_file(frame["filename"])} for frame in kept]


def shown_file(file):
    """A file's path below its packages, or its name."""
    _, packages, below = file.rpartition("/site-packages/")
    return packages + below if packages else file.rpartition("/")[2]


def reduced(snapshot, reserved, allocated):
    """A snapshot with fewer frames, and PyTorch's peaks in bytes."""
    shared = {}

    def shorten(entry):
        frames = kept_frames(entry["frames"])
        key = tuple(tuple(frame.values()) for frame in frames)
        entry["frames"] = shared.setdefault(key, frames)

    for segment in snapshot["segments"]:
        for entry in (segment, *segment["blocks"]):
            shorten(entry)
    for trace in snapshot["device_traces"]:
        for entry in trace:
            shorten(entry)
    return {**snapshot, "counters": {"reserved": reserved, "allocated": allocated}}


def recorded():
    """The snapshot of a training in PyTorch, and its peaks."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.cuda.memory._record_memory_history(max_entries=20_000)
    block = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, dropout=0.0)
    model = nn.Sequential(nn.Embedding(1000, 256), nn.TransformerEncoder(block, 6), nn.Linear(256, 1000)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        tokens = torch.randint(0, 1000, (8, 129), device="cuda")
        loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        torch.cuda.memory._dump_snapshot(file.name)
        found = pickle.load(file)
    counters = torch.cuda.memory_stats()
    return found, counters["reserved_bytes.all.peak"], counters["allocated_bytes.all.peak"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--of", nargs=3, metavar=("FILE", "RESERVED", "ALLOCATED"))
    options = parser.parse_args()
    if options.of is None:
        found = recorded()
    else:
        with open(options.of[0], "rb") as file:
            found = pickle.load(file), int(options.of[1]), int(options.of[2])
    with lzma.open(options.out, "wb", preset=9) as file:
        pickle.dump(reduced(*found), file)


if __name__ == "__main__":
    main()
