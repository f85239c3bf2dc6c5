cimport cython
from .queue cimport Hooks, Mirror, Queue
from . cimport storage, thread
from .layout cimport Layout, dense_layout, layout_of
from .native cimport blank
from .storage cimport Storage
from .thread cimport Device

cdef Hooks hooks

cdef class TensorBase:
    cdef public Storage _storage
    cdef public Storage _counter
    cdef public Layout _layout
    cdef public Py_ssize_t _offset
    cdef public bint _requires_grad
    cdef public object _grad_fn
    cdef public Py_ssize_t _output_index
    cdef public object _grad
    cdef public object _accumulator
    cdef public object _base
    cdef public Py_ssize_t _view_version
    cdef public int _origin
    cdef public bint retains_grad
    cdef public object _hooks
    cdef object __weakref__

    cpdef unsigned long long address(self) except? 0
    cpdef is_contiguous(self, memory_format=*)
    cpdef is_aligned(self)
    cpdef numel(self)

cdef object _result
cdef list _watchers

@cython.locals(memory=Storage, layout=Layout)
cpdef array_of(TensorBase tensor)
@cython.locals(base=TensorBase)
cpdef bint in_graph(TensorBase tensor) except -1
cpdef before_write(called, TensorBase tensor)
cpdef unsigned long long address_of(TensorBase tensor) except? 0
cpdef TensorBase new_tensor(Storage storage, Layout layout, Py_ssize_t offset=*)
@cython.locals(tensor=TensorBase)
cpdef TensorBase new_tensor_of(cls, Storage storage, Layout layout, Py_ssize_t offset)
@cython.locals(made=TensorBase, mirror=Mirror)
cpdef TensorBase taken(Layout layout, Queue stream)
cpdef TensorBase new_on_host(Layout layout)
@cython.locals(layout=Layout, device=Device)
cpdef TensorBase empty_tensor(shape, dtype, int index, bint pin_memory=*, name=*)
cpdef TensorBase tensor_over(Storage storage, dtype, shape, strides, Py_ssize_t offset=*)
@cython.locals(alias=TensorBase)
cpdef TensorBase alias_of(TensorBase source, shape, strides, Py_ssize_t offset)
