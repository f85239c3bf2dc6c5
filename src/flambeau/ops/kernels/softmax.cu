// Softmax, its logarithm and their gradients.  Follows rows.cu.
//
//  - A row is the last dimension of a layout; the dimensions before it count rows.
//  - `..._across`: rows are interleaved in memory, so neighbouring threads are lanes of neighbouring rows.

// out = exp(x) / sum(exp(x)), or its logarithm.  The output is dense along a row; even rows fit a tile.
template <bool EVEN, class C, class OUT, class T>
inline void softmax(OUT* out, const T* input, const Layout<2>& layout, long long rows, long long size, long long steps,
                    int lanes, bool logarithm) {
    constexpr int V = length<EVEN, OUT, T>();
    const Place place(lanes, rows);
    const Starts<2> starts(layout, place.row);
    const long long stop = place.is_there ? size : 0, tiles = EVEN ? 1 : steps;
    Held<EVEN, C, T, V> held;
    Exponentials<OUT, C> sums;
    const auto span_of = [&](long long tile) { return Span<V, EVEN>(place.lane, lanes, tile, stop); };
    const auto fetch_tile = [&](long long tile) {
        fetch<EVEN, C, V>(held, input + starts.at[1], along(layout, 1), span_of(tile), -INFINITY);
    };
    for (long long tile = 0; tile < tiles; ++tile) fetch_tile(tile), sums.template take<V>(held);
    sums.join(lanes);
    const C shift = log(sums.total), scale = C(1) / sums.total;
    for (long long tile = tiles - 1; tile >= 0; --tile) {  // the last tile is still there, the latest in caches
        if (tile < tiles - 1) fetch_tile(tile);
        put(out + starts.at[0], span_of(tile), [&](int k, int j) {
            const C distance = load<C>(held.at[k].at(j)) - sums.peak;
            return logarithm ? distance - shift : exponential<OUT>(distance) * scale;
        });
    }
}

// The gradient from that of the output, and the output.
template <bool EVEN, class C, class T>
inline void softmax_backward(T* out, const T* grad, const T* output, const Layout<3>& layout, long long rows,
                             long long size, long long steps, int lanes, bool logarithm) {
    constexpr int V = length<EVEN, T>();
    const Place place(lanes, rows);
    const Starts<3> starts(layout, place.row);
    const long long stop = place.is_there ? size : 0, tiles = EVEN ? 1 : steps;
    Held<EVEN, C, T, V> slopes, values;
    const auto span_of = [&](long long tile) { return Span<V, EVEN>(place.lane, lanes, tile, stop); };
    const auto fetch_tile = [&](long long tile) {
        fetch<EVEN, C, V>(slopes, grad + starts.at[1], along(layout, 1), span_of(tile), 0);
        fetch<EVEN, C, V>(values, output + starts.at[2], along(layout, 2), span_of(tile), 0);
    };
    C total = 0;
    for (long long tile = 0; tile < tiles; ++tile) {
        fetch_tile(tile);
        each_element<V>([&](int k, int j) {
            total += load<C>(slopes.at[k].at(j)) * (logarithm ? C(1) : load<C>(values.at[k].at(j)));
        });
    }
    total = join_lanes(lanes, Plus(), total);
    for (long long tile = tiles - 1; tile >= 0; --tile) {
        if (tile < tiles - 1) fetch_tile(tile);
        put(out + starts.at[0], span_of(tile), [&](int k, int j) {
            const C slope = load<C>(slopes.at[k].at(j)), value = load<C>(values.at[k].at(j));
            return logarithm ? slope - exponential<T>(value) * total : value * (slope - total);
        });
    }
}

// ---- long rows: input and output are read once if they fit a tile ----

template <bool LOGARITHM, class C, class T>
inline void softmax_long(T* out, const T* input, const Layout<2>& layout, long long size) {
    const Starts<2> starts(layout, blockIdx.x);
    const T* x = input + starts.at[1];
    T* y = out + starts.at[0];
    const LongRow<T> row(x, size);
    const T absent = store<T>(C(-INFINITY));
    LongTile<T> held;
    Exponentials<T, C> sums;
    const C edge = row.edge < 0 ? C(-INFINITY) : load<C>(x[row.edge]);
    sums.peak = edge;
    sums.total = exponential<T>(edge - finite_or_zero(edge));
    for (long long tile = 0; tile < row.tiles; ++tile) {
        row.fetch(held, x, tile, absent);
#pragma unroll
        for (int k = 0; k < LONG_RUNS; k += LONG_PART)
            sums.template take<LONG_V<T>, LONG_PART>(LongPart<T>{held.at + k});
    }
    sums.join(LONG_LANES);
    const C shift = LOGARITHM ? log(sums.total) : C(1) / sums.total;
    const auto result = [&](C x) {
        const C distance = x - sums.peak;
        return LOGARITHM ? distance - shift : exponential<T>(distance) * shift;
    };
    for (long long tile = row.tiles - 1; tile >= 0; --tile) {  // the last tile is still there
        if (tile < row.tiles - 1) row.fetch(held, x, tile, absent);
#pragma unroll
        for (int k = 0; k < LONG_RUNS; ++k)
            row.put(y, tile, k, [&](int j) { return result(load<C>(held.at[k].at(j))); });
    }
    if (row.edge >= 0) y[row.edge] = store<T>(result(edge));
}

