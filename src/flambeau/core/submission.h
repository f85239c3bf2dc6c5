/* A ring of calls, and the native thread that makes them in their order, without Python's interpreter.
 *
 * - A call is put into the ring by ring_reserve and ring_commit.  It is made later, by the thread; or by ring_drain while
 *   the thread sleeps.  The caller must hold the GIL from ring_reserve to ring_commit.
 * - The thread polls for calls for SPIN_NS (ns), and then sleeps.  Waking it takes longer than a call, so callers
 *   make the first DIRECT_CALLS calls themselves, counted since it fell asleep or since the last drain (ring_takes).
 * - Of calls that fail, the first one's code is kept until ring_failure reads it.  Later calls are still made.
 * - A call may wait for earlier ones of another ring (ring_wait).  Those were put in earlier, so rings cannot deadlock.
 * - A forked child has no thread, and must not use the driver.  Its rings are emptied before any finalizer runs there.
 */
#ifndef FLAMBEAU_SUBMISSION_H
#define FLAMBEAU_SUBMISSION_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING_BYTES = 1 << 20, RING_LINE = 64, DIRECT_CALLS = 8, SPIN_NS = 200000, SPINS_PER_LOOK = 64 };

typedef struct RingCall RingCall;
struct RingCall {  /* the header of every call in a ring */
  int (*perform)(RingCall *);  /* returns 0, or the code of a failure; NULL: padding up to the ring's end */
  int kind;                    /* which call it is, for the report of a failure */
  uint32_t nbytes;
};

typedef int (*RingContextGet)(void **);
typedef int (*RingContextSet)(void *);

typedef struct Ring {
  struct Ring *next;
  char *bytes;
  void *context;  /* current while calls are made */
  RingContextGet get_context;
  RingContextSet set_context;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  int started, direct;
  int failed_kind, failed_code;
  char pad0[RING_LINE];
  uint64_t head;  /* bytes put in so far */
  char pad1[RING_LINE];
  uint64_t tail;  /* bytes of calls made so far */
  char pad2[RING_LINE];
  int asleep, busy;  /* busy: a call is being made */
} Ring;

static inline void ring_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

static inline uint64_t ring_head(Ring *ring) { return __atomic_load_n(&ring->head, __ATOMIC_SEQ_CST); }
static inline uint64_t ring_tail(Ring *ring) { return __atomic_load_n(&ring->tail, __ATOMIC_SEQ_CST); }
static inline int ring_is_empty(Ring *ring) { return ring_head(ring) == ring_tail(ring); }

/* Make the oldest call, unless there is none or another thread makes it.  Return whether it was made. */
static int ring_step(Ring *ring) {
  int made = 0;
  if (__atomic_exchange_n(&ring->busy, 1, __ATOMIC_ACQUIRE)) return 0;
  uint64_t tail = ring_tail(ring);
  if (tail != ring_head(ring)) {
    RingCall *call = (RingCall *)(ring->bytes + tail % RING_BYTES);
    int code = call->perform ? call->perform(call) : 0;
    if (code && !ring->failed_code) { ring->failed_kind = call->kind; ring->failed_code = code; }
    __atomic_store_n(&ring->tail, tail + call->nbytes, __ATOMIC_SEQ_CST);
    made = 1;
  }
  __atomic_store_n(&ring->busy, 0, __ATOMIC_RELEASE);
  return made;
}

static inline int64_t ring_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void ring_sleep(Ring *ring) {
  pthread_mutex_lock(&ring->mutex);
  __atomic_store_n(&ring->direct, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&ring->asleep, 1, __ATOMIC_SEQ_CST);
  while (ring_is_empty(ring)) pthread_cond_wait(&ring->wake, &ring->mutex);
  __atomic_store_n(&ring->asleep, 0, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&ring->mutex);
}

static void *ring_run(void *given) {
  Ring *ring = (Ring *)given;
  ring->set_context(ring->context);
  for (;;) {
    int64_t until = 0;
    for (unsigned idle = 1; !ring_step(ring); ++idle) {
      ring_pause();
      if (idle % SPINS_PER_LOOK) continue;
      int64_t now = ring_ns();
      if (until == 0) until = now + SPIN_NS;
      if (now >= until) { ring_sleep(ring); break; }
    }
  }
  return NULL;
}

static Ring *rings;  /* of all drivers: they live as long as the process */

static void ring_forget(void) {
  for (Ring *ring = rings; ring != NULL; ring = ring->next) {
    pthread_mutex_init(&ring->mutex, NULL);
    pthread_cond_init(&ring->wake, NULL);
    ring->tail = ring->head, ring->started = ring->busy = ring->failed_code = 0, ring->asleep = 1;
  }
}

