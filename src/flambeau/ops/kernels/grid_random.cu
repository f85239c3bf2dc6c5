// PyTorch's random numbers on CUDA devices; follows philox.cu.
//
//  - Thread t reads sequence t of Philox: one counter after another, from `first` on, four words each.
//  - In one step a thread fills PER elements, `threads` apart: elements t, t + threads, ...; in the next step those
//    after threads * PER.  So values depend on the number of threads, which depends on the GPU.
//  - Fractions are in (0, 1].  Functions with a leading __ are the GPU's approximations, as in PyTorch.

inline float open_fraction(unsigned int word) { return __fmaf_rn((float)word, 2.3283064365386963e-10f, 1.1641532182693481e-10f); }

inline double open_fraction(unsigned int low, unsigned int high) {
    return (double)(low ^ (unsigned long long)high << 21) * 1.1102230246251565e-16 + 5.551115123125783e-17;
}

inline unsigned long long high_first(const Words& words, int index) {
    return (unsigned long long)words.at[2 * index] << 32 | words.at[2 * index + 1];
}

// Two normal values of a pair of words, by Box and Muller's transform: sine, then cosine.
inline void open_normals(unsigned int length, unsigned int turn, float& first, float& second) {
    constexpr float STEP = 1.46291807926716e-09f;  // 2 pi / 2^32
    const float radius = sqrtf(-2.0f * logf(open_fraction(length)));
    float sine, cosine;
    __sincosf(__fmaf_rn((float)turn, STEP, STEP / 2), &sine, &cosine);
    first = sine * radius;
    second = cosine * radius;
}

inline void open_normals(const Words& words, double& first, double& second) {
    const double radius = sqrt(-2.0 * log(open_fraction(words.at[0], words.at[1])));
    const double turn = (double)(words.at[2] ^ (unsigned long long)words.at[3] << 21) * 2.220446049250313e-16 + 1.1102230246251565e-16;
    double sine, cosine;
    sincospi(turn, &sine, &cosine);
    first = sine * radius;
    second = cosine * radius;
}

inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
inline float fast_log(float x) { return __logf(x); }
inline double fast_log(double x) { return log(x); }
inline float fast_exp(float x) { return __expf(x); }
inline double fast_exp(double x) { return exp(x); }

// ---- conversions of a fraction, a normal value or an integer to a result ----

template <class T, class C> struct Between {
    T low, high;
    C span;
    T operator()(C x) const {
        const T value = store<T>(fused(x, span, load<C>(low)));
        return load<C>(value) == load<C>(high) ? low : value;
    }
};

template <class T, class C> struct IsBelow {
    C p;
    T operator()(C x) const { return store<T>(x < p); }
};

template <class T, class C> struct Waiting {  // of the exponential distribution
    C rate;
    T operator()(C x) const {
        constexpr C HALF_STEP = sizeof(C) == 8 ? (C)1.1102230246251565e-16 : (C)5.9604644775390625e-08;
        const C log = x >= (C)1 - HALF_STEP ? -HALF_STEP : fast_log(x);
        return store<T>((C)-1 / rate * log);
    }
};

template <class T> inline T cauchy_of(float x, float median, float sigma) {
    constexpr float STEP = 1.1920928955078125e-07f;
    x = x > 1.0f - STEP ? 1.0f - STEP : x;
    x = x < STEP ? STEP : x;
    return store<T>(fused(sigma, __tanf(3.14159265f * (x - 0.5f)), median));
}
template <class T> inline T cauchy_of(double x, double median, double sigma) {
    return store<T>(fused(sigma, tan(3.141592653589793 * (x - 0.5)), median));
}
template <class T, class C> struct Cauchy {
    C median, sigma;
    T operator()(C x) const { return cauchy_of<T>(x, median, sigma); }
};

inline float log_of_failure(float p) { return __logf(1.0f + -p); }
inline double log_of_failure(double p) { return log1p(-p); }
template <class T, class C> struct Trials {  // of the geometric distribution
    C p;
    T operator()(C x) const { return store<T>(ceil(fast_log(x) / log_of_failure(p))); }
};

template <class T, class C> struct Scaled {
    C mean, deviation;
    T operator()(C z) const { return store<T>(fused(z, deviation, mean)); }
};

template <class T, class C> struct ExponentialOf {
    C mean, deviation;
    T operator()(C z) const { return store<T>(fast_exp(fused(z, deviation, mean))); }
};

template <class T> struct Offset {
    long long low;
    unsigned long long span;  // 0 means 2^64
    T operator()(unsigned int word) const { return store<T>((long long)(word % (unsigned int)span + (unsigned long long)low)); }
    T operator()(unsigned long long pair) const {
        return store<T>((long long)((span ? pair % span : pair) + (unsigned long long)low));
    }
};

struct Masked {  // a key to sort by
    long long low;
    unsigned long long span, mask;
    long long operator()(unsigned long long pair) const { return (long long)((pair % span + (unsigned long long)low) & mask); }
};

// ---- conversions of words to the value of each element, which a functor gets ----

template <class T, class C, class F> struct OfFractions {
    static constexpr int PER = sizeof(C) == 8 ? 2 : 4;
    F of;
    void operator()(const Words& words, T (&value)[PER]) const {
#pragma unroll
        for (int k = 0; k < PER; ++k) {
            if constexpr (PER == 2) value[k] = of(open_fraction(words.at[2 * k], words.at[2 * k + 1]));
            else value[k] = of(open_fraction(words.at[k]));
        }
    }
};

