"""A pytest plugin that skips the tests of what emulated GPUs do not have, by name, each with its reason."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

COMPILED = "machine code: kernels run their NumPy references"
LIBRARIES = "vendors' libraries: library calls run their NumPy references"
NVML, CUPTI = "NVML", "CUPTI"
PARTITIONS = "green contexts"
GRAPHS = "the driver's nodes of graphs"
TIME = "the time that work takes"
COUNTING = "a count of devices without a start of CUDA"
MAPPING = "checks of mapped addresses"
POOL = "the driver's pool of memory"
ENDED = "work that a process leaves behind when it ends"

LACKING = {
    "tests/core/test_submission.py::test_finalizers_of_other_threads_do_not_wait_either": TIME,
    "tests/driver/nvidia/test_compile.py::*": COMPILED,
    "tests/driver/nvidia/test_convolution.py::test_every_kind_compiles*": COMPILED,
    "tests/driver/nvidia/test_own_kernels.py::test_every_*compiles*": COMPILED,
    "tests/multiprocessing/test_contexts.py::test_work_that_nobody_waited_for_runs_before_its_process_ends*": ENDED,
    "tests/multiprocessing/test_reductions.py::test_a_storage_received_twice_is_one_and_its*": MAPPING,
    "tests/oracle/test_cuda_random.py::*": COMPILED,
    "tests/programs/test_rank_programs.py::test_two_nvidia_gpus_print_what_one_prints*": LIBRARIES,
    "tests/runtime/test_ipc.py::test_an_event_outlives_the_process_that_made_it": ENDED,
    "tests/runtime/test_stream.py::test_more_multiprocessors_than_there_are*": PARTITIONS,
    "tests/runtime/test_user_kernel.py::test_a_header_that_is_missing": COMPILED,
    "tests/runtime/test_user_kernel.py::test_a_source_that_does_not_compile_has_the_log_with_lines": COMPILED,
    "tests/runtime/test_user_kernel.py::test_kernels_compile*": COMPILED,
    "tests/semantics/hardware/test_tools.py::test_cupti_measures_on_hardware": CUPTI,
    "tests/semantics/interface/test_names.py::test_a_graph_of_any_accelerator_is_dumped_to_a_path": GRAPHS,
    "tests/semantics/memory/test_expandable_segments.py::test_unmapped_memory_is_returned_to_the_device": MAPPING,
    "tests/semantics/memory/test_expandable_segments.py::test_values_survive_growth_and_lie_across_pages": MAPPING,
    "tests/semantics/test_copies.py::test_events_measure_the_device_and_not_the_host": TIME,
    "tests/semantics/test_devices.py::test_choosing_a_device_after_another_was_used_may_be_reported*": NVML,
    "tests/semantics/test_devices.py::test_or_refused": NVML,
    "tests/semantics/test_devices.py::test_streams_of_a_part_of_the_multiprocessors": PARTITIONS,
    "tests/semantics/test_devices.py::test_the_architectures_that_there_are_kernels_for": COMPILED,
    "tests/semantics/test_events.py::test_a_record_in_a_capture_does_not_count_before_the_replay": TIME,
    "tests/semantics/test_events.py::test_an_external_event_measures_time_within_a_graph": TIME,
    "tests/semantics/test_events.py::test_elapsed_time_is_in_milliseconds_of_the_device": TIME,
    "tests/semantics/test_graphs.py::test_a_graph_in_debug_mode_is_written_for_graphviz": GRAPHS,
    "tests/semantics/test_graphs.py::test_other_libraries_get_a_graph_by_its_numbers": GRAPHS,
    "tests/semantics/test_memory.py::test_without_caching_what_was_freed_goes_back_to_the_driver": POOL,
    "tests/semantics/test_monitoring.py::*": NVML,
    "tests/semantics/test_numerics.py::test_each_thread_has_a_handle_of_cublas_per_device": LIBRARIES,
    "tests/semantics/test_processes.py::*leaves_children_free": NVML,
    "tests/semantics/test_processes.py::test_a_variable_has_availability_found_out_without_a_start": NVML,
    "tests/semantics/test_start.py::test_a_uuid_that_is_there_twice_unknown_or_of_several": COUNTING,
    "tests/semantics/test_start.py::test_importing_makes_no_call_of_the_driver": COUNTING,
    "tests/semantics/test_start.py::test_odd_lists_of_visible_devices": COUNTING,
    "tests/semantics/test_start.py::test_the_count_follows_the_environment_until_the_start_and_then_stays": COUNTING,
    "tests/semantics/test_streams.py::test_an_event_of_such_a_program_has_timing_if_asked": TIME,
    "tests/test_contributing.py::test_a_mistake_in_cuda_is_caught": COMPILED,
    "tests/testing/test_build.py::test_a_kernel_that_does_not_compile_fails": COMPILED,
    "tests/testing/test_build.py::test_it_makes_an_archive_per_architecture_and_the_list": COMPILED,
    "tests/testing/test_contract.py::TestNvidia::test_a_graph_has_numbers_and_is_written": GRAPHS,
    "tests/testing/test_contract.py::TestNvidia::test_a_thread_has_a_handle_of_cublas_on_each_device": LIBRARIES,
    "tests/testing/test_contract.py::TestNvidia::test_streams_of_a_part_of_a_device": PARTITIONS,
    "tests/testing/test_contract.py::TestNvidia::test_the_pool_allocates_in_the_order_of_a_stream": POOL,
    "tests/testing/test_contract.py::TestNvidia::test_wrong_uses_of_reserved_addresses_are_refused": MAPPING,
    "tests/testing/test_contract.py::TestNvidiaIpc::test_another_process_reads_after_the_event_and_writes_back": ENDED,
    "tests/testing/test_kernels.py::test_a_kernel_that_does_not_compile_is_reported": COMPILED,
    "tests/testing/test_kills.py::*": ENDED,
    "tests/testing/test_user_kernels.py::*on_hardware*": COMPILED,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = next((reason for pattern, reason in LACKING.items() if fnmatch(item.nodeid, pattern)), None)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"not emulated: {reason}"))
