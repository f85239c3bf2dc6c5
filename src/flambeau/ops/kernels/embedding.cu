// Rows of a table by index.
//
//  - An index outside the table stops the kernel: every later call on the device reports a device-side assert.
//  - The gradient of a table row is the sum of what was read from it, in the order of the indexes: a block owns some
//    table rows, passes over all indexes once, tile by tile, and adds what concerns its rows; a thread owns a column.

#define THREADS 256
#define WARP_THREADS 32

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

// C is what sums are kept in, and the type of out.  Index `skipped` gets no gradient.
template <class C, class T, class I>
inline void sum_rows(C* out, const T* grad, const I* indexes, long long count, long long rows, long long width,
                     long long skipped, long long rows_per_block) {
    __shared__ int of_warps[THREADS / WARP_THREADS];
    __shared__ long long found[THREADS];
    const int lane = threadIdx.x % WARP_THREADS, warp = threadIdx.x / WARP_THREADS;
    const long long column = blockIdx.y * (long long)THREADS + threadIdx.x;
    const long long first = blockIdx.x * rows_per_block;
    const long long stop = first + rows_per_block < rows ? first + rows_per_block : rows;
    if (column < width)
        for (long long row = first; row < stop; ++row) out[row * width + column] = C(0);
    for (long long start = 0; start < count; start += THREADS) {
        const long long i = start + threadIdx.x;
        const long long row = i < count ? (long long)indexes[i] : -1;
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
        if (mine) found[place] = i;
        __syncthreads();
        if (column < width)
            for (int each = 0; each < total; ++each)
                out[(long long)indexes[found[each]] * width + column] += load<C>(grad[found[each] * width + column]);
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
