"""Kernels to machine code: cache, compiler, versions."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from flambeau import dtypes, errors
from flambeau.driver.nvidia import compile as compiling
from flambeau.driver.nvidia import library, prebuilt_cubins
from flambeau.driver.nvidia.cache import PrivateFiles
from flambeau.driver.nvidia.compile import (
    BackgroundCompiler,
    Compiler,
    Following,
    Source,
    compile_cubin,
    following,
    write_following,
)
from flambeau.kernel import Kernel, Pointer

SOURCE = 'extern "C" __global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }'
ELF = b"\x7fELF"
ARCH = "sm_90"


def kernel(source=SOURCE, entry="fill"):
    return Kernel(entry, source, (Pointer("out", dtypes.float32, "w", (32,)),), lambda out: None)


# with the compiler


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_a_cubin_is_machine_code(real, arch):
    assert compile_cubin(kernel(), arch).startswith(ELF)


def test_an_error_has_the_log_and_the_kernel(real, tmp_path):
    with pytest.raises(errors.AcceleratorError) as raised:
        compile_cubin(kernel("this is not CUDA"), ARCH)
    assert "nvrtcCompileProgram of fill for sm_90: NVRTC_ERROR_COMPILATION (6)" in str(raised.value)
    assert "fill.cu(1): error:" in str(raised.value)
    assert list(tmp_path.glob("cubin/*.cubin")) == []


def test_an_architecture_that_the_compiler_does_not_know(real):
    with pytest.raises(errors.AcceleratorError, match="fill for sm_1: NVRTC_ERROR_INVALID_OPTION"):
        compile_cubin(kernel(), "sm_1")


def test_options_and_names_of_cpp(real):
    source = "template <class T> __global__ void fill(T* out) { out[threadIdx.x] = VALUE; }"
    options = ("-DVALUE=3",)
    name, _, cubin = compile_cubin(Kernel("fill<int>", source, (), None, 1.0, options, False), ARCH).partition(b"\0")
    assert name == b"_Z4fillIiEvPT_" and cubin.startswith(ELF) and name in cubin
    with pytest.raises(errors.AcceleratorError, match="VALUE"):
        compile_cubin(Kernel("fill<int>", source, (), None, 1.0, (), False), ARCH)
    with pytest.raises(errors.AcceleratorError, match="gone"):
        compile_cubin(Kernel("gone<int>", source, (), None, 1.0, options, False), ARCH)


def test_included_files_are_read_anew_by_each_compiler(real, tmp_path):
    source = kernel('#include "value.h"\nextern "C" __global__ void fill(float* out) { out[threadIdx.x] = VALUE; }')
    source.options = (f"-I{tmp_path}",)
    made = []
    for value in (1, 2):
        (tmp_path / "value.h").write_text(f"#define VALUE {value}")
        made.append(compile_cubin(source, ARCH))
    assert made[0] != made[1] and list(tmp_path.glob("cubin/*.cubin")) == []


WARM = """
import sys
from flambeau.driver.nvidia.compile import compile_cubin
from flambeau.kernel import Kernel
assert compile_cubin(Kernel("fill", sys.argv[1], (), None), "sm_90").startswith(b"\\x7fELF")
assert "cuda.bindings.nvrtc" not in sys.modules, "the compiler was loaded"
"""


def test_a_process_with_a_warm_cache_loads_no_compiler(real):
    compile_cubin(kernel(), ARCH)
    assert subprocess.run([sys.executable, "-c", WARM, SOURCE], timeout=60).returncode == 0


@pytest.fixture
def real(nvrtc):
    return nvrtc


# with a stand-in for it


class Nvrtc:
    """A compiler that counts its compilations.  version, path: those of its library.  fails: sources with an error."""

    def __init__(self, path):
        self.version = (13, 5)
        self.path = path
        self.asked = 0
        self.compiled = []
        self.fails = set()

    def nvrtc_version(self):
        self.asked += 1
        return self.version

    def compile(self, source, arch):
        self.compiled.append(source.text)
        if source.text in self.fails:
            raise errors.AcceleratorError(f"{source.entry}: no")
        return f"{source.text} for {arch} by {self.version}".encode()


@pytest.fixture
def fake(tmp_path, monkeypatch):
    made = Nvrtc(tmp_path / "libnvrtc.so")
    made.path.write_bytes(b"library")
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    monkeypatch.setattr(prebuilt_cubins, "DIRECTORY", tmp_path / "shipped")
    monkeypatch.setattr(compiling, "nvrtc_version", made.nvrtc_version)
    monkeypatch.setattr(compiling, "compiled", made.compile)
    monkeypatch.setattr(compiling, "_library_path", lambda: str(made.path))
    monkeypatch.setattr(compiling, "_memory_name", lambda: "nvrtc-here")
    prebuilt_cubins.archive.cache_clear()
    yield made
    prebuilt_cubins.archive.cache_clear()


@pytest.fixture
def path(fake, tmp_path):
    """The file of the kernel `a`, compiled once."""
    Compiler().cubin(kernel("a"), ARCH)
    (found,) = (tmp_path / "cubin").glob("*.cubin")
    return found


MADE = b"a for sm_90 by (13, 5)"


def ship(text, cubin=b"shipped", version=(13, 5)):
    key = prebuilt_cubins.cache_key(text, ARCH, None)
    prebuilt_cubins.write_archive(prebuilt_cubins.DIRECTORY / f"{ARCH}.zip", {key: cubin}, version)
    prebuilt_cubins.archive.cache_clear()
    return prebuilt_cubins.DIRECTORY / f"{ARCH}.zip"


def test_other_options_and_names_are_other_code(fake):
    compiler = Compiler()
    for options in ((), ("-DA",), ("-DA", "-DB")):
        for name, is_c in (("a", True), ("f<int>", False), ("f<float>", False)):
            compiler.cubin(Kernel(name, "a", (), None, 1.0, options, is_c), ARCH)
    assert len(fake.compiled) == 9


def test_the_second_time_nothing_is_compiled(fake, path):
    compiler, fake.asked = Compiler(), 0
    assert [compiler.cubin(kernel("a"), ARCH) for _ in range(2)] == [MADE, MADE]
    assert (fake.compiled, fake.asked) == (["a"], 0), "the compiler was loaded to learn its version"


def test_what_is_shipped_needs_no_compiler_and_no_cache(fake, tmp_path):
    ship("a")
    assert Compiler(13).cubin(kernel("a"), ARCH) == b"shipped"
    assert (fake.asked, fake.compiled) == (0, [])
    assert not (tmp_path / "cubin").exists()


def test_what_is_shipped_is_valid_whatever_compiler_is_installed(fake, path):
    ship("a", version=(12, 9))
    fake.version = (13, 9)
    assert Compiler(13).cubin(kernel("a"), ARCH) == b"shipped"


@pytest.mark.parametrize(("text", "arch"), [("b", ARCH), ("a", "sm_80")])
def test_what_is_shipped_is_of_one_source_and_one_architecture(fake, text, arch):
    ship("a")
    assert Compiler(13).cubin(kernel(text), arch) == f"{text} for {arch} by (13, 5)".encode()


def test_an_older_driver_gets_nothing_of_a_newer_compiler(fake):
    ship("a", version=(13, 5))
    assert Compiler(12).cubin(kernel("a"), ARCH) == MADE


@pytest.mark.filterwarnings("ignore:.*is damaged:RuntimeWarning")
@pytest.mark.parametrize("damage", [lambda whole: whole[:50], lambda whole: whole.replace(b"shipped", b"shopped")])
def test_a_damaged_archive_is_compiled_instead(fake, damage):
    archive = ship("a", os.urandom(64) + b"shipped" + os.urandom(64))
    whole = archive.read_bytes()
    assert damage(whole) != whole
    archive.write_bytes(damage(whole))
    assert Compiler(13).cubin(kernel("a"), ARCH) == MADE


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"),
        lambda path: path.chmod(0o666),
        lambda path: path.symlink_to(path.rename(path.with_suffix(".moved"))),
        lambda path: path.unlink(),
    ],
    ids=["truncated", "changed", "others may write it", "a link", "gone"],
)
def test_what_is_not_trusted_is_made_again(fake, path, change):
    change(path)
    assert Compiler().cubin(kernel("a"), ARCH) == MADE
    assert fake.compiled == ["a", "a"]
    assert Compiler().cubin(kernel("a"), ARCH) == MADE
    assert fake.compiled == ["a", "a"]


def test_files_of_another_user_are_not_trusted(fake, path, monkeypatch):
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.warns(RuntimeWarning, match="is not a directory of this user"):
        Compiler().cubin(kernel("a"), ARCH)
    assert fake.compiled == ["a", "a"]


@pytest.mark.parametrize("change", [lambda path: path.write_bytes(b"a newer library"), lambda path: path.unlink()])
def test_another_compiler_makes_it_again(fake, path, change):
    change(fake.path)
    fake.version = (13, 9)
    assert Compiler().cubin(kernel("a"), ARCH) == b"a for sm_90 by (13, 9)"
    assert fake.compiled == ["a", "a"]


def test_an_unchanged_version_is_remembered_for_the_changed_library(fake, path):
    fake.path.write_bytes(b"the same version in another build")
    fake.asked = 0
    for _ in range(2):
        assert Compiler().cubin(kernel("a"), ARCH) == MADE
    assert (fake.compiled, fake.asked) == (["a"], 1)


ONE_OF_MANY = """
import sys, types
from flambeau.driver.nvidia import cache, compile
compile.nvrtc_version = lambda: (13, 5)
compile.remember = lambda files, version: None
compile.remembered = lambda files: None
read = cache.PrivateFiles.read
def first_read(self, name):
    found = read(self, name)
    cache.PrivateFiles.read = read
    print("found nothing" if found is None else "found it", flush=True)
    return found
