cimport cython

@cython.final
cdef class Hooks:
    cdef public object on_submit
    cdef public object on_launch
    cdef public object on_copy
    cdef public object on_fill
    cdef public object on_graph_launch
    cdef public object on_span
    cdef public object on_range
    cdef public object on_block_taken
    cdef public object on_block_given
    cdef public object on_record
    cdef public object on_wait
    cdef public object on_route
    cdef public object on_convert
    cdef public object on_done
    cdef public object on_host_read
    cdef public object on_host_write
