"""Private functions and classes of PyTorch that packages import."""

import gc

import pytest

import flambeau as torch
from flambeau import _C, _utils
from flambeau.errors import NotSupportedError
from flambeau.testing import machine
from flambeau.utils import _contextlib, _foreach_utils, _python_dispatch, flop_counter, weak


def test_tensors_are_copied_into_one_array_and_back():
    tensors = [torch.ones(2, 3), torch.zeros(2)]
    flat = _utils._flatten_dense_tensors(tensors)
    again = _utils._unflatten_dense_tensors(flat, tensors)
    assert flat.shape == (8,) and all(map(torch.equal, tensors, again)) and again[1]._base is not None


def test_arguments_of_to_are_read():
    assert _C._nn._parse_to("cuda:1", torch.float64) == (torch.device("cuda:1"), torch.float64, False, None)
    assert _C._nn._parse_to(torch.float16, non_blocking=True) == (None, torch.float16, True, None)
    assert _C._nn._parse_to(memory_format=torch.channels_last)[3] is torch.channels_last


def test_devices_have_a_type_where_there_are_gpus():
    with machine(devices=1):
        assert _utils._get_available_device_type() == "cuda"


def test_a_context_decorates_functions_with_a_new_one_per_call():
    made = []

    class Named(_contextlib._DecoratorContextManager):
        def __init__(self, name="none"):
            made.append(name)
            self.name = name

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def clone(self):
            return type(self)(self.name)

    @Named("own")
    def double(x):
        return 2 * x

    assert double(2) == double(1) + 2 == 4 and made == ["own"] * 3


def test_a_weak_dictionary_tells_tensors_apart_by_identity():
    first, second = torch.ones(1), torch.ones(1)
    known = weak.WeakIdKeyDictionary({first: 1})
    known[second] = 2
    assert known[first] == 1 and known[second] == 2 and len(known) == 2 and torch.ones(1) not in known
    assert [each is first or each is second for each in known] == [True, True]
    del second
    gc.collect()
    assert len(known) == 1
    del known[first]
    with pytest.raises(KeyError):
        known[first]


def test_places_of_lists_are_grouped_by_type_and_device():
    tensors = [torch.ones(1), torch.ones(2, dtype=torch.float64), torch.ones(3)]
    groups = _foreach_utils._group_tensors_by_device_and_dtype([tensors, [1, 2, 3], []], with_indices=True)
    lists, places = groups[torch.device("cpu"), torch.float32]
    assert places == [0, 2] and lists[0] == [tensors[0], tensors[2]] and lists[1:] == [[1, 3], []] and len(groups) == 2


def test_no_mode_intercepts_operators_and_nothing_counts_them():
    assert _python_dispatch._get_current_dispatch_mode() is None
    assert not _python_dispatch.is_traceable_wrapper_subclass(torch.ones(1))
    counter = flop_counter.FlopCounterMode(display=False)
    assert counter.get_total_flops() == 0 and counter.get_flop_counts() == {}
    with pytest.raises(NotSupportedError, match="FlopCounterMode"):
        counter.__enter__()
