"""Views that must not be written where gradients are recorded, and gradients retained by views."""

import pytest

import flambeau as torch
from flambeau.errors import AutogradError


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


SEVERAL = {
    "chunk": lambda t: t.chunk(2)[0],
    "split": lambda t: t.split(2)[0],
    "split by sizes": lambda t: t.split([1, 2])[1],
    "unbind": lambda t: t.unbind()[1],
    "a view of one": lambda t: t.chunk(2)[0][:1],
}


@pytest.mark.parametrize("name", SEVERAL)
def test_one_of_several_views_is_not_written_in_a_graph(name):
    y = leaf() * 2
    part = SEVERAL[name](y)
    with pytest.raises(AutogradError, match="mul_: a view .* a function that returns multiple views"):
        part.mul_(2)
    assert y.tolist() == [2.0, 4.0, 6.0]
    y.mul_(2)
    with pytest.raises(AutogradError, match="a function that returns multiple views is used, and its base"):
        part.grad_fn  # noqa: B018
    assert "grad_fn=<Invalid>" in repr(part)


@pytest.mark.parametrize("name", SEVERAL)
def test_one_of_several_views_of_a_plain_tensor_is_written(name):
    plain = torch.ones(3)
    SEVERAL[name](plain).mul_(2)
    assert plain.sum().item() > 3
    with pytest.raises(AutogradError, match="mul_: a view"):
        SEVERAL[name](plain).mul_(leaf(4.0))


def test_a_view_of_a_view_made_under_no_grad_is_not_written():
    y = leaf() * 2
    with torch.no_grad():
        part = y[:2]
    assert part.requires_grad and part.is_leaf and part.grad_fn is None
    again = part.view_as(part)
    with pytest.raises(AutogradError, match="mul_: a view that was created in no_grad mode"):
        again.mul_(2)
    y.mul_(2)
    for use in (lambda: part * 2, lambda: part.grad_fn):
        with pytest.raises(AutogradError, match="a view that was created in no_grad mode is used, and its base"):
            use()


def test_a_view_made_in_inference_mode_is_not_written_outside():
    y = leaf() * 2
    with torch.inference_mode():
        part = y[:2]
    with pytest.raises(AutogradError, match="add_: a view that was created in inference mode"):
        part.add_(1)
    with torch.inference_mode():
        part.add_(1)
    assert y.tolist() == [3.0, 5.0, 6.0]


def test_a_view_is_not_detached_in_place():
    for base in (leaf() * 2, torch.ones(3)):
        part = base[0]
        with pytest.raises(AutogradError, match=r"detach_: .*float32\[\] on cpu of float32\[3\]"):
            part.detach_()
        assert part.requires_grad == base.requires_grad
    y = leaf() * 2
    assert y.detach_() is y and y.is_leaf and not y.requires_grad


def test_views_say_what_they_are_views_of():
    y = torch.ones(4)
    part = y[1:][1:]
    assert part._is_view() and part._base is y and not y._is_view() and y._base is None


# gradients that are retained


def test_retained_gradients_of_several_passes_add_up():
    x = leaf(1.0)
    h = x * 3
    h.retain_grad()
    out = (h * h).sum()
    out.backward(retain_graph=True)
    first = h.grad
    out.backward()
    assert h.grad.tolist() == [12.0] and first.tolist() == [6.0] and h.retains_grad and not x.retains_grad


def test_a_retained_gradient_is_not_the_memory_that_was_given():
    y = leaf() * 1
    y.retain_grad()
    given = torch.ones(3)
    y.backward(given)
    y.grad.zero_()
    assert given.tolist() == [1.0] * 3


def test_a_retained_gradient_is_that_of_the_value_after_writes_in_place():
    x = leaf()
    a = x * 1
    a.retain_grad()
    a.mul_(2)
    a.sum().backward()
    assert (a.grad.tolist(), x.grad.tolist()) == ([1.0] * 3, [2.0] * 3)
    base = leaf().clone()
    view = base.view_as(base)
    view.retain_grad()
    base.mul_(2)
    view.sum().backward()
    assert view.grad.tolist() == [1.0] * 3


