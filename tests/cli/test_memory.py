"""flambeau memory: a recorded program, its snapshot, and wrong options."""

ALLOCATES = "import flambeau\nx = flambeau.ones(1 << 20, device='cuda')\ny = x + 1\nraise SystemExit(3)\n"


def test_memory_records_a_program_and_explains_its_snapshot(flambeau, script, tmp_path):
    saved = tmp_path / "a.pickle"
    done = flambeau("memory", "--gpus", "virtual:1", "--save", saved, script(ALLOCATES))
    assert done.returncode == 3, done.stderr
    for part in ("GPU 0 at its peak", "8.00 MiB", "program.py:2 in <module>", "program.py:3 in <module>"):
        assert part in done.stdout, part
    done = flambeau("memory", "--replay", "large_segment_size_mb:40", "--capacity", "64MiB", saved)
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("a.pickle: 1 device", "as recorded", "20.00 MiB", "40.00 MiB  ", "large_segment_size_mb:40"):
        assert part in done.stdout, part


def test_memory_refuses_wrong_options_before_it_runs(flambeau, script):
    path = script("print('ran')\n")
    for options, parts in {
        ("--replay", "plaid:1"): ("--replay", "'plaid'", "hint:"),
        ("--capacity", "many"): ("'many'", "hint:"),
        ("--capacity", "0"): ("--capacity 0", "hint:"),
        ("--html", "/no/such/x.html"): ("cannot write '/no/such/x.html'", "hint:", "--html"),
        ("--save", "/no/such/x.pickle"): ("cannot write '/no/such/x.pickle'", "hint:", "--save"),
    }.items():
        done = flambeau("memory", *options, path)
        assert (done.returncode, done.stdout) == (1, "")
        assert all(part in done.stderr for part in ("flambeau memory", *parts)), done.stderr


def test_memory_says_when_there_is_nothing_to_explain(flambeau, script, tmp_path):
    done = flambeau("memory", "--gpus", "virtual:1", script("print('ran')\n"))
    assert done.returncode == 0 and "did not use a GPU" in done.stdout
    (tmp_path / "a.pickle").write_bytes(b"\x80\x04cos\nsystem\n.")
    done = flambeau("memory", tmp_path / "a.pickle")
    assert done.returncode == 1
    assert all(part in done.stderr for part in ("a.pickle", "os.system", "hint:"))


def test_memory_of_a_snapshot_takes_no_options_of_programs(flambeau, tmp_path):
    (tmp_path / "a.pickle").write_bytes(b"\x80\x04cos\nsystem\n.")
    for options, arguments, named in (
        (("--save", tmp_path / "b"), (), "--save"),
        (("--gpus", "virtual:1"), (), "--gpus"),
        (("--as-torch",), ("--epochs", "3"), "--as-torch, --epochs 3"),
    ):
        done = flambeau("memory", *options, tmp_path / "a.pickle", *arguments)
        assert (done.returncode, done.stdout) == (2, "") and f"{named}: only for a program" in done.stderr
