cdef class Thread:
    cdef public object machine
    cdef public int device
    cdef public bint chosen
    cdef public dict streams
    cdef public list default_devices

cpdef machine()
cpdef Thread _here()
cpdef int current_device()
cpdef set_device(int index)
cpdef current_stream(int index)
cpdef set_stream(stream)
