"""Whether a program fits a card: the peak by kind, the step's modelled time, and the command."""

import json
import os
import re
from contextlib import suppress
from pathlib import Path

import click
import pytest

import flambeau as torch
from flambeau import nn, optim
from flambeau.cli.commands import CARDS_HELP, commands
from flambeau.cli.fit import batch_in, with_batch, without_batch
from flambeau.driver.virtual.card import FOLDER, NAMES
from flambeau.nn import functional as F
from flambeau.testing import machine
from flambeau.tools.fit import KINDS, DeviceLog, Enough, Fit, Meter, Peak, Question, Run
from tests.forks import Wanted

pytestmark = pytest.mark.filterwarnings("ignore:a value is read here")
ROOT = Path(__file__).parents[2]


def seen(program, *, card="h200", steps=3, values=False, devices=1):
    """Run a program in this process under a meter; return the meter's measurements and the allocator's peak."""
    meter = Meter(card, 0, steps, values)
    meter.begin()
    try:
        with machine(devices=devices):
            with suppress(Enough):
                program()
            peak = torch.cuda.max_memory_reserved()
    finally:
        meter.end()
    return meter.run(0, ""), peak


def train(net, optimizer, loss_of, count=10):
    for _ in range(count):
        loss_of(net).backward()
        optimizer.step()
        optimizer.zero_grad()


def perceptron():
    net = nn.Sequential(nn.Linear(512, 512, bias=False), nn.ReLU(), nn.Linear(512, 512, bias=False)).cuda()
    frozen = nn.Linear(512, 512, bias=False).cuda().requires_grad_(False)
    x = torch.randn(64, 512, device="cuda")
    train(net, optim.Adam(net.parameters()), lambda net: frozen(net(x)).square().mean())


