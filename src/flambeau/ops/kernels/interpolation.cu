// Resampling along one dimension of [outer, size, inner]: a result is a weighted sum of neighbours, its taps.
// KIND: 0 nearest, 1 nearest-exact, 2 linear, 3 cubic, 4 area, 5 linear with antialias, 6 cubic with antialias.
// C is the type of positions and weights.  The gradient of an element adds the results that have it as a tap, in order.

#define NEAREST 0
#define NEAREST_EXACT 1
#define LINEAR 2
#define CUBIC 3
#define AREA 4

template <class C> inline C cubic_near(C x, C a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
template <class C> inline C cubic_far(C x, C a) { return (((x - 5) * x + 8) * x - 4) * a; }

template <int KIND, class C> inline C smooth(C x) {
    if (x < 0) x = -x;
    if (KIND == 5) return x < 1 ? 1 - x : C(0);
    return x < 1 ? cubic_near(x, C(-0.5)) : x < 2 ? cubic_far(x, C(-0.5)) : C(0);
}

// The taps of result `at`: `count` of them from index `first`, which may lie outside [0, size) and is then clamped.
template <int KIND, class C> struct Taps {
    long long first, size;
    int count;
    C weight, rest, center, inverse, total;
    Taps(long long at, long long size, long long results, C scale, bool align) : size(size) {
        if (KIND == NEAREST || KIND == NEAREST_EXACT) {
            const float place = KIND == NEAREST ? floorf(at * (float)scale) : floorf((at + 0.5f) * (float)scale);
            first = (long long)place < size - 1 ? (long long)place : size - 1;
            count = 1;
        } else if (KIND == LINEAR || KIND == CUBIC) {
            C place = align ? scale * at : scale * (at + C(0.5)) - C(0.5);
            if (KIND == LINEAR && place < 0) place = 0;
            const C below = floor(place);
            first = (long long)below - (KIND == CUBIC);
            if (KIND == LINEAR && first > size - 1) first = size - 1;
            rest = KIND == LINEAR ? place - first : place - below;
            if (KIND == LINEAR && rest > 1) rest = 1;
            count = KIND == CUBIC ? 4 : 2;
        } else if (KIND == AREA) {
            first = at * size / results;
            count = (int)(((at + 1) * size + results - 1) / results - first);
        } else {
            const C delta = C(0.5), half = C(KIND == 5 ? 1 : 2), support = scale >= 1 ? half * scale : half;
            center = scale * (at + delta);
            inverse = scale >= 1 ? 1 / scale : C(1);
            const long long low = (long long)(center - support + delta), high = (long long)(center + support + delta);
            first = low > 0 ? low : 0;
            count = (int)((high < size ? high : size) - first);
            center -= delta;
            total = 0;
            for (int k = 0; k < count; ++k) total += smooth<KIND>((first + k - center) * inverse);
        }
    }
    long long index(int k) const {
        const long long place = first + k;
        return place < 0 ? 0 : place < size ? place : size - 1;
    }
    C of(int k) const {
        if (KIND == NEAREST || KIND == NEAREST_EXACT) return 1;
        if (KIND == LINEAR) return k ? rest : 1 - rest;
        if (KIND == AREA) return C(1) / count;
        if (KIND == CUBIC) {
            const C a = C(-0.75);
            return k == 0 ? cubic_far(rest + 1, a) : k == 1 ? cubic_near(rest, a)
                   : k == 2 ? cubic_near(1 - rest, a) : cubic_far(2 - rest, a);
        }
        const C raw = smooth<KIND>((first + k - center) * inverse);
        return total != 0 ? raw / total : raw;
    }
};

template <int KIND, class C, class W, class O, class T>
inline void resample(O* out, const T* input, long long outer, long long size, long long results, long long inner, C scale,
                     bool align) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < outer * results * inner;
         i += (long long)gridDim.x * blockDim.x) {
        long long column, at;
        const long long row = divide(divide(i, inner, column), results, at);
        const Taps<KIND, C> taps(at, size, results, scale, align);
        const T* data = input + row * size * inner + column;
        if (KIND == NEAREST || KIND == NEAREST_EXACT) {
            out[i] = store<O>(load<W>(data[taps.first * inner]));
        } else {
            W sum = 0;
            for (int k = 0; k < taps.count; ++k) sum += (W)taps.of(k) * load<W>(data[taps.index(k) * inner]);
            out[i] = store<O>(sum);
        }
    }
}

template <int KIND, class C, class W, class O, class T>
inline void resample_back(O* out, const T* grad, long long outer, long long size, long long results, long long inner,
                          C scale, bool align) {
    const double reach = KIND >= 5 ? (KIND == 5 ? 1 : 2) * (scale > 1 ? (double)scale : 1.0) + 2 : KIND == AREA ? (double)size / results + 2 : 4;
    const double step = KIND == AREA ? (double)size / results : (double)scale;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < outer * size * inner;
         i += (long long)gridDim.x * blockDim.x) {
        long long column, at;
        const long long row = divide(divide(i, inner, column), size, at);
        long long low = 0, high = results - 1;
        if (step > 0) {  // results further away have no tap here
            const double from = floor((at - reach) / step) - 1, to = ceil((at + reach) / step) + 1;
            if (at > 0 && from > 0) low = from < (double)results ? (long long)from : results;
            if (at < size - 1 && to < (double)high) high = to < 0 ? -1 : (long long)to;
        }
        W sum = 0;
        for (long long result = low; result <= high; ++result) {
            const Taps<KIND, C> taps(result, size, results, scale, align);
            W weight = 0;
            for (int k = 0; k < taps.count; ++k)
                if (taps.index(k) == at) weight += (W)taps.of(k);
            if (weight != 0) sum += weight * load<W>(grad[(row * results + result) * inner + column]);
        }
        out[i] = store<O>(sum);
    }
}
