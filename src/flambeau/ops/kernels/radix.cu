// Radix sort of long rows, from the least significant digit, and radix select, from the most significant one.
//
//  - An element's bits are turned into an unsigned key whose order is the order of the elements: -0 equals 0, and every
//    NaN is the greatest key.  `flip` inverts keys for descending order.
//  - The sort counts the digits of all passes in one launch; then each pass is one launch, which reads an element once.
//    Elements of one digit keep their order, so the sort is stable.
//  - In a pass, tile i publishes its count of each digit, adds the counts of the tiles before it, back to one whose sum is
//    known, and publishes its own sum ("decoupled look-back", Merrill and Garland, 2016).  A block takes the next
//    tile from a counter, so the tiles that it waits for have started.
//  - A row has fewer than 2^30 elements: two bits of a published number tell counts from sums.
//  - Atomics add integers only, so results are the same in every run.
//  - A launch that reads what the one before has read takes the tiles backwards: the last ones are still in the cache.

constexpr int RADIX_THREADS = 256, RADIX_WARPS = RADIX_THREADS / 32, RADIX_ITEMS = 16;
constexpr int RADIX_TILE = RADIX_THREADS * RADIX_ITEMS, DIGITS = 256;
constexpr unsigned int ALL_LANES = 0xffffffffu;

template <int SIZE> struct Unsigned;
template <> struct Unsigned<1> { typedef unsigned char type; };
template <> struct Unsigned<2> { typedef unsigned short type; };
template <> struct Unsigned<4> { typedef unsigned int type; };
template <> struct Unsigned<8> { typedef unsigned long long type; };

enum Ordering { AS_UNSIGNED, AS_SIGNED, AS_FLOATING };

// KIND: how the bits are ordered.  INFINITE: the bits of infinity, for floating types.
template <class T, int KIND, unsigned long long INFINITE> struct Key {
    typedef typename Unsigned<sizeof(T)>::type Bits;
    Bits flip;
    Key(bool descending) : flip(descending ? (Bits)~(Bits)0 : (Bits)0) {}
    Bits of(T value) const {
        constexpr Bits SIGN = (Bits)((Bits)1 << (8 * sizeof(T) - 1));
        Bits bits;
        memcpy(&bits, &value, sizeof(T));
        if (KIND == AS_SIGNED) bits = (Bits)(bits ^ SIGN);
        if (KIND == AS_FLOATING) {
            const Bits size = (Bits)(bits & (Bits)~SIGN);
            if (size > (Bits)INFINITE) bits = (Bits)~(Bits)0;
            else if (size == 0) bits = SIGN;
            else bits = bits & SIGN ? (Bits)~bits : (Bits)(bits | SIGN);
        }
        return (Bits)(bits ^ flip);
    }
    int digit(T value, int shift) const { return (int)((unsigned long long)of(value) >> shift) & (DIGITS - 1); }
};

// The tile that step `at` of a loop over tiles takes.
inline long long tile_at(long long at, long long tiles, bool backwards) { return backwards ? tiles - 1 - at : at; }

inline unsigned int lanes_below() { return (1u << (threadIdx.x & 31)) - 1; }

// The sum of `mine` over the threads before this one; `total` becomes the sum over the block.
inline int sum_before(int mine, int& total) {
    __shared__ int of_warps[RADIX_WARPS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int sum = mine;
    for (int step = 1; step < 32; step *= 2) {
        const int left = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane >= step) sum += left;
    }
    __syncthreads();
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    int before = 0;
    total = 0;
    for (int w = 0; w < RADIX_WARPS; ++w) {
        if (w < warp) before += of_warps[w];
        total += of_warps[w];
    }
    return before + sum - mine;
}

// Count `digit` in a histogram of the block; all lanes of the warp must call it.  Equal digits are counted at once.
inline void count_digit(int* histogram, int digit, bool is_there) {
    const unsigned int there = __ballot_sync(ALL_LANES, is_there);
    if (there == 0) return;
    const int leader = __ffs(there) - 1, first = __shfl_sync(ALL_LANES, digit, leader);
    const unsigned int alike = __ballot_sync(ALL_LANES, is_there && digit == first);
    if ((int)(threadIdx.x & 31) == leader) atomicAdd(&histogram[first], __popc(alike));
    else if (is_there && digit != first) atomicAdd(&histogram[digit], 1);
}

