// Layer norm and its gradients.  Follows rows.cu.  All arrays are contiguous; a null weight is 1, a null bias 0.

// out = (x - mean) * rstd * weight + bias.  The mean first, then the squared distances from it.  Even rows fit a tile.
template <bool EVEN, class C, class T>
inline void layer_norm(T* out, C* mean, C* rstd, const T* input, const T* weight, const T* bias, long long rows,
                       long long size, long long steps, int lanes, C eps) {
    constexpr int V = length<EVEN, T>();
    const Place place(lanes, rows);
    const long long stop = place.is_there ? size : 0, start = place.row * size, tiles = EVEN ? 1 : steps;
    const C share = C(1) / (C)size;
    Held<EVEN, C, T, V> held;
    const auto span_of = [&](long long tile) { return Span<V, EVEN>(place.lane, lanes, tile, stop); };
    const auto fetch_tile = [&](long long tile) { fetch<EVEN, C, V>(held, input + start, 1, span_of(tile), 0); };
    C total = 0, squares = 0;
    for (long long tile = 0; tile < tiles; ++tile) {
        fetch_tile(tile);
        each_element<V>([&](int k, int j) { total += load<C>(held.at[k].at(j)); });
    }
    const C center = join_lanes<0>(lanes, Plus(), total) * share;
    for (long long tile = tiles - 1; tile >= 0; --tile) {  // the last tile is still there
        const auto span = span_of(tile);
        if (tile < tiles - 1) fetch_tile(tile);
        each_element<V>([&](int k, int j) {
            const C distance = load<C>(held.at[k].at(j)) - center;
            squares += span.has(k, j) ? distance * distance : C(0);
        });
    }
    const C scale = rsqrt(join_lanes<1>(lanes, Plus(), squares) * share + eps);
    for (long long tile = 0; tile < tiles; ++tile) {
        const auto span = span_of(tile);
        if (tile > 0) fetch_tile(tile);
#pragma unroll
        for (int k = 0; k < RUNS; ++k) {
            const auto factors = run_or<EVEN, C>(weight, span, k, C(1)), offsets = run_or<EVEN, C>(bias, span, k, C(0));
            put_run(out + start, span, k, [&](int j) {
                const C normal = (load<C>(held.at[k].at(j)) - center) * scale;
                return normal * load<C>(factors.at(j)) + load<C>(offsets.at(j));
            });
        }
    }
    if (place.lane == 0 && place.is_there) mean[place.row] = center, rstd[place.row] = scale;
}

// The gradient of the input.
template <bool EVEN, class C, class T>
inline void layer_norm_backward(T* out, const T* grad, const T* input, const C* mean, const C* rstd, const T* weight,
                                long long rows, long long size, long long steps, int lanes) {
    constexpr int V = length<EVEN, T>();
    const Place place(lanes, rows);
    const long long stop = place.is_there ? size : 0, start = place.row * size, tiles = EVEN ? 1 : steps;
    const C share = C(1) / (C)size, center = mean[place.row], scale = rstd[place.row];
    Held<EVEN, C, T, V> slopes, values;
    const auto span_of = [&](long long tile) { return Span<V, EVEN>(place.lane, lanes, tile, stop); };
    const auto fetch_tile = [&](long long tile) {
        fetch<EVEN, C, V>(slopes, grad + start, 1, span_of(tile), 0);
        fetch<EVEN, C, V>(values, input + start, 1, span_of(tile), 0);
    };
    const auto normal = [&](int k, int j) { return (load<C>(values.at[k].at(j)) - center) * scale; };
    Two<C> sums = {0, 0};
    for (long long tile = 0; tile < tiles; ++tile) {
        fetch_tile(tile);
#pragma unroll
        for (int k = 0; k < RUNS; ++k) {
            const auto factors = run_or<EVEN, C>(weight, span_of(tile), k, C(1));
#pragma unroll
            for (int j = 0; j < V; ++j) {
                const C slope = load<C>(slopes.at[k].at(j)) * load<C>(factors.at(j));
                sums.first += slope, sums.second += slope * normal(k, j);
            }
        }
    }
    sums = join_lanes(lanes, PlusTwo(), sums);
    const C mean_slope = sums.first * share, mean_product = sums.second * share;
    for (long long tile = tiles - 1; tile >= 0; --tile) {  // the last tile is still there
        if (tile < tiles - 1) fetch_tile(tile);
#pragma unroll
        for (int k = 0; k < RUNS; ++k) {
            const auto factors = run_or<EVEN, C>(weight, span_of(tile), k, C(1));
            put_run(out + start, span_of(tile), k, [&](int j) {
                const C slope = load<C>(slopes.at[k].at(j)) * load<C>(factors.at(j));
                return scale * (slope - mean_slope - normal(k, j) * mean_product);
            });
        }
    }
}

