// The steps of an LSTM layer: gates and states forward, the slopes of the gates backward.
//
//  - `product` of the plain kernels is the recurrent product of a step, computed by a library.
//  - The fused kernels compute it, for few sequences.  Eight lanes of a warp share a sum over the columns of the
//    weights, the four groups of lanes take every fourth sequence, and the warps of a block share the columns.  So each
//    weight is read once by a warp, for all its sequences.
//  - A block computes some hidden units of up to MOST sequences.  The grid's second dimension counts such groups.
//  - No result depends on the order of blocks or warps.

#define COLUMN_LANES 8
#define GROUPS (32 / COLUMN_LANES)
#define MOST 32  // most sequences of a block
#define ALL_LANES 0xffffffffu

template <class C> inline C logistic(C x) { return C(1) / (C(1) + exp(-x)); }

// The results of unit `unit` of sequence `row`, from the sums of its four gates.
template <class T, class C>
inline void finish_gates(T* gates, T* results, T* cells, const C (&sums)[4], C before, long long row, long long unit,
                         long long hidden) {
    const long long first = row * 4 * hidden + unit, at = row * hidden + unit;
    const C enter = logistic(sums[0]), keep = logistic(sums[1]), fresh = tanh(sums[2]), leave = logistic(sums[3]);
    const C cell = keep * before + enter * fresh;
    gates[first] = store<T>(enter);
    gates[first + hidden] = store<T>(keep);
    gates[first + 2 * hidden] = store<T>(fresh);
    gates[first + 3 * hidden] = store<T>(leave);
    cells[at] = store<T>(cell);
    results[at] = store<T>(leave * tanh(cell));
}

// The gradients of the four gates' sums, and of the cell before, from the gradient of the result.
template <class C, class T>
inline void finish_slopes(T* flow, T* cell_grad, C of_result, const T* gates, const T* cells, const T* before,
                          long long row, long long unit, long long hidden) {
    const long long first = row * 4 * hidden + unit, at = row * hidden + unit;
    const C enter = load<C>(gates[first]), keep = load<C>(gates[first + hidden]);
    const C fresh = load<C>(gates[first + 2 * hidden]), leave = load<C>(gates[first + 3 * hidden]);
    const C bent = tanh(load<C>(cells[at]));
    const C of_cell = load<C>(cell_grad[at]) + of_result * leave * (C(1) - bent * bent);
    flow[first] = store<T>(of_cell * fresh * enter * (C(1) - enter));
    flow[first + hidden] = store<T>(of_cell * load<C>(before[at]) * keep * (C(1) - keep));
    flow[first + 2 * hidden] = store<T>(of_cell * enter * (C(1) - fresh * fresh));
    flow[first + 3 * hidden] = store<T>(of_result * bent * leave * (C(1) - leave));
    cell_grad[at] = store<T>(of_cell * keep);
}

template <class C, class T>
inline void lstm_gates(T* gates, T* results, T* cells, const T* before, const T* projected, const T* product,
                       long long count, long long hidden) {
    const long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (at >= count * hidden) return;
    const long long row = at / hidden, unit = at % hidden;
    C sums[4];
    for (int gate = 0; gate < 4; ++gate) {
        const long long place = (row * 4 + gate) * hidden + unit;
        sums[gate] = load<C>(projected[place]) + load<C>(product[place]);
    }
    finish_gates(gates, results, cells, sums, load<C>(before[at]), row, unit, hidden);
}

template <class C, class T>
inline void lstm_slopes(T* flow, T* cell_grad, const T* hidden_grad, const T* grad, const T* gates, const T* cells,
                        const T* before, long long count, long long hidden) {
    const long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (at >= count * hidden) return;
    const C of_result = load<C>(grad[at]) + load<C>(hidden_grad[at]);
    finish_slopes(flow, cell_grad, of_result, gates, cells, before, at / hidden, at % hidden, hidden);
}

// V neighbouring elements, in one access of memory.
template <class T, int V> struct __align__(sizeof(T) * V) Vector { T at[V]; };

// sums[r * B + b] += row r of the weights times row group + b * GROUPS of x, over the columns of this lane and part.
// Rows of x from `rows` on are replaced by the last one.  columns: a multiple of V.
template <int R, int B, int V, class T>
inline void multiply_rows(T (&sums)[R * B], const T* weights, long long weight_step, const T* x, int rows,
                          long long columns, int part, int parts) {
    const int lane = threadIdx.x % COLUMN_LANES, group = threadIdx.x % 32 / COLUMN_LANES;
    int own[B];
#pragma unroll
    for (int b = 0; b < B; ++b) {
        const int row = group + b * GROUPS;
        own[b] = (row < rows ? row : rows - 1) * (int)columns;
    }
#pragma unroll (R * B > 30 ? 1 : 2)
    for (long long k = (part * COLUMN_LANES + lane) * V; k < columns; k += parts * COLUMN_LANES * V) {
        Vector<T, V> weight[R], value[B];
#pragma unroll
        for (int r = 0; r < R; ++r) weight[r] = *(const Vector<T, V>*)(weights + r * weight_step + k);
#pragma unroll
        for (int b = 0; b < B; ++b) value[b] = *(const Vector<T, V>*)(x + own[b] + k);
#pragma unroll
        for (int r = 0; r < R; ++r)
#pragma unroll
            for (int b = 0; b < B; ++b)
#pragma unroll
                for (int i = 0; i < V; ++i) sums[r * B + b] += weight[r].at[i] * value[b].at[i];
    }
}

