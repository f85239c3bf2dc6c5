"""Batches of samples."""

import weakref
from collections import OrderedDict, UserDict, UserList, defaultdict, namedtuple

import numpy as np
import pytest

import flambeau as torch
from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.data import default_collate, default_convert
from flambeau.data.collate import Samples, collate, collate_int_fn, default_collate_fn_map
from flambeau.errors import ArgumentTypeError, ShapeError
from flambeau.testing import machine

Pair = namedtuple("Pair", "x y")


def test_leaves_become_tensors():
    assert default_collate([torch.tensor([1.0]), torch.tensor([2.0])]).tolist() == [[1.0], [2.0]]
    arrays = default_collate([np.ones(2, np.float32), np.zeros(2, np.float32)])
    assert (arrays.tolist(), arrays.dtype) == ([[1.0, 1.0], [0.0, 0.0]], torch.float32)
    for batch, dtype in (([1, 2], torch.int64), ([1.0, 2.0], torch.float64), ([True, False], torch.bool)):
        found = default_collate(batch)
        assert (found.tolist(), found.dtype) == (batch, dtype)
    assert default_collate([np.int16(3)]).dtype is torch.int16
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([b"a"]) == [b"a"]


def test_containers_are_taken_part_by_part():
    found = default_collate([{"x": 1, "y": ("a", 2.0)}, {"x": 3, "y": ("b", 4.0)}])
    assert found["x"].tolist() == [1, 3]
    assert found["y"][0] == ("a", "b")
    assert found["y"][1].tolist() == [2.0, 4.0]
    assert type(default_collate([OrderedDict(a=1)])) is OrderedDict
    pair = default_collate([Pair(1, 2), Pair(3, 4)])
    assert (type(pair), pair.x.tolist(), pair.y.tolist()) == (Pair, [1, 3], [2, 4])


def test_what_cannot_be_collated():
    with pytest.raises(ArgumentTypeError, match="found object"):
        default_collate([object()])
    with pytest.raises(ArgumentTypeError, match="found <U1"):
        default_collate([np.array(["a"])])
    with pytest.raises(ShapeError, match=r"of equal size, their lengths are \[1, 2\]"):
        default_collate([[1], [1, 2]])


def test_single_samples_keep_their_shape():
    found = default_convert({"x": np.ones(2), "y": [np.float32(1.5), "text"], "z": Pair(1, 2)})
    assert found["x"].tolist() == [1.0, 1.0]
    assert (found["y"][0].item(), found["y"][1], found["z"]) == (1.5, "text", Pair(1, 2))


def test_containers_keep_their_type_and_attributes():
    class Named(UserDict):
        name = "none"

    first = Named(x=1)
    first.name = "a"
    found = default_collate([first, Named(x=2)])
    assert (type(found), found.name, found["x"].tolist(), first["x"]) == (Named, "a", [1, 2], 1)
    found = default_collate([UserList([1, 2]), UserList([3, 4])])
    assert (type(found), [each.tolist() for each in found]) == (UserList, [[1, 3], [2, 4]])
    assert type(default_collate([(1, 2)])) is type(default_collate([range(2)])) is list
    kept = default_convert(UserList([np.ones(1), "text"]))
    assert (type(kept), kept[0].tolist(), kept[1]) == (UserList, [1.0], "text")


def test_single_arrays_share_their_memory():
    array = np.zeros(2)
    default_convert([array])[0].fill_(3)
    assert array.tolist() == [3.0, 3.0]
    x = torch.ones(1)
    assert default_convert((x,))[0] is x


class Point:
    def __init__(self, x):
        self.x = x


class Point3(Point):
    pass


def test_each_type_has_a_function_that_may_be_replaced(monkeypatch):
    def points(batch, *, collate_fn_map):
        return "points", collate([each.x for each in batch], collate_fn_map=collate_fn_map)

    with pytest.raises(ArgumentTypeError, match="found Point"):
        default_collate([Point(1)])
    monkeypatch.setitem(default_collate_fn_map, Point, points)
    kind, found = default_collate([Point3(1), Point3(2)])
    assert (kind, found.tolist()) == ("points", [1, 2])
    monkeypatch.setitem(default_collate_fn_map, torch.Tensor, lambda batch, *, collate_fn_map: len(batch))
    assert default_collate([torch.ones(1), torch.ones(2)]) == 2
    assert default_collate([np.ones(1), np.ones(1)]) == 2


