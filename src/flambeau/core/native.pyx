"""Locks, critical sections and small helpers, in C.  native.py is the uncompiled equivalent."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_GET_SIZE
from cpython.object cimport Py_TPFLAGS_HEAPTYPE, PyObject, PyTypeObject
from libc.string cimport memcpy

import os
import sys
import threading

from ..errors import raiser, reentered

cdef extern from "Python.h":
    int PyGC_Enable()
    int PyGC_Disable()
    Py_ssize_t Py_REFCNT(object value)

cdef extern from *:
    """
    #if PY_VERSION_HEX >> 16 == 0x030C  /* 3.12 runs a collection that was due before collections were disabled */
    #define run_due_collection PyErr_CheckSignals
    #else
    #define run_due_collection() 0
    #endif
    """
    int run_due_collection() except -1

cdef extern from *:
    """
    #define current_frame() Py_NewRef(PyEval_GetFrame() ? (PyObject*)PyEval_GetFrame() : Py_None)
    #define code_of(frame) ((PyObject*)PyFrame_GetCode((PyFrameObject*)frame))
    #define file_of(code) (((PyCodeObject*)code)->co_filename)
    #define offset_in(frame) PyFrame_GetLasti((PyFrameObject*)frame)
    static PyObject *frame_above(PyObject *frame) {
        PyFrameObject *above = PyFrame_GetBack((PyFrameObject*)frame);
        return above ? (PyObject*)above : Py_NewRef(Py_None);
    }
    """
    object current_frame()
    object frame_above(frame)
    object code_of(frame)
    PyObject* file_of(code)
    int offset_in(frame)

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    static int forks;  /* number of forks between the first process and this one */
    static unsigned long forker;  /* the thread that made the last of them, the only one that the child has */
    static void count_fork(void) { ++forks, forker = PyThread_get_thread_ident(); }
    """
    int forks
    unsigned long forker
    void count_fork() noexcept nogil

pthread_atfork(NULL, NULL, count_fork)  # finalizers run in a child before functions of os.register_at_fork


cpdef unsigned long long thread_ident() noexcept:
    """Return the calling thread's id."""
    return PyThread_get_thread_ident()


cpdef object blank(cls):
    """Make an object of a class without calling `__new__` or `__init__`."""
    cdef PyTypeObject* base = <PyTypeObject*>cls
    while base.tp_flags & Py_TPFLAGS_HEAPTYPE:  # up to the compiled class: the classes below may define __new__
        base = base.tp_base
    return base.tp_new(<type>cls, <PyObject*>(), NULL)


cpdef void put_address(bytearray buffer, Py_ssize_t at, unsigned long long address) noexcept:
    """Write an address into a buffer, `at` bytes from its start.  The caller has checked that it fits."""
    memcpy(PyByteArray_AS_STRING(buffer) + at, &address, sizeof(address))


cpdef bytearray copied(bytearray buffer):
    """Return a copy of a buffer."""
    return PyByteArray_FromStringAndSize(PyByteArray_AS_STRING(buffer), PyByteArray_GET_SIZE(buffer))


cpdef bint is_unshared(buffer) noexcept:
    """Return whether the caller owns the only reference to an object.  Only compiled callers own one themselves."""
    return Py_REFCNT(buffer) == 1


cpdef Py_ssize_t identity(value) noexcept:
    """Return the address of an object, like id()."""
    return <Py_ssize_t><PyObject*>value


cdef long long _numbers = 0


cpdef long long next_number() noexcept:
    """Return a number higher than all before."""
    global _numbers
    _numbers += 1
    return _numbers


PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
cdef dict _files = {}


cpdef tuple origin_above(task, operator):
    """Return the `callers.Origin` of the current call: see native.py."""
    called, frame = None, current_frame()
    passes = None if task is None else task.code
    while frame is not None:
        code = code_of(frame)
        if code is passes:
            code, at, called, _ = <tuple>task.origin
            return code, at, called, operator
        is_inside = _files.get(<object>file_of(code))
        if is_inside is None:
            is_inside = _files[<object>file_of(code)] = (<object>file_of(code)).startswith(PACKAGE)
        if is_inside is False:
            return code, offset_in(frame), called, operator
        frame, called = frame_above(frame), code
    return None, 0, called, operator


