"""1.1 Devices: what names one, which is current, what they are."""

import threading

import pytest

TEXTS = ("cuda0", "cuda:-1", "cuda:01", "cuda:")


@pytest.mark.rule("1.1.1", since="1.0")
@pytest.mark.devices(2)
def test_the_current_device_starts_at_zero_and_is_set_per_thread(torch):
    assert torch.cuda.current_device() == 0
    torch.cuda.set_device(1)
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.cuda.current_device()))
    thread.start()
    thread.join()
    assert (torch.cuda.current_device(), found) == (1, [0])


@pytest.mark.rule("1.1.1", since="1.0")
@pytest.mark.devices(2)
def test_cuda_without_an_index_is_the_device_that_is_current_at_the_call(torch):
    wanted = torch.device("cuda")
    places = [torch.ones(1, device=wanted).device.index]
    torch.cuda.set_device(1)
    places += [torch.ones(1, device=wanted).device.index, torch.ones(1).to("cuda").device.index]
    assert places == [0, 1, 1] and wanted.index is None


@pytest.mark.rule("1.1.1", since="1.0")
@pytest.mark.devices(2)
def test_device_blocks_nest_and_restore(torch):
    seen = []
    with torch.cuda.device(1):
        seen.append(torch.cuda.current_device())
        with torch.cuda.device("cuda:0"):
            seen.append(torch.cuda.current_device())
        seen.append(torch.cuda.current_device())
        with torch.cuda.device(torch.device("cuda", 0)):
            seen.append(torch.cuda.current_device())
    seen.append(torch.cuda.current_device())
    assert seen == [1, 0, 1, 0, 0]


@pytest.mark.rule("1.1.1", since="1.0")
@pytest.mark.devices(2)
def test_set_device_inside_a_block_is_undone_at_its_end(torch):
    with torch.cuda.device(1):
        torch.cuda.set_device(0)
        assert torch.cuda.current_device() == 0
    assert torch.cuda.current_device() == 0
    torch.cuda.set_device(1)
    with torch.cuda.device(1):
        torch.cuda.set_device(0)
    assert torch.cuda.current_device() == 1


@pytest.mark.rule("1.1.1", since="1.0")
@pytest.mark.devices(2)
def test_a_block_restores_after_an_error(torch):
    with pytest.raises(KeyError), torch.cuda.device(1):
        raise KeyError
    assert torch.cuda.current_device() == 0


@pytest.mark.rule("1.1.1", since="1.0")
@pytest.mark.devices(2)
def test_none_and_negative_numbers_change_nothing(torch):
    torch.cuda.set_device(1)
    torch.cuda.set_device(-1)
    with torch.cuda.device(None), torch.cuda.device(-1):
        assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 1


@pytest.mark.rule("1.1.1", since="2.0")
@pytest.mark.devices(2)
def test_device_of_a_tensor(torch):
    with torch.cuda.device_of(torch.ones(1, device="cuda:1")):
        assert torch.cuda.current_device() == 1
        with torch.cuda.device_of(torch.ones(1)), torch.cuda.device_of(torch.ones(1).untyped_storage()):
            assert torch.cuda.current_device() == 1
        with torch.cuda.device_of(torch.ones(1, device="cuda:0").untyped_storage()):
            assert torch.cuda.current_device() == 0
    assert torch.cuda.current_device() == 0


@pytest.mark.rule("1.1.2", since="1.0")
@pytest.mark.devices(2)
def test_a_result_lies_where_its_operands_are(torch):
    x = torch.ones(3, device="cuda:1")
    assert torch.cuda.current_device() == 0
    assert {(x + 1).device.index, (x * x).sum().device.index, x.view(3, 1).device.index} == {1}


@pytest.mark.rule("1.1.2", since="1.0")
@pytest.mark.devices(2)
def test_an_index_of_a_factory_goes_before_the_current_device(torch):
    with torch.cuda.device(1):
        places = [torch.ones(1, device=each).device.index for each in ("cuda", "cuda:0", 0, torch.device("cuda:1"))]
    assert places == [1, 0, 0, 1]


