// Reading and writing where an index tensor says.
//
//  - "Rows": an array is seen as [outer, size, inner]; an index of `count` entries selects along `size`.
//  - An index outside [lowest, size) stops the kernel; a negative one that is allowed counts from the end.
//  - Writes to one place are never raced: `winner` names the entry that writes, or sorted entries are added up in order.

inline long long checked(long long index, long long lowest, long long size) {
    if (index < lowest || index >= size) __trap();
    return index < 0 ? index + size : index;
}

// Sixteen bytes of any elements: what a thread moves at once where rows allow it.
struct __align__(16) Wide { unsigned long long low, high; };

inline long long first_index() { return blockIdx.x * (long long)blockDim.x + threadIdx.x; }
inline long long index_step() { return (long long)gridDim.x * blockDim.x; }

template <class T>
inline void select_rows(T* out, const long long* index, const T* input, const Layout<1>& layout, long long outer,
                        long long size, long long inner, long long count, long long lowest) {
    const long long numel = outer * count * inner;
    for (long long i = first_index(); i < numel; i += index_step()) {
        long long column, entry;
        const long long rest = divide(i, inner, column);
        const long long block = divide(rest, count, entry);
        const long long row = checked(index[entry], lowest, size);
        out[i] = input[offset(layout, 0, (block * size + row) * inner + column)];
    }
}

// winner[row] becomes the last entry that writes the row.  The two steps are two launches.
inline void clear_winners(long long* winner, const long long* index, long long size, long long count, long long lowest) {
    for (long long i = first_index(); i < count; i += index_step()) winner[checked(index[i], lowest, size)] = -1;
}

inline void find_winners(long long* winner, const long long* index, long long size, long long count, long long lowest) {
    for (long long i = first_index(); i < count; i += index_step())
        atomicMax(&winner[checked(index[i], lowest, size)], i);
}

template <class T>
inline void write_rows(T* out, const long long* index, const T* source, const long long* winner, const Layout<1>& layout,
                       long long outer, long long size, long long inner, long long count, long long lowest) {
    const long long numel = outer * count * inner;
    for (long long i = first_index(); i < numel; i += index_step()) {
        long long column, entry;
        const long long rest = divide(i, inner, column);
        const long long block = divide(rest, count, entry);
        const long long row = checked(index[entry], lowest, size);
        if (winner == nullptr || winner[row] == entry)
            out[(block * size + row) * inner + column] = source[offset(layout, 0, i)];
    }
}

// `rows` is sorted, `entries` says which entry each was; the thread of a row's first entry adds up the row.
template <class T, class C>
inline void accumulate_rows(T* out, const long long* rows, const long long* entries, const T* source,
                            const Layout<1>& layout, long long outer, long long size, long long inner, long long count,
                            C scale) {
    const long long numel = outer * count * inner;
    for (long long i = first_index(); i < numel; i += index_step()) {
        long long column, place;
        const long long rest = divide(i, inner, column);
        const long long block = divide(rest, count, place);
        const long long row = checked(rows[place], 0, size);
        if (place > 0 && rows[place - 1] == row) continue;
        T* target = out + (block * size + row) * inner + column;
        C sum = load<C>(*target);
        for (; place < count && rows[place] == row; ++place)
            sum += scale * load<C>(source[offset(layout, 0, (block * count + entries[place]) * inner + column)]);
        *target = store<T>(sum);
    }
}

inline void wrap_index(long long* out, const long long* index, long long size, long long count, long long lowest) {
    for (long long i = first_index(); i < count; i += index_step()) out[i] = checked(index[i], lowest, size);
}

// Where element i of `walk` lies in an operand of other strides, with its index along `dim` replaced.
inline long long replaced(const Layout<1>& walk, const Layout<1>& operand, long long i, long long dim, long long index) {
    long long at = 0;
    for (int d = (int)walk.ndim - 1; d >= 0; --d) {
        long long place;
        i = divide(i, walk.size[d], place);
        at += (d == dim ? index : place) * operand.stride[0][d];
    }
    return at;
}

template <class T>
inline void gather_elements(T* out, const long long* index, const T* input, const Layout<1>& walk, const Layout<1>& layout,
                            long long numel, long long dim) {
    for (long long i = first_index(); i < numel; i += index_step()) {
        const long long place = checked(index[offset(walk, 0, i)], 0, layout.size[dim]);
        out[i] = input[replaced(walk, layout, i, dim, place)];
    }
}

// start + the sum of place * stride over the dimensions; an index, where there is one, stands for the place along `dim`.
inline void targets(long long* out, const long long* index, const Layout<1>& layout, long long numel, long long dim,
                    long long limit, long long start) {
    for (long long i = first_index(); i < numel; i += index_step()) {
        const long long place = index == nullptr ? 0 : checked(index[i], 0, limit);
        out[i] = start + replaced(layout, layout, i, index == nullptr ? -1 : dim, place);
    }
}

// ---- nonzero: count per chunk, sum up the counts, write the places ----

inline void count_chunks(long long* counts, const bool* mask, long long numel, int chunk) {
    const long long start = blockIdx.x * (long long)chunk;
    long long total = 0;
    for (int round = 0; round < chunk; round += blockDim.x) {
        const long long i = start + round + threadIdx.x;
        total += __syncthreads_count(i < numel && mask[i]);
    }
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// How many threads of the block before this one have `mine`, and in `total` how many have it at all.
inline long long rank_in_block(bool mine, int& total) {
    __shared__ int warps[32];
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned int votes = __ballot_sync(0xffffffffu, mine);
    if (lane == 0) warps[warp] = __popc(votes);
    __syncthreads();
    int before = 0;
    total = 0;
    for (unsigned int w = 0; w < (blockDim.x >> 5); ++w) {
        before += w < warp ? warps[w] : 0;
        total += warps[w];
    }
    __syncthreads();
    return before + __popc(votes & ((1u << lane) - 1));
}

// starts[i] is the sum of counts before i; starts[chunks] the sum of all.  One block.
inline void sum_counts(long long* starts, const long long* counts, long long chunks) {
    __shared__ long long partial[1024];
    long long carry = 0;
    for (long long base = 0; base < chunks; base += blockDim.x) {
        const long long i = base + threadIdx.x;
        const long long own = i < chunks ? counts[i] : 0;
        partial[threadIdx.x] = own;
        __syncthreads();
        for (unsigned int reach = 1; reach < blockDim.x; reach *= 2) {
            const long long left = threadIdx.x >= reach ? partial[threadIdx.x - reach] : 0;
            __syncthreads();
            partial[threadIdx.x] += left;
            __syncthreads();
        }
        if (i < chunks) starts[i] = carry + partial[threadIdx.x] - own;
        carry += partial[blockDim.x - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0) starts[chunks] = carry;
}

inline void write_places(long long* out, const long long* starts, const bool* mask, const Layout<1>& layout,
                         long long numel, int chunk) {
    long long next = starts[blockIdx.x];
    for (int round = 0; round < chunk; round += blockDim.x) {
        long long i = blockIdx.x * (long long)chunk + round + threadIdx.x;
        const bool mine = i < numel && mask[i];
        int total;
        const long long row = next + rank_in_block(mine, total);
        next += total;
        if (!mine) continue;
        for (int d = (int)layout.ndim - 1; d >= 0; --d) {
            long long place;
            i = divide(i, layout.size[d], place);
            out[row * layout.ndim + d] = place;
        }
    }
}
