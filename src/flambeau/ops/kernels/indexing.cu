// Reads and writes of elements and rows that an index tensor names.
//
//  - "Rows": an array is seen as [outer, size, inner]; an index of `count` entries selects along `size`.
//  - An index outside [lowest, size) stops the kernel; a negative one that is allowed counts from the end.
//  - Writes to one place never race: `winner` names the entry that writes, or sorted entries are added up in order.

inline long long checked(long long index, long long lowest, long long size) {
    device_assert(index >= lowest && index < size);
    return index < 0 ? index + size : index;
}

// An array seen as rows of `count` entries in each of `outer` blocks, and the row of [outer, size] that an entry names.
struct Entries {
    const long long* index;
    long long size, count, lowest;
    long long row_of(long long i, long long& block, long long& entry) const {
        block = 0, entry = i;
        if (i >= count) block = divide(i, count, entry);
        return checked(index[entry], lowest, size);
    }
};

// The distances of blocks and rows on the strided side, in units.
struct Steps { long long block, row; };

struct Selected {
    Entries entries;
    Steps steps;
    long long width;
    bool find(long long i, long long& from, long long& to) const {
        long long block, entry;
        const long long row = entries.row_of(i, block, entry);
        from = block * steps.block + row * steps.row;
        to = i * width;
        return true;
    }
};

// width: units M of a row if the input's rows are dense, else 0: they are moved element by element.
template <class M>
inline void select_rows(M* out, const M* input, const Layout<1>& layout, const Entries& entries, const Steps& steps,
                        long long outer, long long inner, long long width, long long lanes) {
    const long long rows = outer * entries.count;
    if (width) return move_rows(out, input, rows, width, (int)lanes, Selected{entries, steps, width});
    for (long long i = first_index(); i < rows * inner; i += index_step()) {
        long long column, block, entry;
        const long long row = entries.row_of(divide(i, inner, column), block, entry);
        out[i] = input[offset(layout, 0, (block * entries.size + row) * inner + column)];
    }
}

// winner[row] becomes the last entry that writes the row: two launches, of clear_winners and of find_winners.
inline void clear_winners(long long* winner, const long long* index, long long size, long long count, long long lowest) {
    for (long long i = first_index(); i < count; i += index_step()) winner[checked(index[i], lowest, size)] = -1;
}

inline void find_winners(long long* winner, const long long* index, long long size, long long count, long long lowest) {
    for (long long i = first_index(); i < count; i += index_step())
        atomicMax(&winner[checked(index[i], lowest, size)], i);
}

struct Written {
    Entries entries;
    Steps steps;
    const long long* winner;
    long long width;
    bool find(long long i, long long& from, long long& to) const {
        long long block, entry;
        const long long row = entries.row_of(i, block, entry);
        from = block * steps.block + entry * steps.row;
        to = (block * entries.size + row) * width;
        return winner == nullptr || winner[row] == entry;
    }
};

// The inverse of select_rows.  Of several entries of a row, `winner`, unless it is null, names the one that is written.
template <class M>
inline void write_rows(M* out, const M* source, const long long* winner, const Layout<1>& layout, const Entries& entries,
                       const Steps& steps, long long outer, long long inner, long long width, long long lanes) {
    const long long rows = outer * entries.count;
    if (width) return move_rows(out, source, rows, width, (int)lanes, Written{entries, steps, winner, width});
    for (long long i = first_index(); i < rows * inner; i += index_step()) {
        long long column, block, entry;
        const long long row = entries.row_of(divide(i, inner, column), block, entry);
        if (winner == nullptr || winner[row] == entry)
            out[(block * entries.size + row) * inner + column] = source[offset(layout, 0, i)];
    }
}

// Joins of the entries of one row: begin() joined to any value is that value.
struct Sum { template <class C> static C begin() { return C(0); } template <class C> static C join(C a, C b) { return a + b; } };
struct Product { template <class C> static C begin() { return C(1); } template <class C> static C join(C a, C b) { return a * b; } };
struct Largest {
    template <class C> static C begin() { return lowest<C>(); }
    template <class C> static C join(C a, C b) { return a > b || a != a ? a : b; }
};
struct Smallest {
    template <class C> static C begin() { return highest<C>(); }
    template <class C> static C join(C a, C b) { return a < b || a != a ? a : b; }
};

inline float mean_of(float sum, long long count) { return sum / (float)count; }
inline double mean_of(double sum, long long count) { return sum / (double)count; }
template <class C> inline C mean_of(C sum, long long count) {  // rounded down
    const long long whole = (long long)sum, quotient = whole / count;
    return (C)(whole % count < 0 ? quotient - 1 : quotient);
}

// `rows` is sorted, `entries` names the entry of each; the thread of a row's first entry joins the row.
//  includes: whether the former value is joined too.  mean: whether the result is divided by the number of values.
template <class Op, class T, class C>
inline void join_entries(T* out, const long long* rows, const long long* entries, const T* source, const Layout<1>& layout,
                         long long outer, long long size, long long inner, long long count, C scale, bool includes,
                         bool mean) {
    const long long numel = outer * count * inner;
    for (long long i = first_index(); i < numel; i += index_step()) {
        long long column, place;
        const long long rest = divide(i, inner, column);
        const long long block = divide(rest, count, place);
        const long long row = checked(rows[place], 0, size);
        if (place > 0 && rows[place - 1] == row) continue;
        T* target = out + (block * size + row) * inner + column;
        C total = includes ? load<C>(*target) : Op::template begin<C>();
        long long joined = includes ? 1 : 0;
        for (; place < count && rows[place] == row; ++place, ++joined)
            total = Op::join(total, (C)(scale * load<C>(source[offset(layout, 0, (block * count + entries[place]) * inner + column)])));
        *target = store<T>(mean ? mean_of(total, joined) : total);
    }
}