@pytest.mark.rule("1.1.2", since="1.0")
@pytest.mark.devices(2)
def test_cuda_moves_to_the_current_device_also_from_another_gpu(torch):
    x = torch.arange(3, device="cuda:1")
    y, z = x.cuda(), x.to("cuda")
    assert (y.device.index, z.device.index) == (0, 0) and y.tolist() == z.tolist() == [0, 1, 2]


@pytest.mark.rule("1.1.2", since="1.0")
def test_a_tensor_that_is_there_already_is_returned_itself(torch):
    x = torch.ones(2, device="cuda")
    assert x.cuda() is x and x.to("cuda:0") is x and x.cuda(0) is x and x.to(x) is x
    assert x.to("cuda", copy=True) is not x


@pytest.mark.rule("1.1.2", since="1.0")
@pytest.mark.devices(2)
def test_new_and_like_keep_device_and_type(torch):
    x = torch.ones(2, dtype=torch.float64, device="cuda:1")
    made = [x.new_zeros(3), x.new_full((2,), 7), torch.zeros_like(x), torch.empty_like(x), x.new_tensor([1, 2])]
    assert {(each.device.index, each.dtype) for each in made} == {(1, torch.float64)}
    assert torch.zeros_like(x, device="cuda:0").device.index == 0


@pytest.mark.rule("1.1.3", since="1.0")
def test_a_device_in_every_form(torch):
    one = torch.device("cuda", 1)
    assert one == torch.device("cuda:1") and one == torch.device(one) and hash(one) == hash(torch.device("cuda:1"))
    assert one != torch.device("cuda") != torch.device("cpu") and one != "cuda:1"
    assert (one.type, one.index, str(one)) == ("cuda", 1, "cuda:1")
    assert repr(one) == "device(type='cuda', index=1)" and repr(torch.device("cuda")) == "device(type='cuda')"
    assert torch.device(1) == one


@pytest.mark.rule("1.1.3", since="1.0")
@pytest.mark.devices(0)
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_is_no_device_is_a_runtime_error_that_names_it(torch, text):
    with pytest.raises(RuntimeError, match=f"Invalid device string: '{text}'"):
        torch.device(text)


@pytest.mark.rule("1.1.3", since="1.0")
@pytest.mark.devices(0)
def test_other_wrong_names_of_devices(torch):
    for wrong in (lambda: torch.device(""), lambda: torch.device("gpu"), lambda: torch.device("cuda:1", 1)):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(RuntimeError, match="index must not be negative"):
        torch.device("cuda", -1)
    for wrong in (None, 1.5, True):
        with pytest.raises(TypeError):
            torch.device(wrong)


@pytest.mark.rule("1.1.3", since="1.0")
def test_a_device_that_is_no_gpu_is_a_value_error_that_names_it(torch):
    for use in (torch.cuda.synchronize, torch.cuda.device, torch.cuda.current_stream, torch.cuda.set_device):
        with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
            use("cpu")


@pytest.mark.rule("1.1.3", since="1.0")
def test_a_device_that_is_not_there_is_a_runtime_error(torch):
    beyond = torch.cuda.device_count()
    for use in (lambda: torch.ones(1, device=f"cuda:{beyond}"), lambda: torch.cuda.set_device(beyond)):
        with pytest.raises(RuntimeError):
            use()
    assert torch.cuda.current_device() == 0 and (torch.ones(1, device="cuda") + 1).item() == 2.0


@pytest.mark.rule("1.1.3", since="1.0")
def test_asking_what_a_device_is_that_is_not_there_is_an_assertion_error(torch):
    beyond = torch.cuda.device_count()
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(beyond)
    with pytest.raises(AssertionError, match="Invalid"):
        torch.cuda.can_device_access_peer(0, beyond)


@pytest.mark.rule("1.1.8", since="1.0")
def test_properties_of_the_current_device_and_of_a_named_one(torch):
    found = torch.cuda.get_device_properties(0)
    for same in (torch.cuda.get_device_properties(), torch.cuda.get_device_properties("cuda")):
        assert (same.name, same.total_memory) == (found.name, found.total_memory)
    assert torch.cuda.get_device_name() == torch.cuda.get_device_name(0) == found.name != ""
    assert torch.cuda.get_device_capability() == (found.major, found.minor)
    assert torch.cuda.mem_get_info()[1] == found.total_memory


