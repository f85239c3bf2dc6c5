// Reductions: groups of threads, each of which joins many values into one; and running sums.
//
//  - A block has BLOCK threads, cut into groups of LANES.  A group makes one result at a time.
//  - ACROSS false: a group's lanes are neighbours, and read along the reduced dimensions.  ACROSS true: neighbouring
//    threads are lanes of neighbouring results, which is fast where results lie next to each other in memory.
//  - The order in which values are joined depends on sizes only, so results are the same in every run.
//  - Dimensions [0, kept) of a layout count results, dimensions [kept, ndim) what is reduced.

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

// Where element `linear` of dimensions [first, last) lies, counted in row-major order.
template <int N>
inline long long walk(const Layout<N>& layout, int operand, long long first, long long last, long long linear) {
    long long at = 0;
    for (long long dim = last - 1; dim > first; --dim) {
        long long index;
        linear = divide(linear, layout.size[dim], index);
        at += index * layout.stride[operand][dim];
    }
    return last > first ? at + linear * layout.stride[operand][first] : at;
}

// Join `count` values for each of `outputs` results, in `parts` pieces; piece p of result r is put at p * outputs + r.
template <int LANES, bool ACROSS, class Op>
inline void reduce(const Op& op, long long outputs, long long count, long long parts) {
    const int groups = BLOCK / LANES, lane = lane_in_group<LANES, ACROSS>(), group = group_in_block<LANES, ACROSS>();
    const long long chunk = (count + parts - 1) / parts, tiles = (outputs + groups - 1) / groups;
    for (long long at = blockIdx.x; at < tiles * parts; at += gridDim.x) {
        const long long part = at / tiles, output = (at - part * tiles) * groups + group;
        const long long start = part * chunk, stop = start + chunk < count ? start + chunk : count;
        typename Op::State mine = op.begin();
        if (output < outputs) {
            const auto place = op.place(output);
            if (place.row.stride >= 0) {  // apart, so that many loads are under way at once
#pragma unroll 8
                for (long long i = start + lane; i < stop; i += LANES)
                    mine = op.take(mine, place, place.row.start + i * place.row.stride, i);
            } else {
                for (long long i = start + lane; i < stop; i += LANES) mine = op.take(mine, place, place.row.at(i), i);
            }
        }
        mine = join_group<LANES, ACROSS>(op, mine);
        if (lane == 0 && output < outputs) op.put(part * outputs + output, mine);
    }
}

// Strided values as a row of their own.  stride is negative where no single one leads along it.
template <int N> struct Row {
    const Layout<N>& layout;
    long long kept, start, stride;
    Row(const Layout<N>& layout, int operand, long long kept, long long output) : layout(layout), kept(kept) {
        start = walk(layout, operand, 0, kept, output);
        stride = layout.ndim - kept == 1 ? layout.stride[operand][kept] : -1;
    }
    long long at(long long i) const { return start + walk(layout, 0, kept, layout.ndim, i); }
};

// One value per result.  Meaning says begin(), map(x, center), join(a, b) and finish(a, scale) on the type A.
template <class Meaning, class A, class T, class Out> struct Fold {
    typedef A State;
    struct Place { Row<1> row; A center; };
    Out* out;
    const T* input;
    const A* center;
    const Layout<1>& layout;
    long long kept;
    double scale;
    A begin() const { return Meaning::begin(); }
    Place place(long long output) const { return {Row<1>(layout, 0, kept, output), center ? center[output] : A(0)}; }
    A take(A mine, const Place& place, long long at, long long) const {
        return Meaning::join(mine, Meaning::map(load<A>(input[at]), place.center));
    }
    A join(A a, A b) const { return Meaning::join(a, b); }
    void put(long long at, A a) const { out[at] = store<Out>(Meaning::finish(a, scale)); }
};

// The largest or smallest value and where it is: NaN before any number, and the first of equals.
template <class C> struct Found { C value; long long index; };

template <class C> inline Found<C> from_lane(Found<C> mine, int step) {
    return {from_lane(mine.value, step), from_lane(mine.index, step)};
}

template <bool LARGEST, class C> inline bool is_before(C a, C b) {
    if (a != a || b != b) return a != a && b == b;
    return LARGEST ? a > b : a < b;
}

template <bool LARGEST, class C, class T, class Out> struct Select {
    typedef Found<C> State;
    Out* values;
    long long* indexes;
    const T* input;
    const long long* numbers;  // the index that each value stands for, where that is not its place
    const Layout<1>& layout;
    long long kept, outputs;
    struct Place { Row<1> row; long long output; };
    State begin() const { return {C(0), -1}; }
    Place place(long long output) const { return {Row<1>(layout, 0, kept, output), output}; }
    State take(State mine, const Place& place, long long at, long long i) const {  // values come in rising order of index
        const C value = load<C>(input[at]);
        if (mine.index >= 0 && !is_before<LARGEST>(value, mine.value)) return mine;
        return {value, numbers ? numbers[i * outputs + place.output] : i};
    }
    State join(State a, State b) const {
        if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
        if (is_before<LARGEST>(a.value, b.value)) return a;
        if (is_before<LARGEST>(b.value, a.value)) return b;
        return a.index < b.index ? a : b;
    }
    void put(long long at, State found) const {
        if (values) values[at] = store<Out>(found.value);
        indexes[at] = found.index;
    }
};

// Where a row of one operand starts, and the step along it.
template <int N> struct Line {
    long long start, stride;
    Line(const Layout<N>& layout, int operand, long long row) {
        start = walk(layout, operand, 0, layout.ndim - 1, row);
        stride = layout.stride[operand][layout.ndim - 1];
    }
    long long at(long long i) const { return start + i * stride; }
};

// Running sums along each row, from the other end if reverse: a block makes one row, tile by tile.
template <class C, class OUT, class T>
inline void running_sum(OUT* out, const T* input, const Layout<2>& layout, long long rows, long long size, bool reverse) {
    __shared__ C of_warps[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const Line<2> to(layout, 0, row), from(layout, 1, row);
        C before = 0;
        for (long long start = 0; start < size; start += BLOCK) {
            const long long i = start + threadIdx.x, place = reverse ? size - 1 - i : i;
            C sum = i < size ? load<C>(input[from.at(place)]) : C(0);
            for (int step = 1; step < WARP; step *= 2) {
                const C left = __shfl_up_sync(EVERY_LANE, sum, step);
                if (lane >= step) sum += left;
            }
            __syncthreads();
            if (lane == WARP - 1) of_warps[warp] = sum;
            __syncthreads();
            C offset = before;
            for (int each = 0; each < WARPS; ++each) {
                if (each < warp) offset += of_warps[each];
                before += of_warps[each];
            }
            if (i < size) out[to.at(place)] = store<OUT>(offset + sum);
        }
    }
}