// Without LOGARITHM, the first pass needs the output too.  The second one reads it LONG_PART runs ahead.
template <bool LOGARITHM, class C, class T>
inline void softmax_backward_long(T* out, const T* grad, const T* output, const Layout<3>& layout, long long size) {
    const Starts<3> starts(layout, blockIdx.x);
    const T *g = grad + starts.at[1], *y = output + starts.at[2];
    T* x = out + starts.at[0];
    const LongRow<T> row(g, size);
    const T zero = store<T>(C(0));
    LongTile<T> slopes;
    C total = 0;
    for (long long tile = 0; tile < row.tiles; ++tile) {
        row.fetch(slopes, g, tile, zero);
#pragma unroll
        for (int k = 0; k < LONG_RUNS; ++k) {
            const auto values = LOGARITHM ? Run<T, LONG_V<T>>() : row.fetch(y, tile, k, zero);
#pragma unroll
            for (int j = 0; j < LONG_V<T>; ++j)
                total += load<C>(slopes.at[k].at(j)) * (LOGARITHM ? C(1) : load<C>(values.at(j)));
        }
    }
    const C slope = row.edge < 0 ? C(0) : load<C>(g[row.edge]), value = row.edge < 0 ? C(0) : load<C>(y[row.edge]);
    Run<T, LONG_V<T>> values[LONG_PART];
    const auto fetch_first = [&](long long tile) {
#pragma unroll
        for (int k = 0; k < LONG_PART; ++k) values[k] = row.fetch(y, tile, k, zero);
    };
    fetch_first(row.tiles - 1);
    total = join_lanes(LONG_LANES, Plus(), total + slope * (LOGARITHM ? C(1) : value));
    const auto result = [&](C slope, C value) {
        return LOGARITHM ? slope - exponential<T>(value) * total : value * (slope - total);
    };
    for (long long tile = row.tiles - 1; tile >= 0; --tile) {  // the last tile is still there
        if (tile < row.tiles - 1) row.fetch(slopes, g, tile, zero), fetch_first(tile);
#pragma unroll
        for (int k = 0; k < LONG_RUNS; ++k) {
            const auto held = values[k % LONG_PART];
            if (k + LONG_PART < LONG_RUNS) values[k % LONG_PART] = row.fetch(y, tile, k + LONG_PART, zero);
            row.put(x, tile, k, [&](int j) { return result(load<C>(slopes.at[k].at(j)), load<C>(held.at(j))); });
        }
    }
    if (row.edge >= 0) x[row.edge] = store<T>(result(slope, value));
}

// ---- interleaved rows ----

template <class Body> inline void each_row_across(int lanes, long long rows, Body body) {
    const int groups = BLOCK / lanes;
    for (long long first = blockIdx.x * (long long)groups; first < rows; first += (long long)gridDim.x * groups)
        body(first + threadIdx.x % groups, threadIdx.x / groups);
}

// The join of a row's lanes, in each of them.  All threads of the block must call it.
template <class Op, class C> inline C join_across(int lanes, const Op& op, C mine) {
    if (lanes == 1) return mine;
    __shared__ C of_lanes[BLOCK];
    const int groups = BLOCK / lanes, group = threadIdx.x % groups;
    __syncthreads();
    of_lanes[threadIdx.x] = mine;
    __syncthreads();
    mine = of_lanes[group];
    for (int lane = 1; lane < lanes; ++lane) mine = op.join(mine, of_lanes[lane * groups + group]);
    return mine;
}

template <class C, class OUT, class T>
inline void softmax_across(OUT* out, const T* input, const Layout<2>& layout, long long rows, long long size, int lanes,
                           bool logarithm) {
    each_row_across(lanes, rows, [&](long long row, int lane) {
        const long long stop = row < rows ? size : 0;
        const Starts<2> starts(layout, row < rows ? row : 0);
        const T* x = input + starts.at[1];
        OUT* y = out + starts.at[0];
        C peak = -INFINITY, total = 0;
#pragma unroll 4
        for (long long i = lane; i < stop; i += lanes) peak = fmax(peak, load<C>(x[i * along(layout, 1)]));
        peak = join_across(lanes, Greater(), peak);
#pragma unroll 4
        for (long long i = lane; i < stop; i += lanes) total += exp(load<C>(x[i * along(layout, 1)]) - peak);
        total = join_across(lanes, Plus(), total);
        const C shift = logarithm ? log(total) : C(1) / total;
#pragma unroll 4
        for (long long i = lane; i < stop; i += lanes) {
            const C distance = load<C>(x[i * along(layout, 1)]) - peak;
            y[i * along(layout, 0)] = store<OUT>(logarithm ? distance - shift : exp(distance) * shift);
        }
    });
}

template <class C, class T>
inline void softmax_backward_across(T* out, const T* grad, const T* output, const Layout<3>& layout, long long rows,
                                    long long size, int lanes, bool logarithm) {
    each_row_across(lanes, rows, [&](long long row, int lane) {
        const long long stop = row < rows ? size : 0;
        const Starts<3> starts(layout, row < rows ? row : 0);
        const T *slopes = grad + starts.at[1], *values = output + starts.at[2];
        T* y = out + starts.at[0];
        C total = 0;
#pragma unroll 4
        for (long long i = lane; i < stop; i += lanes)
            total += load<C>(slopes[i * along(layout, 1)]) * (logarithm ? C(1) : load<C>(values[i * along(layout, 2)]));
        total = join_across(lanes, Plus(), total);
#pragma unroll 4
        for (long long i = lane; i < stop; i += lanes) {
            const C slope = load<C>(slopes[i * along(layout, 1)]), value = load<C>(values[i * along(layout, 2)]);
            y[i * along(layout, 0)] = store<T>(logarithm ? slope - exp(value) * total : value * (slope - total));
        }
    });
}
