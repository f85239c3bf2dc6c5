// Reductions: groups of threads, each of which joins many values into one.
//
//  - A block has BLOCK threads, cut into groups of `lanes` (1 to 32, or BLOCK), a power of two.  A group computes one
//    result at a time, or, with ACROSS, as many neighbouring results as one load holds.
//  - ACROSS false: a group's lanes are neighbours, and read along the reduced dimensions.  ACROSS true: neighbouring
//    threads are lanes of neighbouring results, which is fast where results are adjacent in memory.
//  - `wide`: a thread loads WIDE neighbouring values at once, of one result or, with ACROSS, of neighbouring results.
//    The host sets it if every such run is aligned (ops/reduction_kernels.py).
//  - Each thread has four or more loads in flight where one stride leads to them, to hide the latency of memory.
//  - The order in which values are joined depends on the layout only, so results are the same in every run.
//  - Dimensions [0, kept) of a layout count results, dimensions [kept, ndim) the values of a result.

#define BLOCK 256
#define WARP 32
#define WARPS (BLOCK / WARP)
#define EVERY_LANE 0xffffffffu

template <int LANES, bool ACROSS> inline int lane_in_group() {
    return ACROSS ? (int)threadIdx.x / (BLOCK / LANES) : (int)threadIdx.x % LANES;
}

template <int LANES, bool ACROSS> inline int group_in_block() {
    return ACROSS ? (int)threadIdx.x % (BLOCK / LANES) : (int)threadIdx.x / LANES;
}

template <class T> constexpr int WIDE = sizeof(T) == 1 ? 8 : 16 / sizeof(T);

// Neighbouring values, loaded as words: unpacked only when they are used, they need few registers in flight.
template <class T, int N> struct alignas(N * sizeof(T)) Words {
    unsigned int words[N * sizeof(T) / 4];
    T at(int k) const {
        constexpr int PER_WORD = sizeof(T) < 4 ? 4 / sizeof(T) : 1, WORDS = sizeof(T) > 4 ? sizeof(T) / 4 : 1;
        unsigned int bits[WORDS];
        for (int w = 0; w < WORDS; ++w) bits[w] = words[k / PER_WORD * WORDS + w] >> (k % PER_WORD * 8 * sizeof(T) % 32);
        T value;
        memcpy(&value, bits, sizeof(T));
        return value;
    }
};
template <class T> struct Words<T, 1> {
    T value;
    T at(int) const { return value; }
};

template <class S> inline S from_lane(S mine, int step) { return (S)__shfl_xor_sync(EVERY_LANE, mine, step); }

// The join of the whole group's values, in every one of its threads.  All threads of the block must call it.
template <int LANES, bool ACROSS, class Op, class S> inline S join_group(const Op& op, S mine) {
    if constexpr (ACROSS && LANES > 1) {
        constexpr int groups = BLOCK / LANES;
        __shared__ S of_lanes[BLOCK];
        __syncthreads();
        of_lanes[threadIdx.x] = mine;
        __syncthreads();
        mine = of_lanes[threadIdx.x % groups];
        for (int lane = 1; lane < LANES; ++lane) mine = op.join(mine, of_lanes[lane * groups + threadIdx.x % groups]);
    } else if constexpr (LANES > 1) {
        for (int step = WARP / 2; step > 0; step /= 2) mine = op.join(mine, from_lane(mine, step));
        if constexpr (LANES == BLOCK) {
            __shared__ S of_warps[WARPS];
            __syncthreads();
            if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = mine;
            __syncthreads();
            mine = of_warps[threadIdx.x % WARPS];
            for (int step = WARPS / 2; step > 0; step /= 2) mine = op.join(mine, from_lane(mine, step));
        }
    }
    return mine;
}

// Each of `outputs` results has `count` values, in `parts` pieces of `chunk` values.
struct Work { long long outputs, count, parts, chunk, kept, lanes, wide; };

// The offset of element `linear` of dimensions [first, last), counted in row-major order.
template <int N>
inline long long walk(const Layout<N>& layout, int operand, long long first, long long last, long long linear) {
    long long at = 0;
#pragma unroll 1  // a division is many instructions
    for (long long dim = last - 1; dim > first; --dim) {
        long long index;
        linear = divide(linear, layout.size[dim], index);
        at += index * layout.stride[operand][dim];
    }
    return last > first ? at + linear * layout.stride[operand][first] : at;
}

