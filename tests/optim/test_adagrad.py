"""Adagrad: the start of its sums."""

from flambeau import optim
from tests.optim.stepping import param


def test_adagrad_begins_the_sums_of_all_groups_with_its_own_option():
    groups = [{"params": [param()]}, {"params": [param()], "initial_accumulator_value": 7.0}]
    optimizer = optim.Adagrad(groups, lr=1.0, initial_accumulator_value=3.0)
    assert [state["sum"].item() for state in optimizer.state.values()] == [3.0, 3.0]
    optimizer.step()
    assert [group["params"][0].item() for group in optimizer.param_groups] == [0.5, 0.5]