// Count the digits of every pass.  totals: [passes, rows, DIGITS], zeros before.
template <class K, class T>
inline void count_digits(int* totals, const T* keys, long long rows, long long n, long long tiles, int passes, bool flip) {
    __shared__ int histogram[sizeof(T)][DIGITS];
    const K key(flip);
    const long long all = rows * tiles, stop = all * (blockIdx.x + 1) / gridDim.x;
    for (int p = 0; p < passes; ++p) histogram[p][threadIdx.x] = 0;
    __syncthreads();
    for (long long at = all * blockIdx.x / gridDim.x; at < stop; ++at) {
        long long tile;
        const long long row = divide(at, tiles, tile), start = tile * RADIX_TILE;
        const bool is_whole = start + RADIX_TILE <= n;
        T held[RADIX_ITEMS];
#pragma unroll
        for (int k = 0; k < RADIX_ITEMS; ++k) {
            const long long i = start + k * RADIX_THREADS + threadIdx.x;
            if (i < n) held[k] = keys[row * n + i];
        }
#pragma unroll
        for (int k = 0; k < RADIX_ITEMS; ++k) {
            const bool is_there = start + k * RADIX_THREADS + threadIdx.x < n;
            const unsigned long long bits = is_there ? key.of(held[k]) : 0;
#pragma unroll
            for (int p = 0; p < (int)sizeof(T); ++p) {
                if (p >= passes) break;
                const int digit = (int)(bits >> (8 * p)) & (DIGITS - 1);
                if (is_whole && __all_sync(ALL_LANES, digit == __shfl_sync(ALL_LANES, digit, 0))) {
                    if ((threadIdx.x & 31) == 0) atomicAdd(&histogram[p][digit], 32);
                } else if (is_there) atomicAdd(&histogram[p][digit], 1);
            }
        }
        if (at + 1 < stop && tile + 1 < tiles) continue;
        __syncthreads();  // the end of a row, or of this block's work
        for (int p = 0; p < passes; ++p) {
            const int count = histogram[p][threadIdx.x];
            if (count) atomicAdd(&totals[(p * rows + row) * DIGITS + threadIdx.x], count);
            histogram[p][threadIdx.x] = 0;
        }
        __syncthreads();
    }
}

// Turn each line of `counts`, [lines, tiles], into the sums of the counts before; totals: the sums of whole lines.
inline void sum_lines(int* counts, int* totals, long long lines, long long tiles) {
    for (long long line = blockIdx.x; line < lines; line += gridDim.x) {
        int* own = counts + line * tiles;
        int before = 0;
        for (long long base = 0; base < tiles; base += RADIX_THREADS * 4) {
            const long long first = base + threadIdx.x * 4;
            int count[4], mine = 0, total;
#pragma unroll
            for (int k = 0; k < 4; ++k) mine += count[k] = first + k < tiles ? own[first + k] : 0;
            int sum = before + sum_before(mine, total);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                if (first + k < tiles) own[first + k] = sum;
                sum += count[k];
            }
            before += total;
        }
        if (threadIdx.x == 0) totals[line] = before;
    }
}

enum Published : unsigned int { COUNT = 1u << 30, SUM = 2u << 30, NUMBER = COUNT - 1 };

// The sum of the counts of the tiles of this row before tile `at`.
inline unsigned int sum_of_tiles_before(const volatile unsigned int* published, long long at) {
    unsigned int sum = 0, found;
    do {
        --at;
        do found = published[at * DIGITS + threadIdx.x];
        while (!(found & ~NUMBER));
        sum += found & NUMBER;
    } while (!(found & SUM));
    return sum;
}

// Move the elements of each row into the order of one digit.
//  old_places: the place of each element in its row of the input; absent in the first pass.
//  places: the output places, or `indexes` in the last pass; both are absent if only keys are sorted.
//  totals: [rows, DIGITS].  published: [rows, tiles, DIGITS], zeros before, and next, a zero.
template <class K, class T, int TAKEN>
inline void sort_by_digit(T* out, int* places, long long* indexes, const T* keys, const int* old_places, const int* totals,
                          unsigned int* published, int* next, long long rows, long long n, long long tiles, int shift,
                          bool flip) {
    constexpr int TILE = RADIX_THREADS * TAKEN;
    __shared__ int ranks[RADIX_WARPS][DIGITS], starts[DIGITS], bases[DIGITS], moved_places[TILE], taken;
    __shared__ T moved[TILE];
    unsigned int (*lanes)[DIGITS] = reinterpret_cast<unsigned int (*)[DIGITS]>(moved_places);  // masks by digit
    const K key(flip);
    const bool has_places = places || indexes;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first = warp * (32 * TAKEN) + lane;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) taken = atomicAdd(next, 1);
        for (int w = 0; w < RADIX_WARPS; ++w) ranks[w][threadIdx.x] = lanes[w][threadIdx.x] = 0;
        __syncthreads();
        const long long at = taken;
        if (at >= rows * tiles) return;
        long long tile;
        const long long row = divide(at, tiles, tile), begin = row * n, start = begin + tile * TILE;
        const int held = (int)(n - tile * TILE < TILE ? n - tile * TILE : TILE), offset = (int)(tile * TILE);
        T mine[TAKEN];
        int rank[TAKEN];