@pytest.mark.rule("1.1.8", since="2.5")
def test_properties_are_what_a_kernel_writer_needs(torch):
    found = torch.cuda.get_device_properties(0)
    assert found.major >= 5 and found.multi_processor_count > 0 and found.warp_size == 32
    assert found.max_threads_per_multi_processor % 32 == 0 and found.total_memory > 1 << 26


@pytest.mark.rule("1.1.8", since="2.5")
def test_the_uuid_has_sixteen_bytes_and_thirty_six_characters(torch):
    uuid = torch.cuda.get_device_properties(0).uuid
    assert len(str(uuid)) == 36 and [len(each) for each in str(uuid).split("-")] == [8, 4, 4, 4, 12]
    assert len(bytes(uuid.bytes)) == 16 and bytes(uuid.bytes).hex() == str(uuid).replace("-", "")


@pytest.mark.rule("1.1.8", since="2.5")
def test_the_size_of_the_second_cache(torch):
    assert torch.cuda.get_device_properties(0).L2_cache_size > 1 << 18


@pytest.mark.rule("1.1.8", since="2.9")
def test_the_shared_memory_of_a_block(torch):
    assert torch.cuda.get_device_properties(0).shared_memory_per_block == 48 << 10


@pytest.mark.rule("1.1.8", since="1.10")
def test_what_types_a_device_computes_in(torch):
    modern = torch.cuda.get_device_capability()[0] >= 8
    assert torch.cuda.is_bf16_supported() is True
    assert torch.cuda.is_bf16_supported(including_emulation=False) is modern


@pytest.mark.rule("1.1.8", since="2.7")
def test_tf32_is_there_since_ampere(torch):
    assert torch.cuda.is_tf32_supported() is (torch.cuda.get_device_capability()[0] >= 8)


@pytest.mark.rule("1.1.8", since="1.0")
@pytest.mark.devices(2)
def test_peer_access_is_a_question_with_a_plain_answer(torch):
    assert isinstance(torch.cuda.can_device_access_peer(0, 1), bool)
    assert torch.cuda.can_device_access_peer("cuda:0", torch.device("cuda:1")) == torch.cuda.can_device_access_peer(
        0, 1
    )


@pytest.mark.rule("1.1.8", since="1.10")
def test_the_architectures_that_there_are_kernels_for(torch):
    major, minor = torch.cuda.get_device_capability()
    assert f"sm_{major}{minor}" in torch.cuda.get_arch_list()
    flags = torch.cuda.get_gencode_flags()
    assert flags.count("-gencode compute=compute_") == len(torch.cuda.get_arch_list())
    assert f"code=sm_{major}{minor}" in flags


STRAY = """
import warnings
def warned(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return ["cuda:0" in str(each.message) for each in found]
"""


@pytest.mark.rule("1.1.9", since="2.15")
@pytest.mark.rule("1.19.4", since="2.15")
@pytest.mark.devices(2)
@pytest.mark.parametrize("use", ["torch.ones(1).pin_memory()", "torch.ones(1, device='cuda')"])
def test_choosing_a_device_after_another_was_used_may_be_reported(program, use):
    source = f"{STRAY}{use}\nanswer(warned(lambda: torch.cuda.set_device(0)))\n"
    source += "answer(warned(lambda: torch.cuda.set_device(1)))\nanswer(torch.cuda.current_device())"
    assert program(source, TORCH_CUDA_CHECK_STRAY_CONTEXT="warn") == [[], [True], 1]
    assert program(source, TORCH_CUDA_CHECK_STRAY_CONTEXT=None) == [[], [], 1]
    assert program(source.replace(use, ""), TORCH_CUDA_CHECK_STRAY_CONTEXT="warn") == [[], [], 1]


@pytest.mark.rule("1.1.9", since="2.15")
@pytest.mark.devices(2)
def test_or_refused(program):
    found = program(
        """
torch.cuda.set_device(0)
torch.ones(1).pin_memory()
answer(attempt(lambda: torch.cuda.set_device(1)).split(":")[0])
answer(torch.cuda.current_device())
""",
        TORCH_CUDA_CHECK_STRAY_CONTEXT="error",
    )
    assert found == ["RuntimeError", 0]


