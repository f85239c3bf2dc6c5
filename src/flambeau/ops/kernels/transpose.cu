// Copies in which source and target differ in the dimension that varies fastest.
//
//  - The layout's operands are target and source.  Dimension 0 is the target's fastest, dimension 1 the source's; the
//    rest is a batch of such matrices.
//  - A block brings one tile through shared memory, so that each side is accessed along its own fastest dimension.
//  - A side takes accesses of 16 bytes where its address, strides and size allow, else single elements.
//  - Eight lanes are along the fast dimension and four across.  As a row in shared memory has an odd number of words,
//    elements of four bytes have no bank conflicts on either side.

constexpr int TILE = 64;
constexpr int TILE_THREADS = 256;

template <class T> constexpr int PER_ACCESS = 16 / (int)sizeof(T);
template <class T> struct alignas(16) Access { T at[PER_ACCESS<T>]; };

// The accesses of a thread to a tile of T: `fast` counts elements along the fast dimension, `slow` across it.
template <class T> struct Lanes {
    static constexpr int PER_LINE = TILE / PER_ACCESS<T>;
    static constexpr int ALONG = PER_LINE < 8 ? PER_LINE : 8, ACROSS = 32 / ALONG, GROUPS = PER_LINE / ALONG;
    static constexpr int ROUNDS = TILE * PER_LINE / TILE_THREADS;

    static int warp(int round) { return round * (TILE_THREADS / 32) + threadIdx.x / 32; }
    static int fast(int round) { return (warp(round) % GROUPS * ALONG + threadIdx.x % ALONG) * PER_ACCESS<T>; }
    static int slow(int round) { return warp(round) / GROUPS * ACROSS + threadIdx.x % 32 / ALONG; }
};

// Whether an operand, whose fastest dimension is `fast`, can be accessed 16 bytes at a time.
template <class T> inline bool is_wide(const T* data, const Layout<2>& layout, int operand, int fast) {
    bool wide = layout.stride[operand][fast] == 1 && (unsigned long long)data % 16 == 0;
    wide &= layout.size[fast] % PER_ACCESS<T> == 0;
    #pragma unroll 1
    for (int dim = 0; dim < (int)layout.ndim; ++dim)
        wide &= dim == fast || layout.stride[operand][dim] % PER_ACCESS<T> == 0;
    return wide;
}

template <class To, class From, class C> inline void transpose(To* out, const From* in, const Layout<2>& layout) {
    constexpr int ODD = sizeof(To) < 4 ? 4 / (int)sizeof(To) : 1;
    __shared__ To tile[TILE][TILE + ODD];  // [along the target][along the source]
    const bool wide_in = is_wide(in, layout, 1, 1), wide_out = is_wide(out, layout, 0, 0);
    long long rest = blockIdx.x, index;
    rest = divide(rest, (layout.size[0] + TILE - 1) / TILE, index);
    const long long column = index * TILE;
    rest = divide(rest, (layout.size[1] + TILE - 1) / TILE, index);
    const long long row = index * TILE;
    #pragma unroll 1
    for (int dim = 2; dim < (int)layout.ndim; ++dim) {
        rest = divide(rest, layout.size[dim], index);
        out += index * layout.stride[0][dim];
        in += index * layout.stride[1][dim];
    }
    out += column * layout.stride[0][0] + row * layout.stride[0][1];
    in += column * layout.stride[1][0] + row * layout.stride[1][1];
    const int columns = layout.size[0] - column < TILE ? (int)(layout.size[0] - column) : TILE;  // of this tile
    const int rows = layout.size[1] - row < TILE ? (int)(layout.size[1] - row) : TILE;

    if (wide_in) {
        typedef Lanes<From> Source;
        Access<From> read[Source::ROUNDS];
        #pragma unroll
        for (int round = 0; round < Source::ROUNDS; ++round) {
            const int fast = Source::fast(round), slow = Source::slow(round);
            if (slow < columns && fast < rows)
                read[round] = *reinterpret_cast<const Access<From>*>(in + slow * layout.stride[1][0] + fast);
        }
        #pragma unroll
        for (int round = 0; round < Source::ROUNDS; ++round)
            #pragma unroll
            for (int each = 0; each < PER_ACCESS<From>; ++each)
                tile[Source::slow(round)][Source::fast(round) + each] = store<To>(load<C>(read[round].at[each]));
    } else {
        #pragma unroll 4
        for (int at = threadIdx.x; at < TILE * TILE; at += TILE_THREADS) {
            const int fast = at % TILE, slow = at / TILE;
            if (slow < columns && fast < rows)
                tile[slow][fast] = store<To>(load<C>(in[slow * layout.stride[1][0] + fast * layout.stride[1][1]]));
        }
    }
    __syncthreads();
    if (wide_out) {
        typedef Lanes<To> Target;
        #pragma unroll
        for (int round = 0; round < Target::ROUNDS; ++round) {
            const int fast = Target::fast(round), slow = Target::slow(round);
            Access<To> made;
            #pragma unroll
            for (int each = 0; each < PER_ACCESS<To>; ++each) made.at[each] = tile[fast + each][slow];
            if (slow < rows && fast < columns)
                *reinterpret_cast<Access<To>*>(out + slow * layout.stride[0][1] + fast) = made;
        }
    } else {
        #pragma unroll 4
        for (int at = threadIdx.x; at < TILE * TILE; at += TILE_THREADS) {
            const int fast = at % TILE, slow = at / TILE;
            if (slow < rows && fast < columns)
                out[slow * layout.stride[0][1] + fast * layout.stride[0][0]] = tile[fast][slow];
        }
    }
}