#pragma unroll
        for (int k = 0; k < TAKEN; ++k)
            if (first + k * 32 < held) mine[k] = keys[start + first + k * 32];
        if (totals[row * DIGITS + key.digit(keys[begin], shift)] == n) {  // one digit: the row is in order
#pragma unroll
            for (int k = 0; k < TAKEN; ++k)
                if (first + k * 32 < held) rank[k] = old_places ? old_places[start + first + k * 32] : offset + first + k * 32;
#pragma unroll
            for (int k = 0; k < TAKEN; ++k) {
                if (first + k * 32 >= held) continue;
                out[start + first + k * 32] = mine[k];
                if (indexes) indexes[start + first + k * 32] = rank[k];
                else if (places) places[start + first + k * 32] = rank[k];
            }
            continue;
        }
#pragma unroll
        for (int k = 0; k < TAKEN; ++k) {  // the rank among the warp's elements of the same digit
            const bool is_there = first + k * 32 < held;
            const int digit = is_there ? key.digit(mine[k], shift) : 0;
            if (is_there) atomicOr(&lanes[warp][digit], 1u << lane);
            __syncwarp();
            const unsigned int alike = is_there ? *(const volatile unsigned int*)&lanes[warp][digit] : 0;
            __syncwarp();
            if (is_there) lanes[warp][digit] = 0;
            __syncwarp();
            const int leader = is_there ? __ffs(alike) - 1 : lane;
            int before = 0;
            if (is_there && lane == leader) before = atomicAdd(&ranks[warp][digit], __popc(alike));
            rank[k] = __shfl_sync(ALL_LANES, before, leader) + __popc(alike & lanes_below());
        }
        __syncthreads();
        int count = 0, total;
        for (int w = 0; w < RADIX_WARPS; ++w) {
            const int of_warp = ranks[w][threadIdx.x];
            ranks[w][threadIdx.x] = count;
            count += of_warp;
        }
        volatile unsigned int& own = published[at * DIGITS + threadIdx.x];
        own = (tile ? COUNT : SUM) | count;
        const int in_tile = sum_before(count, total);
        const int in_row = sum_before(totals[row * DIGITS + threadIdx.x], total);
        starts[threadIdx.x] = in_tile;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TAKEN; ++k) {
            if (first + k * 32 >= held) continue;
            const int digit = key.digit(mine[k], shift);
            rank[k] += starts[digit] + ranks[warp][digit];
            moved[rank[k]] = mine[k];
        }
        if (has_places) {
#pragma unroll
            for (int k = 0; k < TAKEN; ++k) {
                const int i = first + k * 32;
                if (i < held) moved_places[rank[k]] = old_places ? old_places[start + i] : offset + i;
            }
        }
        const unsigned int earlier = tile ? sum_of_tiles_before(published, at) : 0;
        if (tile) own = SUM | (earlier + count);
        bases[threadIdx.x] = in_row + (int)earlier - in_tile;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TAKEN; ++k) {
            const int i = k * RADIX_THREADS + threadIdx.x;
            if (i >= held) continue;
            const T value = moved[i];
            const int target = bases[key.digit(value, shift)] + i;
            out[begin + target] = value;
            if (indexes) indexes[begin + target] = moved_places[i];
            else if (places) places[begin + target] = moved_places[i];
        }
    }
}

// ---- the first elements of the order, of each row ----

// The last selected key, as far as known: its digits so far, and how many elements with these digits to select.
struct Chosen { unsigned long long prefix; long long left; };

