// Random values from counters: Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
//  - An element's value depends on the seed, the first counter and the element's index, never on grid or thread.
//  - Nothing here may be fused or approximated except where stated: the host repeats every operation and must get the
//    same bits.
//  - A maker fills PER neighbouring elements from the four words of one counter.  ops/philox.py documents which element
//    gets which words.

struct Words { unsigned int at[4]; };

// One instruction; the compiler makes two of a 64-bit multiplication.
inline unsigned long long product(unsigned int a, unsigned int b) {
    unsigned long long both;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(both) : "r"(a), "r"(b));
    return both;
}

struct Keys { unsigned int first[10], second[10]; };  // one pair per round

inline Keys keys_of(unsigned long long seed) {
    Keys keys;
    unsigned int first = (unsigned int)seed, second = (unsigned int)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round, first += 0x9E3779B9u, second += 0xBB67AE85u) {
        keys.first[round] = first, keys.second[round] = second;
        asm("" : "+r"(keys.first[round]), "+r"(keys.second[round]));  // else computed again for every counter
    }
    return keys;
}

// sequence: the high half of the counter.
inline Words philox(const Keys& keys, unsigned long long counter, unsigned long long sequence = 0) {
    Words x = {{(unsigned int)counter, (unsigned int)(counter >> 32), (unsigned int)sequence, (unsigned int)(sequence >> 32)}};
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const unsigned long long a = product(0xD2511F53u, x.at[0]), b = product(0xCD9E8D57u, x.at[2]);
        const unsigned int c = (unsigned int)(b >> 32) ^ x.at[1] ^ keys.first[round];
        x = {{c, (unsigned int)b, (unsigned int)(a >> 32) ^ x.at[3] ^ keys.second[round], (unsigned int)a}};
    }
    return x;
}

inline unsigned long long pair_of(const Words& words, int index) {
    return words.at[2 * index] | (unsigned long long)words.at[2 * index + 1] << 32;
}

// ---- arithmetic that rounds after every step ----

template <class C> struct Rounded { C value; };

#define FLAMBEAU_ROUNDED(C, SYMBOL, FUNCTION) \
    inline Rounded<C> operator SYMBOL(Rounded<C> a, Rounded<C> b) { return {FUNCTION(a.value, b.value)}; }
FLAMBEAU_ROUNDED(float, +, __fadd_rn)
FLAMBEAU_ROUNDED(float, -, __fsub_rn)
FLAMBEAU_ROUNDED(float, *, __fmul_rn)
FLAMBEAU_ROUNDED(float, /, __fdiv_rn)
FLAMBEAU_ROUNDED(double, +, __dadd_rn)
FLAMBEAU_ROUNDED(double, -, __dsub_rn)
FLAMBEAU_ROUNDED(double, *, __dmul_rn)
FLAMBEAU_ROUNDED(double, /, __ddiv_rn)
#undef FLAMBEAU_ROUNDED

// ---- fractions in [0, 1) ----

// As many bits as the type holds, so that rounding never gives 1.
template <class T> constexpr int FRACTION_BITS = 24;
template <> constexpr int FRACTION_BITS<half_t> = 11;
template <> constexpr int FRACTION_BITS<bfloat16_t> = 8;

template <class T> inline float fraction(unsigned int word) {
    return (float)(word >> (32 - FRACTION_BITS<T>)) * (1.0f / (1u << FRACTION_BITS<T>));
}

inline double fraction53(unsigned long long pair) { return (double)(pair >> 11) * (1.0 / 9007199254740992.0); }

// ---- normal values: Box and Muller's transform of 0 < u <= 1 and a turn, first = root(-2 log u) cos(2 pi turn) ----

// In float, from two words; ops/philox.py has the constants and explains why the host gets the same bits.

// Constants kept in registers, the last terms of the series and a mask: an instruction takes one constant, and these
// would be loaded for every value.  zero: 0, unknown to the compiler, which would otherwise not keep them.
struct Kept {
    float log, sine, cosine;
    unsigned int mask;

    explicit Kept(int zero)
        : log(last(LOG_SERIES, zero)), sine(last(SINE_SERIES, zero)), cosine(last(COSINE_SERIES, zero)), mask(0x7ffffe + zero) {}

    template <int N> static float last(const float (&c)[N], int zero) { return __int_as_float(__float_as_int(c[N - 1]) + zero); }
};

// c[0] + c[1] x + c[2] x^2 + ..., where `sum` is the last c.
template <int N> inline float series(const float (&c)[N], float x, float sum) {
#pragma unroll
    for (int k = N - 2; k >= 0; --k) sum = __fmaf_rn(sum, x, c[k]);
    return sum;
}

// -2 log(count / 2^24) for a count from 1 to 2^24, which is m 2^e with m near 1.
inline float twice_negative_log(float count, const Kept& kept) {
    const int bits = __float_as_int(count) - (ROOT_HALF + (24 << 23)), power = bits & 0xff800000;
    const float f = __fadd_rn(__int_as_float(bits - power + ROOT_HALF), -1.0f);
    return __fmaf_rn((float)power, LOG_STEP, __fmul_rn(f, series(LOG_SERIES, f, kept.log)));
}

