"""The host's Philox: known answers, and which words a counter gives."""

import numpy as np
import pytest

from flambeau.ops.philox import philox4x32, random_words

WORD = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([WORD] * 4, [WORD] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_known_answers(counter, key, answer):
    found = philox4x32([np.array([each], np.uint64) for each in counter], key)
    assert [int(each[0]) for each in found] == answer


def test_a_counter_beyond_32_bits_uses_the_second_word():
    far = random_words(5, (1 << 32) + 3, 1)
    expected = philox4x32([np.array([each], np.uint64) for each in (3, 1, 0, 0)], [5, 0])
    assert far[0].tolist() == [int(each[0]) for each in expected]