// The values of a result: value i is at start + i * stride if the reduction is STRAIGHT, of one dimension.
template <bool STRAIGHT> struct Row {
    const Layout<1>& layout;
    long long kept, start, stride;
    long long at(long long i) const {
        return STRAIGHT ? start + i * stride : start + walk(layout, 0, kept, layout.ndim, i);
    }
};

// Take runs of N values that are `step` (a power of two) apart, from index `first` to below `stop`.
template <int N, bool ACROSS, bool STRAIGHT, class Op, int M>
inline void take_runs(const Op& op, const Row<STRAIGHT>& row, typename Op::State (&mine)[M], long long first,
                      long long stop, long long step) {
    typedef Words<typename Op::Value, N> Loaded;
    constexpr int AHEAD = STRAIGHT ? (N == 1 ? 8 : 4) : N == 1 ? 1 : 2;
    if (first >= stop) return;
    const int runs = (int)((stop - 1 - first) >> (__ffsll(step) - 1)) + 1;
    const typename Op::Value* data = op.input + (STRAIGHT ? row.at(first) : 0);
    const long long apart = STRAIGHT ? step * row.stride : 0;
    typename Op::Lane lane[N];
#pragma unroll
    for (int k = 0; k < N; ++k) lane[k] = op.start();
    int taken = 0;
#pragma unroll 1
    for (; taken + AHEAD <= runs; taken += AHEAD) {
        Loaded run[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u, data += apart)
            run[u] = *reinterpret_cast<const Loaded*>(data + (STRAIGHT ? 0 : row.at(first + (taken + u) * step)));
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
#pragma unroll
            for (int k = 0; k < N; ++k) lane[k] = op.take(lane[k], run[u].at(k), taken + u);
        }
    }
#pragma unroll 1
    for (; taken < runs; ++taken, data += apart) {
        const Loaded run = *reinterpret_cast<const Loaded*>(data + (STRAIGHT ? 0 : row.at(first + taken * step)));
#pragma unroll
        for (int k = 0; k < N; ++k) lane[k] = op.take(lane[k], run.at(k), taken);
    }
#pragma unroll
    for (int k = 0; k < N; ++k)
        mine[k] = op.join(mine[k], op.settled(lane[k], taken, first + (ACROSS ? 0 : k), step));
}

// Take the values [start, stop) of results whose first value is at `first`, as far as this lane has to.
template <bool ACROSS, bool STRAIGHT, class Op, int M>
inline void take_part(const Op& op, const Work& work, typename Op::State (&mine)[M], long long first, int lane,
                      long long start, long long stop) {
    const Row<STRAIGHT> row{op.layout, work.kept, first, STRAIGHT ? op.layout.stride[0][work.kept] : 0};
    if (!work.wide) {
        take_runs<1, ACROSS>(op, row, mine, start + lane, stop, work.lanes);
    } else if constexpr (ACROSS) {
        take_runs<M, true>(op, row, mine, start + lane, stop, work.lanes);
    } else if constexpr (STRAIGHT) {  // the values outside aligned runs one by one
        const long long before = M - 1 - ((first + start + M - 1) & (M - 1)), begin = start + before < stop ? start + before : stop;
        const long long end = begin + (stop - begin) / M * M, ends = begin - start + stop - end;
        for (long long i = lane; i < ends; i += work.lanes) {
            const long long place = start + i < begin ? start + i : end + (start + i - begin);
            mine[0] = op.join(mine[0], op.settled(op.take(op.start(), op.input[first + place], 0), 1, place, 1));
        }
        take_runs<M, false>(op, row, mine, begin + lane * M, end, work.lanes * M);
    } else {
        take_runs<M, false>(op, row, mine, start + lane * M, stop, work.lanes * M);
    }
}

