"""The scripts that write a GPU's card and compare modelled times with measured ones.  Nothing depends on a time."""

import json

import pytest

from benchmarks import calibrate, modelled
from flambeau.driver.virtual.card import DEFAULT, TABLES, card, kind_of
from flambeau.testing import machine


@pytest.fixture(autouse=True)
def virtual():
    with machine(memory="4GiB"):
        yield


def test_the_points_of_a_curve_rise_in_both_directions():
    assert calibrate.rising([(200, 50.4), (100, 60.0), (100, 61.0), (400, 55.0)]) == [[100, 61], [200, 61], [400, 61]]


def test_a_written_card_has_what_was_found_and_the_preset_s_figures_for_the_rest(tmp_path):
    found = {"host": {"launch": 1234.4}, **{table: {} for table in TABLES}}
    found["kernels"]["pointwise"] = [[100, 10], [200, 30]]
    path = tmp_path / "own.toml"
    path.write_text(calibrate.text_of(found, "Own", "a test", True))
    own, model = card(str(path)), card(DEFAULT)
    assert (own.name, own.total_memory, own.is_calibrated) == ("Own", 4 << 30, True)
    assert own.host.launch == 1234 and own.host.product == model.host.product
    assert own.kernel_ns(150, 0) == 20
    assert own.times["products"]["tf32"].at(10**9) == model.times["products"]["tf32"].at(10**9)


def test_a_measurement_that_fails_is_named_and_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    def fails(small):
        raise ValueError("no such kernel")

    entries = [calibrate.Entry("kernels", "scan", fails), calibrate.Entry("kernels", "rows", lambda small: [(64, 9.0)])]
    monkeypatch.setattr(calibrate, "entries", lambda: entries)
    monkeypatch.setattr(calibrate, "measured_host", lambda: [("launch", 7.0)])
    paths = [str(tmp_path / name) for name in ("own.toml", "own.json")]
    assert calibrate.main(["--small", "--out", paths[0], "--json", paths[1]]) == 1
    with open(paths[1]) as file:
        facts = json.load(file)
    assert facts["failures"] == {"kernels.scan": "ValueError: no such kernel"}
    assert facts["found"]["kernels"] == {"scan": [], "rows": [[64, 9]]}
    assert not card(paths[0]).is_calibrated and card(paths[0]).host.launch == 7
    assert "FAILED kernels.scan" in capsys.readouterr().out


def test_the_host_alone_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(calibrate, "measured_host", lambda: [("launch", 7.0)])
    path = str(tmp_path / "own.toml")
    assert calibrate.main(["--small", "--host", "--out", path]) == 0
    own, model = card(path), card(DEFAULT)
    assert (own.host.launch, own.host.product) == (7, model.host.product)
    for table, curves in model.times.items():
        assert [own.times[table][each].times for each in curves] == [each.times for each in curves.values()]
    assert "the host's times; the others are those of the preset" in own.source


@pytest.mark.parametrize("name", calibrate.KERNELS)
def test_every_kind_of_kernel_is_one_launch_of_that_kind(name):
    call, nbytes = calibrate.KERNELS[name](1 << 18)
    call()
    assert calibrate.launches(call) == (1, 0) and nbytes == pytest.approx(1 << 18, rel=0.3)
    with calibrate.torch.profile() as found:
        call()
    (span,) = found.spans
    assert kind_of(span.name) == name


def test_where_the_host_cannot_be_measured_the_reason_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(modelled.sys, "executable", "false")
    with pytest.raises(RuntimeError, match="false -m benchmarks.calibrate --host .*: exit status 1"):
        modelled.with_this_host(str(tmp_path))


def test_a_modelled_step_is_the_same_every_time():
    step = modelled.small_pointwise()
    assert modelled.step_ns(step) == modelled.step_ns(step) > 0


def test_a_row_says_whether_time_and_peak_hold():
    row = modelled.compared("perceptron", {"ns": 120.0, "peak": 90}, {"ns": 100.0, "peak": 100})
    assert (row["ratio"], row["time_holds"], row["peak_holds"]) == (1.2, True, False)
    assert "1.20" in modelled.text_of(row) and "0.90 !" in modelled.text_of(row)
    failed = modelled.compared("products", {"error": "it was lost"}, None)
    assert "ratio" not in failed and "it was lost" in modelled.text_of(failed)