/* A ring whose calls are made with a context current; NULL if out of memory.  The thread starts when first needed.
 * The caller holds the GIL. */
static Ring *ring_new(void *context, RingContextGet get_context, RingContextSet set_context) {
  Ring *ring = (Ring *)calloc(1, sizeof(Ring));
  if (ring == NULL || posix_memalign((void **)&ring->bytes, RING_LINE, RING_BYTES)) { free(ring); return NULL; }
  ring->context = context, ring->get_context = get_context, ring->set_context = set_context;
  pthread_mutex_init(&ring->mutex, NULL);
  pthread_cond_init(&ring->wake, NULL);
  ring->asleep = 1;
  if (rings == NULL) pthread_atfork(NULL, NULL, ring_forget);  /* children inherit both */
  ring->next = rings, rings = ring;
  return ring;
}

/* Start the thread, with all signals blocked.  Return whether it runs. */
static int ring_start(Ring *ring) {
  sigset_t all, former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  pthread_t thread;
  __atomic_store_n(&ring->asleep, 0, __ATOMIC_SEQ_CST);  /* before the thread can fall asleep */
  ring->started = !pthread_create(&thread, NULL, ring_run, ring);
  pthread_sigmask(SIG_SETMASK, &former, NULL);
  if (ring->started) pthread_detach(thread);
  else __atomic_store_n(&ring->asleep, 1, __ATOMIC_SEQ_CST);
  return ring->started;
}

/* Whether the next call goes into the ring.  If not, the ring is empty: the caller makes the call. */
static inline int ring_takes(Ring *ring) {
  if (!ring_is_empty(ring) || !__atomic_load_n(&ring->asleep, __ATOMIC_SEQ_CST)) return 1;
  if (__atomic_add_fetch(&ring->direct, 1, __ATOMIC_RELAXED) <= DIRECT_CALLS) return 0;
  return ring->started || ring_start(ring);
}

/* Reserve room for a call of nbytes, RingCall included; NULL if the ring is full (see ring_wait_for_room). */
static inline RingCall *ring_reserve(Ring *ring, size_t nbytes) {
  uint64_t head = ring_head(ring), room = RING_BYTES - (head - ring_tail(ring));
  size_t at = head % RING_BYTES, rest = RING_BYTES - at;
  nbytes = (nbytes + sizeof(RingCall) - 1) / sizeof(RingCall) * sizeof(RingCall);
  if (room < nbytes + (rest < nbytes ? rest : 0)) return NULL;
  if (rest < nbytes) {
    RingCall *nothing = (RingCall *)(ring->bytes + at);
    nothing->perform = NULL, nothing->nbytes = (uint32_t)rest;
    __atomic_store_n(&ring->head, head + rest, __ATOMIC_SEQ_CST);
    at = 0;
  }
  RingCall *call = (RingCall *)(ring->bytes + at);
  call->nbytes = (uint32_t)nbytes;
  return call;
}

/* Put the call that was reserved last into the ring, and wake the thread. */
static inline void ring_commit(Ring *ring, RingCall *call) {
  __atomic_store_n(&ring->head, ring->head + call->nbytes, __ATOMIC_SEQ_CST);
  if (!__atomic_load_n(&ring->asleep, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&ring->mutex);
  pthread_cond_signal(&ring->wake);
  pthread_mutex_unlock(&ring->mutex);
}

/* Wait until calls up to a position of the head are made; make them while the thread sleeps.  Any thread may call it. */
static void ring_wait(Ring *ring, uint64_t position) {
  void *former = NULL;
  int is_set = 0;
  for (unsigned spins = 1; ring_tail(ring) < position; ++spins) {
    if (__atomic_load_n(&ring->asleep, __ATOMIC_SEQ_CST)) {
      if (!is_set) ring->get_context(&former), ring->set_context(ring->context), is_set = 1;
      ring_step(ring);
    } else if (spins % SPINS_PER_LOOK) ring_pause();
    else sched_yield();
  }
  if (is_set) ring->set_context(former);
}

/* Wait until one of the calls so far is made, if there are any. */
static void ring_wait_for_room(Ring *ring) {
  uint64_t tail = ring_tail(ring);
  if (tail != ring_head(ring)) ring_wait(ring, tail + 1);
}

/* Wait until every call so far is made. */
static void ring_drain(Ring *ring) {
  __atomic_store_n(&ring->direct, 0, __ATOMIC_RELAXED);
  ring_wait(ring, ring_head(ring));
}

/* Return the code and the kind of the first call that failed since the last call of this; 0 if none did. */
static int ring_failure(Ring *ring, int *kind) {
  int code = ring->failed_code;
  *kind = ring->failed_kind, ring->failed_code = 0;
  return code;
}
#endif