def test_a_base_that_is_written_through_a_view_retains_the_new_gradient():
    y = leaf() * 1
    y.retain_grad()
    part = y[:2]
    part.retain_grad()
    part.mul_(3)
    (y * y).sum().backward()
    assert (y.grad.tolist(), part.grad) == ([6.0, 12.0, 6.0], None)
    y = leaf() * 1
    part = y[:2]
    part.retain_grad()
    part.mul_(3)
    (part * part).sum().backward()
    assert part.grad.tolist() == [6.0, 12.0]


def test_a_hook_sees_the_gradient_of_the_value_that_it_was_registered_on():
    seen = []
    x = leaf()
    y = x * 2
    y.register_hook(lambda grad: seen.append(("before", grad.tolist())))
    y.mul_(3)
    y.register_hook(lambda grad: seen.append(("after", grad.tolist())))
    y.sum().backward()
    assert seen == [("after", [1.0] * 3), ("before", [3.0] * 3)]


def test_results_that_are_made_of_temporaries_are_no_views_and_views_of_operands_are():
    x = torch.tensor([[3.0, 1.0], [2.0, 4.0]], requires_grad=True)
    for made in (x.sort(0)[0], x.topk(1, 0)[0], x.roll(1, 0)):
        assert not made._is_view()
        made.mul_(5)
    y = x.sort(0)[0]
    y.mul_(5)
    y.sum().backward()
    assert x.grad.tolist() == [[5.0, 5.0], [5.0, 5.0]]
    assert y.detach_() is y
    base = torch.ones(2, 3)
    for view in (base.reshape(6), base.T, base[0].reshape(3, 1), base.flatten(), base.t()):
        assert view._base is base


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_view_whose_base_was_written_takes_no_hook(mode):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with mode():
        view = x[None]
    view.requires_grad_()
    handle = view.register_hook(lambda grad: grad)
    handle.remove()
    with torch.no_grad():
        x.mul_(2)
    for register in (view.register_hook, lambda hook: torch.autograd.graph.register_multi_grad_hook([view, x], hook)):
        with pytest.raises(AutogradError, match="another view of its base has been modified inplace"):
            register(lambda grad: grad)


def test_a_saved_tensor_that_is_detached_in_place_keeps_its_graph():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    square = y * y
    y.detach_()
    (first,) = torch.autograd.grad(square.sum(), x, create_graph=True)
    assert first.tolist() == [8.0, 16.0] and not y.requires_grad
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [8.0, 8.0]


def test_a_written_view_that_requires_gradients_of_a_plain_base_is_refused():
    base = torch.ones(3)
    view = base[:2].requires_grad_()
    for target in (view, view.view(2)):
        with pytest.raises(AutogradError, match="mul_: a .*leaf Variable that requires grad"):
            target.mul_(2)
    assert base.tolist() == [1.0] * 3


def test_views_made_under_no_grad_take_hooks_and_may_be_inputs_without_a_gradient():
    x = leaf()
    with torch.no_grad():
        view = x[:2]
    seen = []
    view.register_hook(seen.append)
    (view * 2).sum().backward()
    (x.sum() + view.sum()).backward(inputs=[view])
    assert seen == [] and x.grad is None and view.grad is None
    assert torch.autograd.grad(x.sum(), [view], allow_unused=True) == (None,)


def test_a_leaf_that_no_longer_requires_gradients_gets_none():
    x = leaf()
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_integer_results_are_not_part_of_the_graph():
    x = leaf(3.0, 1.0, 2.0)
    (first,) = torch.autograd.grad(x.sort()[0].sum(), x, create_graph=True)
    assert not first.requires_grad