// out = x * rstd * weight, with rstd = 1 / sqrt(mean of x * x + eps): layer norm about 0.
template <bool EVEN, class C, class T>
inline void rms_norm(T* out, C* rstd, const T* input, const T* weight, long long rows, long long size, long long steps,
                     int lanes, C eps) {
    constexpr int V = length<EVEN, T>();
    const Place place(lanes, rows);
    const long long stop = place.is_there ? size : 0, start = place.row * size, tiles = EVEN ? 1 : steps;
    Held<EVEN, C, T, V> held;
    const auto span_of = [&](long long tile) { return Span<V, EVEN>(place.lane, lanes, tile, stop); };
    const auto fetch_tile = [&](long long tile) { fetch<EVEN, C, V>(held, input + start, 1, span_of(tile), 0); };
    C squares = 0;
    for (long long tile = 0; tile < tiles; ++tile) {
        fetch_tile(tile);
        each_element<V>([&](int k, int j) { squares += load<C>(held.at[k].at(j)) * load<C>(held.at[k].at(j)); });
    }
    const C scale = rsqrt(join_lanes(lanes, Plus(), squares) / (C)size + eps);
    for (long long tile = tiles - 1; tile >= 0; --tile) {  // the last tile is still there
        if (tile < tiles - 1) fetch_tile(tile);
#pragma unroll
        for (int k = 0; k < RUNS; ++k) {
            const auto factors = run_or<EVEN, C>(weight, span_of(tile), k, C(1));
            put_run(out + start, span_of(tile), k,
                    [&](int j) { return load<C>(held.at[k].at(j)) * scale * load<C>(factors.at(j)); });
        }
    }
    if (place.lane == 0 && place.is_there) rstd[place.row] = scale;
}

// The gradient of its input.
template <bool EVEN, class C, class T>
inline void rms_norm_backward(T* out, const T* grad, const T* input, const C* rstd, const T* weight, long long rows,
                              long long size, long long steps, int lanes) {
    constexpr int V = length<EVEN, T>();
    const Place place(lanes, rows);
    const long long stop = place.is_there ? size : 0, start = place.row * size, tiles = EVEN ? 1 : steps;
    const C scale = rstd[place.row];
    Held<EVEN, C, T, V> slopes, values;
    const auto span_of = [&](long long tile) { return Span<V, EVEN>(place.lane, lanes, tile, stop); };
    const auto fetch_tile = [&](long long tile) {
        fetch<EVEN, C, V>(slopes, grad + start, 1, span_of(tile), 0);
        fetch<EVEN, C, V>(values, input + start, 1, span_of(tile), 0);
    };
    C products = 0;
    for (long long tile = 0; tile < tiles; ++tile) {
        fetch_tile(tile);
#pragma unroll
        for (int k = 0; k < RUNS; ++k) {
            const auto factors = run_or<EVEN, C>(weight, span_of(tile), k, C(1));
#pragma unroll
            for (int j = 0; j < V; ++j)
                products += load<C>(slopes.at[k].at(j)) * load<C>(factors.at(j)) * load<C>(values.at[k].at(j));
        }
    }
    const C along = join_lanes(lanes, Plus(), products) / (C)size * scale * scale;
    for (long long tile = tiles - 1; tile >= 0; --tile) {  // the last tile is still there
        if (tile < tiles - 1) fetch_tile(tile);
#pragma unroll
        for (int k = 0; k < RUNS; ++k) {
            const auto factors = run_or<EVEN, C>(weight, span_of(tile), k, C(1));
            put_run(out + start, span_of(tile), k, [&](int j) {
                return scale * (load<C>(slopes.at[k].at(j)) * load<C>(factors.at(j)) - load<C>(values.at[k].at(j)) * along);
            });
        }
    }
}

