"""out=: tensors that are written, that take a shape, and that are refused."""

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError, ShapeError
from flambeau.testing import machine

VIEWS = {
    "permute": lambda x, out: torch.permute(x, (1, 0), out=out),
    "transpose": lambda x, out: torch.transpose(x, 0, 1, out=out),
    "unsqueeze": lambda x, out: torch.unsqueeze(x, 0, out=out),
    "squeeze": lambda x, out: torch.squeeze(x, out=out),
    "select": lambda x, out: torch.select(x, 0, 0, out=out),
    "diagonal": lambda x, out: torch.diagonal(x, out=out),
    "reshape": lambda x, out: torch.reshape(x, (-1,), out=out),
    "flatten": lambda x, out: torch.flatten(x, out=out),
    "narrow": lambda x, out: torch.narrow(x, 0, 0, 1, out=out),
    "chunk": lambda x, out: torch.chunk(x, 2, out=out),
    "t": lambda x, out: torch.t(x, out=out),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_take_no_out(name):
    x, out = torch.ones(2, 2), torch.zeros(2, 2)
    with pytest.raises(ArgumentTypeError, match=f"{name}: got an unexpected keyword argument 'out'"):
        VIEWS[name](x, out)
    assert out.tolist() == [[0, 0], [0, 0]]


SINGLE = {
    "add": lambda x, out: torch.add(x, x, out=out),
    "sum": lambda x, out: torch.sum(x, 0, out=out),
    "matmul": lambda x, out: torch.matmul(x, x, out=out),
    "cat": lambda x, out: torch.cat([x, x], out=out),
    "stack": lambda x, out: torch.stack([x, x], out=out),
    "cumsum": lambda x, out: torch.cumsum(x, 0, out=out),
}


@pytest.mark.parametrize("name", SINGLE)
def test_a_tensor_without_elements_takes_the_shape_of_the_result(device, name):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    plain = SINGLE[name](x, None)
    out = torch.empty(0, device=device)
    assert SINGLE[name](x, out) is out
    assert out.shape == plain.shape and out.tolist() == plain.tolist() and out._version == 1
    wide = torch.empty(0, 3, dtype=torch.float64, device=device)
    SINGLE[name](x, wide)
    assert wide.dtype is torch.float64 and wide.tolist() == plain.tolist()
    out.zero_()
    assert x.tolist() == [[1, 2], [3, 4]]


def test_a_tensor_without_elements_never_becomes_an_alias():
    x, out = torch.ones(3), torch.empty(0)
    torch.dropout(x, 0.5, False, out=out)
    out.zero_()
    assert x.tolist() == [1, 1, 1]


SEVERAL = {
    "max": lambda x, out: torch.max(x, 0, out=out),
    "min": lambda x, out: torch.min(x, 1, True, out=out),
    "sort": lambda x, out: torch.sort(x, out=out),
    "topk": lambda x, out: torch.topk(x, 1, out=out),
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("kind", [tuple, list])
def test_several_results_go_to_several_tensors(device, name, kind):
    x = torch.tensor([[1.0, 2.0], [4.0, 3.0]], device=device)
    plain = SEVERAL[name](x, None)
    empty = kind([torch.empty(0, device=device), torch.empty(0, dtype=torch.int64, device=device)])
    full = kind([torch.zeros_like(each) for each in plain])
    for out in (empty, full):
        found = SEVERAL[name](x, out)
        assert found.values is out[0] and found.indices is out[1] and type(found) is type(plain)
        assert [each.tolist() for each in out] == [each.tolist() for each in plain]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x, e: torch.max(x, 0, out=e), ArgumentTypeError, "max: out= takes one tensor, and there are 2"),
        (lambda x, e: torch.add(x, x, out=(e,)), ArgumentTypeError, "add: out has 1 tensors, and there are 1 results"),
        (lambda x, e: torch.sort(x, out=(e,)), ArgumentTypeError, "sort: out has 1 tensors, and there are 2 results"),
        (lambda x, e: torch.sort(x, out=(e, 3)), ArgumentTypeError, "sort: out must be a Tensor, got 3"),
        (lambda x, e: torch.sort(x, out=(e, torch.empty(0))), DtypeError, "sort: result type int64 .* float32"),
        (lambda x, e: torch.add(x, x, out=torch.empty(3)), ShapeError, r"add: .*\[2, 2\].*\[3\]"),
        (lambda x, e: torch.div(x, 2, out=e.long()), DtypeError, "div: result type float32 .* int64"),
        (lambda x, e: torch.add(x, x, out=e.cuda()), DeviceMismatchError, "add: .*cuda:0.* on cpu"),
        (lambda x, e: torch.stack([x, x], out=e.cuda()), DeviceMismatchError, "stack: .*cuda:0.* on cpu"),
        (lambda x, e: torch.add(x.requires_grad_(), x, out=e), AutogradError, "add: functions with out="),
        (lambda x, e: torch.stack([x, x.clone().requires_grad_()], out=e), AutogradError, "stack: functions with"),
    ],
)
def test_what_out_cannot_be(call, error, text):
    with machine(devices=1):
        out = torch.empty(0)
        with pytest.raises(error, match=text):
            call(torch.ones(2, 2), out)
        assert out.shape == (0,)


def test_a_call_without_a_derivative_may_write_what_joins_no_graph():
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    calls = {
        "lt": lambda out: torch.lt(x, 2, out=out), "logical_not": lambda out: torch.logical_not(x, out=out),
        "isnan": lambda out: torch.isnan(x, out=out), "all": lambda out: torch.all(x, 0, out=out),
        "argmax": lambda out: torch.argmax(x, 0, out=out),
    }  # fmt: skip
    expected = {"lt": [1, 0], "logical_not": [0, 0], "isnan": [0, 0], "all": 1, "argmax": 1}
    for name, call in calls.items():
        out = torch.empty(0, dtype=torch.int64 if name == "argmax" else torch.bool)
        assert call(out) is out and not out.requires_grad and out.tolist() == expected[name]


def test_a_tensor_without_elements_of_the_result_s_shape_stays_where_it_lies():
    base = torch.zeros(0, 3, 2)
    out = base[..., 1]
    assert torch.add(torch.ones(0, 3), 1, out=out) is out
    assert out.storage_offset() == 1 and out.stride() == base[..., 1].stride()
    assert out.data_ptr() == base[..., 1].data_ptr()
