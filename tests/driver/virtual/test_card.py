"""Cards: their files, and the times that follow from them."""

import pytest

import flambeau as torch
from flambeau.driver.virtual.card import (
    DEFAULT,
    FOLDER,
    NAMES,
    POINTWISE,
    TRANSPOSE,
    Curve,
    card,
    is_aligned,
    kind_of,
    read,
    touched,
)
from flambeau.dtypes import bfloat16, float16, float32, float64, int64
from flambeau.errors import ConfigError
from flambeau.kernel import Access
from flambeau.library_operation import (
    OF_INPUT,
    OF_OUTPUT,
    OF_WEIGHT,
    Attention,
    AttentionBackward,
    Convolution,
    Gemm,
)
from flambeau.strides import CHANNELS_LAST, compact, contiguous
from flambeau.testing import machine

H200 = card(DEFAULT)
SMALL = """
name = "small"
source = "made up"
calibrated = false
[device]
capability = [8, 9]
memory = "2GiB"
multiprocessors = 10
threads = 1536
l2 = 1048576
clock = 1000
[peaks]
memory = 480
pcie = 32
peer = 32
float64 = 1
float32 = 6.7
tf32 = 49.4
float16 = 98.9
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "small.toml"
        path.write_text(text)
        return path

    return write


def product(n, dtype, allow_tf32=False):
    return Gemm(dtype, 1, n, n, n, (0, n, 1), (0, n, 1), (0, n, 1), allow_tf32=allow_tf32)


def test_a_curve_is_linear_between_its_points_and_in_proportion_after_the_last():
    curve = Curve([[100, 10], [200, 30], [400, 50]])
    assert [curve.at(amount) for amount in (0, 100, 150, 200, 300, 400, 800)] == [10, 10, 20, 30, 40, 50, 100]
    assert [curve.scaled(2).at(amount) for amount in (100, 200, 400)] == [10, 50, 90]


def test_every_preset_can_be_read_and_more_work_never_takes_less_time():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(NAMES)
    for name in NAMES:
        for curves in card(name).times.values():
            for curve in curves.values():
                assert list(curve.amounts) == sorted(set(curve.amounts)) and list(curve.times) == sorted(curve.times)
        assert card(name).source.strip()


def test_products_take_the_time_of_their_type():
    times = [
        H200.library_ns(problem, [])
        for problem in (product(8192, bfloat16), product(8192, float32, allow_tf32=True), product(8192, float32))
    ]
    assert times[2] == pytest.approx(2 * 8192**3 / 51e3, rel=0.1)
    assert times[0] < times[1] < times[2]


def test_small_products_take_the_time_of_a_kernel():
    assert H200.library_ns(product(16, bfloat16), []) == H200.library_ns(product(64, bfloat16), []) > 1000


def test_products_are_bound_by_bytes_or_by_operations():
    whole = Access(0, float32, "r", (1 << 30,), None)
    problem = Gemm(float32, 1, 1, 1 << 20, 1, (0, 1, 1), (0, 1 << 20, 1), (0, 1 << 20, 1))
    assert H200.library_ns(problem, [whole]) == H200.kernel_ns(4 << 30, 0)


def test_products_whose_rows_are_not_aligned_take_longer():
    aligned, odd = (H200.library_ns(product(n, bfloat16), []) for n in (8192, 8191))
    assert odd > 2 * aligned
    assert is_aligned(product(8192, bfloat16)) and not is_aligned(product(8191, bfloat16))
    assert is_aligned(Gemm(float32, 1, 1, 64, 3, (0, 4, 1), (0, 1, 64), (0, 64, 1)))


def test_library_calls_cost_the_host_by_kind_and_type():
    x, steps = (8, 8, 8, 8), ((1, 1), (1, 1), (1, 1))
    wide, half = (Convolution("convolution", kind, *[x] * 6, *steps, 1) for kind in (float32, bfloat16))
    host = H200.host
    costs = [H200.library_host_ns(each) for each in (wide, half, product(8, float32))]
    assert costs == [host.wide_convolution, host.convolution, host.product]


def test_convolutions_take_the_time_of_their_type_and_kind():
    def ns(dtype, allow_tf32=False, kind="convolution"):
        x, w, y = (32, 256, 56, 56), (256, 256, 3, 3), (32, 256, 56, 56)
        steps = (1, 1), (1, 1), (1, 1)
        return H200.library_ns(Convolution(kind, dtype, x, w, y, x, w, y, *steps, 1, allow_tf32), [])

    assert ns(bfloat16) < ns(float32, allow_tf32=True) < ns(float32)
    gradients = ns(float32, kind="convolution_input"), ns(float32, kind="convolution_weight")
    assert gradients[0] == gradients[1] == H200.times["convolution_gradients"]["float32"].at(
        2 * 9 * 32 * 256 * 56 * 56 * 256
    )


def images(kind, inputs, outputs, dtype=float32, allow_tf32=True, is_last=False, groups=1, side=28, batch=64):
    """A 3x3 convolution that keeps the sizes of its images, or one of its gradients."""
    x, w, y = (batch, inputs, side, side), (outputs, inputs // groups, 3, 3), (batch, outputs, side, side)
    steps = [compact(shape, CHANNELS_LAST) if is_last else contiguous(shape) for shape in (x, w, y)]
    return Convolution(kind, dtype, x, w, y, *steps, *[(1, 1)] * 3, groups, allow_tf32=allow_tf32)


def test_convolutions_count_channels_in_whole_tiles():
    for dtype in (float32, float64, bfloat16):
        narrow, whole, more = (
            H200.library_ns(images(OF_OUTPUT, *channels, dtype, is_last=True), [])
            for channels in ((1, 32), (64, 64), (65, 64))
        )
        assert narrow == whole < more == H200.library_ns(images(OF_OUTPUT, 128, 64, dtype, is_last=True), [])
        operations = 2 * 9 * 64 * 28 * 28 * 64 * 64
        assert whole == H200.times["convolutions"]["tf32" if dtype is float32 else dtype.name].at(operations)
    depthwise = H200.library_ns(images(OF_OUTPUT, 64, 64, bfloat16, groups=64), [])
    assert depthwise == H200.times["convolutions"]["bfloat16"].at(2 * 9 * 64 * 28 * 28 * 64)


def test_convolutions_on_tensor_cores_copy_images_that_are_not_channels_last():
    x, y = 64 * 32 * 28 * 28 * 4, 64 * 64 * 28 * 28 * 4
    for kind, copied in ((OF_OUTPUT, [x]), (OF_INPUT, [x, y]), (OF_WEIGHT, [x, y])):
        for dtype, share in ((float32, 1), (float16, 2), (bfloat16, 2)):
            asked, last = images(kind, 32, 64, dtype), images(kind, 32, 64, dtype, is_last=True)
            copies = sum(H200.kernel_ns(2 * nbytes // share, 0, TRANSPOSE) for nbytes in copied)
            assert H200.library_ns(asked, []) == H200.library_ns(last, []) + copies
            assert H200.workspace_nbytes(asked) == H200.workspace_nbytes(last) + sum(copied) // share
    assert H200.workspace_nbytes(images(OF_OUTPUT, 32, 64, is_last=True)) == 0


def test_other_convolutions_copy_nothing():
    for kind in (OF_OUTPUT, OF_INPUT, OF_WEIGHT):
        for asked in (
            images(kind, 32, 64, allow_tf32=False),
            images(kind, 32, 64, float64),
            images(kind, 32, 64, groups=32),
            images(kind, 8, 8, batch=4, side=16),  # float32 is faster for so few
        ):
            assert H200.workspace_nbytes(asked) == 0
            same = asked._replace(x_strides=(1, 1, 1, 1), y_strides=(1, 1, 1, 1))
            assert H200.library_ns(asked, []) == H200.library_ns(same, [])
    assert card("t4").workspace_nbytes(images(OF_OUTPUT, 32, 64)) == 0  # it has no TF32
    assert card("a100-40").workspace_nbytes(images(OF_OUTPUT, 32, 64)) > 0
    assert H200.workspace_nbytes(product(8192, float32, allow_tf32=True)) == 0


def test_a_gradient_of_weights_holds_partial_sums_for_the_multiprocessors_without_a_tile():
    def nbytes(inputs, outputs, **sizes):
        return H200.workspace_nbytes(images(OF_WEIGHT, inputs, outputs, bfloat16, is_last=True, **sizes))

    assert nbytes(32, 64) == 132 // 9 * 4 * 64 * 32 * 9
    assert nbytes(128, 128) == 132 // 36 * 4 * 128 * 128 * 9
    assert nbytes(32, 64, batch=2, side=12) == 5 * 4 * 64 * 32 * 9  # as many as there are tiles of places
    assert nbytes(512, 512) == 0


def test_attention_takes_the_time_of_the_pairs_that_are_seen():
    rows = (64 * 4096 * 16, 64 * 4096, 64, 1)

    def problem(dtype, is_causal):
        return Attention(dtype, 8, 16, 16, 4096, 4096, 64, 64, 0.125, is_causal, rows, rows, rows, rows)

    def ns(dtype, is_causal):
        return H200.library_ns(problem(dtype, is_causal), [])

    assert ns(bfloat16, False) == pytest.approx(2 * ns(bfloat16, True), rel=0.1)
    backward = AttentionBackward(problem(bfloat16, True), rows, rows, rows, rows)
    assert ns(bfloat16, True) < H200.library_ns(backward, []) < 4 * ns(bfloat16, True)
    assert ns(float32, True) > ns(bfloat16, True)


def test_kernels_are_bound_by_bytes_or_by_operations():
    floor = H200.kernel_ns(4, 0)
    assert H200.kernel_ns(4, 6e9) == pytest.approx(floor + 6e9 / (0.89 * 67e3), abs=1)
    assert H200.kernel_ns(1 << 30, 1) == H200.times["kernels"][POINTWISE].at(1 << 30) > 100 * floor


def test_kernels_have_kinds_by_their_names():
    names = "relu_float32_float32", "sum_float32_float32_float32_across", "softmax_float32_float32_even", "transpose_32"
    assert [kind_of(name) for name in names] == [POINTWISE, "reduction", "rows", "transpose"]
    assert kind_of("select_rows_16") == "gather" and kind_of("grid_normal_float32") == "random"


def test_each_array_counts_once_without_gaps_and_without_repeats():
    row = Access(0, float32, "r", (8, 4), (12, 1))  # a third of each row of 12
    assert touched([row]) == 4 * 32
    assert touched([row, row]) == 4 * 32
    assert touched([Access(0, float32, "rw", (8, 4), (12, 1))]) == 2 * 4 * 32
    assert touched([Access(0, float32, "r", (8, 4), (0, 1))]) == 4 * 4
    assert touched([Access(0, float32, "r", (8, 4), None), Access(512, float32, "w", (8, 4), None)]) == 8 * 32


def test_a_gathering_kernel_reads_no_more_than_it_writes():
    table, out = Access(0, float32, "r", (1000, 8), None), Access(1 << 20, float32, "w", (2, 8), None)
    assert touched([out, Access(1 << 21, int64, "r", (2,), None), table], "gather") == 2 * 64 + 16


def test_every_preset_but_that_of_the_h200_is_marked_as_not_calibrated():
    names = {name: card(name).properties(0, 1).name for name in NAMES}
    marked = {name for name, shown in names.items() if shown.endswith("(not calibrated)")}
    assert marked == {name for name in NAMES if not card(name).is_calibrated} == {*NAMES} - {"h200"}


def test_a_card_is_as_much_slower_as_its_data_sheet_says():
    def ns(name, dtype):
        return card(name).library_ns(product(8192, dtype), [])

    assert card("rtx4090").total_memory == 24 << 30
    ratio = card("rtx4090").kernel_ns(1 << 30, 0) / H200.kernel_ns(1 << 30, 0)
    assert ratio == pytest.approx(4800 / 1008, rel=0.02)
    assert ns("t4", float16) / ns("h200", float16) == pytest.approx(989 / 65, rel=0.02)
    assert ns("t4", bfloat16) == ns("t4", float32) > ns("l4", float32) > ns("h100", float32)


def test_an_unknown_preset_lists_the_known_ones():
    with pytest.raises(ConfigError) as failure:
        card("rtx9999")
    assert "'rtx9999'" in str(failure.value)
    assert all(name in str(failure.value) for name in NAMES)


def test_a_file_of_peaks_takes_the_other_figures_from_the_calibrated_card(written):
    small = card(str(written(SMALL)))
    assert (small.name, small.arch, small.total_memory, small.is_calibrated) == ("small", "sm_89", 2 << 30, False)
    assert small.host == H200.host
    assert small.kernel_ns(1 << 30, 0) == pytest.approx(10 * H200.kernel_ns(1 << 30, 0), rel=0.02)
    assert "bfloat16" not in small.times["products"]
    assert small.library_ns(product(512, bfloat16), []) == small.library_ns(product(512, float32), [])


def test_times_of_a_file_are_taken_as_they_are(written):
    text = SMALL + "[host]\nlaunch = 9000\n[kernels]\npointwise = [[1000, 2000], [1e9, 1e7]]\n"
    own = read(written(text))
    assert own.host.launch == 9000 and own.host.product == H200.host.product
    assert own.kernel_ns(2 * 10**9, 0) == 20_000_000


def test_a_backward_pass_and_a_step_cost_more(written):
    path = written(SMALL + "[host]\nstep = 1_000_000\nbackward_pass = 2_000_000\n")
    host = card(str(path)).host
    with machine(devices=1, preset=str(path)) as virtual:

        def host_ns(call):
            before = virtual.driver.clock.now()
            call()
            return virtual.driver.clock.now() - before

        x = torch.ones(4, device="cuda", requires_grad=True)
        optimizer = torch.optim.SGD([x], lr=0.1)
        for _ in range(2):
            loss = (x * x).sum()
            # the gradient of the loss is made before the pass, which has three launches
            assert host_ns(loss.backward) == host.launch + 3 * (host.launch + host.backward) + 2_000_000
            assert host_ns(optimizer.step) == host.launch + 1_000_000
            optimizer.zero_grad()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('memory = "2GiB"', 'memory = "2 lots"', ("device.memory", "'2 lots'", "24GiB")),
        ("capability = [8, 9]", "capability = 8.9", ("device.capability", "8.9", "[8, 9]")),
        ("multiprocessors = 10", "multiprocessors = -1", ("device.multiprocessors", "-1", "whole number")),
        ("multiprocessors = 10", "", ("device.multiprocessors", "missing")),
        ("pcie = 32", "pcie = true", ("peaks.pcie", "True", "GB/s")),
        ("pcie = 32", "pcie = 0", ("peaks.pcie", "0", "GB/s")),
        ("pcie = 32", "pcie = 32\nfloat8 = 3", ("peaks.float8", "3", "fields are")),
        ('name = "small"', "name = 3", ("name", "3", "text")),
        ('name = "small"', 'name = "small"\nkernels = 3', ("kernels", "3", "[kernels]")),
        ("calibrated = false", 'calibrated = "no"', ("calibrated", "'no'", "true or false")),
        ("calibrated = false", "calibrated = true", ("host.launch", "missing")),
        ("[peaks]", "[host]\nlaunch = -5\n[peaks]", ("host.launch", "-5", "nanoseconds")),
        ("[peaks]", "[kernels]\npointwise = [[2, 1], [1, 2]]\n[peaks]", ("kernels.pointwise", "[1, 2]", "rising")),
        ("[peaks]", "[kernels]\npointwise = []\n[peaks]", ("kernels.pointwise", "[]", "points")),
        ("[peaks]", "[kernels]\npointwise = [[0, 1]]\n[peaks]", ("kernels.pointwise", "[0, 1]", "points")),
        ("[peaks]", "[kernels]\nodd = [[1, 1]]\n[peaks]", ("kernels.odd", "no such field", "pointwise")),
        ("[peaks]", "[peaks", ("not valid TOML", "line")),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_the_field_and_the_value(written, old, new, said):
    path = written(SMALL.replace(old, new))
    with pytest.raises(ConfigError) as failure:
        card(str(path))
    text = str(failure.value)
    assert str(path) in text and "hint" in text and all(part in text for part in said)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError) as failure:
        card(str(tmp_path / "none.toml"))
    assert "none.toml" in str(failure.value) and "No such file" in str(failure.value)