def convolutions():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    net = nn.Sequential(*layers, nn.Dropout(), nn.Linear(32 * 64, 10)).cuda()
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, labels = torch.randn(32, 3, 16, 16, device="cuda"), torch.arange(32, device="cuda") % 10
    scaler = torch.amp.GradScaler("cuda", init_scale=1.0)
    for _ in range(10):
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(net(x), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert loss.item() > 0
        optimizer.zero_grad()


def two_optimizers():
    one, two = nn.Linear(256, 256).cuda(), nn.Linear(256, 256).cuda()
    first, second = optim.Adam(one.parameters()), optim.AdamW(two.parameters())
    for step in range(50):
        (two(one(torch.randn(8, 256, device="cuda")))).sum().backward()
        first.step()
        if step % 5 == 4:
            second.step()


@pytest.mark.parametrize("program", [perceptron, convolutions, two_optimizers])
def test_the_peak_and_the_time_are_those_with_values(program):
    (without, reserved), (computed, really) = seen(program), seen(program, values=True)
    assert without == computed
    assert without.peak.reserved == reserved == really
    assert sum(without.peak.kinds.values()) == reserved and without.steps >= 3 and without.step_ns > 0


def test_the_kinds_of_memory():
    found, _ = seen(perceptron)
    kinds, mib = found.peak.kinds, 1 << 20
    assert tuple(kinds) == KINDS
    assert (kinds["parameters"], kinds["gradients"], kinds["optimizer_state"]) == (3 * mib, 2 * mib, 4 * mib)
    assert 128 << 10 <= kinds["activations"] <= mib
    assert kinds["workspace"] == 0
    assert kinds["fragmentation"] == found.peak.reserved - found.peak.allocated > 0


def many_images(devices=(0,), layout=torch.contiguous_format):
    net = nn.Sequential(nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Conv2d(64, 32, 3), nn.Flatten(1), nn.LazyLinear(1))
    x = torch.randn(len(devices) * 64, 32, 28, 28, device="cuda").to(memory_format=layout).requires_grad_()
    net = net.cuda().to(memory_format=layout)
    net(x[:1])
    whole = nn.DataParallel(net, devices) if len(devices) > 1 else net
    train(net, optim.SGD(net.parameters(), lr=0.1), lambda net: whole(x).sum())


def test_the_workspace_of_a_gradient_is_the_copies_of_images_that_are_not_channels_last():
    x, y = 64 * 64 * 26 * 26 * 4, 64 * 32 * 24 * 24 * 4  # of the second convolution, whose gradients are the peak
    sums = 132 // 9 * 4 * 32 * 64 * 9
    found, _ = seen(many_images)
    assert found.peak.kinds["workspace"] == x + y + sums
    assert sum(found.peak.kinds.values()) == found.peak.reserved
    found, _ = seen(lambda: many_images(layout=torch.channels_last))
    assert found.peak.kinds["workspace"] <= sums


def test_each_gpu_has_a_workspace_of_its_own():
    found, _ = seen(lambda: many_images((0, 1)), devices=2)
    assert [each.kinds["workspace"] > 10 << 20 for each in found.peaks] == [True, True]


def test_every_optimizer_makes_its_steps():
    found, _ = seen(two_optimizers, steps=2)
    assert found.steps == 10 and found.peak.kinds["optimizer_state"] == 4 * 257 * 1024


def test_an_optimizer_that_never_steps_does_not_keep_the_program_running():
    def program():
        net = nn.Linear(8, 8).cuda()
        idle = optim.SGD(net.parameters(), lr=1.0)
        train(net, optim.SGD(net.parameters(), lr=0.1), lambda net: net(torch.ones(8, device="cuda")).sum(), 1000)
        assert idle is None  # not reached

    assert seen(program, steps=2)[0].steps == 20


def test_inference_runs_to_its_end_and_has_parameters():
    def program():
        net = nn.Linear(1024, 1024, bias=False).cuda()
        with torch.no_grad():
            for _ in range(5):
                net(torch.ones(8, 1024, device="cuda"))

    found, _ = seen(program)
    assert (found.steps, found.step_ns, found.peak.kinds["parameters"]) == (0, None, 4 << 20)


@pytest.mark.parametrize("settings", ["expandable_segments:True", "backend:cudaMallocAsync", "max_split_size_mb:32"])
def test_other_allocators_have_a_peak_of_their_own(monkeypatch, settings):
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", settings)
    found, reserved = seen(perceptron)
    assert found.peak.reserved == reserved > found.peak.allocated
    assert found.peak.kinds["optimizer_state"] == 4 << 20


def test_each_device_has_its_peak():
    def program():
        torch.ones(10 << 20, device="cuda:0")
        torch.ones(11 << 20, device="cuda:1")

    found, _ = seen(program, devices=2)
    assert [peak.device for peak in found.peaks] == [0, 1] and found.peak.device == 1
    assert Run.from_json(found.to_json()) == found


def test_a_slower_card_takes_longer():
    times = [seen(perceptron, card=card)[0].step_ns for card in ("h200", "t4")]
    assert 0 < times[0] < times[1]


def test_a_log_is_folded_without_loss(monkeypatch):
    def filled():
        log = DeviceLog()
        for number in range(40):
            log.reserved = 1000 if number < 30 else 900
            log.add(number, 10 + number)
            if number % 3:
                log.remove(number, 10 + number)
        return log.best, log.live_at_peak()

    expected = filled()
    monkeypatch.setattr("flambeau.tools.fit.FOLDED_AT", 7)
    assert filled() == expected
    assert sorted(expected[1]) == [*range(0, 28, 3), 29]


def fake_question(monkeypatch, limit):
    """A question about a program that needs a tenth of a GiB for each sample, and fails from `limit` on."""
    tried = []

    def measured(self, card, memory, is_quiet, batch):
        tried.append(batch)
        if batch is None or batch >= limit:
            return Run(1, "ValueError: too many", "", 0, None, [])
        need = (batch << 30) // 10
        short = "train.py:3" if not memory and need > Fit(card, True, None).capacity else ""
        return Run(0, "", short, 3, 5, [Peak(0, need, need, {})])

    monkeypatch.setattr(Question, "_measure", measured)
    return Question(lambda batch: 0), tried


@pytest.mark.parametrize(("limit", "first", "largest"), [(1 << 30, 1, 240), (1 << 30, 1000, 240), (77, 8, 76)])
def test_the_largest_batch_is_found_by_bisection(monkeypatch, limit, first, largest):
    question, tried = fake_question(monkeypatch, limit)
    said = []
    found = question.largest_batch("rtx4090", False, first, lambda batch, fits: said.append((batch, fits)))
    assert (found.fits, found.batch, found.next_batch) == (True, largest, largest + 1)
    assert found.why == ("ValueError: too many" if limit == 77 else "out of memory at train.py:3")
    assert len(tried) == len(set(tried)) == len(said) <= 20


def test_batches_below_one_that_does_not_fit_are_bisected_however_large(monkeypatch):
    def measured(self, card, memory, is_quiet, batch):
        return Run(0, "", "train.py:3" if batch > 5_000_000 else "", 3, 5, [Peak(0, batch, batch, {})])

    monkeypatch.setattr(Question, "_measure", measured)
    found = Question(lambda batch: 0).largest_batch("t4", False, 20_000_000, lambda batch, fits: None)
    assert (found.batch, found.next_batch) == (5_000_000, 5_000_001)


def test_no_batch_fits(monkeypatch):
    question, _ = fake_question(monkeypatch, 1)
    found = question.largest_batch("t4", False, 4, lambda batch, fits: None)
    assert (found.fits, found.batch, found.run.error) == (None, None, "ValueError: too many")


def test_the_batch_among_the_arguments():
    assert with_batch(("-b", "4", "x"), "-b", 9) == ("-b", "9", "x")
    assert with_batch(("--size=4",), "--size", 9) == ("--size=9",)
    assert with_batch(("x",), "--size", 9) == ("x", "--size", "9")
    for arguments in (("-b", "4", "x"), ("-b=4", "x"), ("x", "-b", "4"), ("x",), ("x", "-b")):
        assert without_batch(arguments, "-b") == ("x",)
    assert [batch_in(each, "-b") for each in [("-b", "4"), ("-b=5",), (), ("-b",), ("-b", "few")]] == [4, 5, 1, 1, 1]


# the command


@pytest.fixture
def fit(programs, tmp_path):
    """Runs `flambeau fit` in a folder with program.py."""

    def run(text, *args, options=()):
        (tmp_path / "program.py").write_text(text)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FLAMBEAU")}
        settings = {**kept, "PYTHONPATH": str(ROOT / "src"), "FLAMBEAU_PURE": "1"}
        command = ["-m", "flambeau", "fit", *options, "program.py", *args]
        return programs.run(Wanted(command, str(tmp_path), settings))

    return run


PROGRAM = """
import atexit, sys
import flambeau as torch
from flambeau import nn, optim
atexit.register(sys.stdout.write, "atexit\\n")
width = int(sys.argv[sys.argv.index("--width") + 1]) if "--width" in sys.argv else 1024
net = nn.Linear(width, width, bias=False, device="cuda")
optimizer = optim.Adam(net.parameters())
try:
    for step in range(100):
        loss = net(torch.ones(4, width, device="cuda")).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        sys.stdout.write(f"step {step}\\n")
finally:
    sys.stdout.write("finally\\n")
"""


def test_the_report_says_that_it_fits(fit):
    done = fit(PROGRAM, options=["--card", "rtx4090"])
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:4] == ["step 0", "step 1", "finally", "atexit"]
    text = done.stdout
    assert "program.py: 3 optimizer steps, values not computed" in text
    assert re.search(r"rtx4090: fits: \d+\.00 MiB of 24\.00 GiB", text)
    assert re.search(r"optimizer state +8\.00 MiB +\d+\.\d%", text) and re.search(r"gradients +4\.00 MiB", text)
    assert re.search(r"step time [\d.]+ ms \(modelled, not calibrated\)", text)