// The join of the values of a group of neighbouring lanes.  All threads of the block must call it; lane 0 has it.
template <class Op> inline typename Op::State join_lanes(const Op& op, typename Op::State mine, int lanes) {
    for (int step = (lanes < WARP ? lanes : WARP) / 2; step > 0; step /= 2) mine = op.join(mine, from_lane(mine, step));
    if (lanes <= WARP) return mine;
    __shared__ typename Op::State of_warps[WARPS];
    __syncthreads();
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    mine = of_warps[threadIdx.x % WARPS];
    for (int step = WARPS / 2; step > 0; step /= 2) mine = op.join(mine, from_lane(mine, step));
    return mine;
}

// As join_lanes, of groups whose lanes are BLOCK / lanes threads apart, for M results each.
template <class Op, int M> inline void join_across(const Op& op, typename Op::State (&mine)[M], int lanes) {
    if (lanes == 1) return;
    __shared__ typename Op::State of_lanes[M][BLOCK];
    const int groups = BLOCK / lanes, lane = threadIdx.x / groups;
    __syncthreads();
    for (int k = 0; k < M; ++k) of_lanes[k][threadIdx.x] = mine[k];
    for (int half = lanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (lane >= half) continue;
        for (int k = 0; k < M; ++k)
            mine[k] = of_lanes[k][threadIdx.x] = op.join(mine[k], of_lanes[k][threadIdx.x + half * groups]);
    }
}

template <bool ACROSS, class Op> inline void reduce(const Op& op, const Work& work) {
    constexpr int M = WIDE<typename Op::Value>;
    const int lanes = (int)work.lanes, groups = BLOCK / lanes, held = ACROSS && work.wide ? M : 1;
    const int lane = ACROSS ? threadIdx.x / groups : threadIdx.x % lanes;
    const int group = ACROSS ? threadIdx.x % groups : threadIdx.x / lanes;
    const bool straight = op.layout.ndim - work.kept == 1;
    const long long per_tile = (long long)groups * held, tiles = (work.outputs + per_tile - 1) / per_tile;
    for (long long at = blockIdx.x; at < tiles * work.parts; at += gridDim.x) {
        long long tile;
        const long long part = divide(at, tiles, tile), output = tile * per_tile + group * held;
        const long long start = part * work.chunk;
        const long long stop = start + work.chunk < work.count ? start + work.chunk : work.count;
        typename Op::State mine[M];
#pragma unroll
        for (int k = 0; k < M; ++k) mine[k] = op.begin();
        if (output < work.outputs) {
            const long long first = walk(op.layout, 0, 0, work.kept, output);
            if (straight) take_part<ACROSS, true>(op, work, mine, first, lane, start, stop);
            else take_part<ACROSS, false>(op, work, mine, first, lane, start, stop);
        }
        if constexpr (ACROSS) {
            join_across(op, mine, lanes);
        } else {
#pragma unroll
            for (int k = 1; k < M; ++k) mine[0] = op.join(mine[0], mine[k]);
            mine[0] = join_lanes(op, mine[0], lanes);
        }
        if (lane == 0 && output < work.outputs)
#pragma unroll
            for (int k = 0; k < (ACROSS ? M : 1); ++k)
                if (k < held) op.put(part * work.outputs + output + k, mine[k]);
    }
}

template <class A> inline A over(A total, double scale) {  // integer sums are not divided
    if constexpr (IS_FLOATING<A>) return total / (A)scale;
    else return total;
}

// One value per result.  Meaning defines begin(), map(x), join(a, b) and finish(a, scale) on the type A.
template <class Meaning, class A, class T, class Out> struct Fold {
    typedef A State;
    typedef T Value;
    Out* out;
    const T* input;
    const Layout<1>& layout;
    double scale;
    typedef A Lane;
    A begin() const { return Meaning::begin(); }
    A start() const { return begin(); }
    A take(A mine, T value, int) const { return Meaning::join(mine, Meaning::map(load<A>(value))); }
    A settled(A mine, int, long long, long long) const { return mine; }
    A join(A a, A b) const { return Meaning::join(a, b); }
    void put(long long at, A a) const { out[at] = store<Out>(Meaning::finish(a, scale)); }
};

// The largest or smallest value and its index: NaN before any number, and the first of equal values.
template <class C> struct Found { C value; long long index; };

template <class C> inline Found<C> from_lane(Found<C> mine, int step) {
    return {from_lane(mine.value, step), from_lane(mine.index, step)};
}

