// Selections from few elements, whose number the device counts.  Each is a launch of one block.
//
//  - Elements keep their order.  `count` gets their number; the rest of a result is not written.
//  - rank_in_block (indexing.cu) has barriers, so every thread runs every iteration of a loop that calls it.

// The indexes of the elements that are not 0.  places: [elements, dimensions], absent without dimensions.
template <class C, class T>
inline void few_places(long long* places, long long* count, const T* input, const Layout<1>& layout, long long numel) {
    long long next = 0;
    for (long long base = 0; base < numel; base += blockDim.x) {
        const long long i = base + threadIdx.x;
        const bool mine = i < numel && load<C>(input[offset(layout, 0, i)]) != C(0);
        int total;
        const long long row = next + rank_in_block(mine, total);
        next += total;
        long long rest = i;
        for (int d = (int)layout.ndim - 1; mine && d >= 0; --d) {
            long long place;
            rest = divide(rest, layout.size[d], place);
            places[row * layout.ndim + d] = place;
        }
    }
    if (threadIdx.x == 0) *count = next;
}

// The elements of operand 0 of the layout where operand 1, the mask, is true.
template <class M>
inline void few_chosen(M* values, long long* count, const M* input, const bool* mask, const Layout<2>& layout,
                       long long numel) {
    long long next = 0;
    for (long long base = 0; base < numel; base += blockDim.x) {
        const long long i = base + threadIdx.x;
        const bool mine = i < numel && mask[offset(layout, 1, i)];
        int total;
        const long long place = next + rank_in_block(mine, total);
        next += total;
        if (mine) values[place] = input[offset(layout, 0, i)];
    }
    if (threadIdx.x == 0) *count = next;
}

// The next of `available` elements of the source where the mask, operand 1 of the layout, is true; else operand 0.
template <class M>
inline void few_replaced(M* out, const M* input, const bool* mask, const M* source, const Layout<2>& layout,
                         long long numel, long long available) {
    long long next = 0;
    for (long long base = 0; base < numel; base += blockDim.x) {
        const long long i = base + threadIdx.x;
        const bool mine = i < numel && mask[offset(layout, 1, i)];
        int total;
        const long long place = next + rank_in_block(mine, total);
        next += total;
        if (mine) device_assert(place < available);
        if (i < numel) out[i] = mine ? source[place] : input[offset(layout, 0, i)];
    }
}

// Count the occurrences of 0 to BINS - 1.  ends: the least and the greatest element.
template <int BINS, class T>
inline void few_bins(long long* counts, long long* ends, const T* input, const Layout<1>& layout, long long numel) {
    __shared__ int own[BINS];
    __shared__ long long least[32], greatest[32];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    long long low = highest<long long>(), high = lowest<long long>();
    for (long long i = threadIdx.x; i < numel; i += blockDim.x) {
        const long long value = load<long long>(input[offset(layout, 0, i)]);
        low = value < low ? value : low;
        high = value > high ? value : high;
        if (value >= 0 && value < BINS) atomicAdd(&own[value], 1);
    }
    for (int reach = 16; reach > 0; reach /= 2) {
        const long long other_low = __shfl_xor_sync(0xffffffffu, low, reach), other_high = __shfl_xor_sync(0xffffffffu, high, reach);
        low = other_low < low ? other_low : low;
        high = other_high > high ? other_high : high;
    }
    if ((threadIdx.x & 31) == 0) least[threadIdx.x >> 5] = low, greatest[threadIdx.x >> 5] = high;
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) counts[bin] = own[bin];
    if (threadIdx.x > 0) return;
    for (unsigned int warp = 1; warp < (blockDim.x >> 5); ++warp) {
        low = least[warp] < low ? least[warp] : low;
        high = greatest[warp] > high ? greatest[warp] : high;
    }
    ends[0] = low, ends[1] = high;
}

// The first elements of runs of equal ones, of at most TILE elements, which are sorted first if SORTS.
//  inverse: the number of each element's run.  counts: the lengths of runs.  Both may be absent.
template <bool SORTS, class T, class C>
inline void few_runs(T* values, long long* inverse, long long* counts, long long* count, const T* input, int n) {
    __shared__ T key[TILE];
    __shared__ int place[TILE], start[TILE];
    for (int i = threadIdx.x, size = sorted_size(n); i < size; i += blockDim.x) {
        place[i] = i;
        if (i < n) key[i] = input[i];
    }
    if (SORTS) sort_held<T, C, false>(key, place, n);
    __syncthreads();
    int runs = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        const int i = base + threadIdx.x;
        const bool begins = i < n && (i == 0 || load<C>(key[i]) != load<C>(key[i - 1]));
        int total;
        const int run = runs + (int)rank_in_block(begins, total) + (begins ? 0 : -1);
        runs += total;
        if (i < n && inverse) inverse[place[i]] = run;
        if (begins) values[run] = key[i], start[run] = i;
    }
    __syncthreads();
    for (int run = threadIdx.x; counts && run < runs; run += blockDim.x)
        counts[run] = (run + 1 < runs ? start[run + 1] : n) - start[run];
    if (threadIdx.x == 0) *count = runs;
}
