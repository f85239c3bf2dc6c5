"""torch.func: derivatives as functions, nested and over trees; values that PyTorch computes."""

import pytest

import flambeau as torch
from flambeau import func, nn
from flambeau.errors import ArgumentError, ArgumentTypeError, AutogradError

X, Y = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 5.0])


def cubes(x):
    return (x**3).sum()


def mixed(x, y):
    return (x * x * y).sum()


def test_gradients():
    assert func.grad(cubes)(X).tolist() == [3, 12]
    assert [each.tolist() for each in func.grad(mixed, (0, 1))(X, Y)] == [[8, 20], [1, 4]]
    assert func.grad(mixed, -1)(X, Y).tolist() == [1, 4]
    found, value = func.grad_and_value(cubes)(X)
    assert (found.tolist(), value.item()) == ([3, 12], 9)
    found, aux = func.grad(lambda x: (cubes(x), x * 2), has_aux=True)(X)
    assert (found.tolist(), aux.tolist(), aux.requires_grad) == ([3, 12], [2, 4], False)


def test_transforms_nest():
    assert func.grad(lambda x: func.grad(cubes)(x).sum())(X).tolist() == [6, 12]
    assert func.hessian(cubes)(X).tolist() == [[6, 0], [0, 12]]
    assert func.jacrev(func.grad(mixed), argnums=1)(X, Y).tolist() == [[2, 0], [0, 4]]
    (xx, xy), _ = func.hessian(mixed, (0, 1))(X, Y)
    assert (xx.tolist(), xy.tolist()) == ([[8, 0], [0, 10]], [[2, 0], [0, 4]])


def test_trees():
    found = func.grad(lambda tree: (tree["a"] * tree["b"][0]).sum())({"a": X, "b": [Y]})
    assert found["a"].tolist() == [4, 5] and found["b"][0].tolist() == [1, 2]
    found = func.jacrev(lambda x: {"twice": x * 2})(X)
    assert found["twice"].tolist() == [[2, 0], [0, 2]]


def test_results_keep_the_graph_of_what_is_outside():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    assert not func.grad(cubes)(X).requires_grad
    func.grad(lambda x: (x * x * weight).sum())(X).sum().backward()
    assert weight.grad.tolist() == [2, 4]
    x = X.clone().requires_grad_()
    func.grad(cubes)(x).sum().backward()
    assert x.grad.tolist() == [6, 12]
    with torch.no_grad():
        assert not func.grad(cubes)(x).requires_grad
        assert func.grad(cubes)(x).tolist() == [3, 12]


def test_products():
    output, product = func.vjp(lambda x: x * x, X)
    assert output.tolist() == [1, 4] and [each.tolist() for each in product(Y)] == [[8, 20]]
    output, tangent = func.jvp(lambda x, y: (x * y).sum(), (X, Y), (Y, X))
    assert (output.item(), tangent.item()) == (14, 46)
    output, product = func.linearize(lambda x: x * x, X)
    assert product(Y).tolist() == [8, 20] and product(X).tolist() == [2, 8]
    output, product, aux = func.vjp(lambda x: (x * 2, x * 3), X, has_aux=True)
    assert aux.tolist() == [3, 6]


def test_wrong_arguments():
    with pytest.raises(AutogradError, match="grad: .*without dimensions"):
        func.grad(lambda x: x)(X)
    with pytest.raises(AutogradError, match="grad: .*got 3 for 1 "):
        func.grad(cubes, 3)(X)
    with pytest.raises(ArgumentTypeError, match="grad: .*'text'"):
        func.grad(lambda x: x)("text")


# calls for each element of a dimension


def test_vmap_maps_dimensions_of_trees():
    rows = torch.arange(6.0).reshape(2, 3)
    assert func.vmap(torch.sum)(rows).tolist() == [3, 12] and func.vmap(torch.sum, -1)(rows).tolist() == [3, 5, 7]
    pairs = func.vmap(lambda p, y: {"all": p["a"] * p["b"] + y, "sum": [y.sum()]}, ({"a": 0, "b": None}, 0), 1)
    with pytest.raises(IndexError):
        pairs({"a": rows, "b": rows[0]}, rows)  # the sums have no dimension 1
    pairs = func.vmap(lambda a, b: (a * b, a.sum(), 7), (0, None), (-1, 0, None))
    product, total, seven = pairs(rows, rows[0])
    assert product.tolist() == [[0, 0], [1, 4], [4, 10]] and total.tolist() == [3, 12] and seven == 7
    table = func.vmap(func.vmap(torch.mul, (0, None)), (None, 0))(rows[0], rows[1])
    assert table.tolist() == [[0, 3, 6], [0, 4, 8], [0, 5, 10]]
    assert func.vmap(torch.sum)(torch.ones(0, 3)).shape == (0,)
    assert func.vmap(lambda a, by: a * by)(rows, by=2).tolist() == (rows * 2).tolist()