// Count the next digit of the elements that have the digits so far.  histogram: [rows, DIGITS], zeros before.
template <class K, class T>
inline void count_chosen(int* histogram, const T* input, const Chosen* chosen, long long rows, long long n,
                         long long tiles, int shift, bool flip) {
    __shared__ int own[DIGITS];
    const K key(flip);
    for (long long at = blockIdx.x; at < rows * tiles; at += gridDim.x) {
        long long tile;
        const long long row = divide(tile_at(at, rows * tiles, shift >> 3 & 1), tiles, tile), start = tile * RADIX_TILE;
        const bool is_first = shift + 8 == 8 * (int)sizeof(T);
        const unsigned long long prefix = is_first ? 0 : chosen[row].prefix;
        own[threadIdx.x] = 0;
        __syncthreads();
        T held[RADIX_ITEMS];
#pragma unroll
        for (int k = 0; k < RADIX_ITEMS; ++k) {
            const long long i = start + k * RADIX_THREADS + threadIdx.x;
            if (i < n) held[k] = input[row * n + i];
        }
#pragma unroll
        for (int k = 0; k < RADIX_ITEMS; ++k) {
            const bool is_there = start + k * RADIX_THREADS + threadIdx.x < n;
            const unsigned long long bits = is_there ? key.of(held[k]) : 0;
            const bool is_counted = is_there && (is_first || bits >> (shift + 8) == prefix);
            count_digit(own, (int)(bits >> shift) & (DIGITS - 1), is_counted);
        }
        __syncthreads();
        if (own[threadIdx.x]) atomicAdd(&histogram[row * DIGITS + threadIdx.x], own[threadIdx.x]);
        __syncthreads();
    }
}

// Append the next digit of the last selected key.
inline void choose(Chosen* chosen, const int* histogram, long long rows, long long count, bool is_first) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        int total;
        const int own = histogram[row * DIGITS + threadIdx.x], before = sum_before(own, total);
        const Chosen known = is_first ? Chosen{0, count} : chosen[row];
        __syncthreads();
        if (before < known.left && known.left <= before + own)
            chosen[row] = {known.prefix << 8 | threadIdx.x, known.left - before};
    }
}

// counts: [rows, 2, tiles], of the elements before the last selected key and of those equal to it.
template <class K, class T>
inline void count_selected(int* counts, const T* input, const Chosen* chosen, long long rows, long long n,
                           long long tiles, bool flip) {
    const K key(flip);
    for (long long at = blockIdx.x; at < rows * tiles; at += gridDim.x) {
        long long tile;
        const long long row = divide(tile_at(at, rows * tiles, true), tiles, tile), start = tile * RADIX_TILE;
        const unsigned long long last = chosen[row].prefix;
        int less = 0, equal = 0;
#pragma unroll
        for (int k = 0; k < RADIX_ITEMS; ++k) {
            const long long i = start + k * RADIX_THREADS + threadIdx.x;
            if (i >= n) continue;
            const unsigned long long bits = key.of(input[row * n + i]);
            less += bits < last;
            equal += bits == last;
        }
        int all_less, all_equal;
        sum_before(less, all_less);
        sum_before(equal, all_equal);
        if (threadIdx.x == 0) {
            counts[row * 2 * tiles + tile] = all_less;
            counts[(row * 2 + 1) * tiles + tile] = all_equal;
        }
    }
}

// Write the selected elements, those before the last key first, each in the order of the input.
template <class K, class T>
inline void write_selected(T* values, long long* indexes, const T* input, const Chosen* chosen, const int* counts,
                           const int* totals, long long rows, long long n, long long tiles, long long count, bool flip) {
    const K key(flip);
    for (long long at = blockIdx.x; at < rows * tiles; at += gridDim.x) {
        long long tile;
        const long long row = divide(at, tiles, tile), start = tile * RADIX_TILE;
        const Chosen last = chosen[row];
        long long less = counts[row * 2 * tiles + tile], equal = counts[(row * 2 + 1) * tiles + tile];
        const long long next_less = tile + 1 < tiles ? counts[row * 2 * tiles + tile + 1] : totals[row * 2];
        if (less == next_less && equal >= last.left) continue;  // nothing selected here; uniform in the block
        for (int k = 0; k < RADIX_ITEMS; ++k) {
            const long long i = start + k * RADIX_THREADS + threadIdx.x;
            const T value = i < n ? input[row * n + i] : T();
            const unsigned long long bits = key.of(value);
            const bool is_less = i < n && bits < last.prefix, is_equal = i < n && bits == last.prefix;
            int all_less, all_equal;
            const int before_less = sum_before(is_less, all_less), before_equal = sum_before(is_equal, all_equal);
            long long target = -1;
            if (is_less) target = less + before_less;
            if (is_equal && equal + before_equal < last.left) target = totals[row * 2] + equal + before_equal;
            if (target >= 0) {
                values[row * count + target] = value;
                indexes[row * count + target] = i;
            }
            less += all_less;
            equal += all_equal;
        }
    }
}
