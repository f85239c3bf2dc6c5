// Rows: softmax, layer norm and class losses.  Follows reduce.cu.
//
//  - A row is the last dimension of a layout; the dimensions before it count rows.
//  - A group of LANES threads makes one row at a time, in several passes over it; after the first, caches serve it.
//  - C is the type that is computed in: float or double.

struct Plus { template <class C> C join(C a, C b) const { return a + b; } };
struct Greater { template <class C> C join(C a, C b) const { return a > b || a != a ? a : b; } };

template <class C> struct Two { C first, second; };
template <class C> inline Two<C> from_lane(Two<C> mine, int step) {
    return {from_lane(mine.first, step), from_lane(mine.second, step)};
}
struct PlusTwo {
    template <class C> Two<C> join(Two<C> a, Two<C> b) const { return {a.first + b.first, a.second + b.second}; }
};

// Call body(row, lane) for every row; `row` is `rows` or more in groups that have none, which must still join.
template <int LANES, bool ACROSS, class Body> inline void each_row(long long rows, Body body) {
    const int groups = BLOCK / LANES, lane = lane_in_group<LANES, ACROSS>(), group = group_in_block<LANES, ACROSS>();
    for (long long first = blockIdx.x * (long long)groups; first < rows; first += (long long)gridDim.x * groups)
        body(first + group, lane);
}

// out = exp(x) / sum(exp(x)), or with LOG its logarithm.
template <int LANES, bool ACROSS, bool LOG, class C, class OUT, class T>
inline void softmax(OUT* out, const T* input, const Layout<2>& layout, long long rows, long long size) {
    each_row<LANES, ACROSS>(rows, [&](long long row, int lane) {
        const long long stop = row < rows ? size : 0;
        const Line<2> to(layout, 0, row < rows ? row : 0), from(layout, 1, row < rows ? row : 0);
        C peak = -INFINITY, total = 0;
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES) peak = Greater().join(peak, load<C>(input[from.at(i)]));
        peak = join_group<LANES, ACROSS>(Greater(), peak);
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES) total += exp(load<C>(input[from.at(i)]) - peak);
        total = join_group<LANES, ACROSS>(Plus(), total);
        const C shift = LOG ? log(total) : C(1) / total;
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES) {
            const C x = load<C>(input[from.at(i)]) - peak;
            out[to.at(i)] = store<OUT>(LOG ? x - shift : exp(x) * shift);
        }
    });
}

// The gradient of softmax (or with LOG of its logarithm) from that of its output, and the output.
template <int LANES, bool ACROSS, bool LOG, class C, class T>
inline void softmax_backward(T* out, const T* grad, const T* output, const Layout<3>& layout, long long rows, long long size) {
    each_row<LANES, ACROSS>(rows, [&](long long row, int lane) {
        const long long stop = row < rows ? size : 0, safe = row < rows ? row : 0;
        const Line<3> to(layout, 0, safe), g(layout, 1, safe), y(layout, 2, safe);
        C total = 0;
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES)
            total += LOG ? load<C>(grad[g.at(i)]) : load<C>(grad[g.at(i)]) * load<C>(output[y.at(i)]);
        total = join_group<LANES, ACROSS>(Plus(), total);
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES) {
            const C slope = load<C>(grad[g.at(i)]), value = load<C>(output[y.at(i)]);
            out[to.at(i)] = store<T>(LOG ? slope - exp(value) * total : value * (slope - total));
        }
    });
}

// out = (x - mean) * rstd * weight + bias; a null weight is 1, a null bias 0.  All arrays are contiguous.
template <int LANES, class C, class T>
inline void layer_norm(T* out, C* mean, C* rstd, const T* input, const T* weight, const T* bias, long long rows,
                       long long size, C eps) {
    each_row<LANES, false>(rows, [&](long long row, int lane) {
        const long long stop = row < rows ? size : 0;
        const T* x = input + row * size;
        C total = 0, squares = 0;
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES) total += load<C>(x[i]);
        const C center = join_group<LANES, false>(Plus(), total) / (C)size;
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES) {
            const C distance = load<C>(x[i]) - center;
            squares += distance * distance;
        }
        const C scale = C(1) / sqrt(join_group<LANES, false>(Plus(), squares) / (C)size + eps);
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES) {
            const C normal = (load<C>(x[i]) - center) * scale;
            out[row * size + i] = store<T>(normal * (weight ? load<C>(weight[i]) : C(1)) + (bias ? load<C>(bias[i]) : C(0)));
        }
        if (lane == 0 && row < rows) mean[row] = center, rstd[row] = scale;
    });
}

