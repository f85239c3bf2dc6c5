# What scripts for a machine with NVIDIA GPUs share; they source it.  Packages that the machine lacks come from the pure
# wheels in wheels/, compiled kernels go to one cache, full logs to $OUT, and one line per step to a table.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 FLAMBEAU_GPUS=nvidia
# of all pytest runs, those inside of tests too; where pytest-benchmark is installed, it refuses to run in several processes
export PYTEST_ADDOPTS="-p no:cacheprovider -p no:benchmark"
python=${PYTHON:-python3}
out=${OUT:-/tmp/out}
export FLAMBEAU_CACHE=${FLAMBEAU_CACHE:-$(mktemp -d)}
mkdir -p "$out"
packages=$(mktemp -d)
for wheel in wheels/*.whl; do
    [ -e "$wheel" ] && python3 -m zipfile -e "$wheel" "$packages" && PYTHONPATH="$packages:$PYTHONPATH"
done
failed=0
declare -a table

step() { # step NAME COMMAND...: runs it into $out/NAME.log and keeps its last line for the table
    local name=$1 start=$SECONDS code=0
    shift
    echo "== $name: $*"
    "$@" 2>&1 | tee "$out/$name.log" | tail -n 40
    code=${PIPESTATUS[0]}
    [ "$code" -eq 0 ] || failed=1
    table+=("$(printf '%-10s %-6s %4ss  %s' "$name" "$([ "$code" -eq 0 ] && echo ok || echo "rc $code")" \
        "$((SECONDS - start))" "$(tail -n 1 "$out/$name.log" | cut -c1-100)")")
}

build() { # compiles the hot path in place; from a folder without pyproject.toml, which an older setuptools refuses
    local at
    at=$(mktemp -d)
    cp setup.py "$at" && ln -s "$PWD/src" "$at/src" && cd "$at" && "$python" setup.py -q build_ext --inplace
}

say_if_uncompiled() { # the last line, where the core was to be compiled and is not: every figure of the host is then wrong
    [ -z "${FLAMBEAU_PURE:-}" ] || return 0
    FLAMBEAU_PURE=1 "$python" -c 'import sys; from flambeau.tools import compiled; sys.exit(not compiled.is_compiled())' && return
    failed=1
    printf '\nNOT COMPILED: the core runs as Python, and times of the host are those of Python.  %s/build.log says why.\n' "$out"
}

prepare() { # the hot path, unless FLAMBEAU_PURE is set, and every kernel, on all cores
    [ -n "${FLAMBEAU_PURE:-}" ] || step build build
    step doctor "$python" -m flambeau doctor
    step kernels "$python" -m flambeau.testing.kernels --all --processes "$(nproc)"
}
