/* libcuda without a GPU.  Device memory is host memory; emulation_engine.py runs the work that streams hold.
 *
 * - A call that queues work appends an Entry to a list and returns.  Native threads make such calls too, without
 *   Python.  During a capture, in which native threads take no part, emulation_engine.py sees each of them at once.
 * - A call that waits or queries asks emulation_engine.py (`answer`), which first runs the work that may run.
 * - A device that has failed returns its code from every later call.
 * - The first cuInit of a process imports emulation_engine.py, from the folder in EMULATION: programs need no change.
 *
 * EMULATED_GPUS, EMULATED_GIB: the number of GPUs and the memory of each.
 * Semantics: the CUDA Driver API Reference.  Names without effect are those that the nvidia driver calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int Result;
typedef uint64_t Handle;
enum {
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201, ALREADY_REGISTERED = 712,
  NOT_REGISTERED = 713, NOT_SUPPORTED = 801
};
enum { DEVICES = 8, RANGES = 4096, DEPTH = 64, LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };
enum { MOST_BLOCKS = 65535, MOST_THREADS = 1024, MOST_SHARED = 232448 }; /* of a launch: y and z, a block, bytes */
enum { MEMORY_TYPE = 2, HOST_MEMORY = 1, DEVICE_MEMORY = 2, DISABLE_TIMING = 2, INTERPROCESS = 4 };
#define FIRST 0x100000000000ULL /* the address of device 0's memory; the next device's is SPAN further */
#define SPAN 0x010000000000ULL
#define PAGE (2ULL << 20)
#define CONTEXT 0xC000
#define POOL 0x9000
#define MODULE 0x50000000ULL /* the handle of the first module and of its function; the next one's is 16 further */

/* as in emulation_engine.py */
enum { LAUNCH, COPY, FILL, RECORD, WAIT, GRAPH, LIBRARY };
enum {
  STREAM_QUERY, STREAM_WAIT, EVENT_QUERY, EVENT_WAIT, DEVICE_WAIT, BEGIN, END, STATUS, ALLOCATE, FREE, ELAPSED, NODES,
  PLACE, INSTANTIATE, SHARE
};
typedef Result (*Answer)(int question, int device, uint64_t a, uint64_t b, uint64_t *result);

typedef struct Entry {
  struct Entry *next;
  int kind, device;
  Handle stream;
  uint64_t a, b, c;
  uint64_t nbytes; /* of data */
  char data[];
} Entry;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Entry *first, **last = &first;
static Answer answer;
static int captures;
static Result failures[DEVICES];
static uint64_t handles = 0x100000, reserved[DEVICES], used[DEVICES];
static struct { uint64_t low, high; } pinned[RANGES];
static struct { uint64_t low, high; int file, is_opened; } blocks[RANGES]; /* is_opened: of another process */
static __thread Handle contexts[DEPTH];
static __thread int depth, capture_mode;

#define NOW (contexts[depth])
#define GIVE(to, value) do { *(to) = (value); return SUCCESS; } while (0)

static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}
static uint64_t capacity(void) { return setting("EMULATED_GIB", 8) << 30; }
static int device_now(void) { return NOW ? (int)(NOW - CONTEXT) : 0; }
static Result failure(void) { return failures[device_now()]; }
static Handle next(void) { return __atomic_add_fetch(&handles, 16, __ATOMIC_RELAXED); }

static Result ask(int question, uint64_t a, uint64_t b, uint64_t *result) {
  uint64_t unused;
  Result failed = failure();
  return failed ? failed : answer(question, device_now(), a, b, result ? result : &unused);
}

static Result queue(int kind, Handle stream, uint64_t a, uint64_t b, uint64_t c, const void *data, uint64_t nbytes) {
  if (failure()) return failure();
  Entry *entry = malloc(sizeof(Entry) + nbytes);
  entry->next = NULL, entry->kind = kind, entry->device = device_now(), entry->stream = stream;
  entry->a = a, entry->b = b, entry->c = c, entry->nbytes = nbytes;
  if (nbytes) memcpy(entry->data, data, nbytes);
  pthread_mutex_lock(&mutex);
  *last = entry, last = &entry->next;
  pthread_mutex_unlock(&mutex);
  return captures ? ask(PLACE, 0, 0, NULL) : SUCCESS;
}

/* for emulation_engine.py */

