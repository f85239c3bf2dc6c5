// Copies of rows of elements, without arithmetic.
//
//  - A row is `width` units M, the widest of 1 to 16 bytes that divides the sizes, distances and addresses of rows.
//  - A group of `lanes` neighbouring threads, a power of two, moves a row, so that short and long rows fill warps.
//  - A thread has four loads in flight before it stores: of one long row, or of four short ones.

#define AHEAD 4

struct __align__(16) Wide { unsigned long long low, high; };

inline long long first_index() { return blockIdx.x * (long long)blockDim.x + threadIdx.x; }
inline long long index_step() { return (long long)gridDim.x * blockDim.x; }

// rows.find(row, from, to) sets the offsets of a row on both sides, in units; it returns false if the row is not moved.
template <class M, class Rows>
inline void move_rows(M* out, const M* in, long long count, long long width, int lanes, const Rows& rows) {
    const int lane = (int)threadIdx.x & (lanes - 1);
    const long long step = index_step() / lanes;
    long long row = first_index() / lanes;
    if (width <= lanes) {
        for (; row < count; row += AHEAD * step) {
            long long from[AHEAD], to[AHEAD];
            bool moved[AHEAD];
            M held[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; ++u)
                moved[u] = lane < width && row + u * step < count && rows.find(row + u * step, from[u], to[u]);
#pragma unroll
            for (int u = 0; u < AHEAD; ++u)
                if (moved[u]) held[u] = in[from[u] + lane];
#pragma unroll
            for (int u = 0; u < AHEAD; ++u)
                if (moved[u]) out[to[u] + lane] = held[u];
        }
        return;
    }
    for (; row < count; row += step) {
        long long from, to, i = lane;
        if (!rows.find(row, from, to)) continue;
        for (; i + (AHEAD - 1) * lanes < width; i += AHEAD * lanes) {
            M held[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) held[u] = in[from + i + u * lanes];
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) out[to + i + u * lanes] = held[u];
        }
        for (; i < width; i += lanes) out[to + i] = in[from + i];
    }
}
