// Traversal of the operands of pointwise kernels.
//
//  - Layouts come from pointwise_source.walked: the fastest dimension first, and one dimension at least.
//  - A layout's last row describes the walk.  The high half of row[0] is not 0 where `pack` neighbouring elements may be
//    one position.  Row[dim] is floor((2**32 - 1) / size) of every dimension but the last, in row[0]'s high half of
//    dimension 0 in packs.  Row[0] is -1 (along one dimension: odd) where offsets need 64 bits.
//  - In a pack, an operand of stride 1 takes accesses of up to 16 bytes, two at most; one of stride 0 repeats an element.

template <class T> inline T of_bits(unsigned int bits) { return (T)bits; }
template <> inline bool of_bits<bool>(unsigned int bits) { return (bits & 255) != 0; }
template <> inline half_t of_bits<half_t>(unsigned int bits) { return {(unsigned short)bits}; }
template <> inline bfloat16_t of_bits<bfloat16_t>(unsigned int bits) { return {(unsigned short)bits}; }

template <int bytes> struct WordOf { typedef unsigned int type; };
template <> struct WordOf<2> { typedef unsigned short type; };
template <> struct WordOf<1> { typedef unsigned char type; };

// `pack` elements as stored in memory.
template <class T, int pack> constexpr int ALIGNMENT = sizeof(T) * pack < 16 ? (int)sizeof(T) * pack : 16;
template <class T, int pack> struct alignas(ALIGNMENT<T, pack>) Pack { T at[pack]; };

// The same as loaded: small elements stay packed in words until they are used, since unpacking them waits for the
// load.
template <class T, int pack, bool is_small = (sizeof(T) < 4)> struct Loaded {
    Pack<T, pack> whole;
    inline void fetch(const T* from) { whole = *reinterpret_cast<const Pack<T, pack>*>(from); }
    inline void fetch_one(const T* from) { whole.at[0] = *from; }
    inline void repeat() { for (int lane = 1; lane < pack; ++lane) whole.at[lane] = whole.at[0]; }
    inline T operator[](int lane) const { return whole.at[lane]; }
};

template <class T, int pack> struct Loaded<T, pack, true> {
    typedef typename WordOf<sizeof(T) * pack>::type Word;
    static constexpr int COUNT = sizeof(T) * pack / sizeof(Word), PER_WORD = sizeof(Word) / sizeof(T);
    Pack<Word, COUNT> whole;
    inline void fetch(const T* from) { whole = *reinterpret_cast<const Pack<Word, COUNT>*>(from); }
    inline void fetch_one(const T* from) { whole.at[0] = *reinterpret_cast<const typename WordOf<sizeof(T)>::type*>(from); }
    inline void repeat() {
        const Word one = whole.at[0] * (Word)(PER_WORD == 1 ? 1 : sizeof(T) == 2 ? 0x10001u : 0x1010101u);
        for (int word = 0; word < COUNT; ++word) whole.at[word] = one;
    }
    inline T operator[](int lane) const {
        return of_bits<T>((unsigned int)whole.at[lane / PER_WORD] >> lane % PER_WORD * 8 * sizeof(T));
    }
};

template <int pack, class T> inline bool is_aligned(const T* data) {
    return ((unsigned long long)data & (ALIGNMENT<T, pack> - 1)) == 0;
}

// The offsets of `several` positions, blockDim.x apart, in every operand.  Positions past the end are the last one.
template <int several, int N>
inline void find(const Layout<N>& layout, unsigned int first, unsigned int count, unsigned int pack,
                 unsigned int (&at)[several][N - 1]) {
    unsigned int rest[several];
    for (int each = 0; each < several; ++each) {
        rest[each] = first + each * blockDim.x;
        if (rest[each] >= count) rest[each] = count - 1;
        for (int operand = 0; operand < N - 1; ++operand) at[each][operand] = 0;
    }
    auto along = [&](int dim, unsigned int size, unsigned int inverse, unsigned int scale) {
        for (int each = 0; each < several; ++each) {
            unsigned int quotient = __umulhi(rest[each], inverse);  // at most 1 too small
            unsigned int index = rest[each] - quotient * size;
            if (index >= size) ++quotient, index -= size;
            rest[each] = quotient;
            for (int operand = 0; operand < N - 1; ++operand)
                at[each][operand] += index * scale * (unsigned int)layout.stride[operand][dim];
        }
    };
    const int last = (int)layout.ndim - 1;
    if (last > 0) {
        const unsigned long long inverse = (unsigned long long)layout.stride[N - 1][0];
        along(0, (unsigned int)layout.size[0] / pack, (unsigned int)(pack > 1 ? inverse >> 32 : inverse), pack);
        #pragma unroll 1
        for (int dim = 1; dim < last; ++dim)
            along(dim, (unsigned int)layout.size[dim], (unsigned int)layout.stride[N - 1][dim], 1);
    }
    for (int each = 0; each < several; ++each)
        for (int operand = 0; operand < N - 1; ++operand)
            at[each][operand] += rest[each] * (unsigned int)layout.stride[operand][last];
}

// The offset of a position, if offsets need 64 bits.
template <int N> inline void find_far(const Layout<N>& layout, unsigned long long position, long long (&at)[N - 1]) {
    for (int operand = 0; operand < N - 1; ++operand) at[operand] = 0;
    #pragma unroll 1
    for (int dim = 0; dim < (int)layout.ndim; ++dim) {
        const unsigned long long size = (unsigned long long)layout.size[dim], quotient = position / size;
        const long long index = (long long)(position - quotient * size);
        for (int operand = 0; operand < N - 1; ++operand) at[operand] += index * layout.stride[operand][dim];
        position = quotient;
    }
}
