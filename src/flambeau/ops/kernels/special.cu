
// Special functions that CUDA's math library lacks, in double: expressions convert from and to other types.
// Series and their names are those of the Digital Library of Mathematical Functions (https://dlmf.nist.gov).

#define PI 3.141592653589793
#define EULER 0.5772156649015329

// ---- the gamma function's derivatives, and the zeta function ----

inline double digamma_of(double x) {
    if (x == 0) return copysign((double)INFINITY, -x);
    double result = 0;
    if (x < 0) {  // 5.5.4, with the angle reduced to (-1, 1), where the tangent is exact
        if (x == trunc(x)) return NAN;
        result = -PI / tan(PI * (x - trunc(x)));
        x = 1 - x;
    }
    for (; x < 10; x += 1) result -= 1 / x;
    const double inverse = 1 / (x * x);  // 5.11.2
    const double tail = 8.333333333333333e-2 - inverse * (8.333333333333333e-3 - inverse * (3.968253968253968e-3
        - inverse * (4.166666666666667e-3 - inverse * (7.575757575757576e-3 - inverse * (2.1092796092796094e-2
        - inverse * 8.333333333333333e-2)))));
    return result + log(x) - 0.5 / x - inverse * tail;
}

// The logarithm of the multivariate gamma function with p dimensions, in the type of x.
template <class T> inline T log_gammas_of(T x, int p) {
    T total = lgamma(x);
    for (int step = 1; step < p; ++step) total += lgamma(x - (T)step / 2);
    return total + (T)((double)p * (p - 1) / 4 * log(PI));
}

// Hurwitz's zeta function by Euler and Maclaurin's formula (25.11.5): the sum of (q + k)^-s.
inline double zeta_of(double s, double q) {
    if (s == 1) return INFINITY;
    if (is_nan(s) || is_nan(q) || s < 1) return NAN;
    if (q <= 0) {
        if (q == floor(q)) return INFINITY;
        if (s != floor(s)) return NAN;
    }
    if (is_infinite(q)) return 0;
    double total = pow(q, -s), at = q, power = 0;
    for (int k = 0; k < 9 || at <= 9; ++k) {
        at += 1;
        power = pow(at, -s);
        total += power;
        if (fabs(power) < 1e-17 * fabs(total)) return total;
    }
    total += power * at / (s - 1) - 0.5 * power;
    // B(2j) / (2j)!
    const double coefficients[] = {
        8.333333333333333e-2, -1.388888888888889e-3, 3.306878306878307e-5, -8.267195767195767e-7, 2.08767569878681e-8,
        -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
        -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812523e-19};
    double factor = s;
    power /= at;
    for (int j = 0; j < 12; ++j) {
        const double term = coefficients[j] * factor * power;
        total += term;
        if (fabs(term) < 1e-17 * fabs(total)) break;
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2);
        power /= at * at;
    }
    return total;
}

inline double polygamma_of(double n, double x) {
    if (n == 0) return digamma_of(x);
    const double size = tgamma(n + 1) * zeta_of(n + 1, x);
    return fmod(n, 2) == 0 ? -size : size;
}

// ---- incomplete gamma functions ----

// x^a exp(-x) / gamma(a + 1).  Large a: by Stirling's series (5.11.1), since the three factors would overflow.
inline double gamma_density(double a, double x) {
    if (a < 10) return exp(a * log(x) - x - lgamma(a + 1));
    const double apart = (x - a) / a, inverse = 1 / (a * a);
    const double rest = (8.333333333333333e-2 - inverse * (2.777777777777778e-3 - inverse * (7.936507936507937e-4
        - inverse * (5.952380952380953e-4 - inverse * 8.417508417508417e-4)))) / a;
    const double logarithm = apart < -0.5 ? log(x / a) : log1p(apart);
    return exp(a * (logarithm - apart) - rest) / sqrt(2 * PI * a);
}

