"""BLAS is limited to one thread from whichever thread asks, and given back by whichever ends."""

import threading

from threadpoolctl import threadpool_info

from unswayed._core.kernels import few_blas_threads, one_blas_thread


def blas_threads():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def in_a_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def limited():
    with one_blas_thread:
        return blas_threads()


def test_every_thread_can_set_the_limit():
    before = blas_threads()
    assert set(limited()) == {1}
    assert set(in_a_thread(limited)) == {1}
    assert blas_threads() == before


def test_the_last_thread_to_leave_gives_it_back():
    before = blas_threads()
    one_blas_thread.__enter__()
    in_a_thread(one_blas_thread.__enter__)
    one_blas_thread.__exit__()
    assert set(blas_threads()) == {1}
    in_a_thread(one_blas_thread.__exit__)
    assert blas_threads() == before


def test_large_matrices_are_left_to_all_threads():
    before = blas_threads()
    with few_blas_threads(100_000):
        assert blas_threads() == before
    with few_blas_threads(10):
        assert set(blas_threads()) == {1}