template <int LANES, class C, class T>
inline void layer_norm_backward(T* out, const T* grad, const T* input, const C* mean, const C* rstd, const T* weight,
                                long long rows, long long size) {
    each_row<LANES, false>(rows, [&](long long row, int lane) {
        const long long stop = row < rows ? size : 0, start = row * size;
        const C center = row < rows ? mean[row] : C(0), scale = row < rows ? rstd[row] : C(0);
        Two<C> sums = {0, 0};
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES) {
            const C slope = load<C>(grad[start + i]) * (weight ? load<C>(weight[i]) : C(1));
            sums.first += slope;
            sums.second += slope * (load<C>(input[start + i]) - center) * scale;
        }
        sums = join_group<LANES, false>(PlusTwo(), sums);
        const C mean_slope = sums.first / (C)size, mean_product = sums.second / (C)size;
#pragma unroll 8
        for (long long i = lane; i < stop; i += LANES) {
            const C slope = load<C>(grad[start + i]) * (weight ? load<C>(weight[i]) : C(1));
            const C normal = (load<C>(input[start + i]) - center) * scale;
            out[start + i] = store<T>(scale * (slope - mean_slope - normal * mean_product));
        }
    });
}

// Sums over rows of grad * normal and of grad, for each column, in `parts` pieces of the rows.
template <int LANES, class C, class T>
inline void layer_norm_columns(C* of_weight, C* of_bias, const T* grad, const T* input, const C* mean, const C* rstd,
                               long long rows, long long size, long long parts) {
    const long long chunk = (rows + parts - 1) / parts;
    const int columns = BLOCK / LANES;
    const long long tiles = (size + columns - 1) / columns;
    for (long long at = blockIdx.x; at < tiles * parts; at += gridDim.x) {
        const long long part = at / tiles, column = (at - part * tiles) * columns + group_in_block<LANES, true>();
        const long long first = part * chunk, stop = first + chunk < rows ? first + chunk : rows;
        Two<C> sums = {0, 0};
        if (column < size)
            for (long long row = first + lane_in_group<LANES, true>(); row < stop; row += LANES) {
                const C slope = load<C>(grad[row * size + column]);
                sums.first += slope * (load<C>(input[row * size + column]) - mean[row]) * rstd[row];
                sums.second += slope;
            }
        sums = join_group<LANES, true>(PlusTwo(), sums);
        if (lane_in_group<LANES, true>() == 0 && column < size) {
            of_weight[part * size + column] = sums.first;
            of_bias[part * size + column] = sums.second;
        }
    }
}

// The loss of picking class target[i] from a contiguous [n, classes, inner] array of log-probabilities, where i counts
// [n, inner]: -weight * x and weight.  Target `ignored` counts as nothing; any other outside the classes stops the kernel.
template <class C, class T> struct Picked {
    const T* input;
    const long long* target;
    const T* weight;
    long long classes, inner, ignored;
    C weight_of(long long chosen) const {
        if (chosen == ignored) return C(0);
        if (chosen < 0 || chosen >= classes) __trap();
        return weight ? load<C>(weight[chosen]) : C(1);
    }
    Two<C> at(long long i) const {
        const long long chosen = target[i];
        const C scale = weight_of(chosen);
        if (chosen == ignored) return {C(0), C(0)};
        const long long n = i / inner;
        return {-scale * load<C>(input[(n * classes + chosen) * inner + i - n * inner]), scale};
    }
};

template <class C, class T>
inline void nll_each(T* out, const Picked<C, T>& picked, long long count) {
    for (long long i = blockIdx.x * (long long)BLOCK + threadIdx.x; i < count; i += (long long)gridDim.x * BLOCK)
        out[i] = store<T>(picked.at(i).first);
}

// Sums of losses and weights, one pair per block.
template <class C, class T>
inline void nll_pieces(C* losses, C* weights, const Picked<C, T>& picked, long long count) {
    const long long chunk = (count + gridDim.x - 1) / gridDim.x, start = blockIdx.x * chunk;
    const long long stop = start + chunk < count ? start + chunk : count;
    Two<C> sums = {0, 0};
    for (long long i = start + threadIdx.x; i < stop; i += BLOCK) sums = PlusTwo().join(sums, picked.at(i));
    sums = join_group<BLOCK, false>(PlusTwo(), sums);
    if (threadIdx.x == 0) losses[blockIdx.x] = sums.first, weights[blockIdx.x] = sums.second;
}

template <class C, class T>
inline void nll_finish(T* out, C* total, const C* losses, const C* weights, long long parts, bool is_mean) {
    Two<C> sums = {0, 0};
    for (long long i = threadIdx.x; i < parts; i += BLOCK) sums = PlusTwo().join(sums, Two<C>{losses[i], weights[i]});
    sums = join_group<BLOCK, false>(PlusTwo(), sums);
    if (threadIdx.x == 0) *out = store<T>(is_mean ? sums.first / sums.second : sums.first), *total = sums.second;
}

// grad has one value, or one per target; a null total is 1.
template <class C, class T>
inline void nll_backward(T* out, const T* grad, const C* total, const Picked<C, T>& picked, long long count, bool is_single) {
    const long long numel = count * picked.classes;
    for (long long at = blockIdx.x * (long long)BLOCK + threadIdx.x; at < numel; at += (long long)gridDim.x * BLOCK) {
        long long inside, class_index;
        const long long n = divide(divide(at, picked.inner, inside), picked.classes, class_index);
        const long long i = n * picked.inner + inside, chosen = picked.target[i];
        C slope = 0;
        if (chosen == class_index && chosen != picked.ignored)
            slope = -picked.weight_of(chosen) * load<C>(grad[is_single ? 0 : i]) / (total ? *total : C(1));
        out[at] = store<T>(slope);
    }
}