template <bool LARGEST, class C> inline bool is_before(C a, C b) {
    if constexpr (IS_FLOATING<C>) return (LARGEST ? !(a <= b) : !(a >= b)) && b == b;
    else return LARGEST ? a > b : a < b;
}

template <bool LARGEST, class C, class T, class Out> struct Select {
    typedef Found<C> State;
    typedef T Value;
    struct Lane { C value; int place; };  // place 0 is right even if no value is before the initial one
    Out* values;
    long long* indexes;
    const T* input;
    const long long* numbers;  // [count, outputs]: the index of each value, if that is not its position
    const Layout<1>& layout;
    long long outputs;
    State begin() const { return {C(0), -1}; }
    Lane start() const { return {LARGEST ? lowest<C>() : highest<C>(), 0}; }
    Lane take(Lane mine, T value, int taken) const {
        const C wide = load<C>(value);
        return is_before<LARGEST>(wide, mine.value) ? Lane{wide, taken} : mine;
    }
    State settled(Lane mine, int, long long first, long long step) const { return {mine.value, first + mine.place * step}; }
    State join(State a, State b) const {
        if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
        if (is_before<LARGEST>(a.value, b.value)) return a;
        if (is_before<LARGEST>(b.value, a.value)) return b;
        return a.index < b.index ? a : b;
    }
    void put(long long at, State found) const {
        if (values) values[at] = store<Out>(found.value);
        indexes[at] = numbers ? numbers[found.index * outputs + at] : found.index;
    }
};

// The smallest and the largest value; NaN if there is one.
template <class A> struct Ends { A low, high; };

template <class A> inline Ends<A> from_lane(Ends<A> mine, int step) {
    return {from_lane(mine.low, step), from_lane(mine.high, step)};
}

template <class A, class T> struct Extremes {
    typedef Ends<A> State;
    typedef Ends<A> Lane;
    typedef T Value;
    T* low;
    T* high;
    const T* input;
    const Layout<1>& layout;
    State begin() const { return {highest<A>(), lowest<A>()}; }
    Lane start() const { return begin(); }
    Lane take(Lane mine, T value, int) const { return join(mine, {load<A>(value), load<A>(value)}); }
    State settled(Lane mine, int, long long, long long) const { return mine; }
    State join(State a, State b) const { return {smaller(a.low, b.low), larger(a.high, b.high)}; }
    void put(long long at, State found) const { low[at] = store<T>(found.low), high[at] = store<T>(found.high); }
};

// The number of values, their mean, and the sum of their squared distances from it, in one pass (B. P. Welford, 1962;
// joined as by T. F. Chan, G. H. Golub and R. J. LeVeque, 1979).
template <class A> struct Moments { A n, mean, squares; };

template <class A> inline Moments<A> from_lane(Moments<A> mine, int step) {
    return {from_lane(mine.n, step), from_lane(mine.mean, step), from_lane(mine.squares, step)};
}

// 1 / x, to a unit in the last place or two: without branches, which would separate the loads before it.
inline float inverse_of(float x) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}
inline double inverse_of(double x) { return 1 / x; }

template <class A> inline Moments<A> joined(Moments<A> a, Moments<A> b) {
    if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
    const A n = a.n + b.n, apart = b.mean - a.mean, share = b.n * inverse_of(n);
    return {n, a.mean + apart * share, a.squares + b.squares + apart * apart * a.n * share};
}

// The variance of values, squares / scale, or its root, and their mean unless `centers` is null; or moments of pieces.
template <class A, class T, class Out> struct Variance {
    typedef Moments<A> State;
    typedef T Value;
    struct Lane { A mean, squares; };
    Out* out;
    Out* centers;
    A* means;  // of pieces; null if a result has one piece
    A* squares;
    const T* input;
    const Layout<1>& layout;
    double scale;
    bool root;
    State begin() const { return {0, 0, 0}; }
    Lane start() const { return {0, 0}; }
    Lane take(Lane mine, T value, int taken) const {
        const A x = load<A>(value), apart = x - mine.mean, mean = mine.mean + apart * inverse_of((A)(taken + 1));
        return {mean, mine.squares + apart * (x - mean)};
    }
    State settled(Lane mine, int taken, long long, long long) const { return {(A)taken, mine.mean, mine.squares}; }
    State join(State a, State b) const { return joined(a, b); }
    void put(long long at, State found) const {
        if (means) {
            means[at] = found.mean;
            squares[at] = found.squares;
        } else {
            const A square = found.squares / (A)scale;
            out[at] = store<Out>(root ? sqrt(square) : square);
            if (centers) centers[at] = store<Out>(found.n > 0 ? found.mean : A(NAN));
        }
    }
};

