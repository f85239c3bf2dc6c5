
// ---- what expressions of pointwise operators share ----

template <class T> inline bool is_nan(T) { return false; }
template <> inline bool is_nan(float x) { return x != x; }
template <> inline bool is_nan(double x) { return x != x; }

template <class T> inline T not_a_number();
template <> inline float not_a_number<float>() { return NAN; }
template <> inline double not_a_number<double>() { return __longlong_as_double(0x7ff8000000000000LL); }

// NaN wins over any number.
template <class T> inline T larger(T a, T b) { return is_nan(a) || a > b ? a : b; }
template <class T> inline T smaller(T a, T b) { return is_nan(a) || a < b ? a : b; }

template <class T> inline T sign_of(T x) { return (T)((x > (T)0) - (x < (T)0)); }
template <> inline bool sign_of(bool x) { return x; }
template <> inline unsigned char sign_of(unsigned char x) { return x > 0; }

template <class T> inline T absolute(T x) { return x < (T)0 ? (T)-x : x; }
template <> inline unsigned char absolute(unsigned char x) { return x; }
template <> inline float absolute(float x) { return fabsf(x); }
template <> inline double absolute(double x) { return fabs(x); }

// Division rounds down, and a remainder has the divisor's sign.  Integers divided by zero give 0.
template <class T> inline T floored(T a, T b) {
    if (b == 0) return 0;
    if (b == (T)-1) return (T)(0 - (unsigned long long)a);
    T quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? (T)(quotient - 1) : quotient;
}
template <> inline float floored(float a, float b) {
    if (b == 0) return a / b;
    float rest = fmodf(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysignf(0.0f, a / b);
    float down = floorf(quotient);
    return quotient - down > 0.5f ? down + 1 : down;
}
template <> inline double floored(double a, double b) {
    if (b == 0) return a / b;
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(0.0, a / b);
    double down = floor(quotient);
    return quotient - down > 0.5 ? down + 1 : down;
}

template <class T> inline T remains(T a, T b) {
    if (b == 0 || b == (T)-1) return 0;
    T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? (T)(rest + b) : rest;
}
template <> inline float remains(float a, float b) {
    float rest = fmodf(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
template <> inline double remains(double a, double b) {
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Integers wrap; to a negative power, only 1 and -1 are not 0.
template <class T> inline T power(T base, T exponent) {
    if (exponent < 0) return base == 1 ? (T)1 : base == (T)-1 ? (exponent % 2 ? (T)-1 : (T)1) : (T)0;
    unsigned long long result = 1, factor = base;
    for (unsigned long long left = exponent; left; left >>= 1, factor *= factor)
        if (left & 1) result *= factor;
    return (T)result;
}
template <> inline float power(float base, float exponent) { return powf(base, exponent); }
template <> inline double power(double base, double exponent) { return pow(base, exponent); }

inline float erf_of(float x) { return erff(x); }
inline double erf_of(double x) { return erf(x); }
inline float exp_of(float x) { return expf(x); }
inline double exp_of(double x) { return exp(x); }
inline float expm1_of(float x) { return expm1f(x); }
inline double expm1_of(double x) { return expm1(x); }
inline float log_of(float x) { return logf(x); }
inline double log_of(double x) { return log(x); }
inline float log1p_of(float x) { return log1pf(x); }
inline double log1p_of(double x) { return log1p(x); }
inline float sqrt_of(float x) { return sqrtf(x); }
inline double sqrt_of(double x) { return sqrt(x); }
inline float sin_of(float x) { return sinf(x); }
inline double sin_of(double x) { return sin(x); }
inline float cos_of(float x) { return cosf(x); }
inline double cos_of(double x) { return cos(x); }
inline float tanh_of(float x) { return tanhf(x); }
inline double tanh_of(double x) { return tanh(x); }
template <class T> inline T floor_of(T x) { return x; }
template <> inline float floor_of(float x) { return floorf(x); }
template <> inline double floor_of(double x) { return floor(x); }
template <class T> inline T ceil_of(T x) { return x; }
template <> inline float ceil_of(float x) { return ceilf(x); }
template <> inline double ceil_of(double x) { return ceil(x); }
template <class T> inline T trunc_of(T x) { return x; }
template <> inline float trunc_of(float x) { return truncf(x); }
template <> inline double trunc_of(double x) { return trunc(x); }
template <class T> inline T round_of(T x) { return x; }
template <> inline float round_of(float x) { return rintf(x); }
template <> inline double round_of(double x) { return rint(x); }

template <class T> inline T sigmoid_of(T x) { return (T)1 / ((T)1 + exp_of(-x)); }

template <class T> inline bool is_infinite(T) { return false; }
template <> inline bool is_infinite(float x) { return fabsf(x) == INFINITY; }
template <> inline bool is_infinite(double x) { return fabs(x) == INFINITY; }

template <class T> inline T inverted(T x) { return (T)~x; }
template <> inline bool inverted(bool x) { return !x; }