template <class T, class C, class F> struct OfNormals {
    static constexpr int PER = sizeof(C) == 8 ? 2 : 4;
    F of;
    void operator()(const Words& words, T (&value)[PER]) const {
        C z[PER];
        if constexpr (PER == 2) {
            open_normals(words, z[0], z[1]);
        } else {
            open_normals(words.at[0], words.at[1], z[0], z[1]);
            open_normals(words.at[2], words.at[3], z[2], z[3]);
        }
#pragma unroll
        for (int k = 0; k < PER; ++k) value[k] = of(z[k]);
    }
};

template <class T, class F> struct OfWords {
    static constexpr int PER = 4;
    F of;
    void operator()(const Words& words, T (&value)[PER]) const {
#pragma unroll
        for (int k = 0; k < PER; ++k) value[k] = of(words.at[k]);
    }
};

template <class T, class F> struct OfPairs {
    static constexpr int PER = 2;
    F of;
    void operator()(const Words& words, T (&value)[PER]) const {
#pragma unroll
        for (int k = 0; k < PER; ++k) value[k] = of(high_first(words, k));
    }
};

template <class T, class Maker>
inline void fill_grid(T* out, unsigned long long seed, unsigned long long first, long long numel, const Maker& make) {
    constexpr int PER = Maker::PER;
    const Keys keys = keys_of(seed);
    const long long threads = (long long)gridDim.x * blockDim.x, thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (long long at = thread; at < numel; at += threads * PER, ++first) {
        T value[PER];
        make(philox(keys, first, thread), value);
#pragma unroll
        for (int k = 0; k < PER; ++k)
            if (at + k * threads < numel) out[at + k * threads] = value[k];
    }
}

// ---- kernels of another mapping ----

// Element i has word i % 4 of sequence i / 4.  A probability of type P is compared in the wider type.
template <class T, class P>
inline void fill_by_chances(T* out, const P* p, unsigned long long seed, unsigned long long first, long long numel) {
    const Keys keys = keys_of(seed);
    for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; 4 * t < numel; t += (long long)gridDim.x * blockDim.x) {
        const Words words = philox(keys, first, t);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const long long at = 4 * t + k;
            if (at >= numel) break;
            const P chance = p[at];
            device_assert(chance >= (P)0 && chance <= (P)1);
            out[at] = store<T>(open_fraction(words.at[k]) <= chance);
        }
    }
}

// VEC neighbouring elements for each step of a thread, from the words of max(1, VEC / 4) counters; VEC 1 as fill_grid.
template <class T, class C, int VEC>
inline void drop_out(
    T* out, bool* mask, const T* input, C kept, C scale, unsigned long long seed, unsigned long long first, long long numel) {
    const Keys keys = keys_of(seed);
    const long long threads = (long long)gridDim.x * blockDim.x, thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    constexpr int PER = VEC == 1 ? 4 : VEC;
    const long long apart = VEC == 1 ? threads : 1;
    for (long long at = thread * VEC; at < numel; at += threads * PER) {
        Words words;
#pragma unroll
        for (int k = 0; k < PER; ++k) {
            if (k % 4 == 0) words = philox(keys, first++, thread);
            const long long place = at + k * apart;
            if (place >= numel) continue;
            const bool keeps = open_fraction(words.at[k % 4]) < kept;
            mask[place] = keeps;
            out[place] = store<T>(load<C>(input[place]) * (C)keeps * scale);
        }
    }
}

// Shuffle the values of equal neighbouring keys; the first of them reads the words of its own sequence.
inline void shuffle_equal(
    long long* order, const long long* keys, unsigned long long seed, unsigned long long first, long long numel) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < numel - 1; at += step) {
        if (keys[at] != keys[at + 1] || (at > 0 && keys[at] == keys[at - 1])) continue;
        int count = 2;
        while (at + count < numel && keys[at + count] == keys[at]) ++count;
        const Keys rounds = keys_of(seed);
        Words words;
        for (int left = count - 1, drawn = 0; left > 0; --left, ++drawn) {
            if (drawn % 4 == 0) words = philox(rounds, first + drawn / 4, at);
            const int other = (int)(words.at[drawn % 4] % (unsigned int)(left + 1));
            const long long value = order[at + left];
            order[at + left] = order[at + other];
            order[at + other] = value;
        }
    }
}

// The category of each sample, of rows of running sums that end at 1: one sample for each thread, from the first word
// of a counter.  lanes: threads of a row, a multiple of the block;  rows from `span` on are later steps of the threads.
template <class C>
inline void choose(
    long long* out, const C* sums, const C* chances, long long rows, long long size, long long samples, long long lanes,
    long long span, unsigned long long seed, unsigned long long first) {
    const Keys keys = keys_of(seed);
    const long long step = (long long)gridDim.x * blockDim.x, numel = rows * samples;
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < numel; at += step) {
        const long long row = at / samples, sample = at % samples;
        const Words words = philox(keys, first + row / span, row % span * lanes + sample);
        const C x = (C)open_fraction(words.at[0]);
        const C* ends = sums + row * size;
        long long low = 0, high = size;
        while (low < high) {
            const long long middle = low + (high - low) / 2;
            if (ends[middle] < x) low = middle + 1;
            else high = middle;
        }
        if (low == size) low = size - 1;
        while (low >= 1 && chances[row * size + low] == (C)0) --low;
        out[at] = low;
    }
}