void emulation_start(Answer function) { answer = function; }
void emulation_fail(int device, Result code) { failures[device] = code; }
Result emulation_failure(int device) { return failures[device]; }
static Result compute(int kind, Handle stream, uint64_t number, const void *data, uint64_t nbytes) {
  Result result = queue(kind, stream, number, 0, 0, data, nbytes);
  return result || !setting("CUDA_LAUNCH_BLOCKING", 0) || captures ? result : ask(STREAM_WAIT, stream, 0, NULL);
}
Result emulation_library(Handle stream, uint64_t number, const void *addresses, uint64_t nbytes) {
  return compute(LIBRARY, stream, number, addresses, nbytes);
}
Entry *emulation_take(void) { /* the oldest entry, which emulation_drop frees */
  pthread_mutex_lock(&mutex);
  Entry *entry = first;
  if (entry && !(first = entry->next)) last = &first;
  pthread_mutex_unlock(&mutex);
  return entry;
}
void emulation_drop(Entry *entry) { free(entry); }

static Result start(void) {
  int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
  int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
  void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
  int state = ensure();
  int failed = run("import os, sys; sys.path.insert(0, os.environ['EMULATION'])\n"
                   "import emulation_engine; del sys.path[0]; emulation_engine.install()");
  release(state);
  return failed ? NOT_SUPPORTED : SUCCESS;
}

/* devices and contexts */

/* CUDA_VISIBLE_DEVICES has indexes and beginnings of UUIDs, up to the first entry that is neither.  A device that is
 * there twice leaves none. */
static int visible[DEVICES], count = -1;

static int device_named(const char *entry, size_t length, int all) {
  char *end, uuid[64];
  int found = -1;
  long index = strtol(entry, &end, 10);
  if (end != entry) return index >= 0 && index < all ? (int)index : -1; /* what follows the digits is ignored */
  for (int device = 0; device < all && length > 4; ++device) {
    uint64_t bytes = 0x0101010101010101ULL * ((unsigned)device + 1);
    unsigned four = (unsigned)bytes, two = four & 0xFFFF;
    snprintf(uuid, sizeof uuid, "GPU-%08x-%04x-%04x-%04x-%04x%08x", four, two, two, two, two, four);
    if (!strncmp(uuid, entry, length)) found = found < 0 ? device : DEVICES;
  }
  return found < DEVICES ? found : -1;
}
static void find_devices(void) {
  int all = (int)setting("EMULATED_GPUS", 2), device;
  const char *entry = getenv("CUDA_VISIBLE_DEVICES");
  for (count = 0; !entry && count < all; ++count) visible[count] = count;
  while (entry) {
    while (*entry == ' ') ++entry;
    if ((device = device_named(entry, strcspn(entry, ", "), all)) < 0) return;
    for (int at = 0; at < count; ++at)
      if (visible[at] == device) { count = 0; return; }
    visible[count++] = device;
    entry = strchr(entry, ',');
    if (entry) ++entry;
  }
}

Result cuInit(unsigned flags) {
  if (count < 0) find_devices();
  return !count ? NO_DEVICE : answer ? SUCCESS : start();
}
Result cuDriverGetVersion(int *version) { GIVE(version, 13000); }
Result cuDeviceGetCount(int *found) { GIVE(found, count); }
Result cuDeviceGet(int *device, int ordinal) { GIVE(device, ordinal); }
Result cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "Emulated GPU"); return SUCCESS; }
Result cuDeviceTotalMem(size_t *nbytes, int device) { GIVE(nbytes, capacity()); }
Result cuDeviceGetUuid(char *uuid, int device) { memset(uuid, visible[device] + 1, 16); return SUCCESS; }
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  static const int values[][2] = { /* of an H200; every other attribute is 1 */
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {10, 32},
    {16, 132}, {38, 52428800}, {39, 2048}, {75, 9}, {76, 0}, {81, 233472}, {82, 65536}, {97, 232448},
  };
  *value = 1;
  for (unsigned at = 0; at < sizeof values / sizeof *values; ++at)
    if (values[at][0] == attribute) *value = values[at][1];
  return SUCCESS;
}
Result cuDevicePrimaryCtxRetain(Handle *context, int device) { GIVE(context, CONTEXT + device); }
Result cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *flags = 0; GIVE(active, 1); }
Result cuDeviceCanAccessPeer(int *can, int device, int peer) { GIVE(can, device != peer); }
Result cuCtxEnablePeerAccess(Handle context, unsigned flags) { return SUCCESS; }
Result cuCtxGetCurrent(Handle *context) { GIVE(context, NOW); }
Result cuCtxSetCurrent(Handle context) { NOW = context; return SUCCESS; }
Result cuCtxPushCurrent_v2(Handle context) { contexts[++depth] = context; return SUCCESS; }
Result cuCtxPopCurrent_v2(Handle *context) { *context = NOW; --depth; return SUCCESS; }
Result cuCtxSynchronize(void) { return ask(DEVICE_WAIT, 0, 0, NULL); }
Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = LEAST_PRIORITY;
  GIVE(greatest, GREATEST_PRIORITY);
}

