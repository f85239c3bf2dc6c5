cimport cython

cdef extern from *:
    """
    #include <pthread.h>
    #define FLAMBEAU_MUTEX(lock) ((pthread_mutex_t *)PyCapsule_GetPointer(lock, NULL))
    static CYTHON_INLINE void flambeau_lock_forget(PyObject *lock) {
      pthread_mutex_destroy(FLAMBEAU_MUTEX(lock));
      PyMem_Free(FLAMBEAU_MUTEX(lock));
    }
    static CYTHON_INLINE PyObject *flambeau_lock_new(void) {
      pthread_mutex_t *made = (pthread_mutex_t *)PyMem_Malloc(sizeof(pthread_mutex_t));
      if (made == NULL || pthread_mutex_init(made, NULL)) return PyErr_NoMemory();
      return PyCapsule_New(made, NULL, flambeau_lock_forget);
    }
    static CYTHON_INLINE void flambeau_lock_take(PyObject *lock) {
      pthread_mutex_t *raw = FLAMBEAU_MUTEX(lock);
      if (!pthread_mutex_trylock(raw)) return;
      Py_BEGIN_ALLOW_THREADS
      pthread_mutex_lock(raw);
      Py_END_ALLOW_THREADS
    }
    static CYTHON_INLINE int flambeau_lock_try(PyObject *lock) {
      return !pthread_mutex_trylock(FLAMBEAU_MUTEX(lock));
    }
    static CYTHON_INLINE void flambeau_lock_give(PyObject *lock) { pthread_mutex_unlock(FLAMBEAU_MUTEX(lock)); }
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
