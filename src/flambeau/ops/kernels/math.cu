
// Device functions that expressions of pointwise operators share.  T is a compute type: bool, an integer, float or double.

template <class T> constexpr bool IS_FLOATING = false;
template <> constexpr bool IS_FLOATING<float> = true;
template <> constexpr bool IS_FLOATING<double> = true;

template <class T> constexpr bool IS_SIGNED = true;
template <> constexpr bool IS_SIGNED<bool> = false;
template <> constexpr bool IS_SIGNED<unsigned char> = false;

template <class T> inline bool is_nan(T x) {
    if constexpr (IS_FLOATING<T>) return x != x;
    else return false;
}

template <class T> inline bool is_infinite(T x) {
    if constexpr (IS_FLOATING<T>) return fabs(x) == INFINITY;
    else return false;
}

// ---- order and sign ----

// NaN if either argument is NaN.
template <class T> inline T larger(T a, T b) { return is_nan(a) || a > b ? a : b; }
template <class T> inline T smaller(T a, T b) { return is_nan(a) || a < b ? a : b; }

template <class T> inline T sign_of(T x) {  // 0 for NaN
    if constexpr (IS_SIGNED<T>) return (T)((x > 0) - (x < 0));
    else return (T)(x != 0);
}

template <class T> inline T absolute(T x) {
    if constexpr (IS_FLOATING<T>) return fabs(x);
    else if constexpr (IS_SIGNED<T>) return x < 0 ? (T)-x : x;
    else return x;
}

template <class T> inline T inverted(T x) { return (T)~x; }
template <> inline bool inverted(bool x) { return !x; }

template <class T> inline T shifted_left(T x, T places) {
    return places < 0 || places >= (T)(8 * sizeof(T)) ? (T)0 : (T)((unsigned long long)x << places);
}

template <class T> inline T shifted_right(T x, T places) {
    constexpr int last = 8 * sizeof(T) - 1;
    if (places < 0 || places > last) return IS_SIGNED<T> ? (T)(x >> last) : (T)0;
    return (T)(x >> places);
}

// ---- parts of numbers ----

template <class T> inline bool is_negative(T x) {  // the sign bit
    if constexpr (IS_FLOATING<T>) return copysign((T)1, x) < 0;
    else return x < 0;
}

template <class T> inline T mantissa_of(T x) {
    int exponent;
    return frexp(x, &exponent);
}

template <class T> inline int exponent_of(T x) {
    int exponent;
    frexp(x, &exponent);
    return is_nan(x) || is_infinite(x) ? 0 : exponent;
}

// The next number after x of a half type T, in the direction of y.
template <class T> inline float neighbour(float x, float y) {
    if (is_nan(x) || is_nan(y)) return NAN;
    if (x == y) return y;
    T next = store<T>(x);
    if (x == 0) next.bits = y < 0 ? 0x8001 : 1;
    else next.bits += (x < y) == (x > 0) ? 1 : -1;
    return widen(next);
}

// A NaN only if both arguments are NaN.
template <class T> inline T larger_number(T a, T b) { return is_nan(b) || a >= b ? a : b; }
template <class T> inline T smaller_number(T a, T b) { return is_nan(b) || a <= b ? a : b; }

template <class T> inline T add_logarithms(T a, T b) {  // log(exp(a) + exp(b))
    if (a == b && is_infinite(a)) return a;
    return (a > b ? a : b) + log1p(exp(-fabs(a - b)));
}

template <class T> inline T add_logarithms_2(T a, T b) {
    if (a == b && is_infinite(a)) return a;
    return (a > b ? a : b) + log1p(exp2(-fabs(a - b))) * (T)1.4426950408889634;
}

// ---- whole numbers ----

template <class T> inline T floor_of(T x) {
    if constexpr (IS_FLOATING<T>) return floor(x);
    else return x;
}

template <class T> inline T ceil_of(T x) {
    if constexpr (IS_FLOATING<T>) return ceil(x);
    else return x;
}

template <class T> inline T trunc_of(T x) {
    if constexpr (IS_FLOATING<T>) return trunc(x);
    else return x;
}

template <class T> inline T round_of(T x) {  // halves to even
    if constexpr (IS_FLOATING<T>) return rint(x);
    else return x;
}

// ---- division that rounds down, with a remainder of the divisor's sign; integers divided by 0 give 0 ----

