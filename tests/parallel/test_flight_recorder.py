"""The flight recorder of collectives."""

import json

import flambeau as torch
from flambeau import distributed as dist
from flambeau.distributed import flight_recorder
from flambeau.parallel.flight_recorder import SHOWN, FlightRecorder
from tests.parallel.processes import run


def test_it_keeps_the_last_entries_in_a_fixed_amount_of_memory(monkeypatch):
    monkeypatch.setenv("TORCH_FR_BUFFER_SIZE", "3")
    recorder = FlightRecorder(1)
    for number in range(10):
        recorder.add(f"0:{number}", "all_reduce", f"all_reduce() at a.py:{number}", 8)
    recorder.started("0:8")
    recorder.started("0:9")
    recorder.completed("0:9")
    recorder.completed("0:1")  # no longer kept
    found = json.loads(recorder.dump())
    assert found["rank"] == 1
    entries = found["entries"]
    assert [each["record_id"] for each in entries] == [7, 8, 9]
    assert [each["state"] for each in entries] == ["scheduled", "started", "completed"]
    assert [each["collective_seq_id"] for each in entries] == ["7", "8", "9"]
    assert len(recorder._running) == 2


def test_a_failure_comes_with_the_last_collectives(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_FR_DUMP_TEMP_FILE", str(tmp_path / "dump_"))

    def function(rank):
        x = torch.ones(4, device="cuda")
        for _ in range(SHOWN):
            dist.all_reduce(x)
        entry = json.loads(flight_recorder.dump())["entries"][-1]
        try:
            dist.all_reduce(torch.ones(3 + rank, device="cuda"))
            torch.cuda.synchronize()
        except dist.CollectiveError as error:
            return entry, error.__notes__

    for rank, (entry, notes) in enumerate(run(function, 2, "nccl", gpus=2)):
        assert (entry["pg_id"], entry["profiling_name"], entry["nbytes"]) == ("0", "all_reduce", 16)
        assert "test_flight_recorder.py:" in entry["call"]
        (note,) = notes
        assert note.startswith(f"the last collectives of rank {rank}:\n")
        assert f"all_reduce(float32[{3 + rank}], SUM) at " in note and note.count("\n") == SHOWN
        written = json.loads((tmp_path / f"dump_{rank}").read_text())
        assert written["rank"] == rank and written["entries"][-1]["state"] != "completed"