/* memory */

static int is_device(uint64_t address) { return address >= FIRST && address < FIRST + DEVICES * SPAN; }
static int device_of(uint64_t address) { return (int)((address - FIRST) / SPAN); }
static int is_pinned(uint64_t address, uint64_t nbytes) {
  for (int at = 0; at < RANGES; ++at)
    if (pinned[at].high && pinned[at].low <= address && address + nbytes <= pinned[at].high) return 1;
  return 0;
}
static void pin(uint64_t address, uint64_t nbytes) {
  int at = 0;
  while (at < RANGES - 1 && pinned[at].high) ++at;
  pinned[at].low = address, pinned[at].high = address + nbytes;
}
static void unpin(uint64_t address) {
  for (int at = 0; at < RANGES; ++at)
    if (pinned[at].low == address) pinned[at].high = 0;
}
static uint64_t rounded(uint64_t nbytes) { return (nbytes + PAGE - 1) / PAGE * PAGE; }
static uint64_t reserve(uint64_t nbytes, int device, int file) { /* addresses are not used again */
  uint64_t at = FIRST + device * SPAN + __atomic_fetch_add(&reserved[device], rounded(nbytes), __ATOMIC_RELAXED);
  int flags = (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_NORESERVE | MAP_FIXED;
  return mmap((void *)at, rounded(nbytes), PROT_READ | PROT_WRITE, flags, file, 0) == MAP_FAILED ? 0 : at;
}
static int shared_file(uint64_t nbytes) {
  int file = memfd_create("emulated", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, (off_t)rounded(nbytes))) close(file), file = -1;
  return file;
}
static Result take(int device, uint64_t nbytes) {
  if (used[device] + nbytes > capacity()) return OUT_OF_MEMORY;
  used[device] += nbytes;
  return SUCCESS;
}
Result cuMemGetInfo(size_t *free, size_t *total) {
  *total = capacity(), *free = *total - used[device_now()];
  return failure();
}
Result cuMemAlloc(uint64_t *address, size_t nbytes) {
  int at = 0, device = device_now();
  Result result = nbytes ? ask(ALLOCATE, 0, capture_mode, NULL) : INVALID_VALUE;
  if (result) return result;
  pthread_mutex_lock(&mutex);
  while (at < RANGES - 1 && blocks[at].high) ++at;
  result = take(device, nbytes);
  if (!result) {
    blocks[at].file = shared_file(nbytes), blocks[at].is_opened = 0;
    blocks[at].low = *address = reserve(nbytes, device, blocks[at].file), blocks[at].high = *address + nbytes;
  }
  pthread_mutex_unlock(&mutex);
  return result;
}
static Result drop(uint64_t address, int is_opened) {
  Result failed = ask(FREE, address, capture_mode, NULL), result = INVALID_VALUE;
  if (failed) return failed;
  pthread_mutex_lock(&mutex);
  for (int at = 0; at < RANGES && result; ++at)
    if (blocks[at].high && blocks[at].low == address && blocks[at].is_opened == is_opened) {
      uint64_t nbytes = blocks[at].high - address;
      munmap((void *)address, rounded(nbytes));
      close(blocks[at].file);
      used[device_of(address)] -= is_opened ? 0 : nbytes, blocks[at].high = 0, result = SUCCESS;
    }
  pthread_mutex_unlock(&mutex);
  return result;
}
Result cuMemFree(uint64_t address) { return drop(address, 0); }
Result cuMemAllocAsync(uint64_t *address, size_t nbytes, Handle stream) { return cuMemAlloc(address, nbytes); }
Result cuMemFreeAsync(uint64_t address, Handle stream) { return cuMemFree(address); }
Result cuDeviceGetDefaultMemPool(Handle *pool, int device) { GIVE(pool, POOL + device); }
Result cuMemPoolGetAttribute(Handle pool, int attribute, uint64_t *value) { GIVE(value, used[pool - POOL]); }
Result cuMemPoolSetAttribute(Handle pool, int attribute, void *value) { return SUCCESS; }
Result cuMemPoolSetAccess(Handle pool, const void *access, size_t count) { return SUCCESS; }
Result cuMemPoolTrimTo(Handle pool, size_t nbytes) { return SUCCESS; }
Result cuMemAddressReserve(uint64_t *address, size_t nbytes, size_t alignment, uint64_t hint, uint64_t flags) {
  *address = reserve(nbytes, device_now(), -1);
  return *address ? SUCCESS : OUT_OF_MEMORY;
}
Result cuMemAddressFree(uint64_t address, size_t nbytes) { munmap((void *)address, nbytes); return SUCCESS; }
Result cuMemCreate(Handle *memory, size_t nbytes, const void *properties, uint64_t flags) {
  Result result = take(device_now(), nbytes);
  *memory = nbytes << 8 | device_now(); /* a multiple of PAGE */
  return result;
}
Result cuMemRelease(Handle memory) { used[memory & 255] -= memory >> 8; return SUCCESS; }
Result cuMemMap(uint64_t address, size_t nbytes, size_t offset, Handle memory, uint64_t flags) { return SUCCESS; }
Result cuMemUnmap(uint64_t address, size_t nbytes) { return ask(FREE, address, capture_mode, NULL); }
Result cuMemSetAccess(uint64_t address, size_t nbytes, const void *access, size_t count) { return SUCCESS; }
Result cuMemHostAlloc(void **address, size_t nbytes, unsigned flags) {
  Result result = ask(ALLOCATE, 0, capture_mode, NULL);
  if (result || posix_memalign(address, 4096, nbytes ? nbytes : 1)) return result ? result : OUT_OF_MEMORY;
  memset(*address, 0, nbytes);
  pin((uint64_t)*address, nbytes);
  return SUCCESS;
}
Result cuMemFreeHost(void *address) {
  Result failed = ask(FREE, (uint64_t)address, capture_mode, NULL);
  unpin((uint64_t)address), free(address);
  return failed;
}
Result cuMemHostRegister(void *address, size_t nbytes, unsigned flags) {
  if (is_pinned((uint64_t)address, 1)) return ALREADY_REGISTERED;
  pin((uint64_t)address, nbytes);
  return SUCCESS;
}
Result cuMemHostUnregister(void *address) {
  if (!is_pinned((uint64_t)address, 1)) return NOT_REGISTERED;
  unpin((uint64_t)address);
  return SUCCESS;
}
Result cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  if (!is_device(address) && !is_pinned(address, 1)) return INVALID_VALUE;
  if (attribute == MEMORY_TYPE) GIVE((int *)value, is_device(address) ? DEVICE_MEMORY : HOST_MEMORY);
  GIVE((int *)value, is_device(address) ? device_of(address) : 0);
}