cache.PrivateFiles.read = first_read
def compiled(source, arch):
    print("compiling", flush=True)
    sys.stdin.readline()
    return source.text.encode()
compile.compiled = compiled
kernel = types.SimpleNamespace(entry="a", source="a", options=(), is_c=True)
assert compile.Compiler(use_shipped=False).cubin(kernel, "sm_90") == b"a"
"""


def test_processes_that_want_the_same_kernel_compile_it_once(tmp_path):
    environment = {**os.environ, "FLAMBEAU_CACHE": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([sys.executable, "-c", ONE_OF_MANY], env=environment, **pipes) for _ in range(4)]
    assert [each.stdout.readline() for each in running] == ["found nothing\n"] * 4
    for each in running:
        each.stdin.write("go on\n")
        each.stdin.close()
    found = [each.stdout.read() for each in running]
    assert [each.wait() for each in running] == [0] * 4
    assert sorted(found) == ["", "", "", "compiling\n"]
    for each in running:
        each.stdout.close()
    assert len(list((tmp_path / "cubin").iterdir())) == 1


# in the background


@pytest.fixture
def listed(fake, monkeypatch):
    found = Following(["a", "b", "c"], {"a": [0], "b": [1], "c": [2]}, {"a": ["b", "c"]})
    monkeypatch.setattr(compiling, "following", lambda: found)
    monkeypatch.setattr(compiling, "spare_cores", lambda: 1)


def warmed(fake, *names):
    """A compiler that did not find `names` in the cache, and compiled the kernels that follow them."""
    compiler = Compiler(ahead=True)
    for name in names:
        compiler.cubin(kernel(name, name), ARCH)
    compiler.ahead.wait()
    return compiler


def test_what_comes_next_is_compiled_once(fake, listed):
    compiler = warmed(fake, "a")
    assert sorted(fake.compiled) == ["a", "b", "c"]
    for name in "abc":
        compiler.cubin(kernel(name, name), ARCH)
    assert sorted(fake.compiled) == ["a", "b", "c"]


def test_it_is_kept_for_other_processes(fake, listed):
    warmed(fake, "a")
    assert Compiler().cubin(kernel("b", "b"), ARCH) == b"b for sm_90 by (13, 5)"
    assert sorted(fake.compiled) == ["a", "b", "c"]


def test_what_is_shipped_or_cached_is_not_compiled_ahead(fake, listed):
    ship("c")
    Compiler().cubin(kernel("b", "b"), ARCH)
    warmed(fake, "a")
    assert fake.compiled == ["b", "a"]


def test_a_program_whose_kernels_are_there_reads_no_list(fake, listed, monkeypatch):
    warmed(fake, "a")
    monkeypatch.setattr(compiling, "following", lambda: pytest.fail("the list was read"))
    warmed(fake, "a", "b", "c")


def test_it_can_be_turned_off(fake, listed, cuda, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_COMPILE_AHEAD", "0")
    compiler = compiling.of_driver(cuda)
    compiler.cubin(kernel("a", "a"), ARCH)
    compiler.ahead.wait()
    assert fake.compiled == ["a"]


def test_the_driver_says_what_it_can_read(fake, listed, cuda):
    ship("a", version=(14, 0))
    compiler = compiling.of_driver(cuda)
    assert compiler.cubin(kernel("a", "a"), ARCH) == MADE
    compiler.ahead.wait()
    assert sorted(fake.compiled) == ["a", "b", "c"]


def test_the_program_waits_for_what_is_being_compiled(fake, listed, monkeypatch):
    is_running, may_go_on = threading.Event(), threading.Event()

    def compile(source, arch):
        if source.text == "b":
            is_running.set()
            may_go_on.wait()
        return fake.compile(source, arch)

    monkeypatch.setattr(compiling, "compiled", compile)
    compiler = Compiler(ahead=True)
    compiler.cubin(kernel("a", "a"), ARCH)
    is_running.wait()
    found = []
    foreground = threading.Thread(target=lambda: found.append(compiler.cubin(kernel("b", "b"), ARCH)))
    foreground.start()
    may_go_on.set()
    foreground.join()
    compiler.ahead.wait()
    assert found == [b"b for sm_90 by (13, 5)"]
    assert sorted(fake.compiled) == ["a", "b", "c"]


def test_a_failure_in_the_background_is_raised_when_the_kernel_is_needed(fake, listed):
    fake.fails = {"b"}
    compiler = warmed(fake, "a")
    assert compiler.cubin(kernel("c", "c"), ARCH) == b"c for sm_90 by (13, 5)"
    with pytest.raises(errors.AcceleratorError, match="b: no"):
        compiler.cubin(kernel("b", "b"), ARCH)
    assert sorted(fake.compiled) == ["a", "b", "c"]


FORKED = """
import os, sys, threading, types
from flambeau.driver.nvidia import compile
from flambeau.driver.nvidia.compile import Following
is_running, may_go_on = threading.Event(), threading.Event()
def compiled(source, arch):
    if source.text == "b":
        is_running.set()
        may_go_on.wait()
    print("compiled", source.text, flush=True)
    return source.text.encode()