inline double gamma_below(double a, double x) {  // 8.11.4
    double term = 1, total = 1;
    for (double k = a + 1; term > 1e-17 * total; k += 1) {
        term *= x / k;
        total += term;
    }
    return total * gamma_density(a, x);
}

inline double gamma_above_near_0(double a, double x) {  // 8.7.1 without the cancellation of 1 - gamma_below
    double power = 1, total = 0;
    for (int k = 1; k < 60; ++k) {
        power *= -x / k;
        total += power / (a + k);
    }
    return -expm1(a * log(x) - lgamma(a + 1)) - exp(a * log(x) - lgamma(a)) * total;
}

inline double gamma_above(double a, double x) {  // 8.9.2, by Lentz's algorithm
    double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
    for (int k = 1; k < 100000; ++k) {
        const double step = k * (a - k);
        b += 2;
        d = step * d + b;
        d = 1 / (d == 0 ? 1e-300 : d);
        c = b + step / c;
        if (c == 0) c = 1e-300;
        fraction *= c * d;
        if (fabs(c * d - 1) < 1e-16) break;
    }
    return fraction * a * gamma_density(a, x);
}

inline double igamma_of(double a, double x) {
    if (!(x >= 0) || !(a >= 0)) return NAN;
    if (a == 0) return x > 0 ? 1 : NAN;
    if (x == 0) return 0;
    if (is_infinite(a)) return is_infinite(x) ? NAN : 0;
    if (is_infinite(x)) return 1;
    return x > 1 && x > a ? 1 - gamma_above(a, x) : gamma_below(a, x);
}

inline double igammac_of(double a, double x) {
    if (!(x >= 0) || !(a >= 0)) return NAN;
    if (a == 0) return x > 0 ? 0 : NAN;
    if (x == 0) return 1;
    if (is_infinite(a)) return is_infinite(x) ? NAN : 1;
    if (is_infinite(x)) return 0;
    if (x > 1.1 && x > a) return gamma_above(a, x);
    return x <= 1.1 && a < 1 ? gamma_above_near_0(a, x) : 1 - gamma_below(a, x);
}

// ---- modified Bessel functions ----

constexpr double FAR = 30;  // from here on, the expansions for large arguments are exact to double precision

// The sum of 10.40.1 (sign -1: I) and 10.40.2 (sign 1: K).
inline double hankel_sum(double order, double x, double sign) {
    double term = 1, total = 1;
    for (int k = 1; k < 30; ++k) {
        const double odd = 2 * k - 1, factor = (4 * order * order - odd * odd) / (8 * k * x) * sign;
        if (fabs(factor) >= 1) break;
        term *= factor;
        total += term;
    }
    return total;
}

inline double scaled_i(int order, double x) {  // exp(-|x|) times the function
    const double size = fabs(x);
    double result;
    if (is_infinite(x)) return 0;
    if (size < FAR) result = exp(-size) * (order ? cyl_bessel_i1(size) : cyl_bessel_i0(size));
    else result = hankel_sum(order, size, -1) / sqrt(2 * PI * size);
    return order ? copysign(result, x) : result;
}

// exp(x) K(x) by the trapezoidal rule for 10.32.9, which converges exponentially.
inline double scaled_k(double order, double x) {
    if (is_nan(x) || x < 0) return NAN;
    if (x == 0) return INFINITY;
    if (is_infinite(x)) return 0;
    if (x >= FAR) return hankel_sum(order, x, 1) * sqrt(PI / (2 * x));
    if (x < 1e-8 && order == 0) return exp(x) * (-log(x / 2) - EULER);
    if (x < 1e-8 && order == 1) return exp(x) / x;
    const double step = 0.1, end = acosh(1 + 50 / x);
    double total = 0.5;
    for (double at = step; at < end; at += step) {
        const double half = sinh(at / 2);
        total += exp(-2 * x * half * half) * cosh(order * at);
    }
    return total * step;
}

inline double unscaled_k(double order, double x) {
    return is_infinite(x) && x > 0 ? 0 : exp(-x) * scaled_k(order, x);
}

// ---- the Airy function ----

