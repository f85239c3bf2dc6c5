cpdef unsigned long long thread_ident() noexcept
cpdef object blank(cls)
cpdef void put_address(bytearray buffer, Py_ssize_t at, unsigned long long address) noexcept
cpdef bytearray copied(bytearray buffer)
cpdef bint is_unshared(buffer) noexcept
cpdef Py_ssize_t identity(value) noexcept
cpdef long long next_number() noexcept
cpdef tuple origin_above(task, operator)

cpdef void enter_critical() noexcept
cpdef leave_critical()
cpdef run_handlers()

cdef extern from "pthread.h" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_init(pthread_mutex_t*, void*)
    int pthread_mutex_destroy(pthread_mutex_t*)
    int pthread_mutex_trylock(pthread_mutex_t*)
    int pthread_mutex_lock(pthread_mutex_t*)
    int pthread_mutex_unlock(pthread_mutex_t*)
    int pthread_atfork(void (*prepare)() noexcept, void (*parent)() noexcept, void (*child)() noexcept)

cdef class Lock:
    cdef pthread_mutex_t _mutex
    cdef unsigned long long _owner
    cdef int _forks

    cdef bint _take(self) noexcept
    cpdef acquire(self)
    cpdef bint try_acquire(self) except -1
    cpdef release(self)
