"""What dispatch keeps of the calls that it has seen."""

import pytest

import flambeau as torch
from flambeau import dispatch
from flambeau.errors import AcceleratorError
from flambeau.testing.machine import machine


def test_plans_are_bounded(monkeypatch):
    monkeypatch.setattr(dispatch, "MAX_PLANS", 2)
    with machine(devices=1) as made:
        plans = made.devices[0].plans
        counts = []
        for size in (1, 2, 3):
            x = torch.empty(size, device="cuda")
            x.exp()
            counts.append(len(plans))
    assert counts == [1, 2, 1]


def test_a_plan_serves_every_call_of_its_kind():
    with machine(devices=1) as made:
        x = torch.ones(3, 4, device="cuda")
        before = len(made.devices[0].plans)
        for scale in (2, 3, 4):
            x * scale
        assert len(made.devices[0].plans) == before + 1
        x * 2.0
        x.t() * 2
        assert len(made.devices[0].plans) == before + 4  # a float, another layout, and the view


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_call_that_only_looks_like_the_last_one_is_not_taken_for_it(device):
    with machine(devices=1):
        x = torch.arange(6, device=device).view(2, 3)
        assert [(x + number).dtype for number in (1, True, 1.0, 1)] == [
            torch.int64, torch.int64, torch.float32, torch.int64,
        ]  # fmt: skip
        assert [(x + number).tolist()[0][0] for number in (1, True, 2.5, 3)] == [1, 1, 2.5, 3]
        assert [x.sum(dim).tolist() for dim in (0, 1, 0, (0, 1), (1,))] == [
            [3, 5, 7], [3, 12], [3, 5, 7], 15, [3, 12],
        ]  # fmt: skip
        assert [x.sum(1, keep).shape for keep in (True, False, True)] == [(2, 1), (2,), (2, 1)]
        assert [x.view(*shape).shape for shape in ((6,), (3, 2), (-1, 2), (6,))] == [(6,), (3, 2), (3, 2), (6,)]
        assert [part.tolist() for part in (x[1:], x[:1], x[:, 300:], x[:, 1000:], x[1:])] == [
            [[3, 4, 5]], [[0, 1, 2]], [[], []], [[], []], [[3, 4, 5]],
        ]  # fmt: skip
        assert [(x + each).tolist()[1] for each in (x, x[1], x[1:], x)] == [
            [6, 8, 10], [6, 8, 10], [6, 8, 10], [6, 8, 10],
        ]  # fmt: skip
        with pytest.raises(TypeError, match="must be"):
            x.sum((1.0,))


def test_the_last_call_of_another_device_or_machine_is_another():
    with machine(devices=2) as made:
        for device in ("cuda:0", "cuda:1", "cpu", "cuda:0"):
            one = torch.ones(2, device=device)
            assert str((one + one).device) == device
        launched = [len(made.devices[index].plans) for index in (0, 1)]
        assert launched == [2, 2]  # fill and add
    with machine(devices=1) as other:
        one = torch.ones(2, device="cuda")
        assert (one + one).tolist() == [2.0, 2.0]
        assert len(other.devices[0].plans) == 2


def test_a_setting_is_asked_at_every_call():
    with machine(devices=1) as made:
        x = torch.ones(4, 4, device="cuda")
        for allowed in (False, True, False):
            torch.backends.cuda.matmul.allow_tf32 = allowed
            x @ x
        assert len([key for key in made.devices[0].plans if key[0].name == "matmul"]) == 2


def test_rows_by_an_index_tensor_are_one_operator():
    with machine(devices=1) as made:
        x = torch.arange(6.0, device="cuda").view(3, 2)
        index = torch.tensor([2, -1, 0], device="cuda")
        assert x[index].tolist() == [[4.0, 5.0], [4.0, 5.0], [0.0, 1.0]]
        assert {key[0].name for key in made.devices[0].plans} & {"index_select", "reshape"} == {"index_select"}


class TestTensorsOfAFormerMachine:
    """Their addresses may be those of other tensors by now."""

    CALLS = (
        lambda x: x + 1,
        lambda x: x.fill_(9),
        lambda x: torch.stack([x, x]),
        lambda x: x[0],
        lambda x: x.tolist(),
        lambda x: x.to("cuda:1"),
        lambda x: torch.empty(3).copy_(x),
    )

    @pytest.mark.parametrize("call", CALLS)
    def test_a_call_with_one_is_an_error_and_changes_nothing(self, call):
        with machine(devices=2):
            x = torch.ones(3, device="cuda")
            call(torch.ones(3, device="cuda"))
            call(x.clone())
        with machine(devices=2):
            z = torch.zeros(3, device="cuda")
            call(z.clone())
            assert x.data_ptr() != 0
            with pytest.raises(AcceleratorError, match="12 bytes of cuda:0 belong to a machine that is gone\nhint: "):
                call(x)
            assert z.tolist() == [0.0] * 3 and (z + 1).tolist() == [1.0] * 3
