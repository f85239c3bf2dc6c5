"""The syntax of PYTORCH_ALLOC_CONF (rows 1.8.10 to 1.8.18) and the rounding of sizes (row 1.8.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flambeau.errors import ConfigError
from flambeau.memory.settings import UNLIMITED, Settings, from_environment, parse, rounded

MIB = 1 << 20


def test_nothing_gives_the_defaults():
    assert parse("") == parse(" , ") == Settings()
    assert Settings() == Settings(UNLIMITED, (), 20 * MIB, 20 * MIB, None, 0.0, UNLIMITED)


def test_every_setting():
    text = (
        "max_split_size_mb: 64 , roundup_power2_divisions:4,max_non_split_rounding_mb:40,large_segment_size_mb:32,"
        "per_process_memory_fraction:0.5,garbage_collection_threshold:0.8,pinned_max_cached_size_mb:256"
    )
    assert parse(text) == Settings(64 * MIB, (4,) * 16, 40 * MIB, 32 * MIB, 0.5, 0.8, 256 * MIB)


def test_a_later_key_wins_and_order_does_not_matter_for_checks():
    assert parse("max_split_size_mb:32,max_split_size_mb:64").max_split_size == 64 * MIB
    with pytest.raises(ConfigError, match="max_split_size_mb is 25, less than a large segment, which has 30 MiB"):
        parse("max_split_size_mb:25,large_segment_size_mb:30")


@pytest.mark.parametrize(
    "entries, expected",
    [
        ("256:1,512:2,1024:4,>:8", (1,) * 9 + (2, 4) + (8,) * 5),
        ("64:8,1024:2", (8,) * 7 + (0, 0, 0, 2) + (0,) * 5),
        (">:8,256:1", (1,) * 9 + (8,) * 7),
        ("1:2,4:4,131072:16", (2, 0, 4) + (0,) * 12 + (16,)),
        ("512:2,64:8", (2,) * 6 + (8,) + (2,) * 3 + (0,) * 6),
        (">:8", (0,) + (8,) * 15),
        ("64:0", (0,) * 16),
        ("65536:2,>:8", (2,) * 16),
    ],
)
def test_division_lists(entries, expected):
    assert parse(f"roundup_power2_divisions:[{entries}]").roundup_divisions == expected


def test_an_unknown_key_is_named_with_the_known_ones():
    with pytest.raises(ConfigError) as caught:
        parse("max_splitsize_mb:64", "PYTORCH_CUDA_ALLOC_CONF")
    assert caught.value.fact == "PYTORCH_CUDA_ALLOC_CONF: setting 'max_splitsize_mb' is unknown"
    assert "large_segment_size_mb, max_non_split_rounding_mb, max_split_size_mb" in caught.value.hint


def test_a_key_of_pytorch_that_is_not_honoured_says_so():
    with pytest.raises(ConfigError, match="'release_lock_on_cudamalloc' is not supported\nhint: use one of"):
        parse("release_lock_on_cudamalloc:True")


def test_settings_of_pinned_memory_and_of_rejections():
    text = "pinned_use_cuda_host_register:True,pinned_max_round_threshold_mb:8,throw_on_cudamalloc_oom:True"
    found = parse(text)
    assert (found.pinned_registers, found.pinned_rounding, found.rejects_over_limit) == (True, 8 * MIB, True)
    with pytest.raises(ConfigError, match="pinned_max_round_threshold_mb"):
        parse("pinned_max_round_threshold_mb:many")


def test_booleans_are_spelled_exactly():
    assert parse("expandable_segments:True").expandable_segments
    assert not parse("expandable_segments : False").expandable_segments
    with pytest.raises(ConfigError, match="'true' is neither True nor False"):
        parse("expandable_segments:true")


@pytest.mark.parametrize(
    "text",
    [
        "max_split_size_mb", "max_split_size_mb:", "max_split_size_mb:2", "max_split_size_mb:abc",
        "max_split_size_mb:-1", "max_split_size_mb:32.5", "max_split_size_mb:32:1",
        "max_non_split_rounding_mb:19", "large_segment_size_mb:10",
        "roundup_power2_divisions:3", "roundup_power2_divisions:0", "roundup_power2_divisions:[3:2]",
        "roundup_power2_divisions:[256:3]", "roundup_power2_divisions:[256:2", "roundup_power2_divisions:[256]",
        "garbage_collection_threshold:0.0", "garbage_collection_threshold:1.0", "garbage_collection_threshold:x",
        "per_process_memory_fraction:1.5", "per_process_memory_fraction:-0.5", "pinned_max_cached_size_mb:x", "a:1",
    ],
)  # fmt: skip
def test_bad_values_are_errors(text):
    with pytest.raises(ConfigError, match="PYTORCH_ALLOC_CONF: "):
        parse(text)


def test_the_environment():
    old, new = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}, {"PYTORCH_ALLOC_CONF": "max_split_size_mb:32"}
    assert from_environment({}) == Settings()
    assert from_environment(old).max_split_size == 64 * MIB
    assert from_environment({**old, **new}).max_split_size == 32 * MIB


@pytest.mark.parametrize("text, exact", [("1", True), ("0", False), ("", False)])
def test_the_environment_may_switch_caching_off(text, exact):
    found = from_environment({"PYTORCH_NO_CUDA_MEMORY_CACHING": text, "PYTORCH_ALLOC_CONF": "max_split_size_mb:32"})
    assert found.exact is exact and found.max_split_size == 32 * MIB
    assert rounded(513, found.roundup_divisions) == (513 if exact else 1024)


@pytest.mark.parametrize("nbytes, size", [(1, 512), (512, 512), (513, 1024), (MIB, MIB), (MIB + 1, MIB + 512)])
def test_sizes_are_rounded_to_512(nbytes, size):
    assert rounded(nbytes, ()) == size


@pytest.mark.parametrize(
    "nbytes, divisions, size",
    [(1200, 4, 1536), (2048, 4, 2048), (2049, 4, 2560), (84 * MIB, 8, 88 * MIB), (65 * MIB, 2, 96 * MIB)],
)
def test_steps_between_powers_of_two(nbytes, divisions, size):
    assert rounded(nbytes, (divisions,) * 16) == size


def test_the_size_class_chooses_the_steps():
    divisions = parse("roundup_power2_divisions:[64:8,128:2,>:1]").roundup_divisions
    assert rounded(84 * MIB, divisions) == 88 * MIB
    assert rounded(150 * MIB, divisions) == 192 * MIB
    assert rounded(300 * MIB + 1, divisions) == 300 * MIB + 512
    assert rounded((1 << 40) + 1, divisions) == (1 << 40) + 512


@given(st.integers(1, 1 << 45), st.sampled_from([0, 1, 2, 4, 8, 16]))
def test_rounding_properties(nbytes, divisions):
    size = rounded(nbytes, (divisions,) * 16)
    assert size >= nbytes and size % 512 == 0
    assert rounded(size, (divisions,) * 16) == size
    assert size - nbytes < max(512, nbytes / max(divisions, 1)) or divisions < 2
