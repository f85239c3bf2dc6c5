"""The layout of CUPTI's activity records, as a C compiler sees it in CUPTI's headers.

`python -m tests.driver.nvidia.cupti_layout INCLUDE ...` prints it for folders with cupti_activity.h, such as
site-packages/nvidia/cu13/include of the wheel nvidia-cuda-cupti; the last folder has cuda.h.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# {CUPTI_API_VERSION: bytes of a record of a kernel, a copy, a copy between devices, a fill, an external correlation}
SIZES = {
    24: (208, 88, 96, 88, 24),
    28: (208, 96, 96, 88, 24),
    130001: (216, 96, 96, 88, 24),
    130500: (248, 112, 96, 104, 24),
}
# {record: {the name of a field in C: its offset}}, the same in all these versions
OFFSETS = {
    "CUpti_ActivityKernel": {
        "kind": 0, "registersPerThread": 6, "start": 16, "end": 24, "deviceId": 40, "contextId": 44, "streamId": 48,
        "gridX": 52, "gridY": 56, "gridZ": 60, "blockX": 64, "blockY": 68, "blockZ": 72, "staticSharedMemory": 76,
        "dynamicSharedMemory": 80, "correlationId": 92, "name": 104, "graphNodeId": 144, "graphId": 156,
    },
    "CUpti_ActivityMemcpy": {
        "kind": 0, "copyKind": 4, "bytes": 8, "start": 16, "end": 24, "deviceId": 32, "contextId": 36, "streamId": 40,
        "correlationId": 44, "graphNodeId": 64, "graphId": 72,
    },
    "CUpti_ActivityMemcpyPtoP": {
        "kind": 0, "copyKind": 4, "bytes": 8, "start": 16, "end": 24, "deviceId": 32, "contextId": 36, "streamId": 40,
        "srcDeviceId": 44, "dstDeviceId": 52, "correlationId": 60, "graphNodeId": 72, "graphId": 80,
    },
    "CUpti_ActivityMemset": {
        "kind": 0, "bytes": 8, "start": 16, "end": 24, "deviceId": 32, "contextId": 36, "streamId": 40,
        "correlationId": 44, "graphNodeId": 64, "graphId": 72,
    },
    "CUpti_ActivityExternalCorrelation": {"kind": 0, "externalKind": 4, "externalId": 8, "correlationId": 16},
}  # fmt: skip


def program(header: str) -> str:
    """The C program that prints the layout of each record's latest version in a header."""
    lines = []
    for record, fields in OFFSETS.items():
        latest = max(re.findall(rf"^}} {record}(\d*);", header, re.MULTILINE), key=lambda number: int(number or 1))
        lines.append(f'printf("\\n{record}{latest} %zu bytes\\n", sizeof({record}{latest}));')
        lines += [f'printf("{field} %zu, ", offsetof({record}{latest}, {field}));' for field in fields]
    includes = "".join(f"#include <{name}.h>\n" for name in ("stddef", "stdint", "stdio", "cuda", "cupti_activity"))
    return includes + "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n"


def main(folders: list[str]) -> None:
    for folder in folders[:-1]:
        header = (Path(folder) / "cupti_activity.h").read_text()
        with tempfile.TemporaryDirectory() as place:
            source, made = Path(place, "layout.c"), Path(place, "layout")
            source.write_text(program(header))
            command = ["cc", f"-I{folder}", f"-I{folders[-1]}", "-w", "-o", str(made), str(source)]
            subprocess.run(command, check=True)
            print(folder, subprocess.run([made], check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
