cimport cython
from .parameters cimport Way, is_way

cdef class Operator

cdef class Runner:
    cpdef run(self, Operator operator, tuple args, dict kwargs)

cdef Runner _runner

@cython.final
cdef class Need:
    cdef public object kind
    cdef public Py_ssize_t at
    cdef public object what
    cdef public Py_ssize_t only_for

@cython.final
cdef class Setting:
    cdef public object value

cdef class Operator:
    cdef dict __dict__
    cdef public object name
    cdef public object called
    cdef public object body
    cdef public object kind
    cdef public tuple parameters
    cdef public Py_ssize_t positional
    cdef public tuple tensor_indexes
    cdef public frozenset number_indexes
    cdef public object node_name
    cdef public Setting setting
    cdef public tuple mutates
    cdef public bint differentiable
    cdef public bint takes_out
    cdef public object backward
    cdef public tuple backward_needs
    cdef public tuple saves
    cdef public dict only_for
    cdef public dict index_of
    cdef public list recent
    cdef public list recent_into
    cdef Py_ssize_t needed
    cdef list defaults
    cdef dict ways
    cdef Way last_way
    cdef object __weakref__

    cpdef run(self, tuple args)
    @cython.locals(found=Way)
    cdef Way way_of(self, tuple args, dict kwargs)
    @cython.locals(twin=Operator)
    cpdef Operator _twin(self)

@cython.locals(bound=list, place=Py_ssize_t)
cpdef list bind(Operator operator, tuple args, dict kwargs)
@cython.locals(bound=list)
cpdef list bind_two(Operator operator, first, second)
@cython.locals(bound=list, place=Py_ssize_t, way=Way)
cpdef list _bind_named(Operator operator, tuple args, dict kwargs)