def test_without_the_default_functions_only_containers_are_known():
    with pytest.raises(ArgumentTypeError, match="found int: 1"):
        collate([{"x": 1}])
    assert collate([{"x": 1}, {"x": 2}], collate_fn_map={int: collate_int_fn})["x"].tolist() == [1, 2]
    with pytest.raises(ArgumentTypeError, match="^collate: batch must be a list"):
        collate(3)


def test_stacking_keeps_gradients_and_promotes_types():
    x = torch.ones(2, requires_grad=True)
    default_collate([x * 2, x]).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert default_collate([torch.ones(1), torch.ones(1, dtype=torch.float64)]).dtype is torch.float64
    turned = torch.arange(4).reshape(2, 2).t()
    found = default_collate([turned, turned])
    assert (found.tolist(), found.is_contiguous()) == ([[[0, 2], [1, 3]]] * 2, True)


TABLE = torch.arange(24).reshape(6, 4)


@pytest.mark.parametrize(
    "batch",
    [
        [TABLE[4], TABLE[0], TABLE[4]],  # rows of one table
        [TABLE[2:4], TABLE[0:2]],
        [TABLE[1:3], TABLE[0:2]],  # which do not begin at multiples of their length
        [TABLE.reshape(-1)[1:4], TABLE.reshape(-1)[5:8]],
        [TABLE[0, 3], TABLE[5, 1]],
        [TABLE[:, 1], TABLE[:, 2]],
        [TABLE.t(), TABLE.t()],
        [TABLE[0].clone(), TABLE[1]],
        [TABLE[0].expand(2, 4)] * 2,
        [TABLE.to(torch.bfloat16)[1], TABLE.to(torch.bfloat16)[2]],
        [TABLE[:0], TABLE[:0]],
        [torch.tensor(True), torch.tensor(False)],
        [TABLE.view(torch.uint8)[0, 1:4], TABLE.view(torch.uint8)[0, 9:12]],
        [torch.tensor(5)],
    ],
    ids=lambda batch: f"{len(batch)} of {list(batch[0].shape)}",
)
def test_tensors_are_stacked_row_by_row(batch):
    found = default_collate(batch)
    assert (found.shape, found.dtype) == ((len(batch), *batch[0].shape), batch[0].dtype)
    assert (found.tolist(), found.is_contiguous()) == ([each.tolist() for each in batch], True)
    before = [each.tolist() for each in batch]
    found.fill_(0)
    assert [each.tolist() for each in batch] == before


def test_numbers_of_several_kinds_are_one_type_s():
    for batch, values, dtype in (
        ([1, 2.5], [1.0, 2.5], torch.float32), ([2.5, 1], [2.5, 1.0], torch.float64), ([True, 2], [1, 2], torch.int64),
        ([-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1], torch.int64), ([1, torch.tensor(2)], [1, 2], torch.int64),
    ):  # fmt: skip
        found = default_collate(batch)
        assert (found.tolist(), found.dtype) == (values, dtype)
    with pytest.raises(ValueError, match=str(2**63)):
        default_collate([1, 2**63])
    mixed = default_collate([np.ones(1, np.int64), np.ones(1, np.float32)])
    assert (mixed.tolist(), mixed.dtype) == ([[1.0], [1.0]], torch.float32)


def test_numbers_go_where_factories_make_tensors():
    with machine(devices=1), torch.device("cuda"):
        for batch in ([1, 2], [1.0, 2.0], [True, False], [np.ones(2), np.zeros(2)], [1, 2.5]):
            found = default_collate(batch)
            assert (str(found.device), found.tolist()) == ("cuda:0", torch.tensor(np.array(batch)).tolist())
        assert str(default_collate([torch.ones(1, device="cpu")]).device) == "cpu"


def test_a_mapping_may_have_an_answer_to_any_key():
    found = default_collate([{"a": 1}, defaultdict(int)])
    assert found["a"].tolist() == [1, 0]
    with pytest.raises(KeyError, match="sample 0 has the key 'a', sample 1 has 'b'"):
        default_collate([{"a": 1}, {"b": 1}])


def test_arrays_of_subclasses_are_not_converted():
    masked = np.ma.array([1, 2], mask=[True, False])
    assert default_convert(masked) is masked


# large tensors are stacked as they come

SIDE = 150  # of an image whose bytes make it large