def test_vmap_of_gradients_and_gradients_of_vmap():
    rows, weight = torch.arange(6.0).reshape(2, 3), torch.ones(3, requires_grad=True)
    each = func.vmap(func.grad(lambda w, x: (w * x).sum() ** 2), (None, 0))(weight, rows)
    assert each.tolist() == [[0, 6, 12], [72, 96, 120]]
    func.vmap(lambda x: (x * weight).sum())(rows).sum().backward()
    assert weight.grad.tolist() == [3, 5, 7]


@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_random_numbers_in_vmap(place, gpus):
    zeros = torch.zeros(2, 3, device=place)

    def drawn(randomness):
        torch.manual_seed(0)
        return func.vmap(lambda row: row + torch.rand(3, device=place), randomness=randomness)(zeros).tolist()

    first, second = drawn("same")
    assert first == second
    first, second = drawn("different")
    assert first != second
    with pytest.raises(AutogradError, match="vmap: .*random numbers"):
        drawn("error")


def test_wrong_arguments_of_vmap():
    rows, weight = torch.ones(2, 3), torch.ones(2)
    for arguments, values, match in [
        (((0,),), (rows, rows), r"in_dims=\(0,\) is not compatible"), ((None,), (rows,), "in_dims .* got None"),
        (("a",), (rows,), "in_dims .* got 'a'"), ((2,), (rows,), r"in_dims has 2 .* shape \[2, 3\]"),
        ((0,), (rows, 3.0), "in_dims has 0 .* 3.0"), ((0,), (rows, rows.t()), r"differ: \[2, 3\]"),
        ((0,), (), "no arguments"),
        ((0, (0, 0)), (rows,), r"out_dims=\(0, 0\)"), (((None,),), (rows,), "no argument is mapped"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=f"vmap: .*{match}"):
            func.vmap(lambda *given: given[0], *arguments)(*values)
    with pytest.raises(ValueError, match="vmap: .*return tensors, got 3"):
        func.vmap(lambda x: 3)(rows)
    assert func.vmap(lambda x: (x * 2, weight), out_dims=(0, None))(rows)[1] is weight
    with pytest.raises(ValueError, match="vmap: a result with out_dims=None differs between calls"):
        func.vmap(lambda x: x * 2, out_dims=None)(torch.arange(3.0))
    with pytest.raises(ValueError, match="chunk_size .* got 0"):
        func.vmap(cubes, chunk_size=0)
    with pytest.raises(RuntimeError, match="randomness .* got 'none'"):
        func.vmap(cubes, randomness="none")


# calls of modules


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(2, 1)
        self.other = self.one
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x, scale=1):
        self.calls.add_(1)
        return self.other(x) * scale


def test_a_module_is_called_with_other_tensors():
    net = Counter()
    own = net.one.weight
    calls = torch.zeros(1)
    values = {"one.weight": torch.tensor([[1.0, 2.0]]), "one.bias": torch.tensor([0.5])}
    found = func.functional_call(net, (values, {"calls": calls}), X, {"scale": 2})
    assert found.tolist() == [11.0]
    assert net.one.weight is own and (net.calls.item(), calls.item()) == (0, 1)
    slope = func.grad(lambda values: func.functional_call(net, values, (X,)).sum())(values)
    assert slope["one.weight"].tolist() == [[1, 2]] and slope["one.bias"].tolist() == [1]


def test_tied_names():
    net, other = Counter(), torch.tensor([[1.0, 2.0]])
    bias = net.one.bias.item()
    assert func.functional_call(net, {"one.weight": other}, X).item() == pytest.approx(5 + bias)
    assert func.functional_call(net, {"other.weight": other}, X, tie_weights=False).item() == pytest.approx(5 + bias)
    with pytest.raises(ArgumentError, match="functional_call: .*one.weight.*other.weight.*tied"):
        func.functional_call(net, {"one.weight": other, "other.weight": other * 2}, X)


def test_names_of_functional_calls():
    net = nn.Linear(2, 1)
    with pytest.raises(RuntimeError, match="functional_call: Linear .*'zz'.*'bias', 'weight'"):
        func.functional_call(net, {"zz": X}, X, strict=True)
    assert func.functional_call(net, {"zz": X}, X).equal(net(X))
    with pytest.raises(ArgumentTypeError, match="functional_call: .*'weight' .*3"):
        func.functional_call(net, {"weight": 3}, X)
    with pytest.raises(
        ValueError, match="functional_call: expected a dictionary of tensors, or a tuple of such dictionaries, got 5"
    ):
        func.functional_call(net, 5, X)
    with pytest.raises(TypeError, match="functional_call: attribute '0' is not a tensor: Linear"):
        func.functional_call(nn.Sequential(nn.Linear(1, 1)), {"0": X}, X)
    for name in ("", "a."):
        with pytest.raises(KeyError, match="functional_call: tensor name can't be empty"):
            func.functional_call(net, {name: X}, X)
    with pytest.raises(AttributeError, match="nowhere"):
        func.functional_call(net, {"nowhere.weight": X}, X)
    with pytest.raises(ArgumentError, match="functional_call: 'a' appears"):
        func.functional_call(net, ({"a": X}, {"a": X}), X)


