"""Gradient mode and inference mode: as contexts, decorators of functions, and decorators of generators."""

import threading

import pytest

import flambeau as torch
from flambeau.errors import AutogradError


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


def test_set_grad_enabled_as_a_decorator_leaves_the_mode_as_it_was():
    @torch.set_grad_enabled(False)
    def off():
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled()
    assert off() is False and torch.is_grad_enabled()
    with torch.no_grad():

        @torch.set_grad_enabled(True)
        def on():
            return torch.is_grad_enabled()

        assert not torch.is_grad_enabled()
        assert on() is True


def test_modes_take_the_keywords_of_pytorch():
    assert torch.no_grad(orig_func=torch.is_grad_enabled)() is False
    with torch.set_grad_enabled(mode=False):
        assert torch.enable_grad(orig_func=torch.is_grad_enabled)() and not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_set_grad_enabled_sets_the_mode_at_once_and_a_block_restores_it():
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("decorate", "inside"),
    [
        (torch.no_grad, False),
        (torch.no_grad(), False),
        (torch.inference_mode(), False),
        (torch.inference_mode, False),
        (torch.set_grad_enabled(True), True),
        (torch.enable_grad(), True),
    ],
)
def test_a_decorated_generator_runs_each_step_in_the_mode(decorate, inside):
    seen = []

    @decorate
    def steps():
        try:
            while True:
                seen.append(torch.is_grad_enabled())
                try:
                    got = yield len(seen)
                except KeyError:
                    got = "caught"
                if got == "stop":
                    return "end"
        finally:
            seen.append(torch.is_grad_enabled())

    with torch.set_grad_enabled(not inside):
        generator = steps()
        assert next(generator) == 1 and torch.is_grad_enabled() is not inside
        assert generator.send("more") == 2 and generator.throw(KeyError("x")) == 3
        with pytest.raises(StopIteration) as end:
            generator.send("stop")
        assert end.value.value == "end"
        closed = steps()
        next(closed)
        closed.close()
        failing = steps()
        next(failing)
        with pytest.raises(ValueError, match="odd"):
            failing.throw(ValueError("odd"))
        assert torch.is_grad_enabled() is not inside
    assert seen == [inside] * 8 and torch.is_grad_enabled()


def test_a_decorated_generator_function_is_still_one():
    @torch.no_grad()
    def numbers(count):
        """Numbers."""
        yield from range(count)

    assert list(numbers(3)) == [0, 1, 2] and numbers.__name__ == "numbers" and numbers.__doc__ == "Numbers."


def test_what_is_made_in_inference_mode_is_for_inference_only():
    x = leaf()
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        made, product, part, detached = torch.ones(3), x * 2, x[:2], x.detach()
        with torch.enable_grad():
            assert not (x * 2).requires_grad
        with torch.inference_mode(False):
            assert torch.is_grad_enabled() and not torch.ones(1).is_inference()
        made.add_(1)
        wanted = torch.ones(3, requires_grad=True)
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
    assert [torch.is_inference(each) for each in (made, product, part, detached)] == [True, True, False, False]
    assert (made[:2].is_inference(), made.detach().is_inference()) == (True, True)
    assert (made.clone().is_inference(), (made + 1).is_inference()) == (False, False)
    assert (part.requires_grad, part.grad_fn, part.is_leaf) == (True, None, True)
    (wanted + 2).sum().backward()
    assert wanted.grad.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("write", "called"),
    [
        (lambda t: t.add_(1), "add_"),
        (lambda t: t[:2].mul_(2), "mul_"),
        (lambda t: t.copy_(torch.ones(3)), "copy_"),
        (lambda t: t[0].sub_(1), "sub_"),
        (lambda t: torch.add(torch.ones(3), 1, out=t), "add"),
    ],
)
def test_an_inference_tensor_is_not_written_outside(write, called):
    with torch.inference_mode():
        made = torch.ones(3)
    for mode in (torch.no_grad(), torch.enable_grad()):
        with mode, pytest.raises(AutogradError, match=f"{called}: Inplace update to inference tensor.*float32"):
            write(made)
    assert made.tolist() == [1.0] * 3
    with torch.inference_mode():
        write(made)


def test_an_inference_tensor_is_not_saved_has_no_version_and_cannot_require_gradients():
    x = leaf()
    with torch.inference_mode():
        made = torch.ones(3)
    assert (made + x).requires_grad
    with pytest.raises(AutogradError, match=r"mul: Inference tensors cannot be saved for backward: float32\[3\]"):
        made * x
    with pytest.raises(AutogradError, match="_version: Inference tensors"):
        made._version  # noqa: B018
    for ask in (made.requires_grad_, lambda: setattr(made, "requires_grad", True)):
        with pytest.raises(AutogradError, match="Setting requires_grad=True on inference tensor"):
            ask()
    assert not made.requires_grad


def test_writing_a_normal_tensor_in_inference_mode_is_counted():
    y = leaf() * 2
    with torch.inference_mode():
        y.add_(1)
    assert y._version == 1 and y.grad_fn.name() == "MulBackward0"


def test_modes_belong_to_a_thread():
    seen = []
    with torch.inference_mode():
        thread = threading.Thread(target=lambda: seen.append((torch.is_grad_enabled(), torch.ones(1).is_inference())))
        thread.start()
        thread.join()
    assert seen == [(True, False)]


def test_the_setting_of_multithreading_is_kept():
    assert torch.autograd.is_multithreading_enabled()
    with torch.autograd.set_multithreading_enabled(False):
        assert not torch.autograd.is_multithreading_enabled()

        @torch.autograd.set_multithreading_enabled(True)
        def on():
            return torch.autograd.is_multithreading_enabled()

        assert on() and not torch.autograd.is_multithreading_enabled()
    torch.autograd.set_multithreading_enabled(False)
    assert not torch.autograd.is_multithreading_enabled()
    torch.autograd.set_multithreading_enabled(True)
    with pytest.raises(TypeError, match="set_multithreading_enabled: mode must be a bool, got 3"):
        torch.autograd.set_multithreading_enabled(3)


def test_the_policy_of_layouts_is_kept():
    policy = torch.autograd.enforce_grad_layout_policy
    with policy(enable=False):
        assert policy.enabled is False
        with policy():
            assert policy.enabled is True
        assert policy.enabled is False
    assert policy.enabled is True
    with pytest.raises(TypeError, match="enforce_grad_layout_policy: enable must be a bool, got 1"):
        policy(1)


def test_a_mode_can_be_cloned():
    for mode, enabled in ((torch.no_grad(), False), (torch.enable_grad(), True), (torch.inference_mode(), False)):
        copied = mode.clone()
        assert type(copied) is type(mode) and copied is not mode
        with copied:
            assert torch.is_grad_enabled() is enabled
    assert torch.is_grad_enabled()


def test_decorating_a_class_warns():
    with pytest.warns(FutureWarning, match="no_grad: decorating classes is deprecated"):

        @torch.no_grad()
        class Module:
            def __init__(self):
                self.enabled = torch.is_grad_enabled()

    assert Module().enabled is False and torch.is_grad_enabled()