def test_a_card_may_be_a_file_and_a_wrong_one_is_named(fit, tmp_path):
    text = (FOLDER / "t4.toml").read_text().replace("16GiB", "64MiB")
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(text)
    bad.write_text(text.replace("memory = 320", "memory = 'much'"))
    done = fit(PROGRAM, options=["--card", str(good)])
    assert done.returncode == 0 and "good.toml: fits" in done.stdout and "of 64.00 MiB" in done.stdout
    assert "(modelled, not calibrated)" in done.stdout
    done = fit(PROGRAM, options=["--card", str(bad)])
    assert done.returncode == 2
    assert all(part in done.stderr for part in ("bad.toml", "peaks.memory", "'much'", "hint"))


def test_the_report_says_where_it_does_not_fit(fit):
    done = fit(PROGRAM, "--width", "32768", options=["--card", "t4", "--card", "h200", "--json"])
    found = json.loads(done.stdout)
    assert done.returncode == 1 and "finally" in done.stderr
    small, large = found["cards"]
    assert (small["card"], small["fits"], large["card"], large["fits"]) == ("t4", False, "h200", True)
    assert re.fullmatch(r"program\.py:\d+, in an allocation of 4\.00 GiB", small["shortage"])
    assert small["peak"] == large["peak"] > small["capacity"] == 16 << 30
    assert small["kinds"] == large["kinds"] and large["kinds"]["parameters"] == 4 << 30
    assert (small["is_calibrated"], large["is_calibrated"], large["steps"]) == (False, True, 3)
    assert small["step_ms"] > large["step_ms"] > 0


