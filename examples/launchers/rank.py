"""Run a program as one rank under mpirun or srun, whose variables have other names than torchrun's.

    MASTER_PORT=29500 mpirun -n 2 python examples/launchers/rank.py examples/ddp.py
    MASTER_PORT=29500 srun --ntasks=2 python examples/launchers/rank.py examples/ddp.py
"""

import os
import runpy
import sys

VARIABLES = {  # of Open MPI, of MPICH and Intel MPI, and of SLURM
    "RANK": ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"),
    "LOCAL_RANK": ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"),
    "WORLD_SIZE": ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"),
}


def main() -> None:
    for name, others in VARIABLES.items():
        found = [os.environ[other] for other in others if other in os.environ]
        if found:
            os.environ.setdefault(name, found[0])
    os.environ.setdefault("MASTER_ADDR", "localhost")
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