// Add up the sums of COLUMN_LANES lanes.  Lane i then has those from index i * N / COLUMN_LANES on, first in `sums`.
template <int LANES, class T, int N> inline void fold(T (&sums)[N]) {
    constexpr int HALF = N * LANES / COLUMN_LANES;
    const bool is_upper = threadIdx.x & LANES;
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
        const T given = is_upper ? sums[i] : sums[i + HALF], kept = is_upper ? sums[i + HALF] : sums[i];
        sums[i] = kept + __shfl_xor_sync(ALL_LANES, given, LANES);
    }
    if constexpr (LANES > 1) fold<LANES / 2>(sums);
}

// totals[r * MOST + row] = row r of the weights times row `row` of x, over the columns of a part, by one warp.
template <int R, int B, int V, class T>
inline void multiply_part(T* totals, const T* weights, long long weight_step, const T* x, int rows, long long columns,
                          int part, int parts) {
    constexpr int N = (R * B + COLUMN_LANES - 1) / COLUMN_LANES * COLUMN_LANES, OWN = N / COLUMN_LANES;
    T sums[R * B] = {}, folded[N] = {};
    multiply_rows<R, B, V>(sums, weights, weight_step, x, rows, columns, part, parts);
#pragma unroll
    for (int i = 0; i < R * B; ++i) folded[i] = sums[i];
    fold<COLUMN_LANES / 2>(folded);
    const int lane = threadIdx.x % COLUMN_LANES, group = threadIdx.x % 32 / COLUMN_LANES;
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        const int at = lane * OWN + i;
        if (at < R * B) totals[at / B * MOST + group + at % B * GROUPS] = folded[i];
    }
}

// lstm_gates with its product: a block computes `units` hidden units, with `parts` warps for each.
template <int WARPS, int B, int V, class T>
inline void lstm_step(T* gates, T* results, T* cells, const T* hidden_before, const T* before, const T* projected,
                      const T* weight, long long count, long long hidden, int units) {
    __shared__ T totals[WARPS][4 * MOST];
    const int warp = threadIdx.x / 32, parts = blockDim.x / 32 / units;
    const long long first_unit = blockIdx.x * (long long)units, first = blockIdx.y * (long long)MOST;
    const int rows = (int)(count - first < MOST ? count - first : MOST);
    const long long own = first_unit + warp / parts;
    if (own < hidden)
        multiply_part<4, B, V>(totals[warp], weight + own * hidden, hidden * hidden, hidden_before + first * hidden, rows,
                               hidden, warp % parts, parts);
    __syncthreads();
    for (int at = threadIdx.x; at < units * rows; at += blockDim.x) {
        const int row = at / units;
        const long long unit = first_unit + at % units;
        if (unit >= hidden) continue;
        T sums[4];
        for (int gate = 0; gate < 4; ++gate) {
            sums[gate] = projected[((first + row) * 4 + gate) * hidden + unit];
            for (int part = 0; part < parts; ++part) sums[gate] += totals[at % units * parts + part][gate * MOST + row];
        }
        finish_gates(gates, results, cells, sums, before[(first + row) * hidden + unit], first + row, unit, hidden);
    }
}

// lstm_slopes with the product that gives the gradient of the results: a block computes R hidden units, all its warps
// share their columns.  turned: weights as [hidden, 4 * hidden].  flow_after: the slopes of the following step.
template <int WARPS, int R, int B, int V, class T>
inline void lstm_step_slopes(T* flow, T* cell_grad, const T* flow_after, const T* turned, const T* grad, const T* gates,
                             const T* cells, const T* before, long long count, long long hidden) {
    __shared__ T totals[WARPS][R * MOST];
    const long long first_unit = blockIdx.x * (long long)R, first = blockIdx.y * (long long)MOST, width = 4 * hidden;
    const int rows = (int)(count - first < MOST ? count - first : MOST);
    // a last block that would pass the end computes the last R units, some of them twice
    const long long own = first_unit + R <= hidden ? first_unit : hidden - R;
    multiply_part<R, B, V>(totals[threadIdx.x / 32], turned + own * width, width, flow_after + first * width, rows, width,
                           threadIdx.x / 32, WARPS);
    __syncthreads();
    for (int at = threadIdx.x; at < R * rows; at += blockDim.x) {
        const int row = at / R, r = at % R;
        if (own + r < first_unit) continue;
        const long long place = (first + row) * hidden + own + r;
        T of_result = grad[place];
        for (int part = 0; part < WARPS; ++part) of_result += totals[part][r * MOST + row];
        finish_slopes(flow, cell_grad, of_result, gates, cells, before, first + row, own + r, hidden);
    }
}