def test_parameters_of_modules_are_stacked():
    parameters, buffers = func.stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1)])
    assert parameters["weight"].shape == (2, 1, 2) and parameters["weight"].is_leaf and buffers == {}
    assert parameters["weight"].requires_grad
    for models in ([], [nn.Linear(2, 1), nn.ReLU()], [nn.Linear(2, 1), nn.Linear(2, 1).eval()]):
        with pytest.raises(RuntimeError, match="stack_module_state: expected (modules of one class|all).*got"):
            func.stack_module_state(models)


def test_batch_norms_without_running_statistics():
    net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Sequential(nn.BatchNorm2d(2)), nn.InstanceNorm2d(2))
    assert func.replace_all_batch_norm_modules_(net) is net
    norm = net[1][0]
    assert not norm.track_running_stats and norm.running_mean is None and norm.num_batches_tracked is None
    x = torch.randn(3, 2, 4, 4)
    assert norm.eval()(x).equal(nn.functional.batch_norm(x, None, None, norm.weight, norm.bias, True))


def test_primals_and_tangents_of_jvp_are_tuples():
    x = torch.ones(1)
    for primals, tangents, called in ((x, (x,), "primals"), ((x,), x, "tangents")):
        with pytest.raises(AutogradError, match=f"jvp: {called} must be a tuple"):
            func.jvp(lambda each: each * 2, primals, tangents)


def test_tangents_have_the_shapes_of_the_primals_and_outputs_have_derivatives():
    _, product = func.linearize(cubes, X)
    for tangents in ((X, X), (torch.ones(3),), (3,)):
        with pytest.raises(AutogradError, match=r"linearize: tangents .*primals \[\[2\]\]"):
            product(*tangents)
    with pytest.raises(AutogradError, match="linearize: .*got 1"):
        func.linearize(lambda x: 1, X)
    with pytest.raises(AutogradError, match="jvp: .*got 1"):
        func.jvp(lambda x: 1, (X,), (X,))


def test_argnums_differ_and_outputs_have_derivatives():
    for transform in (func.grad, func.grad_and_value, func.jacrev, func.jacfwd):
        for argnums in ((0, 0), (1, -1)):
            with pytest.raises(AutogradError, match=rf"argnums must differ, got \({argnums[0]}, {argnums[1]}\) for 2"):
                transform(lambda x, y: (x * y).sum(), argnums)(X, Y)
    for output in (X.long(), 5.0):
        with pytest.raises(AutogradError, match="jacrev: all outputs .* floating point tensors, got "):
            func.jacrev(lambda x, output=output: output)(X)
        with pytest.raises(AutogradError, match="vjp: all outputs .* floating point tensors, got "):
            func.vjp(lambda x, output=output: output, X)


def test_attributes_that_are_tensors_are_replaced():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.shift, self.part = torch.tensor(2.0), None, nn.Identity()

        def forward(self, x):
            return x * self.scale + (0 if self.shift is None else self.shift) + getattr(self.part, "more", 0)

    net, x, scale = Scaled(), torch.tensor(3.0), torch.tensor(5.0, requires_grad=True)
    values = {"scale": scale, "shift": nn.Parameter(torch.tensor(10.0)), "part.more": torch.tensor(100.0)}
    out = func.functional_call(net, values, x)
    out.backward()
    assert out.item() == 125 and scale.grad.item() == 3
    assert net(x).item() == 6 and net.shift is None and not hasattr(net.part, "more") and not list(net.parameters())
    with pytest.raises(TypeError, match="'training' is not a tensor: True"):
        func.functional_call(net, {"scale": scale, "training": x}, x)
    assert net(x).item() == 6


def test_a_parametrized_tensor_is_set_and_restored():
    net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1, bias=False))
    before = net.weight.detach().clone()
    assert func.functional_call(net, {"weight": torch.tensor([[3.0, 4.0]])}, torch.ones(2)).item() == pytest.approx(7)
    assert torch.allclose(net.weight, before)


def test_refused_random_numbers_of_vmap_are_not_drawn():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    with pytest.raises(AutogradError, match="vmap: .*random"):
        torch.vmap(lambda x: x + torch.rand(2))(torch.ones(3))
    assert torch.get_rng_state().equal(before)
