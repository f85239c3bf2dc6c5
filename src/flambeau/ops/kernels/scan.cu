// Scans along rows: element i of a result joins elements 0 to i of its row, or i to the end if reverse.
//
//  - A row is cut into parts of `chunk` elements.
//  - scan_rows: a block takes a part.  A lane loads runs of RUN neighbouring elements, a warp joins a run of each lane
//    by shuffles.
//    Where a row has several parts, each of one tile, a part publishes its total, and the last of BLOCK parts, a group,
//    the total of the group.  A part joins the totals of the groups before its own, and of its group's parts before it.
//    A block takes the next part from a counter, so the parts that it waits for have started.
//  - scan_across: a thread takes a part.  Neighbouring threads take neighbouring rows, short or interleaved.
//    Rows of several parts take three launches: the totals of the parts, a scan of the totals, and the parts again, each
//    joined to the total before it.  The third takes the parts backwards: the last ones are still in the cache.
//  - The order in which values are joined depends on sizes only, so results are the same in every run.

template <class S> constexpr int ITEMS = sizeof(S) <= 4 ? 32 : 16;  // elements of a thread in a tile
constexpr int RUN = 4;  // of these, neighbours

template <class S> inline S from_lane_below(S mine, int step) { return (S)__shfl_up_sync(EVERY_LANE, mine, step); }
template <class S> inline S from_last_lane(S mine) { return (S)__shfl_sync(EVERY_LANE, mine, WARP - 1); }

template <class C> inline Found<C> from_lane_below(Found<C> mine, int step) {
    return {from_lane_below(mine.value, step), from_lane_below(mine.index, step)};
}
template <class C> inline Found<C> from_last_lane(Found<C> mine) {
    return {from_last_lane(mine.value), from_last_lane(mine.index)};
}

struct Parts { long long rows, size, chunk, chunks; bool reverse; };

// The neighbouring elements of a lane; loads and stores of a whole one are as wide as the machine allows.
template <class T> struct alignas(RUN * sizeof(T) < 16 ? RUN * sizeof(T) : 16) Run { T at[RUN]; };

template <class T> inline bool is_whole(const T* from) { return ((unsigned long long)from & (alignof(Run<T>) - 1)) == 0; }

// The first element of a lane's run number `k` in the tile at `base`.
template <class S> inline long long run_at(long long base, int k) {
    return base + (threadIdx.x / WARP * (ITEMS<S> / RUN) + k) * (WARP * RUN) + threadIdx.x % WARP * RUN;
}

