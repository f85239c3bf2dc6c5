// Scans along rows: element i of a result joins elements 0 to i of its row, or i to the end if reverse.
//
//  - A row is cut into parts of `chunk` elements.  A row of one part takes one launch.  Longer ones take three: the totals
//    of the parts, a scan of the totals, and the parts again, each joined to the total before it.
//  - scan_rows: a block makes a part.  A warp loads ITEMS neighbouring runs of WARP elements and scans each by shuffles.
//  - scan_across: a thread makes a part.  Neighbouring threads make neighbouring rows, which are short or lie side by side.
//  - The third launch takes the parts backwards: the input that the first has read last is still in the cache.
//  - The order in which values are joined depends on sizes only, so results are the same in every run.

constexpr int ITEMS = 8;

template <class S> inline S from_lane_below(S mine, int step) { return (S)__shfl_up_sync(EVERY_LANE, mine, step); }
template <class S> inline S from_last_lane(S mine) { return (S)__shfl_sync(EVERY_LANE, mine, WARP - 1); }

template <class C> inline Found<C> from_lane_below(Found<C> mine, int step) {
    return {from_lane_below(mine.value, step), from_lane_below(mine.index, step)};
}
template <class C> inline Found<C> from_last_lane(Found<C> mine) {
    return {from_last_lane(mine.value), from_last_lane(mine.index)};
}

struct Parts { long long rows, size, chunk, chunks; bool reverse; };

template <class Op> inline void scan_rows(const Op& op, const Parts& work) {
    typedef typename Op::State S;
    __shared__ S of_warps[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (long long step = blockIdx.x; step < work.rows * work.chunks; step += gridDim.x) {
        const long long at = op.has_before() ? work.rows * work.chunks - 1 - step : step;
        long long part;
        const long long row = divide(at, work.chunks, part), start = part * work.chunk;
        const long long stop = start + work.chunk < work.size ? start + work.chunk : work.size;
        const Line<Op::OPERANDS> to(op.layout, 0, row), from(op.layout, 1, row);
        S before = part > 0 && op.has_before() ? op.total_before(at) : op.begin();
        for (long long base = start; base < stop; base += BLOCK * ITEMS) {
            const long long first = base + warp * (WARP * ITEMS) + lane;
            S mine[ITEMS];
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) {
                const long long i = first + k * WARP, place = work.reverse ? work.size - 1 - i : i;
                mine[k] = i < stop ? op.get(from.at(place), place) : op.begin();
            }
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) {
                for (int reach = 1; reach < WARP; reach *= 2) {
                    const S left = from_lane_below(mine[k], reach);
                    if (lane >= reach) mine[k] = op.join(left, mine[k]);
                }
                if (k > 0) mine[k] = op.join(from_last_lane(mine[k > 0 ? k - 1 : 0]), mine[k]);
            }
            __syncthreads();
            if (lane == WARP - 1) of_warps[warp] = mine[ITEMS - 1];
            __syncthreads();
            S offset = before;
            for (int each = 0; each < WARPS; ++each) {
                if (each < warp) offset = op.join(offset, of_warps[each]);
                before = op.join(before, of_warps[each]);
            }
            if (op.is_total()) continue;
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) {
                const long long i = first + k * WARP, place = work.reverse ? work.size - 1 - i : i;
                if (i < stop) op.put(to.at(place), op.join(offset, mine[k]));
            }
        }
        if (op.is_total() && threadIdx.x == 0) op.put_total(at, before);
    }
}

template <class Op> inline void scan_across(const Op& op, const Parts& work) {
    typedef typename Op::State S;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < work.rows * work.chunks; at += step) {
        long long row;
        const long long part = divide(at, work.rows, row), start = part * work.chunk;
        const long long stop = start + work.chunk < work.size ? start + work.chunk : work.size;
        const Line<Op::OPERANDS> to(op.layout, 0, row), from(op.layout, 1, row);
        S sum = part > 0 && op.has_before() ? op.total_before(row * work.chunks + part) : op.begin();
#pragma unroll 4
        for (long long i = start; i < stop; ++i) {
            const long long place = work.reverse ? work.size - 1 - i : i;
            sum = op.join(sum, op.get(from.at(place), place));
            if (!op.is_total()) op.put(to.at(place), sum);
        }
        if (op.is_total()) op.put_total(row * work.chunks + part, sum);
    }
}

template <bool ACROSS, class Op> inline void scan(const Op& op, const Parts& work) {
    if constexpr (ACROSS) scan_across(op, work);
    else scan_rows(op, work);
}

// Meaning says begin() and join(a, b) on the type C.  totals: written instead of out.  before: scanned totals.
template <class Meaning, class C, class T, class Out> struct Scan {
    typedef C State;
    static constexpr int OPERANDS = 2;
    Out* out;
    const T* input;
    C* totals;
    const C* before;
    const Layout<2>& layout;
    C begin() const { return Meaning::begin(); }
    C join(C a, C b) const { return Meaning::join(a, b); }
    C get(long long at, long long) const { return load<C>(input[at]); }
    void put(long long at, C value) const { out[at] = store<Out>(value); }
    bool is_total() const { return totals != nullptr; }
    bool has_before() const { return before != nullptr; }
    void put_total(long long at, C value) const { totals[at] = value; }
    C total_before(long long at) const { return before[at - 1]; }
};

// The largest or smallest value so far and where it is: the last of equals; NaN stays.
template <bool LARGEST, class C, class T> struct ScanExtreme {
    typedef Found<C> State;
    static constexpr int OPERANDS = 3;  // the indexes lie as the values
    T* values;
    long long* indexes;
    const T* input;
    const long long* numbers;  // the index that each value stands for, where that is not its place; contiguous
    T* totals;
    long long* total_numbers;
    const T* before;
    const long long* before_numbers;
    const Layout<3>& layout;
    State begin() const { return {C(0), -1}; }
    State join(State a, State b) const {
        if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
        if (b.value != b.value) return b;
        if (a.value != a.value) return a;
        return (LARGEST ? b.value >= a.value : b.value <= a.value) ? b : a;
    }
    State get(long long at, long long place) const { return {load<C>(input[at]), numbers ? numbers[at] : place}; }
    void put(long long at, State found) const {
        values[at] = store<T>(found.value);
        indexes[at] = found.index;
    }
    bool is_total() const { return totals != nullptr; }
    bool has_before() const { return before != nullptr; }
    void put_total(long long at, State found) const {
        totals[at] = store<T>(found.value);
        total_numbers[at] = found.index;
    }
    State total_before(long long at) const { return {load<C>(before[at - 1]), before_numbers[at - 1]}; }
};

template <class A> inline A log_add(A a, A b) {
    if (a == b) return a + (A)0.69314718055994530942;
    return (a > b ? a : b) + log1p(exp(-fabs(a - b)));  // NaN if one is
}
