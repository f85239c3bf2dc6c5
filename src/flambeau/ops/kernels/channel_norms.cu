// Statistics of batch, group and instance norm.  Follows reduce.cu.

// running = (1 - factor) * running + factor * batch; the batch's variance is first multiplied by `unbiased`.
template <class C, class T>
inline void move_statistics(T& running_mean, T& running_var, C mean, C variance, double factor, double unbiased) {
    const C keep = C(1 - factor), share = C(factor);
    running_mean = store<T>(keep * load<C>(running_mean) + share * mean);
    running_var = store<T>(keep * load<C>(running_var) + share * (variance * C(unbiased)));
}

// The destinations of each result's statistics.  `variance` and the running statistics may be null.
template <class A, class T> struct Statistics {
    A* mean;
    A* rstd;
    A* variance;
    T* running_mean;
    T* running_var;
    A eps;
    double factor, unbiased;
    void put(long long i, A center, A square) const {
        mean[i] = center, rstd[i] = 1 / sqrt(square + eps);
        if (variance) variance[i] = square;
        if (running_mean) move_statistics(running_mean[i], running_var[i], center, square, factor, unbiased);
    }
};

// The reduction of whole results to their statistics.
template <class A, class T, class R> struct WholeStatistics : Variance<A, T, T> {
    const Statistics<A, R>& statistics;
    WholeStatistics(const T* input, const Layout<1>& layout, const Statistics<A, R>& statistics)
        : Variance<A, T, T>{nullptr, nullptr, nullptr, nullptr, input, layout, 0, false}, statistics(statistics) {}
    void put(long long i, Moments<A> found) const { statistics.put(i, found.mean, found.squares / found.n); }
};

// (mean, 1 / deviation, variance) of each result, from its pieces.
template <class A, class T>
inline void join_moments(const Statistics<A, T>& statistics, const Pieces<A>& pieces, int lanes) {
    const A count = (A)pieces.count;
    pieces.join(lanes, [&](long long i, Moments<A> found) { statistics.put(i, found.mean, found.squares / count); });
}

#define LOADS 4  // loads of each operand in flight in a thread

// Sums of grad and of grad * (input - mean) * rstd over dimensions [kept, ndim), in `parts` pieces of `chunk` values.
// `lanes` threads share a result: neighbours, or with `across` threads BLOCK / lanes apart.  A thread loads runs of
// M values that are adjacent in memory.
template <int M, class C, class T>
inline void normal_sums(C* sums, C* products, const T* grad, const T* input, const C* mean, const C* rstd,
                        const Layout<4>& layout, long long outputs, long long count, long long parts, long long chunk,
                        long long kept, int lanes, bool across) {
    __shared__ C held[2 * BLOCK];
    const int groups = BLOCK / lanes;
    const int lane = across ? threadIdx.x / groups : threadIdx.x % lanes;
    const int group = across ? threadIdx.x % groups : threadIdx.x / lanes;
    const int step = across ? groups : 1;
    const long long tiles = (outputs + groups - 1) / groups;
    for (long long at = blockIdx.x; at < tiles * parts; at += gridDim.x) {
        const long long part = at / tiles, output = (at - part * tiles) * groups + group;
        const long long stop = (part + 1) * chunk < count ? (part + 1) * chunk : count;
        C sum = 0, product = 0;
        if (output < outputs) {
            const T* g_data = grad + walk(layout, 0, 0, kept, output);
            const T* x_data = input + walk(layout, 1, 0, kept, output);
            const C center = mean[walk(layout, 2, 0, kept, output)], scale = rstd[walk(layout, 3, 0, kept, output)];
            for (long long i = part * chunk + lane * M; i < stop; i += LOADS * lanes * M) {
                Words<T, M> g[LOADS], x[LOADS];
#pragma unroll
                for (int each = 0; each < LOADS; ++each) {
                    const long long place = i + each * lanes * M < stop ? i + each * lanes * M : i;
                    g[each] = *reinterpret_cast<const Words<T, M>*>(g_data + walk(layout, 0, kept, layout.ndim, place));
                    x[each] = *reinterpret_cast<const Words<T, M>*>(x_data + walk(layout, 1, kept, layout.ndim, place));
                }
#pragma unroll
                for (int each = 0; each < LOADS; ++each) {
                    if (i + each * lanes * M >= stop) break;
#pragma unroll
                    for (int k = 0; k < M; ++k) {
                        const C slope = load<C>(g[each].at(k));
                        sum += slope, product += slope * ((load<C>(x[each].at(k)) - center) * scale);
                    }
                }
            }
        }
        __syncthreads();
        held[threadIdx.x] = sum, held[BLOCK + threadIdx.x] = product;
        for (int half = lanes / 2; half > 0; half /= 2) {
            __syncthreads();
            if (lane < half) {
                held[threadIdx.x] += held[threadIdx.x + half * step];
                held[BLOCK + threadIdx.x] += held[BLOCK + threadIdx.x + half * step];
            }
        }
        if (lane == 0 && output < outputs)
            sums[part * outputs + output] = held[threadIdx.x], products[part * outputs + output] = held[BLOCK + threadIdx.x];
    }
}