// The square root of |x|, rounded to nearest, for 0 and normal numbers: as __fsqrt_rn, without its other cases.
inline float root_of(float x) {
    x = fabsf(x);
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    inverse = fminf(inverse, 1e30f);  // for x = 0
    const float root = __fmul_rn(x, inverse), half = __fmul_rn(inverse, 0.5f);
    return __fmaf_rn(__fmaf_rn(-root, root, x), half, root);
}

// yes if a bit of a word is set, else no.  Two instructions; the compiler makes four of a comparison.
inline float chosen(unsigned int word, unsigned int bit, float yes, float no) {
    float result;
    asm("{ .reg .pred p; .reg .b32 t; and.b32 t, %1, %2; setp.ne.u32 p, t, 0; selp.f32 %0, %3, %4, p; }"
        : "=f"(result) : "r"(word), "r"(bit), "f"(yes), "f"(no));
    return result;
}

inline void normal_pair(unsigned int u, unsigned int turn, const Kept& kept, float& first, float& second) {
    const float radius = root_of(twice_negative_log((float)((u >> 8) + 1), kept));
    const unsigned int near = turn + 0x20000000u;  // its upper two bits are the nearest quarter turn
    const float rest = __fadd_rn(__uint_as_float((near >> 7 & kept.mask) | 0x3f800000u), -1.5f);  // in quarter turns
    const float square = __fmul_rn(rest, rest);
    const float sine = __fmul_rn(rest, series(SINE_SERIES, square, kept.sine)), cosine = series(COSINE_SERIES, square, kept.cosine);
    const float turned = __uint_as_float(__float_as_uint(radius) ^ (near & 0x80000000u));  // half a turn: both negative
    first = __fmul_rn(turned, chosen(near, 0x40000000u, -sine, cosine));
    second = __fmul_rn(turned, chosen(near, 0x40000000u, cosine, sine));
}

// In double, from fractions.

constexpr int LOG_TERMS = 11, SINE_TERMS = 9;

// The logarithm for 0 < x <= 1: x = m 2^e with m near 1, log m = 2 artanh((m - 1) / (m + 1)).
inline Rounded<double> logarithm(double x) {
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.7071067811865476) {
        m = m * 2;
        exponent = exponent - 1;
    }
    const Rounded<double> f = {m - 1}, s = f / (f + Rounded<double>{2}), z = s * s;
    Rounded<double> sum = {1.0 / (2 * LOG_TERMS + 1)};
#pragma unroll
    for (int k = LOG_TERMS - 1; k >= 0; --k) sum = sum * z + Rounded<double>{1.0 / (2 * k + 1)};
    return Rounded<double>{(double)exponent} * Rounded<double>{0.6931471805599453} + (s + s) * sum;
}

// Cosine and sine of 2 pi turn, for 0 <= turn < 1, from a quarter turn and an angle of at most pi / 4.
inline void circle(double turn, Rounded<double>& cosine, Rounded<double>& sine) {
    const double quarters = turn * 4;
    const int quarter = (int)(quarters + 0.5);
    const Rounded<double> angle = Rounded<double>{quarters - quarter} * Rounded<double>{1.5707963267948966};
    const Rounded<double> square = angle * angle, zero = {0};
    Rounded<double> s = {1}, c = {1};
#pragma unroll
    for (int k = SINE_TERMS; k > 0; --k) {
        s = Rounded<double>{1} - square * Rounded<double>{1.0 / (2 * k * (2 * k + 1))} * s;
        c = Rounded<double>{1} - square * Rounded<double>{1.0 / (2 * k * (2 * k - 1))} * c;
    }
    s = angle * s;
    cosine = quarter % 4 == 0 ? c : quarter == 1 ? zero - s : quarter == 2 ? zero - c : s;
    sine = quarter % 4 == 0 ? s : quarter == 1 ? c : quarter == 2 ? zero - s : zero - c;
}

inline void normal_pair(double u, double turn, double& first, double& second) {
    const Rounded<double> radius = {__dsqrt_rn((Rounded<double>{-2} * logarithm(u)).value)};
    Rounded<double> cosine, sine;
    circle(turn, cosine, sine);
    first = (radius * cosine).value;
    second = (radius * sine).value;
}

// ---- makers: T is the storage type, C the compute type ----

template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack { T value[N]; };

template <class T, int N> inline bool is_aligned(const T* data) { return (unsigned long long)data % alignof(Pack<T, N>) == 0; }

template <class T, class C> struct Uniform {
    static constexpr int PER = sizeof(C) == 8 ? 2 : 4;
    C low, high;

    void operator()(const Words& words, long long, int, T (&value)[PER]) const {
        const Rounded<C> start = {low}, span = Rounded<C>{high} - start;
#pragma unroll
        for (int k = 0; k < PER; ++k) {
            Rounded<C> u;
            if constexpr (PER == 2) u = {fraction53(pair_of(words, k))};
            else u = {fraction<T>(words.at[k])};
            const T drawn = store<T>((u * span + start).value);
            value[k] = load<C>(drawn) >= high ? store<T>(low) : drawn;
        }
    }
};