@pytest.mark.rule("1.1.10", since="2.13")
def test_streams_of_a_part_of_the_multiprocessors(torch):
    context = torch.cuda.green_contexts.GreenContext.create(num_sms=8, device_id=0)
    streams = [context.Stream() for _ in range(33)]
    assert streams[32] == streams[0] != torch.cuda.current_stream() and str(streams[0].device) == "cuda:0"
    x = torch.arange(1000.0, device="cuda")
    streams[0].wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(streams[0]):
        y = (x + 1) * 2
    torch.cuda.current_stream().wait_stream(streams[0])
    assert y.sum().item() == 1001000.0


@pytest.mark.rule("1.1.10", since="2.13")
def test_more_multiprocessors_than_there_are(torch):
    there_are = torch.cuda.get_device_properties(0).multi_processor_count
    with pytest.raises(RuntimeError):
        torch.cuda.green_contexts.GreenContext.create(num_sms=there_are + 1)
    with pytest.raises(RuntimeError):
        torch.cuda.green_contexts.GreenContext.create(num_sms=0)


@pytest.mark.rule("1.1.10", since="2.13")
@pytest.mark.virtual("modelled time")
def test_kernels_take_longer_there(torch):
    def milliseconds(stream):
        with torch.cuda.stream(stream):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            torch.cuda._sleep(1_000_000)
            end.record()
        end.synchronize()
        return start.elapsed_time(end)

    parts = [torch.cuda.green_contexts.GreenContext.create(num_sms=count) for count in (16, 64)]
    few, more, every = (milliseconds(each) for each in (*(part.Stream() for part in parts), torch.cuda.Stream()))
    assert few > 3 * more > 3 * every


@pytest.mark.rule("1.1.11", since="1.0")
def test_synchronize_waits_for_every_stream_of_the_device(torch, latch):
    streams = [torch.cuda.Stream() for _ in range(3)]
    held = [latch(each) for each in streams]
    assert not any(each.query() for each in streams)
    for each in held:
        each.open_soon()
    torch.cuda.synchronize()
    assert all(each.query() for each in streams)


@pytest.mark.rule("1.1.11", since="1.0")
@pytest.mark.devices(2)
def test_synchronize_waits_for_one_device(torch, latch, busy):
    other = torch.cuda.Stream(1)
    busy(torch.cuda.Stream(0))
    held = latch(other)
    torch.cuda.synchronize("cuda:0")
    torch.cuda.synchronize(torch.device("cuda", 0))
    assert not other.query()
    held.open_soon()
    torch.cuda.synchronize(1)
    assert other.query() and torch.cuda.current_device() == 0


# 1.2.6: files


@pytest.mark.rule("1.2.6", since="1.0")
@pytest.mark.devices(2)
def test_a_saved_tensor_goes_back_where_it_was_or_where_map_location_says(torch, tmp_path):
    path = tmp_path / "saved"
    torch.save(torch.arange(3, device="cuda:1"), path)
    places = [None, "cpu", torch.device("cuda:0"), {"cuda:1": "cuda:0"}, {"cuda:0": "cpu"}, lambda x, where: x]
    found = [torch.load(path, map_location=each) for each in places]
    assert [str(each.device) for each in found] == ["cuda:1", "cpu", "cuda:0", "cuda:0", "cuda:1", "cpu"]
    assert all(each.tolist() == [0, 1, 2] for each in found)


@pytest.mark.rule("1.2.6", since="1.0")
@pytest.mark.devices(2)
def test_without_its_device_the_error_says_how_to_load_it(program, tmp_path):
    path = str(tmp_path / "saved")
    program(f"torch.save(torch.arange(3, device='cuda:1'), {path!r})")
    found = program(
        f"""
try:
    torch.load({path!r})
except RuntimeError as error:
    answer("map_location" in str(error))
answer(torch.load({path!r}, map_location="cuda:0").tolist())
""",
        CUDA_VISIBLE_DEVICES="0",
    )
    assert found == [True, [0, 1, 2]]
