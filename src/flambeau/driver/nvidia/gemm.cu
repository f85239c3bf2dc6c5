// out = activation(a b (+ bias)), by blocks of 256 threads.
//
// Operands have any strides.  Squares of out are numbered along grid x.  ACC is the type of sums: float, double, or
// unsigned long long, whose low bits are the sum of every integer type.

#define TILE 32
#define ROWS_PER_THREAD 4
#define ROW_STEP (TILE / ROWS_PER_THREAD)
#define SMALL_TILE 16
#define SMALL_DEPTH 32

template <class T, class ACC>
inline ACC fetch(const T* data, const Layout<1>& layout, long long batch, long long row, long long col) {
    if (row >= layout.size[1] || col >= layout.size[2]) return ACC(0);
    const long long* stride = layout.stride[0];
    return load<ACC>(data[batch * stride[0] + row * stride[1] + col * stride[2]]);
}

// which: the index in problem.ACTIVATIONS.
inline unsigned long long activated(unsigned long long x, int) { return x; }
template <class ACC> inline ACC activated(ACC x, int which) {
    if (which == 1) return x < 0 ? ACC(0) : x;
    return which == 2 ? gelu_tanh_of(x) : x;
}

template <class T, class ACC>
inline void put(T* out, const T* bias, int activation, const Layout<1>& layout, long long batch, long long row,
                long long col, ACC sum) {
    if (row >= layout.size[1] || col >= layout.size[2]) return;
    const long long* stride = layout.stride[0];
    ACC total = bias ? sum + load<ACC>(bias[col]) : sum;
    out[batch * stride[0] + row * stride[1] + col * stride[2]] = store<T>(activated(total, activation));
}

// A block computes a TILE x TILE square, four elements a thread.  Batches are numbered along z; blocks loop over those
// beyond the grid.
template <class T, class ACC>
inline void gemm(T* out, const T* a, const T* b, const T* bias, int activation, const Layout<1>& out_layout,
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
        for (int i = 0; i < ROWS_PER_THREAD; ++i)
            put(out, bias, activation, out_layout, batch, first_row + row + i * ROW_STEP, first_col + col, sum[i]);
    }
}

// A block computes a SMALL_TILE x SMALL_TILE square, one element a thread, from at most SMALL_DEPTH terms, whose loads
// are all in flight at once.
template <class T, class ACC>
inline void small_gemm(T* out, const T* a, const T* b, const T* bias, int activation, const Layout<1>& out_layout,
                       const Layout<1>& a_layout, const Layout<1>& b_layout) {
    __shared__ ACC a_rows[SMALL_TILE][SMALL_DEPTH + 1];
    __shared__ ACC b_rows[SMALL_DEPTH][SMALL_TILE + 1];
    int squares_across = ((int)out_layout.size[2] + SMALL_TILE - 1) / SMALL_TILE, depth = a_layout.size[2];
    int first_row = blockIdx.x / squares_across * SMALL_TILE, first_col = blockIdx.x % squares_across * SMALL_TILE;
    int col = threadIdx.x % SMALL_TILE, row = threadIdx.x / SMALL_TILE;

    #pragma unroll
    for (int start = 0; start < SMALL_DEPTH; start += SMALL_TILE)
        if (start < depth) {
            a_rows[row][start + col] = fetch<T, ACC>(a, a_layout, 0, first_row + row, start + col);
            b_rows[start + row][col] = fetch<T, ACC>(b, b_layout, 0, start + row, first_col + col);
        }
    __syncthreads();
    ACC sum = 0;
    for (int start = 0; start < depth; start += SMALL_TILE)  // elements beyond the depth are 0
        #pragma unroll
        for (int k = 0; k < SMALL_TILE; ++k) sum += a_rows[row][start + k] * b_rows[start + k][col];
    put(out, bias, activation, out_layout, 0, first_row + row, first_col + col, sum);
}