compile.nvrtc_version, compile.compiled = lambda: (13, 5), compiled
compile.remember, compile.remembered = lambda files, version: None, lambda files: None
compile.following = lambda: Following(["a", "b"], {"a": [0], "b": [1]}, {"a": ["b"]})
compile.spare_cores = lambda: 1
compiler = compile.Compiler(ahead=True, use_shipped=False)
kernel = lambda name: types.SimpleNamespace(entry=name, source=name, options=(), is_c=True)
compiler.cubin(kernel("a"), "sm_90")
is_running.wait()
child = os.fork()
if child == 0:
    os._exit(0 if compiler.cubin(kernel("b"), "sm_90") == b"b" else 1)
may_go_on.set()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_forked_child_waits_for_no_thread_of_its_parent(tmp_path):
    environment = {**os.environ, "FLAMBEAU_CACHE": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "compiled a\ncompiled b\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "libnvrtc.so").write_bytes(b"library")
    monkeypatch.setattr(compiling, "_library_path", lambda: str(tmp_path / "libnvrtc.so"))
    monkeypatch.setattr(library, "bindings_version", lambda: "13.5.0")
    made = PrivateFiles(tmp_path / "cubin")
    compiling.remember(made, (13, 5))
    return made


def test_the_architectures_that_it_compiles_for(monkeypatch):
    class Bindings:
        @staticmethod
        def nvrtcGetSupportedArchs():
            return 0, [75, 90, 121]

    monkeypatch.setattr(library, "nvrtc_bindings", lambda: Bindings)
    assert compiling.supported() == ["sm_75", "sm_90", "sm_121"]


def test_a_compiler_that_is_not_there_compiles_for_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    assert compiling.supported() == []


def test_what_was_remembered(files):
    assert compiling.remembered(files) == (13, 5)


def test_a_changed_library_is_another(files, tmp_path):
    (tmp_path / "libnvrtc.so").write_bytes(b"newer library")
    assert compiling.remembered(files) is None
    compiling.remember(files, (13, 9))
    assert compiling.remembered(files) == (13, 9)


def test_a_library_that_is_gone_is_not_remembered(files, tmp_path):
    (tmp_path / "libnvrtc.so").unlink()
    assert compiling.remembered(files) is None


@pytest.mark.parametrize("name", compiling.SEARCHED)
def test_a_process_that_looks_elsewhere_remembers_nothing(files, monkeypatch, name):
    monkeypatch.setenv(name, "/elsewhere")
    assert compiling.remembered(files) is None


def test_other_bindings_remember_nothing(files, monkeypatch):
    monkeypatch.setattr(library, "bindings_version", lambda: "12.9.0")
    assert compiling.remembered(files) is None


def test_bindings_that_do_not_say_where_the_library_is(files, monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "_library_path", lambda: None)
    other = PrivateFiles(tmp_path / "other")
    compiling.remember(other, (13, 5))
    assert compiling.remembered(other) is None
    assert not other.directory.exists()


def test_a_compiler_that_is_missing_says_what_to_install(monkeypatch):
    class Missing:
        @staticmethod
        def nvrtcVersion():
            raise RuntimeError("libnvrtc.so cannot be found")

    monkeypatch.setattr(library, "nvrtc_bindings", lambda: Missing)
    compiling.nvrtc_version.cache_clear()
    with pytest.raises(errors.AcceleratorError, match=r"libnvrtc.so(.|\n)*hint: pip install nvidia-cuda-nvrtc"):
        compiling.nvrtc_version()


def test_the_bindings_say_where_the_library_is(request):
    request.getfixturevalue("nvrtc")
    path = compiling._library_path()
    assert path is None or "nvrtc" in path


# background compilation: which kernels, in which order, and when it ends

TEXTS = {name: f"head\n\n{name}\n\ntail" for name in "abcdefg"}
AFTER = {"a": ["b", "c"], "b": ["c", "d"], "e": ["f", "g"]}


def source(name):
    return Source(name, TEXTS[name])


@pytest.fixture
def next_file(tmp_path):
    write_following(TEXTS, AFTER, tmp_path / "made" / "next.json.gz")
    return tmp_path / "made" / "next.json.gz"


@pytest.fixture
def followers(next_file):
    return following(next_file)


def test_what_follows_comes_with_its_source(followers):
    assert followers.of(source("a")) == [source("b"), source("c")]
    assert followers.of(source("d")) == []
    assert followers.of(Source("unknown", "text")) == []
    assert len(followers) == len(TEXTS)


def test_nothing_follows_another_versions_kernel(followers):
    assert followers.of(Source("a", TEXTS["a"] + " ")) == []


def test_what_sources_share_is_kept_once(tmp_path):
    shared = "\n\n".join(f"float f{number}(float x) {{ return x * {number}; }}" for number in range(1000))
    one = write_following({"a": shared}, {}, tmp_path / "one")
    many = write_following({str(number): f"{shared}\n\n{number}" for number in range(100)}, {}, tmp_path / "many")
    assert many < 4 * one
    assert following(tmp_path / "many").of(Source("7", f"{shared}\n\n7")) == []


@pytest.mark.parametrize("damage", [lambda whole: b"", lambda whole: whole[:-9], lambda whole: whole[:40] + whole[41:]])
def test_a_damaged_file_lists_nothing(next_file, damage):
    following.cache_clear()
    next_file.write_bytes(damage(next_file.read_bytes()))
    assert len(following(next_file)) == 0


def test_a_missing_file_lists_nothing(tmp_path):
    assert len(following(tmp_path / "none")) == 0


def made(followers, compiled, threads=1):
    return BackgroundCompiler(lambda each, arch: compiled.append((each.entry, arch)), lambda: followers, threads)


def test_what_follows_is_compiled_in_order(followers):
    compiled = []
    ahead = made(followers, compiled)
    ahead.asked(source("a"), "sm_90")
    ahead.wait()
    assert compiled == [("b", "sm_90"), ("c", "sm_90")]


def test_nothing_is_queued_twice(followers):
    compiled = []
    ahead = made(followers, compiled)
    for name in ("b", "a", "a", "b"):
        ahead.asked(source(name), "sm_90")
        ahead.wait()
    assert compiled == [("c", "sm_90"), ("d", "sm_90")]
    ahead.asked(source("a"), "sm_80")
    ahead.wait()
    assert compiled[2:] == [("b", "sm_80"), ("c", "sm_80")]


def test_what_follows_the_newest_goes_first(followers):
    compiled, is_running, may_go_on = [], threading.Event(), threading.Event()

    def compile(each, arch):
        is_running.set()
        may_go_on.wait()
        compiled.append(each.entry)

    ahead = BackgroundCompiler(compile, lambda: followers, 1)
    ahead.asked(source("a"), "sm_90")
    is_running.wait()
    ahead.asked(source("e"), "sm_90")
    may_go_on.set()
    ahead.wait()
    assert compiled == ["b", "f", "g", "c"]


def test_without_a_thread_nothing_is_compiled(followers):
    compiled = []
    ahead = made(followers, compiled, threads=0)
    ahead.asked(source("a"), "sm_90")
    ahead.wait()
    assert compiled == []


def test_one_core_is_left_to_the_program(monkeypatch):
    for cores, threads in ((1, 0), (2, 1), (16, compiling.MAX_THREADS)):
        monkeypatch.setattr(compiling.os, "sched_getaffinity", lambda pid, cores=cores: set(range(cores)))
        assert compiling.spare_cores() == threads


def test_threads_end_when_nothing_is_left(followers):
    compiled = []
    ahead = made(followers, compiled, threads=3)
    for name in "abe":
        ahead.asked(source(name), "sm_90")
    ahead.wait()
    assert {entry for entry, _ in compiled} - {"b"} == set("cdfg")
    assert not [each for each in threading.enumerate() if each.name == "flambeau-compile"]


def test_the_end_waits_for_what_runs_and_drops_the_rest(followers):
    compiled = []

    def compile(each, arch):
        threading.Thread(target=ahead.finish).start()
        while not ahead._is_over:
            pass
        compiled.append(each.entry)

    ahead = BackgroundCompiler(compile, lambda: followers, 1)
    ahead.asked(source("a"), "sm_90")
    ahead.wait()
    ahead.asked(source("e"), "sm_90")
    ahead.wait()
    assert compiled == ["b"]


AT_EXIT = """
import threading, time
from flambeau.driver.nvidia.compile import BackgroundCompiler, Following, Source

started = threading.Event()

def compile(each, arch):
    started.set()
    while not ahead._is_over:  # the process is ending meanwhile
        time.sleep(0)
    print("made", each.entry, flush=True)

listed = Following(["a", "b", "c"], {"a": [0], "b": [1], "c": [2]}, {"a": ["b", "c"]})
ahead = BackgroundCompiler(compile, lambda: listed, 1)
ahead.asked(Source("a", "a"), "sm_90")
started.wait()
print("end of the program", flush=True)
"""


def test_a_process_ends_after_what_is_being_compiled():
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "end of the program\nmade b\n"


def test_a_list_can_be_empty():
    assert Following((), {}, {}).of(Source("a", "")) == []
