cimport cython

@cython.final
cdef class Hooks:
    cdef public object on_submit
    cdef public object on_launch
    cdef public object on_copy
    cdef public object on_fill
    cdef public object on_graph_launch
    cdef public object on_exchange
    cdef public object on_span
    cdef public object on_range
    cdef public object on_block_taken
    cdef public object on_block_freed
    cdef public object on_block_given
    cdef public object on_workspace
    cdef public object on_memory
    cdef public object on_record
    cdef public object on_wait
    cdef public object on_blocked
    cdef public object on_route
    cdef public object on_convert
    cdef public object on_done
    cdef public object on_host_call
    cdef public object on_host_read
    cdef public object on_host_write

from . cimport thread
from .native cimport enter_critical, identity, leave_critical, origin_above

cdef Hooks _hooks

cdef class HotCalls:
    cdef object _driver

    cpdef launch(self, kernel, grid, arguments, stream)
    cpdef event_record(self, event, stream, bint external=*)
    cpdef stream_wait_event(self, stream, event, bint external=*)
    cpdef copy(self, unsigned long long dst, unsigned long long src, Py_ssize_t nbytes, kind, stream)
    cpdef library_run(self, plan, bytearray packed, unsigned long long workspace, stream)
    cpdef block_taken(self, int device, unsigned long long address, unsigned long long nbytes, stream)
    cpdef block_given(self, int device, unsigned long long address, unsigned long long nbytes)

cdef class CallCount:
    cdef public Py_ssize_t count
    cdef public bint is_waiting

cdef class CallList:
    cdef public CallCount state
    cdef public object witness
    cdef public dict inside
    cdef public list blocks
    cdef public list launches
    cdef public bint is_open
    cdef public Py_ssize_t limit

cdef tuple _origin(thread.Thread now)

cdef class FollowedCalls(HotCalls):
    cdef object _model
    cdef HotCalls _real
    cdef bint _watches
    cdef object _here
    cdef object _loaded
    cdef object _alone
    cdef dict _lines
    cdef dict _open
    cdef CallList _latest
    cdef CallCount _order

    @cython.locals(calls=CallList, origin=tuple, is_known=bint, inside=dict, state=CallCount, order=CallCount)
    cdef _list(self, alone, loaded, arguments)
    @cython.locals(calls=CallList, origin=tuple, state=CallCount, order=CallCount)
    cpdef block_taken(self, int device, unsigned long long address, unsigned long long nbytes, stream)
    @cython.locals(calls=CallList)
    cpdef block_given(self, int device, unsigned long long address, unsigned long long nbytes)

cdef class Mirror:
    cdef public list queues
    cdef public object group
    cdef public list drawn
    cdef public list made
    cdef public thread.Device lockstep

cdef class Queue:
    cdef public Mirror mirror
    cdef public thread.Machine machine
    cdef public object driver
    cdef public HotCalls hot
    cdef public int device_index
    cdef public object handle
    cdef public dict alone
    cdef public object mark

    cpdef begin(self, machine, int device_index, handle)
    cpdef record(self, event, bint external=*)
    cpdef wait(self, event, bint external=*)
    cpdef _marked(self)
    cpdef follow(self, Queue other)
    cpdef synchronize(self)
    cpdef launch(self, kernel, grid, arguments)
    cpdef library_run(self, plan, bytearray packed, unsigned long long workspace)
    cpdef copy(self, unsigned long long dst, unsigned long long src, Py_ssize_t nbytes, kind)
