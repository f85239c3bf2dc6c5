// out = a b (+ bias): 256 threads make one TILE x TILE square of out, four elements each.
//
// Every operand has any strides.  Squares are numbered along x, batches along z, and z wraps where a grid ends.
// ACC is what sums are kept in: float, double, or unsigned long long, whose low bits are every integer type's sum.

#define TILE 32
#define ROWS_PER_THREAD 4
#define ROW_STEP (TILE / ROWS_PER_THREAD)

template <class T, class ACC>
inline ACC fetch(const T* data, const Layout<1>& layout, long long batch, long long row, long long col) {
    if (row >= layout.size[1] || col >= layout.size[2]) return ACC(0);
    const long long* stride = layout.stride[0];
    return load<ACC>(data[batch * stride[0] + row * stride[1] + col * stride[2]]);
}

template <class T, class ACC>
inline void gemm(T* out, const T* a, const T* b, const T* bias, const Layout<1>& out_layout,
                 const Layout<1>& a_layout, const Layout<1>& b_layout) {
    __shared__ ACC a_tile[TILE][TILE + 1];
    __shared__ ACC b_tile[TILE][TILE + 1];
    long long squares_across = (out_layout.size[2] + TILE - 1) / TILE;
    long long first_row = blockIdx.x / squares_across * TILE, first_col = blockIdx.x % squares_across * TILE;
    int col = threadIdx.x % TILE, row = threadIdx.x / TILE;

    for (long long batch = blockIdx.z; batch < out_layout.size[0]; batch += gridDim.z) {
        ACC sum[ROWS_PER_THREAD] = {};
        for (long long start = 0; start < a_layout.size[2]; start += TILE) {
            for (int step = 0; step < TILE; step += ROW_STEP) {
                a_tile[row + step][col] = fetch<T, ACC>(a, a_layout, batch, first_row + row + step, start + col);
                b_tile[row + step][col] = fetch<T, ACC>(b, b_layout, batch, start + row + step, first_col + col);
            }
            __syncthreads();
            for (int k = 0; k < TILE; ++k)
                for (int i = 0; i < ROWS_PER_THREAD; ++i) sum[i] += a_tile[row + i * ROW_STEP][k] * b_tile[k][col];
            __syncthreads();
        }
        long long at_col = first_col + col;
        for (int i = 0; i < ROWS_PER_THREAD; ++i) {
            long long at_row = first_row + row + i * ROW_STEP;
            if (at_row >= out_layout.size[1] || at_col >= out_layout.size[2]) continue;
            ACC total = bias ? sum[i] + load<ACC>(bias[at_col]) : sum[i];
            const long long* stride = out_layout.stride[0];
            out[batch * stride[0] + at_row * stride[1] + at_col * stride[2]] = store<T>(total);
        }
    }
}