// ---- few entries ----
//
// Entry i of `layout` (index, source) names an element along `axis` of a contiguous array with strides `steps`.  Entries
// name one element only if they are on one line along `axis`, so an entry looks through its line for others.

struct Line {
    const long long* index;
    long long step, length, size, lowest;
    long long row_of(long long entry) const { return checked(index[entry * step], lowest, size); }
    bool has(long long row, long long first, long long last) const {
        for (long long entry = first; entry < last; ++entry)
            if (row_of(entry) == row) return true;
        return false;
    }
};

// The position of entry i on its line, and the offsets of the line in the array, the index and the source.
inline long long place_on_line(long long i, const Layout<2>& layout, const long long* steps, int axis, long long* starts) {
    long long found = 0;
    starts[0] = starts[1] = starts[2] = 0;
    for (int d = (int)layout.ndim - 1; d >= 0; --d) {
        long long place;
        i = divide(i, layout.size[d], place);
        if (d == axis) {
            found = place;
            continue;
        }
        starts[0] += place * steps[d];
        starts[1] += place * layout.stride[0][d];
        starts[2] += place * layout.stride[1][d];
    }
    return found;
}

// The last entry of a line that names an element writes it.  Without a source, all write `value`.
template <class T>
inline void write_few(T* out, const long long* index, const T* source, const Layout<2>& layout, const long long* steps,
                      long long count, int axis, long long size, long long lowest, T value) {
    const long long length = layout.size[axis], along = layout.stride[1][axis];
    for (long long i = first_index(); i < count; i += index_step()) {
        long long starts[3];
        const long long entry = place_on_line(i, layout, steps, axis, starts);
        const Line line{index + starts[1], layout.stride[0][axis], length, size, lowest};
        const long long row = line.row_of(entry);
        if (source == nullptr) out[starts[0] + row * steps[axis]] = value;
        else if (!line.has(row, entry + 1, length)) out[starts[0] + row * steps[axis]] = source[starts[2] + entry * along];
    }
}

// The first entry of a line that names an element joins all that name it, in their order; see join_entries.
template <class Op, class T, class C>
inline void join_few(T* out, const long long* index, const T* source, const Layout<2>& layout, const long long* steps,
                     long long count, int axis, long long size, long long lowest, C scale, bool includes, bool mean) {
    const long long length = layout.size[axis], along = layout.stride[1][axis];
    for (long long i = first_index(); i < count; i += index_step()) {
        long long starts[3];
        const long long first = place_on_line(i, layout, steps, axis, starts);
        const Line line{index + starts[1], layout.stride[0][axis], length, size, lowest};
        const long long row = line.row_of(first);
        if (line.has(row, 0, first)) continue;
        T* target = out + starts[0] + row * steps[axis];
        C total = includes ? load<C>(*target) : Op::template begin<C>();
        long long joined = includes ? 1 : 0;
        for (long long entry = first; entry < length; ++entry) {
            if (line.row_of(entry) != row) continue;
            total = Op::join(total, (C)(scale * load<C>(source[starts[2] + entry * along])));
            ++joined;
        }
        *target = store<T>(mean ? mean_of(total, joined) : total);
    }
}

inline void wrap_index(long long* out, const long long* index, long long size, long long count, long long lowest) {
    for (long long i = first_index(); i < count; i += index_step()) out[i] = checked(index[i], lowest, size);
}

// The offset of element i of `walk` in an operand of other strides, with its index along `dim` replaced.
inline long long replaced(const Layout<1>& walk, const Layout<1>& operand, long long i, long long dim, long long index) {
    long long at = 0;
    for (int d = (int)walk.ndim - 1; d >= 0; --d) {
        long long place;
        i = divide(i, walk.size[d], place);
        at += (d == dim ? index : place) * operand.stride[0][d];
    }
    return at;
}

// Element i of the result is read at the position of i, with the i-th index in place of the position along `dim`.
template <class T>
inline void gather_elements(T* out, const long long* index, const T* input, const Layout<1>& walk, const Layout<1>& layout,
                            long long numel, int dim) {
    const long long size = layout.size[dim], along = layout.stride[0][dim], tile = AHEAD * blockDim.x;
    const int last = (int)walk.ndim - 1;
    const long long width = walk.size[last], step = walk.stride[0][last], far = dim == last ? 0 : layout.stride[0][last];
    for (long long i = blockIdx.x * tile + threadIdx.x; i < numel; i += gridDim.x * tile) {
        long long said[AHEAD], from[AHEAD], row = 0, column = 0, start = 0, base = 0;
        T held[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            column += blockDim.x;
            if (u == 0 || column >= width) {  // the first or another row of the last dimension
                row = divide(i + u * blockDim.x < numel ? i + u * blockDim.x : i, width, column);
                start = base = 0;
#pragma unroll 1
                for (int d = last - 1; d >= 0; --d) {
                    long long place = row;
                    if (d > 0) row = divide(row, walk.size[d], place);
                    start += place * walk.stride[0][d];
                    if (d != dim) base += place * layout.stride[0][d];
                }
            }
            from[u] = base + column * far;
            said[u] = i + u * blockDim.x < numel ? index[start + column * step] : 0;
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
            if (i + u * blockDim.x < numel) held[u] = input[from[u] + checked(said[u], 0, size) * along];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u)
            if (i + u * blockDim.x < numel) out[i + u * blockDim.x] = held[u];
    }
}

// start + the sum of place * stride over the dimensions; an index, unless it is null, replaces the place along `dim`.
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

// The number of threads before this one in the block whose `mine` is set; total: the number in the whole block.
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
