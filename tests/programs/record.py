"""Record the losses of this folder's programs with PyTorch in losses.json, which test_programs.py compares with.

    python -m tests.programs.record [NAME...]                 on the CPU
    python -m tests.programs.record --device cuda [NAME...]   on an NVIDIA GPU

Per program and kind of run ("cpu float64", "cuda float32", ...) it keeps `losses` and `seconds`; of float32 also
`spread`, the relative differences between PyTorch's own runs: with 1 and 4 threads on the CPU, and with parameters that
are changed by a few roundings before each step.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("losses.json")
NOISE = tuple(("--noise", str(seed)) for seed in range(1, 9))  # fewer do not show every tie that a rounding decides
OTHER_RUNS = {"cpu": (("--threads", "4"), *NOISE), "cuda": NOISE}


def reports(names, *options):
    """Run programs in a new process.  Raises if one of them fails."""
    command = [sys.executable, "-m", "tests.programs.run", *options, *names]
    made = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout)
    for name, each in made.items():
        if "error" in each or len(each["losses"]) != 20:
            raise SystemExit(f"{name}: {len(each['losses'])} losses, {each.get('error', 'no error')}")
    return made


def relative(one, other):
    return [abs(a - b) / max(abs(a), 1e-30) for a, b in zip(one["losses"], other["losses"])]


def main():
    parser = argparse.ArgumentParser(description="Record the losses of programs with PyTorch.")
    parser.add_argument("--device", default="cpu", choices=sorted(OTHER_RUNS))
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    found = json.loads(FILE.read_text()) if FILE.exists() else {}
    for dtype in ("float64", "float32"):
        kind = ("--device", options.device, "--dtype", dtype)
        made = reports(options.programs, *kind)
        if dtype == "float32":
            others = [reports(options.programs, *kind, *more) for more in OTHER_RUNS[options.device]]
            for name, each in made.items():
                spreads = [relative(each, other[name]) for other in others]
                each["spread"] = [float(f"{max(values):.1e}") for values in zip(*spreads)]
        for name, each in made.items():
            found.setdefault(name, {})[f"{options.device} {dtype}"] = each
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in sorted(found))
    FILE.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
