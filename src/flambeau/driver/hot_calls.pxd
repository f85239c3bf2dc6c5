cdef class HotCalls:
    cdef object _driver

    cpdef launch(self, kernel, grid, arguments, stream)
    cpdef event_record(self, event, stream, bint external=*)
    cpdef stream_wait_event(self, stream, event, bint external=*)
    cpdef copy(self, unsigned long long dst, unsigned long long src, Py_ssize_t nbytes, kind, stream)
    cpdef library_run(self, plan, bytearray packed, unsigned long long workspace, stream)