def test_the_largest_batch(fit):
    text = (
        "import sys, flambeau as torch\nx = torch.ones(int(sys.argv[2]), 1 << 30, device='cuda', dtype=torch.uint8)\n"
    )
    done = fit(text, "-b", "12", options=["--card", "t4", "--batch-option", "-b"])
    assert done.returncode == 0
    assert "t4: fits with -b 16 at most: 16.00 GiB of 16.00 GiB" in done.stdout
    assert "-b 17 does not: out of memory at program.py:2, in an allocation of 17.00 GiB" in done.stdout
    assert "flambeau fit: t4: -b 24 does not fit" in done.stderr
    assert "only 0 bytes are left" in done.stdout


def test_a_batch_that_fails_for_another_reason_is_not_said_not_to_fit(fit):
    text = "import sys, flambeau as torch\ntorch.ones(3, device='cuda')\nsys.exit(3 * (int(sys.argv[2]) > 5))\n"
    done = fit(text, "-b", "2", options=["--card", "t4", "--batch-option", "-b"])
    assert done.returncode == 0 and "t4: fits with -b 5 at most" in done.stdout
    assert "t4: -b 4096 failed: the program ended with exit status 3\n" in done.stderr
    assert "does not fit" not in done.stderr and done.stderr.count("fits") == 3


def test_a_batch_of_which_no_larger_one_was_tried_is_not_the_largest(fit):
    text = "import flambeau as torch\ntorch.ones(3, device='cuda')\n"
    done = fit(text, "-b", str(1 << 20), options=["--card", "t4", "--batch-option", "-b"])
    assert done.returncode == 0 and "t4: fits with -b 1048576, and larger ones were not tried: " in done.stdout


def test_an_option_that_the_program_does_not_use_is_named(fit):
    text = "import sys, flambeau as torch\ntorch.ones(3, device='cuda')\n"
    search = ["--batch-option=-b"]
    for options in ([], ["--json"]):
        done = fit(text, options=["--card", "t4", "--card", "l4", *search, *options])
        said = json.loads(done.stdout)["cards"][0]["error"] if options else done.stdout
        assert done.returncode == 1 and done.stderr.count("fits") == 3, done.stderr
        assert "-b has no effect: the program does the same with 2 and with 2048" in said
        assert "hint: --batch-option wants" in said and "l4" not in done.stdout
    text = "import sys, flambeau as torch\ntorch.ones(2 << 34, dtype=torch.uint8, device='cuda')\n"
    done = fit(text, "-b", "64", options=["--card", "t4", *search])
    assert done.returncode == 1 and done.stderr.count("does not fit") == 2
    assert "t4: does not fit, even with -b 1: 32.00 GiB" in done.stdout and "-b has no effect" in done.stdout
    done = fit("print(1)", options=["--card", "t4", *search])
    assert done.returncode == 1 and "t4: unknown: the program used no GPU" in done.stdout


