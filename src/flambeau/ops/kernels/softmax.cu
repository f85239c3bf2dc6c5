// Softmax, its logarithm and their gradients.  Follows rows.cu.
//
//  - A row is the last dimension of a layout; the dimensions before it count rows.
//  - `..._across`: rows lie next to each other, so neighbouring threads are lanes of neighbouring rows.

// out = exp(x) / sum(exp(x)), or its logarithm.  The output is dense along a row; even rows are of one tile.
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

// ---- rows next to each other ----

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