// Below -10 by 9.7.9; up to 0 by Taylor's series around -0.5, -1.5 and so on, where value and slope are known; above
// by the Bessel function K of order 1/3 (9.6.2).
inline double airy_of(double x) {
    const double known[10][2] = {
        {0.4757280916105396, -0.20408167033954738}, {0.4642565777488694, 0.3091869672024104},
        {-0.11232506769296609, 0.6788527342647943}, {-0.37553382314043193, -0.34344343345404815},
        {0.2921527810559595, -0.5233625323157477}, {0.017781541276574976, 0.8641972177713984},
        {-0.2380203019971158, -0.6749524925132022}, {0.3217757163806479, 0.3188095066985546},
        {-0.33029023763020887, -0.03231334828463914}, {0.3191032477191282, -0.10809531881187123}};
    if (is_nan(x) || x == INFINITY || x == -INFINITY) return NAN;
    if (x < -10) {
        const double z = -x, angle = 2 * z * sqrt(z) / 3;
        double term = 1, even = 1, odd = 0;
        for (int k = 1; k < 20; ++k) {
            term *= (6.0 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1) * angle);
            if (k % 2) odd += k % 4 == 1 ? term : -term;
            else even += k % 4 == 0 ? term : -term;
        }
        return (cos(angle - PI / 4) * even + sin(angle - PI / 4) * odd) / sqrt(PI * sqrt(z));
    }
    if (x <= 0) {
        const int cell = x > -1 ? 0 : x <= -9 ? 9 : (int)-x;
        const double center = -0.5 - cell, apart = x - center;
        double before = known[cell][0], slope = known[cell][1], next = center * before / 2;
        double total = before + apart * (slope + apart * next), power = apart * apart;
        for (int n = 1; n < 28; ++n) {  // (n + 1)(n + 2) c[n + 2] = center c[n] + c[n - 1]
            const double after = (center * slope + before) / ((n + 1.0) * (n + 2));
            before = slope, slope = next, next = after;
            power *= apart;
            total += after * power;
        }
        return total;
    }
    const double angle = 2 * x * sqrt(x) / 3;
    if (x < 1e-5) return 0.3550280538878172 - 0.2588194037928068 * x;
    return sqrt(x / 3) / PI * exp(-angle) * scaled_k(1.0 / 3, angle);
}

inline double spherical_j0(double x) {
    return is_infinite(x) ? 0 : x == 0 ? 1 : sin(x) / x;
}

inline double log_normal_cumulative(double x) {
    const double scaled = x * 0.7071067811865476;
    return x < -1 ? log(erfcx(-scaled) / 2) - scaled * scaled : log1p(-erfc(scaled) / 2);
}

// ---- orthogonal polynomials of degree n, by their recurrences (18.9.1); 0 for a negative degree ----

enum Family { CHEBYSHEV_T, CHEBYSHEV_U, CHEBYSHEV_V, CHEBYSHEV_W, HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE };

inline double polynomial(Family family, double x, double degree) {
    const long long n = (long long)degree;
    if (n < 0) return 0;
    double before = 1, value;
    switch (family) {
        case CHEBYSHEV_T: case HERMITE_HE: case LEGENDRE: value = x; break;
        case CHEBYSHEV_V: value = 2 * x - 1; break;
        case CHEBYSHEV_W: value = 2 * x + 1; break;
        case LAGUERRE: value = 1 - x; break;
        default: value = 2 * x;
    }
    if (n == 0) return before;
    for (long long k = 1; k < n; ++k) {
        double after;
        switch (family) {
            case HERMITE_H: after = 2 * x * value - 2.0 * k * before; break;
            case HERMITE_HE: after = x * value - k * before; break;
            case LAGUERRE: after = ((2 * k + 1 - x) * value - k * before) / (k + 1); break;
            case LEGENDRE: after = ((2 * k + 1) * x * value - k * before) / (k + 1); break;
            default: after = 2 * x * value - before;
        }
        before = value, value = after;
    }
    return value;
}