/* memory and events that processes share: files without a name, which others open in /proc */

typedef struct {
  char magic[8];
  int process, file, device, is_event;
  uint64_t nbytes, inode;
  char unused[24];
} Shared;

static uint64_t inode_of(int file) {
  struct stat found;
  return file >= 0 && !fstat(file, &found) ? found.st_ino : 0;
}
static Result share(Shared *handle, int file, uint64_t nbytes, int device, int is_event) {
  Shared made = {"emulate", getpid(), file, device, is_event, nbytes, inode_of(file), ""};
  if (!made.inode) return INVALID_VALUE;
  *handle = made;
  return ask(SHARE, 0, 0, NULL);
}
static int opened(const Shared *handle, int is_event) { /* the file of a handle, or -1 */
  char path[64];
  if (memcmp(handle->magic, "emulate", 8) || handle->is_event != is_event || handle->process == getpid()) return -1;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->process, handle->file);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (inode_of(file) == handle->inode) return file;
  if (file >= 0) close(file);
  return -1;
}
Result cuIpcGetMemHandle(Shared *handle, uint64_t address) {
  for (int at = 0; at < RANGES; ++at)
    if (blocks[at].high && !blocks[at].is_opened && blocks[at].low <= address && address < blocks[at].high)
      return share(handle, blocks[at].file, blocks[at].high - blocks[at].low, device_of(address), 0);
  return INVALID_VALUE;
}
Result cuIpcOpenMemHandle(uint64_t *address, Shared handle, unsigned flags) {
  int at = 0, file = opened(&handle, 0);
  if (file < 0) return handle.process == getpid() ? INVALID_CONTEXT : INVALID_VALUE;
  pthread_mutex_lock(&mutex);
  while (at < RANGES - 1 && blocks[at].high) ++at;
  blocks[at].file = file, blocks[at].is_opened = 1;
  blocks[at].low = *address = reserve(handle.nbytes, device_now(), file), blocks[at].high = *address + handle.nbytes;
  pthread_mutex_unlock(&mutex);
  return ask(SHARE, 0, 0, NULL);
}
Result cuIpcCloseMemHandle(uint64_t address) { return drop(address, 1); }

