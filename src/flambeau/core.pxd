cimport cython
from .layout cimport Layout, dense_layout, known_dense
from .runtime cimport state, storage
from .runtime.storage cimport Storage

cdef extern from *:
    """
    static CYTHON_INLINE PyObject *flambeau_blank(PyObject *kind) {
      static PyObject *nothing = NULL;
      if (nothing == NULL && (nothing = PyTuple_New(0)) == NULL) return NULL;
      return ((PyTypeObject *)kind)->tp_new((PyTypeObject *)kind, nothing, NULL);
    }
    """
    object _blank "flambeau_blank"(object kind)

cdef class TensorCore:
    cdef public Storage storage
    cdef public Layout layout
    cdef public Py_ssize_t offset
    cdef public bint _requires_grad
    cdef public object _grad_fn
    cdef public Py_ssize_t output_index
    cdef public object grad
    cdef public object accumulator
    cdef public object base
    cdef public Py_ssize_t view_version
    cdef public object hooks
    cdef object __weakref__

    cpdef unsigned long long address(self)
    cpdef is_contiguous(self, memory_format=*)
    cpdef is_aligned(self)
    cpdef numel(self)

@cython.final
cdef class Result:
    cdef public object kind

cdef Result _result

@cython.locals(made=TensorCore)
cpdef TensorCore new(Storage storage, Layout layout, Py_ssize_t offset=*)
cpdef TensorCore over(Storage storage, dtype, shape, strides, Py_ssize_t offset=*)
cpdef TensorCore alias(TensorCore source, shape, strides, Py_ssize_t offset)
cpdef TensorCore empty(shape, dtype, int device, bint pin_memory=*, name=*)
cpdef begin(TensorCore tensor, Storage storage, Layout layout, Py_ssize_t offset)
cpdef bint in_graph(TensorCore tensor) except -1
cpdef unsigned long long address_of(TensorCore tensor)
