// Traversal of rows, shared by softmax, layer norm and class losses.  Follows reduce.cu.
//
//  - `lanes` neighbouring threads share one row: a power of two below a warp, or else whole warps, which are the block.
//  - They hold the row tile by tile, each thread RUNS runs of V elements.  A row of one tile is read once.
//  - Of an even row a run is WIDEST_ACCESS bytes of neighbours, read and written at once: every operand is dense along
//    it, starts at a multiple of WIDEST_ACCESS, and V divides the size.  Of any other row it is every lanes-th element.
//  - Lanes without a row have one of no elements: all threads of a block join.
//  - C is the compute type: float or double.

#define WIDEST_ACCESS 16
#define RUNS 4
#define MOST_SCATTERED 4  // elements of a run of a row that is not even

struct Plus {
    template <class C> static C none() { return C(0); }
    template <class C> C join(C a, C b) const { return a + b; }
};
struct Greater {  // ignores NaN, which shows in the sums that follow
    template <class C> static C none() { return -INFINITY; }
    template <class C> C join(C a, C b) const { return fmax(a, b); }
};

template <class C> struct Two { C first, second; };
template <class C> inline Two<C> from_lane(Two<C> mine, int step) {
    return {from_lane(mine.first, step), from_lane(mine.second, step)};
}
struct PlusTwo {
    template <class S> static S none() { return {0, 0}; }
    template <class C> Two<C> join(Two<C> a, Two<C> b) const { return {a.first + b.first, a.second + b.second}; }
};

// The join of all lanes' values, in each of them.  Two calls with one Op in a kernel need different PLACEs.
template <int PLACE = 0, class Op, class S> inline S join_lanes(int lanes, const Op& op, S mine) {
    if (lanes < WARP) {
        for (int step = lanes / 2; step > 0; step /= 2) mine = op.join(mine, from_lane(mine, step));
        return mine;
    }
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) mine = op.join(mine, from_lane(mine, step));
    if (lanes > WARP) {
        __shared__ S of_warps[WARP];
        const int lane = threadIdx.x % WARP;
        if (lane == 0) of_warps[threadIdx.x / WARP] = mine;
        __syncthreads();
        mine = lane < lanes / WARP ? of_warps[lane] : op.template none<S>();
#pragma unroll
        for (int step = WARP / 2; step > 0; step /= 2) mine = op.join(mine, from_lane(mine, step));
    }
    return mine;
}

// The row that a thread works on, and its lane in the row.
struct Place {
    long long row;
    int lane;
    bool is_there;
    Place(int lanes, long long rows) {
        const int groups = blockDim.x / lanes, group = threadIdx.x / lanes;
        row = blockIdx.x * (long long)groups + group;
        lane = threadIdx.x - group * lanes;
        is_there = row < rows;
        row = is_there ? row : 0;
    }
};

// The offset of a row in each operand: the last dimension of a layout is along rows, those before it count them.
template <int N> struct Starts {
    long long at[N];
    Starts(const Layout<N>& layout, long long row) {
#pragma unroll
        for (int each = 0; each < N; ++each) at[each] = 0;
#pragma unroll 1
        for (int dim = (int)layout.ndim - 2; dim >= 0; --dim) {
            long long index = row;
            if (dim > 0) row = divide(row, layout.size[dim], index);
#pragma unroll
            for (int each = 0; each < N; ++each) at[each] += index * layout.stride[each][dim];
        }
    }
};
template <int N> inline long long along(const Layout<N>& layout, int operand) {
    return layout.stride[operand][layout.ndim - 1];
}

// ---- tiles ----

// V neighbours as stored in memory: half types stay packed, two to a register.
template <class T, int V> struct alignas(sizeof(T) * V) Run {
    unsigned int words[sizeof(T) * V / 4];
    T at(int j) const {
        T element;
        if constexpr (sizeof(T) == 2) element.bits = (unsigned short)(words[j / 2] >> j % 2 * 16);
        else memcpy(&element, words + j * sizeof(T) / 4, sizeof(T));
        return element;
    }
    void set(int j, T element) {
        if constexpr (sizeof(T) == 2)
            words[j / 2] = j % 2 ? (words[j / 2] & 0xffffu) | (unsigned int)element.bits << 16
                                 : (words[j / 2] & 0xffff0000u) | element.bits;
        else memcpy(words + j * sizeof(T) / 4, &element, sizeof(T));
    }
    static Run of(T element) {
        Run run = {};
#pragma unroll
        for (int j = 0; j < V; ++j) run.set(j, element);
        return run;
    }
};

