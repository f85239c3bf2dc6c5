cimport cython

cdef class OperatorBase

cdef class Caller:
    cpdef call(self, OperatorBase operator, tuple args, dict kwargs)
    cpdef derive(self, OperatorBase operator, list bound)

cdef Caller _caller

@cython.final
cdef class Need:
    cdef public object kind
    cdef public Py_ssize_t at
    cdef public object what
    cdef public Py_ssize_t only_for

@cython.final
cdef class Setting:
    cdef public object value

@cython.final
cdef class Signature:
    cdef public Py_ssize_t count
    cdef public tuple names
    cdef public list places

cdef class OperatorBase:
    cdef dict __dict__
    cdef public object name
    cdef public object called
    cdef public object body
    cdef public object kind
    cdef public Py_ssize_t positional
    cdef public tuple tensor_indexes
    cdef public tuple travels
    cdef public object node_name
    cdef public Setting setting
    cdef public tuple mutates
    cdef public bint gives_views
    cdef public bint differentiable
    cdef public bint takes_out
    cdef public object quick
    cdef public OperatorBase quick_node
    cdef public OperatorBase derivative_call
    cdef public bint is_derivative
    cdef public object backward
    cdef public tuple backward_needs
    cdef public tuple saves
    cdef public dict index_of
    cdef public list defaults
    cdef public Py_ssize_t needed
    cdef public dict signatures
    cdef public Signature last_signature
    cdef object __weakref__

    cpdef derive(self, list bound)