template <class A> struct JoinMoments {
    typedef Moments<A> State;
    State join(State a, State b) const { return joined(a, b); }
};

// Moments of the pieces [parts, outputs] of `count` values; each piece but the last has `chunk`.
template <class A> struct Pieces {
    const A* means;
    const A* squares;
    long long parts, outputs, chunk, count;
    // Call put(i, moments) for each result; `lanes` threads, a warp or a block, join its pieces.
    template <class Put> void join(int lanes, Put put) const {
        constexpr int AHEAD = 4;
        const int lane = threadIdx.x % lanes, groups = BLOCK / lanes;
        for (long long i = blockIdx.x * (long long)groups + threadIdx.x / lanes; i < outputs; i += (long long)gridDim.x * groups) {
            Moments<A> mine = {0, 0, 0};
            for (long long first = lane; first < parts; first += AHEAD * lanes) {
                A mean[AHEAD], square[AHEAD];
#pragma unroll
                for (int u = 0; u < AHEAD; ++u) {
                    const long long part = first + u * lanes, at = (part < parts ? part : first) * outputs + i;
                    mean[u] = means[at], square[u] = squares[at];
                }
#pragma unroll
                for (int u = 0; u < AHEAD; ++u) {
                    const long long part = first + u * lanes, left = count - part * chunk;
                    if (part < parts) mine = joined(mine, {(A)(left < chunk ? left : chunk), mean[u], square[u]});
                }
            }
            mine = join_lanes(JoinMoments<A>(), mine, lanes);
            if (lane == 0) put(i, mine);
        }
    }
};

// The variance of values, or its root, and their mean unless `centers` is null, from their pieces.
template <class A, class Out>
inline void join_variances(Out* out, Out* centers, const Pieces<A>& pieces, double scale, bool root, int lanes) {
    pieces.join(lanes, [&](long long i, Moments<A> found) {
        const A square = found.squares / (A)scale;
        out[i] = store<Out>(root ? sqrt(square) : square);
        if (centers) centers[i] = store<Out>(found.mean);
    });
}

// The logarithm of a sum of exponentials, in one pass: the largest value, and the sum of exp(value - largest).
template <class A> struct Peak { A top, sum; };

template <class A> inline Peak<A> from_lane(Peak<A> mine, int step) {
    return {from_lane(mine.top, step), from_lane(mine.sum, step)};
}

template <class A> inline Peak<A> joined(Peak<A> a, Peak<A> b) {  // a NaN makes the sum NaN
    if (a.top == b.top) return {a.top, a.sum + b.sum};
    if (a.top > b.top) return {a.top, a.sum + b.sum * exp(b.top - a.top)};
    return {b.top, b.sum + a.sum * exp(a.top - b.top)};
}

template <class A, class T, class Out> struct LogSumExp {
    typedef Peak<A> State;
    typedef Peak<A> Lane;
    typedef T Value;
    Out* out;
    const T* input;
    const Layout<1>& layout;
    State begin() const { return {lowest<A>(), 0}; }
    Lane start() const { return begin(); }
    Lane take(Lane mine, T value, int) const { return joined(mine, {load<A>(value), 1}); }
    State settled(Lane mine, int, long long, long long) const { return mine; }
    State join(State a, State b) const { return joined(a, b); }
    void put(long long at, State found) const { out[at] = store<Out>(found.top + log(found.sum)); }
};

// The offset of a row of one operand, and the stride along it.
template <int N> struct Line {
    long long start, stride;
    Line(const Layout<N>& layout, int operand, long long row) {
        start = walk(layout, operand, 0, layout.ndim - 1, row);
        stride = layout.stride[operand][layout.ndim - 1];
    }
    long long at(long long i) const { return start + i * stride; }
};
