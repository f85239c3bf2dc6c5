cdef class GraphTask:
    cdef public bint keep_graph
    cdef public bint create_graph
    cdef public object targets
    cdef public dict captured
    cdef public dict buffers
    cdef public dict waiting
    cdef public set needed
    cdef public set only_captured
    cdef public list ready
    cdef public set shared
    cdef public set leaf_streams

    cpdef run(self, roots, grads)
