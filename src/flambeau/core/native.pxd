cpdef unsigned long long thread_ident() noexcept
cpdef object blank(kind)
cpdef void put_address(bytearray buffer, Py_ssize_t at, unsigned long long address) noexcept
cpdef bytearray copied(bytearray buffer)
cpdef bint is_unshared(buffer) noexcept
cpdef Py_ssize_t identity(value) noexcept
cpdef long long next_number() noexcept

cdef class Lock:
    cdef void* _mutex

    cpdef acquire(self)
    cpdef bint try_acquire(self)
    cpdef release(self)
