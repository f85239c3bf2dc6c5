"""state_dict and load_state_dict."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentTypeError, ModeError, NotSupportedError
from flambeau.nn.state_dict import StateDictError


def net():
    return nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 1, bias=False)))


def values(module):
    return {name: tensor.tolist() for name, tensor in module.state_dict().items()}


def test_a_state_shares_memory_and_has_no_gradient():
    module = net()
    state = module.state_dict()
    assert list(state) == ["0.weight", "0.bias", "1.0.weight"]
    assert not any(each.requires_grad for each in state.values())
    state["0.bias"].fill_(7)
    assert module[0].bias.tolist() == [7.0, 7.0]
    assert module.state_dict(keep_vars=True)["0.bias"] is module[0].bias
    assert list(module.state_dict(prefix="net.")) == ["net.0.weight", "net.0.bias", "net.1.0.weight"]


def test_loading_copies_values_and_converts_types():
    source, target = net(), net().double()
    bias = target[0].bias
    assert repr(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert target[0].bias is bias
    assert bias.dtype is torch.float64
    assert values(target) == values(source)


def test_a_wrong_state_is_told_whole_and_changes_nothing():
    module = net()
    state = net().state_dict()
    before = values(module)
    state["extra"] = torch.ones(1)
    state["0.weight"] = torch.ones(3, 2)
    del state["0.bias"]
    with pytest.raises(StateDictError) as caught:
        module.load_state_dict(state)
    assert str(caught.value) == (
        "load_state_dict: Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "0.bias".\n'
        '\tUnexpected key(s) in state_dict: "extra".\n'
        "\tsize mismatch for 0.weight: the state_dict has shape [3, 2], the module has [2, 2].\n"
        "hint: make the module as it was when the state was saved, or change these entries first"
    )
    assert isinstance(caught.value, RuntimeError)
    assert values(module) == before


def test_not_strict_reports_what_does_not_match():
    module, state = net(), net().state_dict()
    bias = module[0].bias.tolist()
    state["extra"] = state.pop("0.bias")
    found = module.load_state_dict(state, strict=False)
    assert (found.missing_keys, found.unexpected_keys) == (["0.bias"], ["extra"])
    assert module[0].bias.tolist() == bias
    assert module[0].weight.tolist() == state["0.weight"].tolist()
    state["0.weight"] = torch.ones(1)
    with pytest.raises(StateDictError, match="size mismatch for 0.weight"):
        module.load_state_dict(state, strict=False)


@pytest.mark.parametrize("missing, unexpected", [(["0.bias"], []), ([], ["extra"]), (["0.bias"], ["extra"])])
def test_names_that_differ_print_as_pytorch_prints_them(missing, unexpected):
    module, state = net(), net().state_dict()
    state = {name: value for name, value in state.items() if name not in missing}
    found = module.load_state_dict(state | dict.fromkeys(unexpected, 3), strict=False)
    assert found == (missing, unexpected)
    assert str(found) == repr(found) == f"_IncompatibleKeys(missing_keys={missing!r}, unexpected_keys={unexpected!r})"


def test_other_things_are_refused():
    with pytest.raises(ArgumentTypeError, match="expected state_dict to be dict-like, got list"):
        net().load_state_dict([1])
    with pytest.raises(StateDictError, match='"0.weight" must be a Tensor, not int'):
        net().load_state_dict({"0.weight": 3}, strict=False)


def test_positional_arguments_of_state_dict_are_deprecated():
    target = {}
    with pytest.warns(FutureWarning, match="state_dict: positional arguments are deprecated"):
        assert net().state_dict(target, "a.") is target
    assert all(key.startswith("a.") for key in target)


def test_assign_takes_the_tensors_themselves():
    module, state = net(), net().double().state_dict()
    module.load_state_dict(state, assign=True)
    assert isinstance(module[0].weight, nn.Parameter)
    assert module[0].weight.dtype is torch.float64
    state["0.weight"].fill_(3)
    assert module[0].weight.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    module.requires_grad_(False)
    state["0.weight"] = nn.Parameter(torch.ones(2, 2))
    module.load_state_dict(state, assign=True)
    assert module[0].weight is state["0.weight"] and not module[0].weight.requires_grad


def test_a_pre_hook_renames_keys_in_the_load_s_own_copy():
    module, state = net(), net().state_dict()
    old = {key.replace("bias", "shift"): value for key, value in state.items()}

    def rename(owner, state_dict, prefix, metadata, strict, missing, unexpected, problems):
        if prefix + "shift" in state_dict:
            state_dict[prefix + "bias"] = state_dict.pop(prefix + "shift")

    handle = module[0].register_load_state_dict_pre_hook(rename)
    module.load_state_dict(old)
    assert values(module) == {key: value.tolist() for key, value in state.items()}
    assert "0.shift" in old
    handle.remove()
    with pytest.raises(StateDictError, match=r'Missing key\(s\) in state_dict: "0.bias"'):
        module.load_state_dict(old)


def test_a_module_may_save_itself():
    class Tagged(nn.Module):
        def state_dict(self, *, destination, prefix, keep_vars):
            destination[prefix + "tag"] = torch.ones(1)
            return destination

    assert list(nn.Sequential(Tagged()).state_dict()) == ["0.tag"]


class Counted(nn.Linear):
    """A layer with extra state, which renames a key of its first version."""

    _version = 2

    def __init__(self):
        super().__init__(2, 1)
        self.count, self.seen = 0, []

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *lists):
        self.seen.append(local_metadata.get("version"))
        if prefix + "shift" in state_dict:
            state_dict[prefix + "bias"] = state_dict.pop(prefix + "shift")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists)
        self.seen.append(self.bias.item())


def test_a_module_saves_extra_state_and_a_version_and_loads_its_own_part():
    source, target = nn.Sequential(Counted()), nn.Sequential(Counted())
    source[0].count = 3
    state = source.state_dict()
    assert list(state) == ["0.weight", "0.bias", "0._extra_state"]
    assert dict(state._metadata) == {"": {"version": 1}, "0": {"version": 2}}
    state["0.shift"] = state.pop("0.bias").fill_(7)
    assert repr(target.load_state_dict(state)) == "<All keys matched successfully>"
    assert (target[0].count, target[0].seen) == (3, [2, 7.0])
    del state["0._extra_state"]
    with pytest.raises(StateDictError, match="0._extra_state"):
        target.load_state_dict(state)
    with pytest.raises(NotSupportedError, match="get_extra_state"):
        nn.Linear(1, 1).get_extra_state()


def test_hooks_around_saving_may_replace_the_state_of_children_alone():
    layer, seen = nn.Linear(1, 1), []
    layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append((prefix, keep_vars)))
    layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: seen.append((list(state), metadata)))
    assert list(nn.Sequential(layer).state_dict()) == ["0.weight", "0.bias"]
    assert seen == [("0.", False), (["0.weight", "0.bias"], {"version": 1})]
    layer._register_state_dict_hook(lambda module, state, prefix, metadata: {"only": 1})
    assert layer.state_dict() == {"only": 1}
    layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: state)
    with pytest.raises(ModeError, match="must return None"):
        layer.state_dict()


def test_hooks_after_loading_decide_which_names_are_missing():
    net, seen = nn.Sequential(nn.Linear(1, 1)), []

    def forgive(module, keys):
        seen.append((list(keys.missing_keys), module.weight.item()))
        keys.missing_keys.clear()

    net[0].register_load_state_dict_post_hook(forgive)
    net.load_state_dict({"0.weight": torch.full((1, 1), 5.0)})
    assert seen == [(["0.bias"], 5.0)]


def test_private_pre_hooks_are_called_without_the_module():
    layer, seen = nn.Linear(1, 1), []
    layer._register_load_state_dict_pre_hook(lambda state, prefix, *rest: seen.append((list(state), prefix, len(rest))))
    layer.load_state_dict(layer.state_dict())
    assert seen == [(["weight", "bias"], "", 5)]


def test_statistics_of_the_first_version_have_no_counter():
    state = nn.BatchNorm1d(2).state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(StateDictError, match="num_batches_tracked"):
        nn.BatchNorm1d(2).load_state_dict(state)
    del state._metadata
    assert repr(nn.BatchNorm1d(2).load_state_dict(state)) == "<All keys matched successfully>"


class Foreign:
    """A tensor of another library, which is dense unless its layout has a name."""

    def __init__(self, tensor, layout=""):
        self.tensor, self.layout = tensor, layout

    def __dlpack__(self, **options):
        if self.layout:
            raise BufferError(f"no {self.layout} tensors")
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_tensors_of_other_libraries_are_taken_through_dlpack():
    layer = nn.Linear(1, 1)
    layer.load_state_dict({"weight": Foreign(torch.full((1, 1), 3.0)), "bias": torch.zeros(1)})
    assert layer.weight.item() == 3.0
    optimizer = torch.optim.Adam(layer.parameters())
    entries = {name: Foreign(torch.ones(1, 1)) for name in ("exp_avg", "exp_avg_sq")}
    state = optimizer.state_dict()
    state["state"] = {0: {"step": Foreign(torch.tensor(4.0)), **entries}}
    state["param_groups"][0]["lr"] = Foreign(torch.tensor(0.25))
    optimizer.load_state_dict(state)
    layer(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    assert optimizer.state[layer.weight]["step"].item() == 5
    assert optimizer.state[layer.weight]["exp_avg"].item() == 1 and optimizer.param_groups[0]["lr"].item() == 0.25


def test_tensors_that_dlpack_cannot_describe_are_refused_by_name():
    layer = nn.Linear(1, 1)
    state = {"weight": Foreign(torch.ones(1, 1), "sparse"), "bias": torch.zeros(1)}
    with pytest.raises(StateDictError, match='"weight": a .*Foreign cannot be taken through DLPack: no sparse tensors'):
        layer.load_state_dict(state)
    assert layer.bias.item() != 0
    optimizer = torch.optim.Adam(layer.parameters())
    saved = {**optimizer.state_dict(), "state": {0: {"exp_avg": Foreign(torch.ones(1), "sparse")}}}
    with pytest.raises(BufferError, match="Foreign .*no sparse tensors"):
        optimizer.load_state_dict(saved)


@pytest.mark.devices(1)
def test_loading_crosses_devices(gpus):
    source, target = net(), net().cuda()
    target.load_state_dict(source.state_dict())
    assert values(target) == values(source)
    assert target[0].weight.is_cuda