// PLAIN: mean 0 and standard deviation 1.
template <class T, class C, bool PLAIN> struct NormalValues {
    static constexpr int PER = sizeof(C) == 8 ? 2 : 4;
    C mean, deviation;
    Kept kept;

    void operator()(const Words& words, long long, int, T (&value)[PER]) const {
        C z[PER];
        if constexpr (PER == 2) {
            normal_pair(fraction53(pair_of(words, 0)) + 1.0 / 9007199254740992.0, fraction53(pair_of(words, 1)), z[0], z[1]);
        } else {
            normal_pair(words.at[0], words.at[1], kept, z[0], z[1]);
            normal_pair(words.at[2], words.at[3], kept, z[2], z[3]);
        }
#pragma unroll
        for (int k = 0; k < PER; ++k)
            value[k] = store<T>(PLAIN ? z[k] : (Rounded<C>{z[k]} * Rounded<C>{deviation} + Rounded<C>{mean}).value);
    }
};

// From a word for at most 2^32 values, from two for more; span 0 means 2^64.
template <class T, bool NARROW> struct Integer {
    static constexpr int PER = NARROW ? 4 : 2;
    long long low;
    unsigned long long span;

    void operator()(const Words& words, long long, int, T (&value)[PER]) const {
#pragma unroll
        for (int k = 0; k < PER; ++k) {
            unsigned long long drawn;
            if constexpr (NARROW) drawn = (words.at[k] * span) >> 32;
            else drawn = span ? pair_of(words, k) % span : pair_of(words, k);
            value[k] = store<T>((long long)(drawn + (unsigned long long)low));
        }
    }
};

template <class T> struct Bernoulli {
    static constexpr int PER = 4;
    float p;

    void operator()(const Words& words, long long, int, T (&value)[PER]) const {
#pragma unroll
        for (int k = 0; k < PER; ++k) value[k] = store<T>(fraction<float>(words.at[k]) < p);
    }
};

template <class T> struct BernoulliEach {
    static constexpr int PER = 4;
    const float* p;

    void operator()(const Words& words, long long at, int held, T (&value)[PER]) const {
#pragma unroll
        for (int k = 0; k < PER; ++k) {
            const float chance = k < held ? p[at + k] : 0.0f;
            device_assert(chance >= 0.0f && chance <= 1.0f);
            value[k] = store<T>(fraction<float>(words.at[k]) < chance);
        }
    }
};

template <class T, class C> struct Dropout {
    static constexpr int PER = 4;
    bool* mask;
    const T* input;
    float p;
    C scale;

    void operator()(const Words& words, long long at, int held, T (&value)[PER]) const {
        Pack<T, PER> given;
        Pack<bool, PER> kept;
        const bool whole = held == PER && is_aligned<T, PER>(input) && is_aligned<bool, PER>(mask);
        if (whole) given = *reinterpret_cast<const Pack<T, PER>*>(input + at);
#pragma unroll
        for (int k = 0; k < PER; ++k) {
            kept.value[k] = fraction<float>(words.at[k]) >= p;
            if (!whole && k < held) given.value[k] = input[at + k];
            if (!whole && k < held) mask[at + k] = kept.value[k];
            value[k] = store<T>(kept.value[k] && k < held ? load<C>(given.value[k]) * scale : (C)0);
        }
        if (whole) *reinterpret_cast<Pack<bool, PER>*>(mask + at) = kept;
    }
};

// ---- filling an array ----

template <class T, class Maker>
inline void fill_random(T* out, unsigned long long seed, unsigned long long first, long long numel, const Maker& make) {
    constexpr int PER = Maker::PER;
    typedef Pack<T, PER> Values;
    const long long counters = (numel + PER - 1) / PER, whole = is_aligned<T, PER>(out) ? numel / PER : 0;
    const long long step = (long long)gridDim.x * blockDim.x;
    const Keys keys = keys_of(seed);
    long long c = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (; c < whole; c += step) {
        Values values;
        make(philox(keys, first + c), c * PER, PER, values.value);
        reinterpret_cast<Values*>(out)[c] = values;
    }
    for (; c < counters; c += step) {
        const long long at = c * PER;
        const int held = (int)(numel - at < PER ? numel - at : PER);
        Values values;
        make(philox(keys, first + c), at, held, values.value);
#pragma unroll
        for (int k = 0; k < PER; ++k)
            if (k < held) out[at + k] = values.value[k];
    }
}

template <class T, class C> struct Normal { C mean, deviation; };

template <class T, class C>
inline void fill_random(T* out, unsigned long long seed, unsigned long long first, long long numel, const Normal<T, C>& made) {
    const C mean = made.mean, deviation = made.deviation;
    const Kept kept((int)(numel >> 63));
    if (mean == 0 && deviation == 1) fill_random(out, seed, first, numel, NormalValues<T, C, true>{mean, deviation, kept});
    else fill_random(out, seed, first, numel, NormalValues<T, C, false>{mean, deviation, kept});
}
