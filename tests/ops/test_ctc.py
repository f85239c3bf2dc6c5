"""CTC loss: against the sum over all paths, lengths, impossible targets and gradients."""

import itertools

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import IndexRangeError
from flambeau.nn import functional as F
from flambeau.testing import gradcheck

RANDOM = np.random.default_rng(12)


def by_paths(logs, target, blank):
    """The loss of one sequence: every path of classes that collapses to the target is counted."""
    total = 0.0
    for path in itertools.product(range(logs.shape[1]), repeat=len(logs)):
        merged = [label for label, _ in itertools.groupby(path)]
        if [label for label in merged if label != blank] == list(target):
            total += np.exp(sum(logs[time, label] for time, label in enumerate(path)))
    return -np.log(total) if total else np.inf


@pytest.mark.parametrize("blank", [0, 2])
def test_the_loss_sums_over_all_paths(blank):
    labels = [label for label in range(3) if label != blank]
    logs = torch.tensor(RANDOM.standard_normal((4, 5, 3))).log_softmax(-1)
    targets = [[labels[0], labels[1]], [labels[1], labels[1]], [labels[0]], [], [labels[0], labels[0]]]
    lengths = [4, 4, 2, 3, 2]
    expected = [
        by_paths(logs[:length, n].numpy(), target, blank) for n, (length, target) in enumerate(zip(lengths, targets))
    ]
    padded = torch.tensor([(target + labels * 2)[:2] for target in targets])
    counts = [len(target) for target in targets]
    found = F.ctc_loss(logs, padded, lengths, counts, blank, "none")
    np.testing.assert_allclose(found.numpy(), expected)
    assert expected[-1] == np.inf
    flat = torch.tensor([label for target in targets for label in target])
    again = F.ctc_loss(logs, flat, torch.tensor(lengths), torch.tensor(counts), blank, "none")
    assert again.equal(found)
    finite = F.ctc_loss(logs, padded, lengths, counts, blank, zero_infinity=True)
    assert finite.item() == pytest.approx(
        np.mean([loss / max(count, 1) for loss, count in zip(expected[:4], counts)] + [0])
    )


def test_the_gradient_before_a_log_softmax():
    x = torch.tensor(RANDOM.standard_normal((5, 3, 4)), requires_grad=True)
    targets, lengths = torch.tensor([[1, 2], [3, 3], [2, 1]]), ([5, 4, 5], [2, 2, 0])
    assert gradcheck(lambda x: F.ctc_loss(x.log_softmax(-1), targets, *lengths, reduction="sum"), [x])
    logs = x.detach().log_softmax(-1).requires_grad_()
    F.ctc_loss(logs, targets, *lengths).backward()
    assert torch.allclose(logs.grad.sum(-1), torch.zeros(5, 3).double()) and logs.grad[4, 1].eq(0).all()


def test_an_impossible_target_has_no_gradient_with_zero_infinity():
    x = torch.tensor(RANDOM.standard_normal((2, 2, 3)), requires_grad=True)
    F.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 1], [1, 2]]), [2, 2], [2, 2], zero_infinity=True).backward()
    assert x.grad[:, 0].eq(0).all() and x.grad[:, 1].ne(0).all() and x.grad.isfinite().all()


def test_the_layer_and_one_sequence(gpus):
    net = nn.CTCLoss(blank=1, reduction="none")
    logs, target = torch.randn(6, 4).log_softmax(-1), torch.tensor([0, 3])
    one = net(logs, target, torch.tensor(6), torch.tensor(2))
    assert one.shape == () and repr(net) == "CTCLoss()"
    np.testing.assert_allclose(net(logs.cuda(), target.cuda(), (6,), (2,)).cpu().numpy(), one.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "arguments, values",
    [((torch.zeros(5, 1, 4), torch.tensor([[1, 2]]), [6], [2]), r"\[6\] must be from 0 to 5"),
     ((torch.zeros(5, 1, 4), torch.tensor([[1, 2]]), [5], [3]), r"\[3\] must fit targets of shape \[1, 2\]"),
     ((torch.zeros(5, 1, 4), torch.tensor([[1, 2]]), [5], [2], 4), "blank 4"),
     ((torch.zeros(5, 1, 4), torch.tensor([[1, 2]]), [5, 5], [2, 2]), "2 input lengths")]
)  # fmt: skip
def test_what_does_not_fit_is_refused(arguments, values):
    with pytest.raises(RuntimeError, match=f"^ctc_loss: .*{values}"):
        F.ctc_loss(*arguments)


def test_a_label_out_of_range():
    with pytest.raises(IndexRangeError, match="4"):
        F.ctc_loss(torch.zeros(5, 1, 4), torch.tensor([[1, 4]]), [5], [2])
