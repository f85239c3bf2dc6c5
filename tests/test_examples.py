"""The examples learn, and learn the same on every machine."""

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau.testing import check, machine

FOLDER = Path(__file__).parents[1] / "examples"


def loaded(name):
    """An example's module; what the examples share is imported as a program beside them does."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def digits():
    return loaded("digits")


FEW = ["--epochs", "2", "--batch-size", "128"]


@pytest.fixture(scope="module")
def on_cpu(digits):
    return digits.main([*FEW, "--disable-cuda"])


def test_it_learns_on_the_cpu(on_cpu):
    accuracy, losses = on_cpu
    assert len(losses) == 2 * 12
    assert losses[0] > 2.0 and losses[-1] < 1.0
    assert accuracy > 0.8


@pytest.mark.parametrize("devices", [pytest.param(1, marks=pytest.mark.full), 2])
def test_virtual_gpus_give_the_losses_of_the_cpu(digits, on_cpu, devices, capsys):
    with machine(devices=devices):
        accuracy, losses = digits.main(FEW)
    assert losses == pytest.approx(on_cpu[1], rel=1e-4)
    assert accuracy == pytest.approx(on_cpu[0], abs=0.01)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"test accuracy {accuracy:.3f}"
    assert any("Allocated memory" in line for line in lines)


STREAMS = 5  # two default streams, the prefetcher's, the test set's and that of DataParallel's copies
SCHEDULES = ["submission", *(f"delay:{made}" for made in range(STREAMS)), *(f"seeded:{seed}" for seed in range(10))]


def test_no_schedule_changes_a_bit(digits, sample):
    losses, logs = [], []
    schedules = sample(SCHEDULES, 4)
    for schedule in schedules:
        with machine(devices=2, races="real", schedule=schedule) as made:
            losses.append(digits.main(["--epochs", "1", "--batch-size", "288"])[1])
            first = min(made.streams)
            logs.append([(stream - first, number, name) for stream, number, name in made.driver.log])
            assert len(made.streams) == STREAMS
    assert all(each == losses[0] for each in losses)
    assert len({tuple(each) for each in logs}) == len(schedules)


def test_nothing_races(digits):
    with machine(devices=2, races="error"):
        digits.main(["--epochs", "1", "--batch-size", "256"])


SMALL = {
    "char_gpt": ["--context", "8", "--width", "16", "--layers", "1", "--characters", "4"],
    "word_lstm": ["--length", "4", "--width", "8", "--test-words", "20"],
    "digits_vae": ["--latent", "2"],
    "digits_vit": ["--width", "8", "--layers", "1"],
    "digits_gan": [],
    "digits_cnn": ["--width", "4"],
}


@pytest.fixture
def example(request):
    """`example(*options)` trains a small network of the example for four steps, and returns its losses."""
    main = loaded(request.param).main
    return lambda *options: main(["--steps", "4", "--batch-size", "4", *SMALL[request.param], *map(str, options)])


examples = pytest.mark.parametrize("example", SMALL, indirect=True)


@pytest.mark.slow
@examples
def test_a_resumed_training_goes_on_as_if_it_had_not_stopped(example, tmp_path):
    saved, plot = tmp_path / "saved.pt", tmp_path / "losses.svg"
    whole = example("--device", "cpu")
    begun = example("--device", "cpu", "--steps", "2", "--save", saved)
    resumed = example("--device", "cpu", "--resume", saved, "--plot", plot)
    assert len(whole) == 4 and begun == whole[:2] and resumed == whole
    assert "</svg>" in plot.read_text()


@pytest.mark.slow
@examples
def test_training_on_a_virtual_gpu_races_with_nothing(example, capsys):
    with machine(devices=1, races="error"):
        losses = example("--device", "cuda")
    assert len(losses) == 4 and all(0 < loss < 100 for loss in losses)
    assert capsys.readouterr().out.strip()


@pytest.mark.gpu
@pytest.mark.full
@pytest.mark.devices(1)
@examples
def test_an_nvidia_gpu_gives_the_losses_of_a_virtual_one(gpus, example):
    """Where GPUs are virtual, a step has the same losses in another machine."""
    with machine(devices=1):
        expected = example("--device", "cuda")
    assert len(expected) == 4 and example("--device", "cuda") == pytest.approx(expected, rel=1e-2)


QUICK = ("digits_cnn", "digits_gan")
each_in_mixed_precision = pytest.mark.parametrize(
    "example", [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in SMALL], indirect=True
)


@pytest.mark.slow
@each_in_mixed_precision
def test_mixed_precision_trains_and_resumes_on_every_machine(example, tmp_path):
    saved = tmp_path / "saved.pt"
    for device in ("cpu", "cuda"):
        with machine(devices=1, races="error"):
            full, whole = example("--device", device, "--steps", "1"), example("--device", device, "--amp")
            example("--device", device, "--amp", "--steps", "2", "--save", saved)
            assert example("--device", device, "--amp", "--resume", saved) == whole
        assert whole[0] == pytest.approx(full[0], rel=0.05) and whole[0] != full[0]


@pytest.mark.slow
def test_digits_resumes_after_an_epoch_in_mixed_precision(digits, tmp_path):
    saved, plot = tmp_path / "saved.pt", tmp_path / "losses.svg"
    arguments = ["--batch-size", "288", "--amp", "--disable-cuda", "--epochs"]
    whole = digits.main([*arguments, "2"])
    digits.main([*arguments, "1", "--save", str(saved)])
    assert digits.main([*arguments, "2", "--resume", str(saved), "--plot", str(plot)]) == whole
    assert "</svg>" in plot.read_text()


@pytest.mark.full
@pytest.mark.slow
def test_the_vision_transformer_learns(capsys):
    losses = loaded("digits_vit").main(["--device", "cpu", "--steps", "200"])
    assert losses[0] > 2.0 and losses[-1] < 1.6
    assert float(capsys.readouterr().out.split()[-1]) > 0.6


def test_one_rank_trains_as_the_cpu_does(capsys):
    main = loaded("ddp").main
    with machine(devices=1, races="error"):
        losses = main()
    assert losses == pytest.approx([0.5635, 0.4749, 0.4914], abs=1e-4)
    assert capsys.readouterr().out.splitlines()[0] == "epoch 0: loss 0.5635"


def test_a_network_with_a_kernel_of_its_own_trains_as_with_operators(monkeypatch, capsys):
    own = loaded("own_kernel")
    with machine(races="error"):
        losses = own.main(["--steps", "10"])
    assert len(losses) == 10 and losses[-1] < losses[0]
    assert capsys.readouterr().out.startswith(f"loss {losses[0]:.4f} at first, {losses[-1]:.4f} after 10 steps\n")
    monkeypatch.setattr(own.BiasedSilu, "apply", lambda x, bias: flambeau.nn.functional.silu(x + bias))
    with machine():
        assert own.main(["--steps", "10"]) == pytest.approx(losses, rel=1e-4)


def test_a_kernel_of_ones_own_agrees_with_its_reference(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))  # where NVRTC is installed, it compiles the source
    with machine():
        assert loaded("own_kernel").main(["--check"]) == []
    assert "agree" in capsys.readouterr().out


RACES = FOLDER / "races"
# program: (pairs of lines, statements of the edits)
FOUND = {
    "missing_wait": ({(10, 14), (14, 17)}, ["side.wait_stream(main)", "main.wait_stream(side)"]),
    "freed_under_a_copy": ({(15, 12)}, ["batch.record_stream(side)"]),
    "read_before_the_copy": ({(10, 13)}, ["torch.cuda.default_stream().synchronize()"]),
    "pinned_source_rewritten": ({(16, 15)}, ["main.synchronize()"]),
    "prefetch": ({(20, 18)}, ["side.wait_stream(main)"]),
    "three_missing_waits": (
        {(12, 16), (12, 20), (16, 20), (16, 23), (20, 23)},
        ["one.wait_stream(main)", "two.wait_stream(one)", "main.wait_stream(two)"],
    ),
    "event_recorded_too_early": ({(12, 17)}, ["side.wait_stream(torch.cuda.default_stream())"]),
    "graph_input": ({(14, 18)}, ["side.wait_stream(main)"]),
    "two_devices": ({(8, 13)}, ["side.wait_stream(torch.cuda.default_stream())"]),
    "no_race": (set(), []),
}


def checked(name, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    with machine(devices=2), check() as found:
        runpy.run_path(str(RACES / f"{name}.py"), run_name="__main__")
    return found


def test_every_program_with_a_race_is_tested():
    assert {path.stem for path in RACES.glob("*.py")} == set(FOUND)


@pytest.mark.parametrize("name", FOUND)
def test_races_are_found_and_gone_once_fixed(name, monkeypatch, capsys):
    found = checked(name, monkeypatch)
    lines, edits = FOUND[name]
    assert {tuple(int(site.rpartition(":")[2]) for site in race.lines) for race in found.races} == lines
    assert [edit.statement for edit in found.edits] == edits and found.verified
    assert checked(name, monkeypatch, "--fixed").races == ()
    assert capsys.readouterr().out.count("\n") == 2


def test_the_guide_shows_the_real_report():
    root = RACES.parents[1]
    page = (root / "docs" / "guides" / "finding-races.md").read_text()
    shown = re.search(r"```bash\nflambeau (check [^\n]*)\n```\n\n```text\n(.*?)```", page, re.DOTALL)
    command, printed = shown.groups()
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "FLAMBEAU_PURE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", *command.split()],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (1, printed)