static struct { Handle event; int file; } events[RANGES];
int emulation_event(Handle event) { /* the file with an event's counts, which it gets here; -1 unless it is shared */
  int at = 0;
  if (!(event & INTERPROCESS)) return -1;
  while (at < RANGES - 1 && events[at].event && events[at].event != event) ++at;
  if (events[at].event != event) events[at].event = event, events[at].file = shared_file(PAGE);
  return events[at].file;
}
Result cuIpcGetEventHandle(Shared *handle, Handle event) {
  return event & INTERPROCESS ? share(handle, emulation_event(event), PAGE, 0, 1) : INVALID_VALUE;
}
Result cuIpcOpenEventHandle(Handle *event, Shared handle) {
  int at = 0, file = opened(&handle, 1);
  if (file < 0) return handle.process == getpid() ? INVALID_CONTEXT : INVALID_VALUE;
  while (at < RANGES - 1 && events[at].event) ++at;
  events[at].event = *event = next() | DISABLE_TIMING | INTERPROCESS, events[at].file = file;
  return ask(SHARE, 0, 0, NULL);
}

/* streams, events and work */

Result cuMemcpyAsync(uint64_t to, uint64_t from, size_t nbytes, Handle stream) { /* pageable memory is read at once */
  if (!is_device(from) && !is_pinned(from, nbytes)) return queue(COPY, stream, to, 0, nbytes, (void *)from, nbytes);
  Result result = queue(COPY, stream, to, from, nbytes, NULL, 0);
  return result || is_device(to) || is_pinned(to, nbytes) ? result : ask(STREAM_WAIT, stream, 0, NULL);
}
Result cuMemcpy(uint64_t to, uint64_t from, size_t nbytes) {
  Result result = cuMemcpyAsync(to, from, nbytes, 0);
  return result ? result : ask(STREAM_WAIT, 0, 0, NULL);
}
Result cuMemsetD8Async(uint64_t to, uint8_t value, size_t count, Handle stream) {
  return queue(FILL, stream, to, 0, count, &value, sizeof value);
}
Result cuMemsetD16Async(uint64_t to, uint16_t value, size_t count, Handle stream) {
  return queue(FILL, stream, to, 0, count, &value, sizeof value);
}
Result cuMemsetD32Async(uint64_t to, uint32_t value, size_t count, Handle stream) {
  return queue(FILL, stream, to, 0, count, &value, sizeof value);
}
Result cuStreamCreateWithPriority(Handle *stream, unsigned flags, int priority) { *stream = next(); return failure(); }
Result cuStreamDestroy(Handle stream) { return SUCCESS; }
Result cuStreamQuery(Handle stream) { return ask(STREAM_QUERY, stream, capture_mode, NULL); }
Result cuStreamSynchronize(Handle stream) { return ask(STREAM_WAIT, stream, 0, NULL); }
Result cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
  return queue(WAIT, stream, event, flags, 0, NULL, 0);
}
Result cuStreamBeginCapture(Handle stream, int mode) {
  Result result = ask(BEGIN, stream, mode, NULL);
  if (!result) __atomic_add_fetch(&captures, 1, __ATOMIC_SEQ_CST);
  return result;
}
Result cuStreamEndCapture(Handle stream, Handle *graph) {
  uint64_t ended = 0;
  Result result = answer(END, device_now(), stream, (uint64_t)(uintptr_t)graph, &ended);
  __atomic_sub_fetch(&captures, (int)ended, __ATOMIC_SEQ_CST);
  return result;
}
Result cuStreamIsCapturing(Handle stream, int *status) {
  uint64_t found = 0;
  Result result = ask(STATUS, stream, 0, &found);
  *status = (int)found;
  return result;
}
Result cuThreadExchangeStreamCaptureMode(int *mode) {
  int former = capture_mode;
  capture_mode = *mode;
  GIVE(mode, former);
}
Result cuEventCreate(Handle *event, unsigned flags) {
  *event = next() | (flags & (DISABLE_TIMING | INTERPROCESS));
  return failure();
}
Result cuEventDestroy(Handle event) { return SUCCESS; }
Result cuEventRecordWithFlags(Handle event, Handle stream, unsigned flags) {
  return queue(RECORD, stream, event, flags, 0, NULL, 0);
}
Result cuEventRecord(Handle event, Handle stream) { return cuEventRecordWithFlags(event, stream, 0); }
Result cuEventQuery(Handle event) { return ask(EVENT_QUERY, event, capture_mode, NULL); }
Result cuEventSynchronize(Handle event) { return ask(EVENT_WAIT, event, 0, NULL); }
Result cuEventElapsedTime(float *ms, Handle start, Handle end) {
  uint64_t ns = 0;
  Result result = ask(ELAPSED, start, end, &ns);
  *ms = (float)((int64_t)ns / 1e6);
  return result;
}