def test_an_option_that_the_program_does_not_know_is_named(fit):
    text = """
import argparse, flambeau as torch
argparse.ArgumentParser().parse_args()
torch.ones(3, device="cuda")
"""
    for arguments in ((), ("-b", "64")):
        done = fit(text, *arguments, options=["--card", "t4", "--batch-option=-b"])
        assert done.returncode == 2 and done.stderr.count("t4: -b") == len(arguments) // 2 + 1
        assert "the program runs without -b, and fails with -b 1: " in done.stdout and "\n    hint: " in done.stdout
    done = fit("import sys\nsys.exit(3)", options=["--card", "t4", "--batch-option=-b"])
    assert done.returncode == 3 and "hint" not in done.stdout  # the option is not the reason


def test_a_peak_that_does_not_grow_ends_the_search(fit):
    text = """
import sys, flambeau as torch
for _ in range({count}):
    torch.ones({size}, 1 << 20, device="cuda", dtype=torch.uint8)
"""
    for count, size, same in (("int(sys.argv[2])", "3", 2), ("1", "min(int(sys.argv[2]), 3)", 8)):
        done = fit(text.format(count=count, size=size), options=["--card", "t4", "--batch-option", "-b"])
        assert done.returncode == 0 and f"t4: fits with -b {1024 * same}, and larger ones were not tried" in done.stdout
        assert f"the peak is the same with -b {same}\n    hint: " in done.stdout


def test_a_program_that_fails_passes_its_status_on(fit):
    done = fit("import sys, flambeau as torch\ntorch.ones(3, device='cuda')\nsys.exit(7)\n", options=["--card", "t4"])
    assert done.returncode == 7 and "t4: unknown: " in done.stdout and "hint" not in done.stdout
    text = "import sys, flambeau as torch\nsys.exit(7 * torch.zeros(1, device='cuda', dtype=int).item())\n"
    done = fit(text, options=["--card", "t4"])
    assert done.returncode == 7 and "\n    hint: " in done.stdout and "--values" in done.stdout


def test_a_shape_that_depends_on_values_names_its_line_and_the_option(fit):
    text = "import flambeau as torch\nx = torch.ones(3, device='cuda')\nprint(x.nonzero().shape)\n"
    done = fit(text, options=["--card", "t4"])
    assert done.returncode == 1
    assert "nonzero: the result depends on the values of" in done.stderr and "program.py:3" in done.stderr
    assert "--values" in done.stderr
    done = fit(text, options=["--card", "t4", "--values"])
    assert done.returncode == 0 and "[3, 1]" in done.stdout and "values computed" in done.stdout


def test_a_program_that_a_signal_kills(fit):
    done = fit("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", options=["--card", "t4"])
    assert done.returncode == 137 and "t4: unknown: the program was killed by SIGKILL" in done.stdout


def test_a_program_without_a_gpu(fit):
    done = fit("print(6 * 7)\n", options=["--card", "t4"])
    assert done.returncode == 0 and done.stdout.startswith("42\n") and "t4: the program used no GPU" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "--card rtx4090"), (("--card", "voodoo2"), "--card voodoo2"), (("--card", "t4", "--steps", "0"), "--steps")],
)
def test_wrong_options(options, said):
    with pytest.raises(click.UsageError) as failure:
        commands.main(["fit", *options, "program.py"], standalone_mode=False)
    assert said in failure.value.format_message()


RANKS = """
import sys
import flambeau as torch
from flambeau import distributed as dist, nn, optim
dist.init_process_group()
net = nn.parallel.DistributedDataParallel(nn.Linear(1024, 1024, device="cuda"))
optimizer = optim.Adam(net.parameters())
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
for step in range(8):
    loss = net(torch.ones(64, 1024, device="cuda")).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    (end if step else start).record()
torch.cuda.synchronize()
if dist.get_rank() == 0:
    sys.stdout.write(f"{torch.cuda.max_memory_reserved()} {start.elapsed_time(end) / 7:.4f}\\n")
dist.destroy_process_group()
"""