# critical sections: see native.py.  No `try` whose `finally` may raise has a `return`: Cython would leak its value.

cdef unsigned long long _main = threading.main_thread().ident
cdef Py_ssize_t _main_depth = 0, _depth = 0
cdef bint _collects = False
cdef list _put_off = []
entries = {}  # {code that begins a section: offset of the first instruction inside it}


cpdef void enter_critical() noexcept:
    """Begin a critical section of this thread.  Sections nest."""
    global _depth, _main_depth, _collects
    if PyThread_get_thread_ident() == _main:
        _main_depth += 1
    _depth += 1
    if _depth == 1:
        _collects = PyGC_Disable()
        try:
            run_due_collection()
        except BaseException as error:  # of a signal handler that is not wrapped yet
            put_off(0, raiser(error))


cpdef leave_critical():
    """End a critical section.  After the outermost one, run the deferred signal handlers, which may raise."""
    global _depth, _main_depth
    _depth -= 1
    if _depth == 0 and _collects:
        PyGC_Enable()
    if PyThread_get_thread_ident() == _main:
        _main_depth -= 1
        if _put_off and _main_depth == 0:
            run_handlers()


def is_critical(frame):
    """Return whether the main thread, which runs `frame`, is in a critical section or about to enter one."""
    return _main_depth > 0 or frame.f_lasti < entries.get(frame.f_code, 0)


def depth():
    """Return the number of sections that the main thread is in."""
    return _main_depth


def put_off(number, run):
    """Defer `run(number, frame)` until the main thread has left its critical sections."""
    _put_off.append((number, run))


cpdef run_handlers():
    """Run the deferred handlers, if this is the main thread.  Long waits call it where the state is consistent."""
    while _put_off and PyThread_get_thread_ident() == _main:
        number, run = _put_off.pop(0)
        run(number, sys._getframe())


def _in_child():
    """Reset the counts in a forked child: its only thread is the one that forked, which was in no section."""
    global _main, _main_depth, _depth
    if _depth and _collects:
        PyGC_Enable()
    _main = PyThread_get_thread_ident()
    _main_depth = _depth = 0
    _put_off.clear()


os.register_at_fork(after_in_child=_in_child)


cdef class Lock:
    """A mutex.  Holding it is a critical section.  An acquire that succeeds at once makes no Python call.

    `acquire` raises ReentryError if its thread holds the lock.  A forked child frees what threads that it lacks held.
    """

    def __cinit__(self):
        self._forks = forks
        if pthread_mutex_init(&self._mutex, NULL):
            raise MemoryError("no mutex")

    def __dealloc__(self):
        pthread_mutex_destroy(&self._mutex)

    cdef bint _take(self) noexcept:
        if pthread_mutex_trylock(&self._mutex):
            if self._forks == forks or self._owner == forker:
                return False
            pthread_mutex_init(&self._mutex, NULL)
            pthread_mutex_lock(&self._mutex)
        self._owner, self._forks = PyThread_get_thread_ident(), forks
        return True

    cpdef acquire(self):
        enter_critical()
        if not self._take():
            if self._owner == PyThread_get_thread_ident():
                leave_critical()
                raise reentered()
            with nogil:
                pthread_mutex_lock(&self._mutex)
            self._owner, self._forks = PyThread_get_thread_ident(), forks

    cpdef bint try_acquire(self) except -1:
        """Try to acquire the lock; return whether it succeeded."""
        enter_critical()
        if not self._take():
            leave_critical()
            return False
        return True

    cpdef release(self):
        self._owner = 0
        pthread_mutex_unlock(&self._mutex)
        leave_critical()

    def __enter__(self):
        self.acquire()

    def __exit__(self, kind=None, error=None, traceback=None):
        self.release()
