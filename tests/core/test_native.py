"""Locks, compiled or not."""

import threading

import pytest

from flambeau.core.native import Lock


def is_free(lock):
    if not lock.try_acquire():
        return False
    lock.release()
    return True


def test_what_is_held_is_not_taken_again():
    lock = Lock()
    assert lock.try_acquire() and not lock.try_acquire()
    lock.release()
    assert is_free(lock)


def test_it_is_given_back_when_its_block_raises():
    lock = Lock()
    with pytest.raises(KeyError), lock:
        raise KeyError
    assert is_free(lock)


def test_who_waits_gets_it_after_the_owner():
    lock, order, starting = Lock(), [], threading.Event()

    def wait():
        starting.set()
        with lock:
            order.append("the other")

    other = threading.Thread(target=wait)
    with lock:
        other.start()
        starting.wait()
        assert not lock.try_acquire()
        order.append("the owner")
    other.join()
    assert order == ["the owner", "the other"] and is_free(lock)


def test_threads_that_count_under_it_miss_nothing():
    lock, count = Lock(), [0]

    def add():
        for _ in range(1000):
            with lock:
                now = count[0]
                count[0] = now + 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert count == [4000]