// ---- the gradients of weight and bias ----

#define ROWS_AT_ONCE 4  // loads of each operand in flight in a thread

// The first `count` of V neighbours; the others are 0.  EVEN: they are aligned, and `count` is at least V, or 0.
template <int V, bool EVEN, class T> inline Run<T, V> neighbours(const T* at, long long count) {
    Run<T, V> run = {};
    if constexpr (EVEN) {
        if (count > 0) run = *(const Run<T, V>*)at;
    } else {
#pragma unroll
        for (int j = 0; j < V; ++j)
            if (j < count) run.set(j, at[j]);
    }
    return run;
}

// Sums over rows of grad * normal and of grad, for each column, in `parts` pieces of the rows.  A block computes
// `across` times V columns at a time, in BLOCK / across pieces, which it joins in order.
template <bool EVEN, class C, class T>
inline void layer_norm_columns(C* of_weight, C* of_bias, const T* grad, const T* input, const C* mean, const C* rstd,
                               long long rows, long long size, long long parts, int across) {
    constexpr int V = length<EVEN, T>();
    __shared__ C of_threads[BLOCK * 2 * V];
    const int width = across * V, down = BLOCK / across, lane = threadIdx.x % across, line = threadIdx.x / across;
    const long long chunk = (rows + parts - 1) / parts, tiles = (size + width - 1) / width;
    for (long long at = blockIdx.x; at < tiles * parts; at += gridDim.x) {
        const long long part = at / tiles, first = (at - part * tiles) * width, column = first + lane * V;
        const long long stop = (part + 1) * chunk < rows ? (part + 1) * chunk : rows;
        C slopes[V] = {}, products[V] = {};
        for (long long row = part * chunk + line; row < stop; row += ROWS_AT_ONCE * down) {
            Run<T, V> g[ROWS_AT_ONCE], x[ROWS_AT_ONCE];
            C center[ROWS_AT_ONCE], scale[ROWS_AT_ONCE];
#pragma unroll
            for (int each = 0; each < ROWS_AT_ONCE; ++each) {
                const long long here = row + each * down, start = here * size + column;
                const bool is_there = here < stop;
                g[each] = neighbours<V, EVEN>(grad + start, is_there ? size - column : 0);
                x[each] = neighbours<V, EVEN>(input + start, is_there ? size - column : 0);
                center[each] = is_there ? mean[here] : C(0), scale[each] = is_there ? rstd[here] : C(0);
            }
#pragma unroll
            for (int each = 0; each < ROWS_AT_ONCE; ++each)
#pragma unroll
                for (int j = 0; j < V; ++j) {
                    slopes[j] += load<C>(g[each].at(j));
                    products[j] += load<C>(g[each].at(j)) * ((load<C>(x[each].at(j)) - center[each]) * scale[each]);
                }
        }
        __syncthreads();
        for (int j = 0; j < V; ++j) {
            of_threads[line * 2 * width + lane * V + j] = products[j];
            of_threads[line * 2 * width + width + lane * V + j] = slopes[j];
        }
        __syncthreads();
        for (int each = threadIdx.x; each < 2 * width; each += BLOCK) {
            const int place = each % width;
            C sum = 0;
            for (int piece = 0; piece < down; ++piece) sum += of_threads[piece * 2 * width + each];
            if (first + place < size) (each < width ? of_weight : of_bias)[part * size + first + place] = sum;
        }
    }
}