/* An image is "emulated:N", from emulation_engine.py, or else the one of tests/latch.py, whose number is 0. */
Result cuModuleLoadData(Handle *module, const char *image) {
  *module = MODULE + (strncmp(image, "emulated:", 9) ? 0 : 16 * strtoull(image + 9, NULL, 10));
  return failure();
}
Result cuModuleGetFunction(Handle *function, Handle module, const char *name) { GIVE(function, module); }
Result cuFuncSetAttribute(Handle function, int attribute, int value) { return SUCCESS; }
Result cuLaunchKernel(Handle function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                      unsigned threads_z, unsigned shared, Handle stream, void **arguments, void **extra) {
  if (!x || !y || !z || y > MOST_BLOCKS || z > MOST_BLOCKS || shared > MOST_SHARED) return INVALID_VALUE;
  if (!threads_x || !threads_y || !threads_z || threads_z > 64) return INVALID_VALUE;
  if (threads_x * threads_y * threads_z > MOST_THREADS) return INVALID_VALUE;
  if (extra) return compute(LAUNCH, stream, (function - MODULE) / 16, extra[1], *(size_t *)extra[3]);
  uint64_t latch[] = {*(uint64_t *)arguments[0], *(uint64_t *)arguments[1]};
  return compute(LAUNCH, stream, 0, latch, sizeof latch);
}
Result cuGraphInstantiateWithFlags(Handle *executable, Handle graph, uint64_t flags) {
  return ask(INSTANTIATE, graph, 0, executable);
}
Result cuGraphGetNodes(Handle graph, Handle *nodes, size_t *count) { return ask(NODES, graph, 0, count); }
Result cuGraphLaunch(Handle executable, Handle stream) { return queue(GRAPH, stream, executable, 0, 0, NULL, 0); }
Result cuGraphExecDestroy(Handle executable) { return SUCCESS; }
Result cuGraphDestroy(Handle graph) { return SUCCESS; }
Result cuGetExportTable(const void **table, const void *id) { return NOT_SUPPORTED; }
Result cuProfilerStart(void) { return SUCCESS; }
Result cuProfilerStop(void) { return SUCCESS; }

/* cuda.bindings asks this for the address of every function. */

static Result missing(void) { return NOT_SUPPORTED; }
Result cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status) {
  static void *self;
  Dl_info own;
  char current[128];
  if (!self && dladdr((void *)cuInit, &own)) self = dlopen(own.dli_fname, RTLD_LAZY);
  *function = dlsym(self, symbol);
  if (!*function) snprintf(current, sizeof current, "%s_v2", symbol), *function = dlsym(self, current);
  if (!*function) snprintf(current, sizeof current, "%sWithFlags", symbol), *function = dlsym(self, current);
  if (!*function) *function = (void *)missing;
  if (status) *status = 0;
  return SUCCESS;
}