def image(value, dtype=torch.float32, side=SIDE):
    return torch.full((side, side), value, dtype=dtype)


def gathered(make, count=3):
    """Append samples that only `Samples` holds."""
    samples = Samples(count)
    for index in range(count):
        samples.append(make(index))
    return samples


@pytest.mark.parametrize(
    "make",
    [
        image,
        lambda index: (image(index), index),
        lambda index: [torch.ones(2) * index, image(index, torch.int64), image(-index, torch.bfloat16), f"{index}"],
        lambda index: (image(index), (index, torch.ones(3))),
    ],
)
def test_large_tensors_are_stacked_at_once(make):
    samples = gathered(make)
    found, expected = samples.collated(), default_collate([make(index) for index in range(3)])
    assert samples.plain is None
    assert type(found) is type(expected)
    for one, other in zip(found, expected, strict=True):
        assert str(one) == str(other)


def test_tools_see_that_a_tensor_is_read_when_it_is_stacked():
    accesses = []
    subscribe(on_host_read=accesses.append)
    try:
        samples = gathered(lambda index: (image(index), index))
        assert samples.plain is None
        assert [(access.mode, access.shape) for access in accesses] == 3 * [("r", (SIDE, SIDE))]
    finally:
        unsubscribe(on_host_read=accesses.append)


def test_what_has_to_wait_for_the_last_sample():
    kept = []

    def keep(value):
        kept.append(value)
        return value

    def with_a_part(index):
        x = image(index)
        return x, x[0]

    buffer = image(0)
    for make in (
        lambda index: buffer.fill_(index),
        lambda index: (buffer.fill_(index), index),
        lambda index: keep((image(index), index)),
        lambda index: (keep(image(index)), index),
        lambda index: (torch.from_numpy(keep(image(index).numpy())), index),
        lambda index: (image(index, side=10), index),
        lambda index: (torch.as_tensor(np.zeros((SIDE, SIDE), np.float32)), index),
        lambda index: (image(index).T, index),
        lambda index: (image(index).requires_grad_(), index),
        lambda index: (image(index).expand(2, SIDE, SIDE), index),
        with_a_part,
        lambda index: {"x": image(index)},
        lambda index: Pair(image(index), index),
    ):
        samples = gathered(make)
        assert len(samples.plain) == 3
        assert str(samples.collated()) == str(default_collate([make(index) for index in range(3)]))
    x = gathered(lambda index: buffer.fill_(index)).collated()
    assert x[:, 0, 0].tolist() == [2, 2, 2]  # as in PyTorch


def test_a_sample_unlike_the_first_makes_the_others_samples_again():
    def make(index, others):
        return (image(index), index) if index < 2 else others

    for other in ([image(2), 2], (image(2, torch.int64), 2), (image(2), 2, 3), (torch.ones(2), 2), image(2), 5):
        samples = gathered(lambda index, other=other: make(index, other))
        assert samples.plain[2] is other
        assert [(sample[0][3, 3].item(), sample[1]) for sample in samples.plain[:2]] == [(0.0, 0), (1.0, 1)]
        texts = []
        for collated in (samples.collated, lambda other=other: default_collate([make(at, other) for at in range(3)])):
            try:
                texts.append(str(collated()))
            except (ShapeError, ArgumentTypeError) as error:
                texts.append(str(error))
        assert texts[0] == texts[1]


def test_a_program_s_function_for_tuples_gets_the_samples(monkeypatch):
    monkeypatch.setitem(default_collate_fn_map, tuple, lambda batch, *, collate_fn_map=None: len(batch))
    assert gathered(lambda index: (image(index), index)).collated() == 3
    assert gathered(image).collated().shape == (3, SIDE, SIDE)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("form", [torch.utils.data.Dataset, torch.utils.data.IterableDataset])
def test_one_sample_is_alive_at_a_time(form, workers):
    class Images(form):
        alive = weakref.WeakSet()

        def __len__(self):
            return 5

        def __getitem__(self, index):
            x, count = image(index), len(self.alive)
            self.alive.add(x)
            return x, count

        def __iter__(self):
            return map(self.__getitem__, range(5))

    loader = torch.utils.data.DataLoader(Images(), batch_size=2, num_workers=workers, drop_last=True)
    batches = [(x[:, 7, 7].tolist(), counts.tolist()) for x, counts in loader]
    assert batches == [([0.0, 1.0], [0, 0]), ([2.0, 3.0], [0, 0])]