@pytest.mark.full
def test_one_process_stands_for_all_ranks(programs, fit, tmp_path):
    found = {}
    for ranks, more in ((1, ()), (2, ()), (64, ("--hosts", "8", "--network", "10"))):
        done = fit(RANKS, options=["--card", "h200", "--steps", "8", "--json", "--nproc", str(ranks), *more])
        assert done.returncode == 0, done.stderr
        assert "a value is read here" not in done.stderr
        (found[ranks],) = json.loads(done.stdout)["cards"]
    assert found[1]["step_ms"] < found[2]["step_ms"] < found[64]["step_ms"] / 3
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FLAMBEAU_PURE": "1"}
    text = RANKS.replace('device="cuda"', 'device=f"cuda:{dist.get_rank()}"')
    (tmp_path / "two.py").write_text(text)
    command = ["-m", "flambeau", "run", "--gpus", "virtual:2", "--nproc", "2", "two.py"]
    done = programs.run(Wanted(command, str(tmp_path), settings))
    assert done.returncode == 0, done.stderr
    peak, milliseconds = done.stdout.split()
    assert found[2]["peak"] == int(peak)
    assert found[2]["step_ms"] == pytest.approx(float(milliseconds), rel=0.05)


def test_ranks_that_differ_are_not_modelled(fit):
    receives = "dist.recv_object_list([None], src=1)"
    text = RANKS.replace("optimizer = optim", f"{receives}\noptimizer = optim")
    done = fit(text, options=["--card", "h200", "--nproc", "2"])
    assert done.returncode == 1 and "recv_object_list" in done.stderr and "objects cannot be exchanged" in done.stderr
    assert "hint: use flambeau trace --nproc, which runs all ranks" in done.stderr
    with pytest.raises(click.UsageError) as failure:
        commands.main(
            ["fit", "--card", "t4", "--nproc", "2", "--straggler", "1:2", "program.py"], standalone_mode=False
        )
    assert "--straggler" in failure.value.format_message()


def test_a_missing_program(programs, tmp_path):
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FLAMBEAU_PURE": "1"}
    done = programs.run(Wanted(["-m", "flambeau", "fit", "--card", "t4", "nowhere.py"], str(tmp_path), settings))
    assert done.returncode == 1 and "flambeau fit: there is no file 'nowhere.py'" in done.stderr


def large(programs, *args):
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FLAMBEAU_PURE": "1"}
    command = ["-m", "flambeau", "fit", "--json", "--card", "h200", "examples/transformer_70b.py", *args]
    done = programs.run(Wanted(command, str(ROOT), settings))
    (card,) = json.loads(done.stdout)["cards"]
    assert done.returncode == int(not card["fits"]), done.stderr
    return card


def test_a_large_transformer_needs_no_memory_of_this_machine(programs):
    card = large(programs, "--layers", "2")
    parameters = 2 * (2 * (2 * 8192**2 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192) + 2 * 32000 * 8192 + 8192)
    assert card["fits"] and card["kinds"]["parameters"] == parameters == card["kinds"]["gradients"]


@pytest.mark.full
def test_70_billion_parameters_on_any_machine(programs):
    made, moved = large(programs), large(programs, "--on-cpu-first")
    assert made == moved and not made["fits"] and "transformer_70b.py" in made["shortage"]
    assert made["kinds"]["parameters"] > 2 * 68_900_000_000 and made["peak"] > 4 * made["kinds"]["parameters"]


PROGRAMS = ("bert", "cifar_resnet", "clip", "dcgan", "diffusion", "mnist_cnn", "nano_gpt", "siamese", "unet", "vit")


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_for_pytorch_have_the_peak_that_they_have_with_values(programs, name):
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FLAMBEAU_PURE": "1"}
    found = []
    for values in ([], ["--values"]):
        command = ["fit", "--as-torch", "--json", "--card", "a100-40", *values, f"tests/programs/{name}.py"]
        done = programs.run(Wanted(["-m", "flambeau", *command, "--device", "cuda"], str(ROOT), settings))
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout)["cards"])
    assert found[0] == found[1] and found[0][0]["steps"] >= 3


def test_the_help_names_every_card():
    assert CARDS_HELP.startswith(", ".join(NAMES) + ", or all;")
