"""What the core does in C where it is compiled.  native.py is the same for an interpreter alone."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.string cimport memcpy

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    #include <pthread.h>
    static CYTHON_INLINE PyObject *flambeau_blank(PyObject *kind) {
      static PyObject *nothing = NULL;
      if (nothing == NULL && (nothing = PyTuple_New(0)) == NULL) return NULL;
      PyTypeObject *base = (PyTypeObject *)kind;  /* the compiled class, whose own classes may define __new__ */
      while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
      return base->tp_new((PyTypeObject *)kind, nothing, NULL);
    }
    static CYTHON_INLINE Py_ssize_t flambeau_owners(PyObject *value) { return Py_REFCNT(value); }
    static CYTHON_INLINE void *flambeau_mutex_new(void) {
      pthread_mutex_t *made = (pthread_mutex_t *)PyMem_Malloc(sizeof(pthread_mutex_t));
      if (made != NULL && pthread_mutex_init(made, NULL)) { PyMem_Free(made); made = NULL; }
      return made;
    }
    static CYTHON_INLINE void flambeau_mutex_free(void *mutex) {
      pthread_mutex_destroy((pthread_mutex_t *)mutex);
      PyMem_Free(mutex);
    }
    static CYTHON_INLINE void flambeau_mutex_take(void *mutex) {
      if (!pthread_mutex_trylock((pthread_mutex_t *)mutex)) return;
      Py_BEGIN_ALLOW_THREADS
      pthread_mutex_lock((pthread_mutex_t *)mutex);
      Py_END_ALLOW_THREADS
    }
    static CYTHON_INLINE int flambeau_mutex_try(void *mutex) { return !pthread_mutex_trylock((pthread_mutex_t *)mutex); }
    static CYTHON_INLINE void flambeau_mutex_give(void *mutex) { pthread_mutex_unlock((pthread_mutex_t *)mutex); }
    """
    object flambeau_blank(object kind)
    Py_ssize_t flambeau_owners(object value)
    void *flambeau_mutex_new()
    void flambeau_mutex_free(void *mutex)
    void flambeau_mutex_take(void *mutex)
    bint flambeau_mutex_try(void *mutex)
    void flambeau_mutex_give(void *mutex)


cpdef unsigned long long thread_ident() noexcept:
    """The number of the calling thread."""
    return PyThread_get_thread_ident()


cpdef object blank(kind):
    """A new object of a class; neither `__new__` nor `__init__` is called."""
    return flambeau_blank(kind)


cpdef void put_address(bytearray buffer, Py_ssize_t at, unsigned long long address) noexcept:
    """Write an address into a buffer, `at` bytes from its start.  The caller has checked that it fits."""
    memcpy(PyByteArray_AS_STRING(buffer) + at, &address, sizeof(address))


cpdef bytearray copied(bytearray buffer):
    """A copy of a buffer."""
    return PyByteArray_FromStringAndSize(PyByteArray_AS_STRING(buffer), PyByteArray_GET_SIZE(buffer))


cpdef bint is_unshared(buffer) noexcept:
    """Whether the caller's reference to an object is the only one.  Only compiled callers, which own one, may ask."""
    return flambeau_owners(buffer) == 1


cpdef Py_ssize_t identity(value) noexcept:
    """As id()."""
    return <Py_ssize_t><PyObject*>value


cdef long long _numbers = 0


cpdef long long next_number() noexcept:
    """A number that is higher than all before."""
    global _numbers
    _numbers += 1
    return _numbers


cdef class Lock:
    """A mutex.  Nearly every acquire succeeds at once, and then takes no Python call."""

    def __cinit__(self):
        self._mutex = flambeau_mutex_new()
        if self._mutex == NULL:
            raise MemoryError("no mutex")

    def __dealloc__(self):
        if self._mutex != NULL:
            flambeau_mutex_free(self._mutex)

    cpdef acquire(self):
        flambeau_mutex_take(self._mutex)

    cpdef bint try_acquire(self):
        """Try to acquire the lock; return whether it succeeded."""
        return flambeau_mutex_try(self._mutex)

    cpdef release(self):
        flambeau_mutex_give(self._mutex)

    def __enter__(self):
        self.acquire()

    def __exit__(self, *raised):
        self.release()