template <bool EVEN, class T> constexpr int length() {
    constexpr int most = WIDEST_ACCESS / (int)sizeof(T);
    return EVEN || most < MOST_SCATTERED ? most : MOST_SCATTERED;
}
template <bool EVEN, class T, class U> constexpr int length() {
    return length<EVEN, T>() < length<EVEN, U>() ? length<EVEN, T>() : length<EVEN, U>();
}

// What a thread holds of a tile: storage types of an even row, else the compute type.
template <bool EVEN, class C, class T, int V> struct Held { Run<T, V> at[RUNS]; };
template <class C, class T, int V> struct Held<false, C, T, V> { Run<C, V> at[RUNS]; };

// The positions in a row of the elements of one tile that a thread holds.
template <int V, bool EVEN> struct Span {
    long long start;  // of the tile
    int lane, lanes, left;
    Span(int lane, int lanes, long long tile, long long size) : lane(lane), lanes(lanes) {
        const int length = RUNS * V * lanes;
        start = tile * length;
        left = size - start < length ? (int)(size - start) : length;
    }
    int place(int k, int j) const { return EVEN ? (k * lanes + lane) * V + j : (k * V + j) * lanes + lane; }
    bool has(int k, int j) const { return place(k, EVEN ? 0 : j) < left; }
};

// Read a span of a row; positions past its end get `absent`.
template <bool EVEN, class C, int V, class T>
inline void fetch(Held<EVEN, C, T, V>& held, const T* row, long long stride, const Span<V, EVEN>& span, C absent) {
    if constexpr (EVEN) {
        row += span.start;
#pragma unroll
        for (int k = 0; k < RUNS; ++k) {
            held.at[k] = Run<T, V>::of(store<T>(absent));
            if (span.has(k, 0)) held.at[k] = *(const Run<T, V>*)(row + span.place(k, 0));
        }
    } else {
        const long long step = span.lanes * stride;
        row += (span.start + span.lane) * stride;
#pragma unroll
        for (int k = 0; k < RUNS; ++k)
#pragma unroll
            for (int j = 0; j < V; ++j, row += step) held.at[k].set(j, span.has(k, j) ? load<C>(*row) : absent);
    }
}

// Run k of a dense array.  A null array is `absent` everywhere.
template <bool EVEN, class C, int V, class T>
inline auto run_or(const T* row, const Span<V, EVEN>& span, int k, C absent) {
    if constexpr (EVEN) {
        Run<T, V> run = Run<T, V>::of(store<T>(absent));
        if (row && span.has(k, 0)) run = *(const Run<T, V>*)(row + span.start + span.place(k, 0));
        return run;
    } else {
        Run<C, V> run = Run<C, V>::of(absent);
#pragma unroll
        for (int j = 0; j < V; ++j)
            if (row && span.has(k, j)) run.set(j, load<C>(row[span.start + span.place(k, j)]));
        return run;
    }
}

// Write a run if `is_there`, without a branch: loads that follow need not wait.
template <class T, int V> inline void write(T* to, const Run<T, V>& run, bool is_there) {
    const auto& w = run.words;
    if constexpr (sizeof(run) == 16)
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p st.global.v4.u32 [%0], {%1, %2, %3, %4}; }" ::"l"(to),
                     "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"((int)is_there));
    else if constexpr (sizeof(run) == 8)
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p st.global.v2.u32 [%0], {%1, %2}; }" ::"l"(to), "r"(w[0]),
                     "r"(w[1]), "r"((int)is_there));
    else if (is_there) *(unsigned int*)to = w[0];
}

// Write value(j) to the elements of run k of a dense row.
template <int V, bool EVEN, class T, class Value>
inline void put_run(T* row, const Span<V, EVEN>& span, int k, Value value) {
    row += span.start;
    if constexpr (EVEN) {
        Run<T, V> run = {};
#pragma unroll
        for (int j = 0; j < V; ++j) run.set(j, store<T>(value(j)));
        write(row + span.place(k, 0), run, span.has(k, 0));
    } else {
#pragma unroll
        for (int j = 0; j < V; ++j)
            if (span.has(k, j)) row[span.place(k, j)] = store<T>(value(j));
    }
}