// Scan the tile of a row that begins at element `base` and ends before `stop`.  total becomes the join of the whole tile.
// Returns the join of the elements of the tile before the warp's; mine becomes the scan of the warp's elements.
template <class Op, class S>
inline S scan_tile(const Op& op, const Line<Op::OPERANDS>& from, const Parts& work, long long base, long long stop,
                   S (&mine)[ITEMS<S>], S& total) {
    __shared__ S of_warps[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const bool wide = from.stride == 1 && !work.reverse && base + BLOCK * ITEMS<S> <= stop && op.reads_whole(from.at(base));
#pragma unroll
    for (int k = 0; k < ITEMS<S> / RUN; ++k) {
        const long long first = run_at<S>(base, k);
        if (wide) op.get_run(from.at(first), first, &mine[k * RUN]);
        else {
#pragma unroll
            for (int j = 0; j < RUN; ++j) {
                const long long i = first + j, place = work.reverse ? work.size - 1 - i : i;
                mine[k * RUN + j] = i < stop ? op.get(from.at(place), place) : op.begin();
            }
        }
    }
    S before = op.begin();  // the elements of the warp's runs so far
#pragma unroll
    for (int k = 0; k < ITEMS<S> / RUN; ++k) {
        S* run = &mine[k * RUN];
#pragma unroll
        for (int j = 1; j < RUN; ++j) run[j] = op.join(run[j - 1], run[j]);
        S sum = run[RUN - 1];
        for (int reach = 1; reach < WARP; reach *= 2) {
            const S left = from_lane_below(sum, reach);
            if (lane >= reach) sum = op.join(left, sum);
        }
        S left = from_lane_below(sum, 1);
        left = lane > 0 ? op.join(before, left) : before;
        before = op.join(before, from_last_lane(sum));
#pragma unroll
        for (int j = 0; j < RUN; ++j) run[j] = op.join(left, run[j]);
    }
    __syncthreads();
    if (lane == 0) of_warps[warp] = before;
    __syncthreads();
    before = total = op.begin();
    for (int each = 0; each < WARPS; ++each) {
        if (each < warp) before = op.join(before, of_warps[each]);
        total = op.join(total, of_warps[each]);
    }
    return before;
}

// Write the results of a tile.  before: the join of all earlier elements of the row and the earlier ones of the tile.
template <class Op, class S>
inline void put_tile(const Op& op, const Line<Op::OPERANDS>& to, const Parts& work, long long base, long long stop,
                     S (&mine)[ITEMS<S>], S before) {
    const bool wide = to.stride == 1 && !work.reverse && base + BLOCK * ITEMS<S> <= stop && op.writes_whole(to.at(base));
#pragma unroll
    for (int k = 0; k < ITEMS<S> / RUN; ++k) {
        const long long first = run_at<S>(base, k);
        S* run = &mine[k * RUN];
#pragma unroll
        for (int j = 0; j < RUN; ++j) run[j] = op.join(before, run[j]);
        if (wide) op.put_run(to.at(first), run);
        else {
#pragma unroll
            for (int j = 0; j < RUN; ++j) {
                const long long i = first + j, place = work.reverse ? work.size - 1 - i : i;
                if (i < stop) op.put(to.at(place), run[j]);
            }
        }
    }
}

// The join of one value from each thread of the block, in order.
template <class Op, class S> inline S join_threads(const Op& op, S mine) {
    __shared__ S of_warps[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (int reach = 1; reach < WARP; reach *= 2) {
        const S left = from_lane_below(mine, reach);
        if (lane >= reach) mine = op.join(left, mine);
    }
    __syncthreads();
    if (lane == WARP - 1) of_warps[warp] = mine;
    __syncthreads();
    S sum = of_warps[0];
    for (int each = 1; each < WARPS; ++each) sum = op.join(sum, of_warps[each]);
    return sum;
}

// A published total: each 32 bits of it with a mark beside them, so that they are read whole without a fence.
template <class S> struct Published {
    static constexpr int WORDS = (sizeof(S) + 3) / 4;
    static constexpr unsigned long long MARK = 1ull << 32;
    static void put(unsigned long long* published, long long at, S total) {
        unsigned int words[WORDS];
        memcpy(words, &total, sizeof(S));
        for (int k = 0; k < WORDS; ++k) *(volatile unsigned long long*)&published[at * WORDS + k] = MARK | words[k];
    }
    static S wait(const unsigned long long* published, long long at) {
        unsigned long long found[WORDS];
        unsigned int words[WORDS];
        for (int k = 0; k < WORDS; ++k) found[k] = *(const volatile unsigned long long*)&published[at * WORDS + k];
        for (int k = 0; k < WORDS; ++k) {
            while (!(found[k] & MARK)) found[k] = *(const volatile unsigned long long*)&published[at * WORDS + k];
            words[k] = (unsigned int)found[k];
        }
        S total;
        memcpy(&total, words, sizeof(S));
        return total;
    }
};

// published: for each part of all rows, then for each group; next: the number of the next part.  All start as 0.
template <class Op> inline void scan_parts(const Op& op, const Parts& work, unsigned long long* published, unsigned long long* next) {
    typedef typename Op::State S;
    __shared__ long long taken;
    const long long groups = (work.chunks + BLOCK - 1) / BLOCK, parts = work.rows * work.chunks;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) taken = atomicAdd(next, 1ull);
        __syncthreads();
        const long long at = taken;
        if (at >= parts) return;
        long long part;
        const long long row = divide(at, work.chunks, part), start = part * work.chunk;
        const long long stop = start + work.chunk < work.size ? start + work.chunk : work.size;
        const long long group = part / BLOCK, of_groups = parts + row * groups;
        const int inside = (int)(part % BLOCK);
        const Line<Op::OPERANDS> to(op.layout, 0, row), from(op.layout, 1, row);
        S mine[ITEMS<S>], total;
        const S in_tile = scan_tile(op, from, work, start, stop, mine, total);
        if (threadIdx.x == 0) Published<S>::put(published, at, total);
        const bool waits = (int)threadIdx.x < inside;
        const S in_group = join_threads(op, waits ? Published<S>::wait(published, at - inside + threadIdx.x) : op.begin());
        if (threadIdx.x == 0 && inside == BLOCK - 1) Published<S>::put(published, of_groups + group, op.join(in_group, total));
        S before = op.begin();
        for (long long first = 0; first < group; first += BLOCK) {
            const long long each = first + threadIdx.x;
            const S earlier = each < group ? Published<S>::wait(published, of_groups + each) : op.begin();
            before = op.join(before, join_threads(op, earlier));
        }
        put_tile(op, to, work, start, stop, mine, op.join(op.join(before, in_group), in_tile));
    }
}

