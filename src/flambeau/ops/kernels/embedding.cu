// Rows of a table by index.
//
//  - An index outside the table stops the kernel: every later call on the device fails with a device-side assert.
//  - The gradient of a table row is the sum of the gradients of its uses, in the order of indexes: a block owns some
//    table rows, passes over all indexes once, tile by tile, and adds gradients of its rows; a thread owns a column.
//    Indexes of the next tile, and gradients of the next uses, are read ahead of the additions.

#define THREADS 256
#define WARP_THREADS 32
#define USES_AHEAD 4

template <class I> struct Named {
    const I* indexes;
    long long rows, width;
    bool find(long long i, long long& from, long long& to) const {
        const long long row = indexes[i];
        device_assert(row >= 0 && row < rows);
        from = row * width;
        to = i * width;
        return true;
    }
};

// C is the type of sums and of out.  Index `skipped` gets no gradient.
template <class C, class T, class I>
inline void sum_rows(C* out, const T* grad, const I* indexes, long long count, long long rows, long long width,
                     long long skipped, long long rows_per_block) {
    __shared__ int of_warps[THREADS / WARP_THREADS];
    __shared__ long long found[THREADS], found_row[THREADS];
    const int lane = threadIdx.x % WARP_THREADS, warp = threadIdx.x / WARP_THREADS;
    const long long column = blockIdx.y * (long long)THREADS + threadIdx.x;
    const long long first = blockIdx.x * rows_per_block;
    const long long stop = first + rows_per_block < rows ? first + rows_per_block : rows;
    const auto row_of = [&](long long i) { return i < count ? (long long)indexes[i] : -1; };
    long long next = row_of(threadIdx.x);
    if (column < width) {
        C* at = out + first * width + column;
        for (long long row = first; row < stop; ++row, at += width) *at = C(0);
    }
    for (long long start = 0; start < count; start += THREADS) {
        const long long i = start + threadIdx.x, row = next;
        next = row_of(i + THREADS);
        const bool mine = row >= first && row < stop && row != skipped;
        const unsigned int votes = __ballot_sync(0xffffffffu, mine);
        __syncthreads();
        if (lane == 0) of_warps[warp] = __popc(votes);
        __syncthreads();
        int place = __popc(votes & ((1u << lane) - 1)), total = 0;
        for (int each = 0; each < THREADS / WARP_THREADS; ++each) {
            if (each < warp) place += of_warps[each];
            total += of_warps[each];
        }
        if (mine) found[place] = i, found_row[place] = row;
        __syncthreads();
        for (int use = 0; column < width && use < total; use += USES_AHEAD) {
            C slopes[USES_AHEAD];
#pragma unroll
            for (int u = 0; u < USES_AHEAD; ++u)
                if (use + u < total) slopes[u] = load<C>(grad[found[use + u] * width + column]);
#pragma unroll
            for (int u = 0; u < USES_AHEAD; ++u)
                if (use + u < total) out[found_row[use + u] * width + column] += slopes[u];
        }
    }
}

// out[i, c] = (c == indexes[i])
inline void one_hot(long long* out, const long long* indexes, long long count, long long classes) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count * classes;
         i += (long long)gridDim.x * blockDim.x) {
        const long long at = i / classes, index = indexes[at];
        device_assert(index >= 0 && index < classes);
        out[i] = i - at * classes == index;
    }
}
