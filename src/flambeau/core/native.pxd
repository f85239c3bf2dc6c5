cpdef unsigned long long thread_ident() noexcept
cpdef object blank(cls)
cpdef void put_address(bytearray buffer, Py_ssize_t at, unsigned long long address) noexcept
cpdef bytearray copied(bytearray buffer)
cpdef bint is_unshared(buffer) noexcept
cpdef Py_ssize_t identity(value) noexcept
cpdef long long next_number() noexcept

cpdef void enter_critical() noexcept
cpdef leave_critical()
cpdef run_handlers()

cdef extern from "pthread.h":
    ctypedef struct pthread_mutex_t:
        pass

cdef class Lock:
    cdef pthread_mutex_t _mutex
    cdef unsigned long long _owner

    cpdef acquire(self)
    cpdef bint try_acquire(self) except -1
    cpdef release(self)