// As normal_sums, for results that are adjacent in memory, of one dimension of values: a thread loads WIDE of
// the results at once, and threads that are BLOCK / lanes apart share them.
template <class C, class T>
inline void wide_normal_sums(C* sums, C* products, const T* grad, const T* input, const C* mean, const C* rstd,
                             const Layout<4>& layout, long long outputs, long long count, long long parts,
                             long long chunk, int lanes) {
    constexpr int M = WIDE<T>, AHEAD = 2;
    typedef Words<T, M> Run;
    __shared__ C held[2 * M][BLOCK];
    const int groups = BLOCK / lanes, lane = threadIdx.x / groups, group = threadIdx.x % groups;
    const long long per_tile = (long long)groups * M, tiles = (outputs + per_tile - 1) / per_tile;
    const long long g_step = layout.stride[0][1], x_step = layout.stride[1][1];
    for (long long at = blockIdx.x; at < tiles * parts; at += gridDim.x) {
        const long long part = at / tiles, output = (at - part * tiles) * per_tile + group * M;
        const long long stop = (part + 1) * chunk < count ? (part + 1) * chunk : count;
        C sum[M], product[M];
#pragma unroll
        for (int k = 0; k < M; ++k) sum[k] = 0, product[k] = 0;
        if (output < outputs) {
            C center[M], scale[M];
#pragma unroll
            for (int k = 0; k < M; ++k) {
                center[k] = mean[(output + k) * layout.stride[2][0]];
                scale[k] = rstd[(output + k) * layout.stride[3][0]];
            }
            for (long long i = part * chunk + lane; i < stop; i += AHEAD * lanes) {
                Run g[AHEAD], x[AHEAD];
#pragma unroll
                for (int each = 0; each < AHEAD; ++each) {
                    const long long place = i + each * lanes < stop ? i + each * lanes : i;
                    g[each] = *reinterpret_cast<const Run*>(grad + output + place * g_step);
                    x[each] = *reinterpret_cast<const Run*>(input + output + place * x_step);
                }
#pragma unroll
                for (int each = 0; each < AHEAD; ++each) {
                    if (i + each * lanes >= stop) break;
#pragma unroll
                    for (int k = 0; k < M; ++k) {
                        const C slope = load<C>(g[each].at(k));
                        sum[k] += slope, product[k] += slope * ((load<C>(x[each].at(k)) - center[k]) * scale[k]);
                    }
                }
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < M; ++k) held[k][threadIdx.x] = sum[k], held[M + k][threadIdx.x] = product[k];
        for (int half = lanes / 2; half > 0; half /= 2) {
            __syncthreads();
            if (lane < half)
                for (int k = 0; k < 2 * M; ++k) held[k][threadIdx.x] += held[k][threadIdx.x + half * groups];
        }
        if (lane == 0 && output < outputs)
            for (int k = 0; k < M; ++k) {
                sums[part * outputs + output + k] = held[k][threadIdx.x];
                products[part * outputs + output + k] = held[M + k][threadIdx.x];
            }
    }
}

template <class A> struct TwoSums { A first, second; };

template <class A> inline TwoSums<A> from_lane(TwoSums<A> mine, int step) {
    return {from_lane(mine.first, step), from_lane(mine.second, step)};
}

template <class A> struct AddTwo {
    typedef TwoSums<A> State;
    State join(State a, State b) const { return {a.first + b.first, a.second + b.second}; }
};

// Two sums of each result, from their pieces [parts, outputs].  `lanes` threads, 1, a warp or a block, share a result.
template <class A, class T>
inline void join_sums(T* one, T* other, const A* one_pieces, const A* other_pieces, long long parts, long long outputs,
                      int lanes) {
    const int lane = threadIdx.x % lanes, groups = BLOCK / lanes;
    for (long long i = blockIdx.x * (long long)groups + threadIdx.x / lanes; i < outputs; i += (long long)gridDim.x * groups) {
        TwoSums<A> mine = {0, 0};
#pragma unroll 4
        for (long long part = lane; part < parts; part += lanes)
            mine.first += one_pieces[part * outputs + i], mine.second += other_pieces[part * outputs + i];
        mine = join_lanes(AddTwo<A>(), mine, lanes);
        if (lane == 0) one[i] = store<T>(mine.first), other[i] = store<T>(mine.second);
    }
}

template <class C, class T>
inline void update_statistics(T* running_mean, T* running_var, const C* mean, const C* variance, long long count,
                              double factor, double unbiased) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x)
        move_statistics(running_mean[i], running_var[i], mean[i], variance[i], factor, unbiased);
}