template <class Op> inline void scan_rows(const Op& op, const Parts& work) {
    typedef typename Op::State S;
    for (long long row = blockIdx.x; row < work.rows; row += gridDim.x) {
        const Line<Op::OPERANDS> to(op.layout, 0, row), from(op.layout, 1, row);
        S before = op.begin();
        for (long long base = 0; base < work.size; base += BLOCK * ITEMS<S>) {
            S mine[ITEMS<S>], total;
            const S in_tile = scan_tile(op, from, work, base, work.size, mine, total);
            put_tile(op, to, work, base, work.size, mine, op.join(before, in_tile));
            before = op.join(before, total);
        }
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
        S sum = part > 0 && op.has_before() ? op.total(row * work.chunks + part - 1) : op.begin();
#pragma unroll 4
        for (long long i = start; i < stop; ++i) {
            const long long place = work.reverse ? work.size - 1 - i : i;
            sum = op.join(sum, op.get(from.at(place), place));
            if (!op.is_total()) op.put(to.at(place), sum);
        }
        if (op.is_total()) op.put_total(row * work.chunks + part, sum);
    }
}

// published and next: absent where each row is one part, and if ACROSS.
template <bool ACROSS, class Op> inline void scan(const Op& op, const Parts& work, unsigned long long* published, unsigned long long* next) {
    if constexpr (ACROSS) scan_across(op, work);
    else if (published) scan_parts(op, work, published, next);
    else scan_rows(op, work);
}

// Meaning defines begin() and join(a, b) on the type C.  before: scanned totals.
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
    bool reads_whole(long long at) const { return is_whole(input + at); }
    bool writes_whole(long long at) const { return is_whole(out + at); }
    void get_run(long long at, long long, C* values) const {
        const Run<T> run = *reinterpret_cast<const Run<T>*>(input + at);
        for (int j = 0; j < RUN; ++j) values[j] = load<C>(run.at[j]);
    }
    void put_run(long long at, const C* values) const {
        Run<Out> run;
        for (int j = 0; j < RUN; ++j) run.at[j] = store<Out>(values[j]);
        *reinterpret_cast<Run<Out>*>(out + at) = run;
    }
    bool is_total() const { return out == nullptr; }
    bool has_before() const { return before != nullptr; }
    void put_total(long long at, C value) const { totals[at] = value; }
    C total(long long at) const { return before[at]; }
};

// The largest or smallest value so far and its index: the last of equal values; once NaN, always NaN.
template <bool LARGEST, class C, class T> struct ScanExtreme {
    typedef Found<C> State;
    static constexpr int OPERANDS = 3;  // the indexes have the values' layout
    T* values;
    long long* indexes;
    const T* input;
    const long long* numbers;  // the index of each value, if that is not its position; contiguous
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
    bool reads_whole(long long at) const { return !numbers && is_whole(input + at); }
    bool writes_whole(long long at) const { return is_whole(values + at) && is_whole(indexes + at); }
    void get_run(long long at, long long place, State* found) const {
        const Run<T> run = *reinterpret_cast<const Run<T>*>(input + at);
        for (int j = 0; j < RUN; ++j) found[j] = {load<C>(run.at[j]), place + j};
    }
    void put_run(long long at, const State* found) const {
        Run<T> run;
        Run<long long> places;
        for (int j = 0; j < RUN; ++j) {
            run.at[j] = store<T>(found[j].value);
            places.at[j] = found[j].index;
        }
        *reinterpret_cast<Run<T>*>(values + at) = run;
        *reinterpret_cast<Run<long long>*>(indexes + at) = places;
    }
    bool is_total() const { return values == nullptr; }
    bool has_before() const { return before != nullptr; }
    void put_total(long long at, State found) const {
        totals[at] = store<T>(found.value);
        total_numbers[at] = found.index;
    }
    State total(long long at) const { return {load<C>(before[at]), before_numbers[at]}; }
};

template <class A> inline A log_add(A a, A b) {
    if (a == b) return a + (A)0.69314718055994530942;
    return (a > b ? a : b) + log1p(exp(-fabs(a - b)));  // NaN if either is
}
