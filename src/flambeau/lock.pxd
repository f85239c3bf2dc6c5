cimport cython

cdef extern from *:
    """
    #include "pythread.h"
    static CYTHON_INLINE void flambeau_lock_forget(PyObject *lock) {
      PyThread_free_lock((PyThread_type_lock)PyCapsule_GetPointer(lock, NULL));
    }
    static CYTHON_INLINE PyObject *flambeau_lock_new(void) {
      PyThread_type_lock made = PyThread_allocate_lock();
      return made == NULL ? PyErr_NoMemory() : PyCapsule_New(made, NULL, flambeau_lock_forget);
    }
    static CYTHON_INLINE void flambeau_lock_take(PyObject *lock) {
      PyThread_type_lock raw = (PyThread_type_lock)PyCapsule_GetPointer(lock, NULL);
      if (PyThread_acquire_lock(raw, NOWAIT_LOCK)) return;
      Py_BEGIN_ALLOW_THREADS
      PyThread_acquire_lock(raw, WAIT_LOCK);
      Py_END_ALLOW_THREADS
    }
    static CYTHON_INLINE int flambeau_lock_try(PyObject *lock) {
      return PyThread_acquire_lock((PyThread_type_lock)PyCapsule_GetPointer(lock, NULL), NOWAIT_LOCK);
    }
    static CYTHON_INLINE void flambeau_lock_give(PyObject *lock) {
      PyThread_release_lock((PyThread_type_lock)PyCapsule_GetPointer(lock, NULL));
    }
    """
    object _new "flambeau_lock_new"()
    void _take "flambeau_lock_take"(object lock)
    bint _try "flambeau_lock_try"(object lock)
    void _give "flambeau_lock_give"(object lock)

@cython.final
cdef class Lock:
    cdef object _lock

    cpdef acquire(self)
    cpdef bint try_acquire(self)
    cpdef release(self)