template <class T> inline T remains(T a, T b) {
    if constexpr (IS_FLOATING<T>) {
        const T rest = fmod(a, b);
        if (rest == 0) return copysign(rest, b);
        return (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
        if (b == 0) return 0;
        if constexpr (IS_SIGNED<T>) {
            if (b == -1) return 0;  // the least integer has no quotient by -1
            const T rest = (T)(a % b);
            return rest != 0 && (rest < 0) != (b < 0) ? (T)(rest + b) : rest;
        }
        return (T)(a % b);
    }
}

template <class T> inline T remains_in_c(T a, T b) {  // with the sign of the dividend
    if constexpr (IS_FLOATING<T>) {
        return fmod(a, b);
    } else {
        if (b == 0) return 0;
        if constexpr (IS_SIGNED<T>) {
            if (b == -1) return 0;
        }
        return (T)(a % b);
    }
}

template <class T> inline T divisor_of(T a, T b) {  // the greatest common one, by Euclid
    a = absolute(a), b = absolute(b);
    while (b != 0) {
        const T rest = remains_in_c(a, b);
        a = b, b = rest;
    }
    return a;
}

template <class T> inline T multiple_of(T a, T b) {  // the least common one
    const T divisor = divisor_of(a, b);
    return divisor == 0 ? (T)0 : (T)absolute(a / divisor * b);
}

// x * 2^power, where 2^power alone may overflow
template <class T> inline T scaled(T x, T power) {
    const T whole = floor(power) < -5000 ? (T)-5000 : floor(power) > 5000 ? (T)5000 : floor(power);  // NaN stays
    return ldexp(x * exp2(power - whole), is_nan(whole) ? 0 : (int)whole);
}

template <class T> inline T floored(T a, T b) {
    if constexpr (IS_FLOATING<T>) {
        if (b == 0) return a / b;
        const T rest = fmod(a, b);
        T quotient = (a - rest) / b;
        if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
        if (quotient == 0) return copysign(quotient, a / b);
        const T down = floor(quotient);  // the quotient is an integer, except for rounding
        return quotient - down > (T)0.5 ? down + 1 : down;
    } else {
        if (b == 0) return 0;
        if constexpr (IS_SIGNED<T>) {
            if (b == -1) return (T)(0ull - (unsigned long long)a);
            return (T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
        }
        return (T)(a / b);
    }
}

// ---- powers ----

// Integers wrap; to a negative power, only 1 and -1 are not 0.
template <class T> inline T power(T base, T exponent) {
    if constexpr (IS_FLOATING<T>) {
        return pow(base, exponent);
    } else {
        if constexpr (IS_SIGNED<T>) {
            if (exponent < 0) return (T)(base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0);
        }
        unsigned long long result = 1, factor = (unsigned long long)base;
        for (unsigned long long left = (unsigned long long)exponent; left; left >>= 1, factor *= factor)
            if (left & 1) result *= factor;
        return (T)result;
    }
}

template <class T> inline T sinc_of(T x) {
    const T angle = x * (T)3.141592653589793;
    return angle == 0 ? (T)1 : sin(angle) / angle;
}

// ---- activations, and their slopes ----

template <class T> inline T sigmoid_of(T x) { return 1 / (1 + exp(-x)); }

template <class T> inline T logit_of(T x) { return log(x / (1 - x)); }

template <class T> inline T silu_slope(T x) {
    const T gate = sigmoid_of(x);
    return gate * (1 + x * (1 - gate));
}

template <class T> inline T mish_slope(T x) {
    const T bend = tanh(log1p(exp(x)));
    return bend + x * (1 - bend * bend) * sigmoid_of(x);
}

template <class T> inline T normal_cumulative(T x) { return (T)0.5 * (1 + erf(x * (T)0.7071067811865476)); }
template <class T> inline T normal_density(T x) { return exp(x * x * (T)-0.5) * (T)0.3989422804014327; }
template <class T> inline T gelu_slope(T x) { return normal_cumulative(x) + x * normal_density(x); }

// The cubic inside the tanh form of gelu.
template <class T> inline T gelu_inner(T x) { return (T)0.7978845608028654 * (x + (T)0.044715 * x * x * x); }
template <class T> inline T gelu_tanh_of(T x) { return (T)0.5 * x * (1 + tanh(gelu_inner(x))); }

template <class T> inline T gelu_tanh_slope(T x) {
    const T bend = tanh(gelu_inner(x));
    const T steepness = (T)0.7978845608028654 * (1 + 3 * (T)0.044715 * x * x);
    return (T)0.5 * (1 + bend) + (T)0.5 * x * (1 - bend * bend) * steepness;
}