// Write value(k, j) to the elements of a span.
template <int V, bool EVEN, class T, class Value> inline void put(T* row, const Span<V, EVEN>& span, Value value) {
#pragma unroll
    for (int k = 0; k < RUNS; ++k) put_run(row, span, k, [&](int j) { return value(k, j); });
}

// Call body(k, j) for every element of a tile of N runs.
template <int V, int N = RUNS, class Body> inline void each_element(Body body) {
#pragma unroll
    for (int k = 0; k < N; ++k)
#pragma unroll
        for (int j = 0; j < V; ++j) body(k, j);
}

// ---- long rows: each is a block's of LONG_LANES threads, dense, of any size, and starts anywhere ----
//
//  - Whole runs start at multiples of WIDEST_ACCESS in memory.  The elements before and behind them, fewer than two runs,
//    are edges: a thread has at most one.
//  - All operands have elements of one size, and their rows start equally far from a multiple of WIDEST_ACCESS.

#define LONG_LANES 512
#define LONG_RUNS 18  // of a tile that a thread holds: a multiprocessor holds a row of 36,864 floats
#define LONG_PART 6  // runs of a tile that are computed or read ahead at a time

template <class T> constexpr int LONG_V = WIDEST_ACCESS / (int)sizeof(T);
template <class T> struct LongTile { Run<T, LONG_V<T>> at[LONG_RUNS]; };
template <class T> struct LongPart { const Run<T, LONG_V<T>>* at; };

template <class T> struct LongRow {
    static constexpr int V = LONG_V<T>;
    long long start, runs, tiles;  // where the first whole run starts in the row, the number of runs and of tiles
    long long edge;                // which element of the row is this thread's edge; -1 if it has none
    LongRow(const T* row, long long size) {
        const int before = (int)(-(unsigned long long)row % WIDEST_ACCESS / sizeof(T));
        start = before < size ? before : size;
        runs = (size - start) / V;
        tiles = (runs + LONG_LANES * LONG_RUNS - 1) / (LONG_LANES * LONG_RUNS);
        edge = (int)threadIdx.x < start ? threadIdx.x : runs * V + threadIdx.x;
        edge = edge < size ? edge : -1;
    }
    long long run(long long tile, int k) const { return (tile * LONG_RUNS + k) * LONG_LANES + threadIdx.x; }
    // Run k of a tile, or `absent` past the end.
    Run<T, V> fetch(const T* row, long long tile, int k, T absent) const {
        Run<T, V> found = Run<T, V>::of(absent);
        if (run(tile, k) < runs) found = *(const Run<T, V>*)(row + start + run(tile, k) * V);
        return found;
    }
    void fetch(LongTile<T>& held, const T* row, long long tile, T absent) const {
#pragma unroll
        for (int k = 0; k < LONG_RUNS; ++k) held.at[k] = fetch(row, tile, k, absent);
    }
    // Write value(j) to the elements of run k of a tile.
    template <class Value> void put(T* row, long long tile, int k, Value value) const {
        Run<T, V> made = {};
#pragma unroll
        for (int j = 0; j < V; ++j) made.set(j, store<T>(value(j)));
        write(row + start + run(tile, k) * V, made, run(tile, k) < runs);
    }
};

// ---- exponentials: the largest value and the sum of exp(x - largest), one tile after another ----

// exp(x), as exact as results of type T need it.
template <class T, class C> inline C exponential(C x) {
    if constexpr (sizeof(T) == 2) {
        float power;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.4426950408889634f));
        return power;
    } else {
        return exp(x);
    }
}

template <class C> inline C finite_or_zero(C peak) { return peak == -INFINITY ? C(0) : peak; }

template <class OUT, class C> struct Exponentials {
    C peak = -INFINITY, total = 0;
    template <int V, int N = RUNS, class Values> void take(const Values& held) {
        C higher = peak, more = 0;
        each_element<V, N>([&](int k, int j) { higher = fmax(higher, load<C>(held.at[k].at(j))); });
        const C center = finite_or_zero(higher);
        each_element<V, N>([&](int k, int j) { more += exponential<OUT>(load<C>(held.at[k].at(j)) - center); });
        total = total * exp(peak - center) + more;
        peak = higher;
    }
    void join(int lanes) {
        const C highest = join_lanes(lanes, Greater(), peak);
        total = join_lanes(lanes, Plus(), total * exp(peak - finite_or_zero(highest)));
        peak = highest;
    }
};
