// The beginning of every kernel source: storage types, conversions and the launch buffer's layout.
//
//  - Needs no header, and is compiled with -default-device: a function without an annotation is device code.
//  - Storage types are those of elements in memory: bool, unsigned char, signed char, short, int, long long, half_t,
//    bfloat16_t, float, double.  Compute types are those of arithmetic: the same without half_t and bfloat16_t.
//  - load<C>(x) gives compute type C from any storage type; store<T>(x) gives storage type T from any compute type.
//  - To half_t and bfloat16_t: round to nearest even, double by way of float as in PyTorch.  To bool: x != 0, so NaN is
//    true.  To integers: as in C; a value beyond an 8- or 16-bit type keeps its low bits.
//  - Layout and Pointers have the bytes that flambeau.kernel packs for Strided and Pointers.

struct half_t { unsigned short bits; };
struct bfloat16_t { unsigned short bits; };

#define NAN __int_as_float(0x7fc00000)
#define INFINITY __int_as_float(0x7f800000)

// ---- assertions ----

extern "C" __attribute__((noreturn)) void __assertfail(
    const char* condition, const char* file, unsigned int line, const char* function, size_t char_size);

// Print a condition that is false; the next call that waits raises AcceleratorError 710.
#define device_assert(condition) \
    ((condition) ? (void)0 : __assertfail(#condition, "flambeau", __LINE__, __func__, sizeof(char)))

// ---- conversions ----

template <class T> inline T widen(T x) { return x; }

inline float widen(half_t x) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
}

inline float widen(bfloat16_t x) { return __uint_as_float((unsigned int)x.bits << 16); }

template <class To> struct Convert {
    template <class From> static To from(From x) { return static_cast<To>(x); }
};

// Through 64 bits, so that -1.0f becomes 255 in an unsigned char on every architecture.
template <class To> struct ConvertLowBits {
    template <class From> static To from(From x) { return static_cast<To>(static_cast<long long>(x)); }
};
template <> struct Convert<unsigned char> : ConvertLowBits<unsigned char> {};
template <> struct Convert<signed char> : ConvertLowBits<signed char> {};
template <> struct Convert<short> : ConvertLowBits<short> {};
template <> struct Convert<unsigned short> : ConvertLowBits<unsigned short> {};
template <> struct Convert<unsigned int> : ConvertLowBits<unsigned int> {};

template <> struct Convert<half_t> {
    static half_t from(float x) {
        half_t narrow;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
        return narrow;
    }
    template <class From> static half_t from(From x) { return from(static_cast<float>(x)); }
};

template <> struct Convert<bfloat16_t> {
    static bfloat16_t from(float x) {
        bfloat16_t narrow;
#if __CUDA_ARCH__ >= 800
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
#else
        unsigned int bits = __float_as_uint(x);
        bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;  // the carry of rounding could make a NaN an infinity
        narrow.bits = is_nan ? 0x7fff : (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
        return narrow;
    }
    template <class From> static bfloat16_t from(From x) { return from(static_cast<float>(x)); }
};

template <class C, class T> inline C load(T x) { return Convert<C>::from(widen(x)); }
template <class T, class C> inline T store(C x) { return Convert<T>::from(x); }

// ---- the ends of a compute type: where a running minimum or maximum begins ----

template <class C> inline C highest();
template <> inline bool highest<bool>() { return true; }
template <> inline unsigned char highest<unsigned char>() { return 255; }
template <> inline signed char highest<signed char>() { return 127; }
template <> inline short highest<short>() { return 32767; }
template <> inline int highest<int>() { return 2147483647; }
template <> inline long long highest<long long>() { return 9223372036854775807LL; }
template <> inline unsigned short highest<unsigned short>() { return 65535; }
template <> inline unsigned int highest<unsigned int>() { return 4294967295u; }
template <> inline unsigned long long highest<unsigned long long>() { return 18446744073709551615ull; }
template <> inline float highest<float>() { return INFINITY; }
template <> inline double highest<double>() { return INFINITY; }

template <class C> inline C lowest() { return static_cast<C>(-highest<C>() - 1); }
template <> inline bool lowest<bool>() { return false; }
template <> inline unsigned char lowest<unsigned char>() { return 0; }
template <> inline unsigned short lowest<unsigned short>() { return 0; }
template <> inline unsigned int lowest<unsigned int>() { return 0; }
template <> inline unsigned long long lowest<unsigned long long>() { return 0; }
template <> inline float lowest<float>() { return -INFINITY; }
template <> inline double lowest<double>() { return -INFINITY; }

// ---- the launch buffer ----

// One shape, and N operands' strides, all in elements.  The last dimension varies fastest.
template <int N> struct Layout {
    long long ndim;
    long long size[8];
    long long stride[N][8];
};

// N contiguous arrays.
template <class T, int N> struct Pointers {
    struct { T* data; long long numel; } at[N];
};

// linear / size, and the remainder in `rest`.  Most indexes fit 32 bits, where division is several times faster.
inline long long divide(long long linear, long long size, long long& rest) {
    if (((unsigned long long)(linear | size) >> 32) == 0) {
        unsigned int quotient = (unsigned int)linear / (unsigned int)size;
        rest = (unsigned int)linear - quotient * (unsigned int)size;
        return quotient;
    }
    long long quotient = linear / size;
    rest = linear - quotient * size;
    return quotient;
}

// The same where every index is known to fit 31 bits.
inline int divide(int linear, int size, int& rest) {
    const unsigned int quotient = (unsigned int)linear / (unsigned int)size;
    rest = (int)((unsigned int)linear - quotient * (unsigned int)size);
    return (int)quotient;
}

// The offset of element `linear`, counted in row-major order, in one operand.
template <int N> inline long long offset(const Layout<N>& layout, int operand, long long linear) {
    long long at = 0;
    for (int dim = (int)layout.ndim - 1; dim > 0; --dim) {
        long long index;
        linear = divide(linear, layout.size[dim], index);
        at += index * layout.stride[operand][dim];
    }
    return layout.ndim > 0 ? at + linear * layout.stride[operand][0] : at;
}

// The same for every operand at once, with one division per dimension.
template <int N> inline void offsets(const Layout<N>& layout, long long linear, long long (&at)[N]) {
    for (int operand = 0; operand < N; ++operand) at[operand] = 0;
    for (int dim = (int)layout.ndim - 1; dim >= 0; --dim) {
        long long index = linear;
        if (dim > 0) linear = divide(linear, layout.size[dim], index);
        for (int operand = 0; operand < N; ++operand) at[operand] += index * layout.stride[operand][dim];
    }
}

// The number of elements of the shape.
template <int N> inline long long count(const Layout<N>& layout) {
    long long numel = 1;
    for (int dim = 0; dim < (int)layout.ndim; ++dim) numel *= layout.size[dim];
    return numel;
}
