"""The model that follows calls: what work of one stream costs, and which launches it keeps."""

import flambeau as torch
from flambeau.driver.virtual import deferred, following
from flambeau.testing import check, machine


def test_work_of_one_stream_is_neither_compared_nor_made_into_commands(followed, monkeypatch):
    monkeypatch.setattr(deferred, "FULL", 1)  # a call is made before the next one

    def step():
        x = torch.ones(100, device="cuda")
        return (x[10:] * 2 + torch.ones(90, device="cuda")).sum()

    made = []
    new_command, find = following.Alone.new_command, following.FollowedMemory.find
    with machine(devices=1, races="real"), check() as found:
        for _ in range(4):
            kept = step()
        monkeypatch.setattr(following.Alone, "new_command", lambda *args: made.append("command") or new_command(*args))
        monkeypatch.setattr(following.FollowedMemory, "find", lambda *args: made.append("find") or find(*args))
        kept = step()
        assert made == ["find"]  # of an address within a block
        with torch.cuda.stream(torch.cuda.Stream()):
            kept += 1
        assert made.count("command") > 1
    assert len(found.races) == 1 and followed[0].lost == ""


def test_a_program_that_never_waits_keeps_one_launch_per_use_of_a_block(followed, monkeypatch):
    monkeypatch.setattr(following, "PRUNE_AFTER", 64)
    with machine(devices=1, races="real"), check() as found:
        _, weight = torch.ones(8, device="cuda"), torch.ones(8, device="cuda")  # the first block may have other users
        others = [torch.ones(8, device="cuda") for _ in range(100)]
        for other in 5 * others:
            result = weight + other
        (alone,) = (each for each in followed[0].alone.values() if each.histories)
        history = alone.histories[weight.data_ptr()]
        assert len(history.launches) <= 64 + 4 and history.by_key is None
        side = torch.cuda.Stream(name="side")
        with torch.cuda.stream(side):
            weight.fill_(0)
        del result
    assert [(race.older.verb, race.newer.verb) for race in found.races] == [("reads", "writes")]
