"""Subclasses of Tensor: construction, the class of results, and __torch_function__."""

import copy
import pickle

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentTypeError
from flambeau.nn import functional as F


class Plain(torch.Tensor):
    pass


class Further(Plain):
    pass


class Logged(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func, types, args, kwargs))
        return super().__torch_function__(func, types, args, kwargs)


class Named(torch.Tensor):
    @staticmethod
    def __new__(cls, data, name=None, *args, **kwargs):
        return super().__new__(cls, data, *args, **kwargs)

    def __init__(self, data, name=None):
        self.name = name

    def doubled(self):
        return super().mul(2)


def test_a_subclass_is_made_as_tensor_is():
    assert Plain([1.0, 2.0]).tolist() == [1.0, 2.0] and Plain([1]).dtype is torch.float32
    assert Plain(2, 3).shape == (2, 3) and Plain().shape == (0,)
    x = torch.tensor([1, 2])
    assert Plain(x).data_ptr() == torch.Tensor(x).data_ptr() == x.data_ptr() and Plain(x).dtype is torch.int64
    assert type(Plain(x)) is Plain and isinstance(Plain(x), torch.Tensor) and issubclass(Plain, torch.Tensor)
    made = Named([1.0], "first")
    assert made.name == "first" and type(made.doubled()) is Named and made.doubled().tolist() == [2.0]


def test_a_tensor_is_seen_as_a_subclass():
    x = torch.ones(2, requires_grad=True)
    made = x.as_subclass(Plain)
    assert type(made) is Plain and made.data_ptr() == x.data_ptr()
    (made * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and type(x.grad) is torch.Tensor
    assert torch.Tensor._make_subclass(Plain, x).requires_grad is False
    leaf = torch.Tensor._make_subclass(Plain, x, True)
    (leaf * 2).sum().backward()
    assert leaf.is_leaf and leaf.grad.tolist() == [2.0, 2.0]
    for wrong in (int, "Plain", x):
        with pytest.raises(ArgumentTypeError, match="as_subclass: expected a subclass of Tensor"):
            x.as_subclass(wrong)


CALLS = {
    "t + 1": lambda t: t + 1,
    "1 + t": lambda t: 1 + t,
    "x + t": lambda t: torch.ones(2) + t,
    "t @ t": lambda t: t @ t,
    "-t": lambda t: -t,
    "t > 1": lambda t: t > 1,
    "t[0]": lambda t: t[0],
    "T": lambda t: t.view(2, 1).T,
    "data": lambda t: t.data,
    "to": lambda t: t.to(torch.float64),
    "double": lambda t: t.double(),
    "clone": lambda t: t.clone(),
    "detach": lambda t: t.detach(),
    "add_": lambda t: t.add_(1),
    "clamp": lambda t: t.clamp(0, 1),
    "new_zeros": lambda t: t.new_zeros(3),
    "add": lambda t: torch.add(torch.ones(2), t),
    "cat": lambda t: torch.cat([torch.ones(2), t]),
    "where": lambda t: torch.where(t > 1, t, 0.0),
    "mean": torch.mean,
    "relu": F.relu,
    "softmax": lambda t: F.softmax(t, 0),
    "zeros_like": torch.zeros_like,
}


@pytest.mark.parametrize("call", CALLS)
def test_results_of_calls_are_of_the_class(call):
    assert type(CALLS[call](Plain([1.0, 2.0]))) is Plain


def test_results_in_tuples_are_of_the_class_and_numbers_stay_numbers():
    t = Plain([3.0, 1.0])
    assert [type(each) for each in (*t.sort(), *t.split(1), *t.max(0), *t)] == [Plain] * 8
    assert type(t.sort()).__name__ == type(torch.ones(2).sort()).__name__
    assert (t.tolist(), t[0].item(), float(t[1]), len(t), t.shape) == ([3.0, 1.0], 3.0, 1.0, 2, (2,))
    assert type(t.numpy()).__name__ == "ndarray" and torch.equal(t, torch.tensor([3.0, 1.0]))
    t += 1
    t[0] = 7.0
    assert type(t) is Plain and t.tolist() == [7.0, 2.0]


def test_a_further_subclass_takes_calls_over_from_its_base():
    for made in (Plain([1.0]) + Further([1.0]), Further([1.0]) + Plain([1.0]), torch.add(Plain([1.0]), Further([1.0]))):
        assert type(made) is Further
    with pytest.raises(TypeError, match="add: .*Plain, Logged"):
        torch.add(Plain([1.0]), Logged([1.0]))


def test_gradients_flow_through_a_subclass():
    t = Plain([1.0, 2.0]).requires_grad_()
    loss = F.mse_loss(t * 2, torch.zeros(2), reduction="sum")
    assert type(loss) is Plain
    loss.backward()
    assert t.grad.tolist() == [8.0, 16.0] and type(t.grad) is torch.Tensor


def test_a_function_is_handed_to_the_class_with_what_it_was_called_with():
    t, x = Logged([1.0, 2.0]), torch.ones(2)
    calls = {
        torch.add: lambda: torch.add(x, t, alpha=2),
        torch.cat: lambda: torch.cat([x, t]),
        torch.Tensor.add: lambda: t + x,
        torch.Tensor.add_: lambda: t.add_(1),
        torch.Tensor.__rsub__: lambda: 1 - t,
        torch.Tensor.gt: lambda: t > 0,
        torch.Tensor.__eq__: lambda: t == x,
        torch.Tensor.__getitem__: lambda: t[0],
        torch.Tensor.sum: lambda: t.sum(dim=0),
        torch.Tensor.tolist: lambda: t.tolist(),
        torch.Tensor.numpy: lambda: t.numpy(),
        torch.Tensor.neg: lambda: -t,
    }
    for function, call in calls.items():
        Logged.calls.clear()
        call()
        assert [(each[0], each[1]) for each in Logged.calls] == [(function, (Logged,))]
    Logged.calls.clear()
    torch.add(x, t, alpha=2)
    ((_, _, args, kwargs),) = Logged.calls
    assert args[0] is x and args[1] is t and kwargs == {"alpha": 2}


def test_a_class_may_answer_itself_or_decline():
    class Answering(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "mine" if func in (torch.add, torch.Tensor.add) else NotImplemented

    t = Answering([1.0])
    assert torch.add(t, 1) == t + 1 == torch.add(torch.ones(1), t) == "mine"
    with pytest.raises(ArgumentTypeError, match="mul: no implementation found.*Answering"):
        torch.mul(t, 2)


def test_a_subclass_is_shown_copied_and_pickled_as_itself():
    t = Named([[1.0, 2.0], [3.0, 4.0]], "name")
    assert repr(t) == "Named([[1., 2.],\n       [3., 4.]])" and f"{t.sum()}" == "Named(10.)"
    for duplicate in (copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        found = duplicate(t)
        assert type(found) is Named and found.name == "name" and found.tolist() == t.tolist()


def test_parameters_take_nothing_over():
    class Own(nn.Parameter):
        pass

    made = Own(torch.ones(2))
    assert type(made) is Own and type(made * 2) is torch.Tensor and type(copy.deepcopy(made)) is Own
    assert type(torch.ones(2)) is torch.Tensor and type(torch.add(torch.ones(2), made)) is torch.Tensor


def test_a_subclass_on_a_gpu(gpus):
    t = torch.ones(3, device="cuda").as_subclass(Plain)
    assert type(t * 2) is Plain and (t * 2).device == torch.device("cuda:0") and type(t.cpu()) is Plain
    assert torch.stack([t, t]).sum().item() == 6.0
