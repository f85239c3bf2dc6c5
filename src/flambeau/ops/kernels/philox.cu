
// Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four random words from a
// 64-bit key and a 64-bit counter.

struct Words { unsigned int at[4]; };

inline Words philox(unsigned long long seed, unsigned long long counter) {
    Words x = {{(unsigned int)counter, (unsigned int)(counter >> 32), 0u, 0u}};
    unsigned int key0 = (unsigned int)seed, key1 = (unsigned int)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const unsigned long long a = 0xD2511F53ull * x.at[0], b = 0xCD9E8D57ull * x.at[2];
        x = {{(unsigned int)(b >> 32) ^ x.at[1] ^ key0, (unsigned int)b, (unsigned int)(a >> 32) ^ x.at[3] ^ key1, (unsigned int)a}};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return x;
}

inline unsigned long long pair_of(const Words& words, int index) {
    return words.at[2 * index] | (unsigned long long)words.at[2 * index + 1] << 32;
}

// In [0, 1), with BITS random bits so that rounding to a narrow type never gives 1.
template <int BITS> inline float fraction(unsigned int word) { return (word >> (32 - BITS)) * (1.0f / (1u << BITS)); }
inline double fraction(unsigned long long pair) { return (pair >> 11) * (1.0 / 9007199254740992.0); }

// Box-Muller: two normal values from two words.
inline void normal_pair(unsigned int a, unsigned int b, float (&z)[2]) {
    const float radius = sqrtf(-2.0f * logf(fmaf((float)a, 2.3283064365386963e-10f, 1.1641532182693481e-10f)));
    float s, c;
    sincospif(fmaf((float)b, 4.6566128730773926e-10f, 2.3283064365386963e-10f), &s, &c);
    z[0] = radius * c;
    z[1] = radius * s;
}

inline void normal_pair(unsigned long long a, unsigned long long b, double (&z)[2]) {
    const double radius = sqrt(-2.0 * log(((a >> 11) + 0.5) * (1.0 / 9007199254740992.0)));
    double s, c;
    sincospi(2.0 * (((b >> 11) + 0.5) * (1.0 / 9007199254740992.0)), &s, &c);
    z[0] = radius * c;
    z[1] = radius * s;
}

// x * scale + shift in two roundings, as on the host.
inline float stretched(float x, float scale, float shift) { return __fadd_rn(__fmul_rn(x, scale), shift); }
inline double stretched(double x, double scale, double shift) { return __dadd_rn(__dmul_rn(x, scale), shift); }
