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

// The taps of result `at`: `count` of them from index `first`.  Indexes outside [0, size) are clamped.
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
        if (step > 0) {  // more distant results have no tap here
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

// ---- values at the points of a grid ----
//
// PADDING outside an image: 0 zeros, 1 its border, 2 its reflection.  Coordinates are in pixels.

template <class C> inline C mirrored(C at, C size, bool align) {
    const C low = align ? C(0) : C(-0.5), span = align ? size - 1 : size;
    if (span == 0) return at * 0;
    const C apart = fabs(at - low), flips = floor(apart / span), rest = apart - flips * span;
    return (flips - floor(flips / 2) * 2 == 0 ? rest : span - rest) + low;
}

template <class C> inline C inside_image(C at, C size, int padding, bool align) {
    if (padding == 0) return at;
    if (padding == 2) at = mirrored(at, size, align);
    return !(at > 0) ? C(0) : at > size - 1 ? size - 1 : at;  // 0 of NaN
}

// The derivative of inside_image, 0 where a coordinate is moved to the border.
template <class C> inline C inside_slope(C at, C size, int padding, bool align) {
    if (padding == 0) return 1;
    C slope = 1;
    if (padding == 2) {
        const C low = align ? C(0) : C(-0.5), span = align ? size - 1 : size;
        if (span == 0) return 0;
        const C flips = floor(fabs(at - low) / span);
        slope = (at < low) == (flips - floor(flips / 2) * 2 == 0) ? -1 : 1;
        at = mirrored(at, size, align);
    }
    return at > 0 && at < size - 1 ? slope : C(0);
}

template <class C> inline C cubic_near_slope(C x, C a) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; }
template <class C> inline C cubic_far_slope(C x, C a) { return ((3 * x - 10) * x + 8) * a; }

// The pixels that a point reads: their coordinates (taps) and weights along each dimension.  Each combination is a corner.
// MODE: 0 bilinear, 1 nearest, 2 bicubic.  `sizes` are those of the DIMS spatial dimensions of an image.
template <int MODE, int DIMS, class C> struct Reads {
    static constexpr int TAPS = MODE == 0 ? 2 : MODE == 1 ? 1 : 4, CORNERS = DIMS == 2 ? TAPS * TAPS : TAPS * TAPS * TAPS;
    const long long* sizes;
    C taps[DIMS][TAPS], weights[DIMS][TAPS], rests[DIMS], scales[DIMS];  // scales: pixels for each unit of the grid

    inline Reads(const C* place, const long long* sizes, int padding, bool align) : sizes(sizes) {
        for (int d = 0; d < DIMS; ++d) {
            const C size = (C)sizes[d], x = place[DIMS - 1 - d] + 1;  // the last coordinate is that of the first dimension
            C at = align ? x * ((size - 1) / 2) : (x * size - 1) / 2;
            scales[d] = (align ? size - 1 : size) / 2;
            if (MODE != 2) {
                scales[d] *= inside_slope(at, size, padding, align);
                at = inside_image(at, size, padding, align);
            }
            const C below = MODE == 1 ? rint(at) : floor(at), rest = at - below;
            rests[d] = rest;
            for (int k = 0; k < TAPS; ++k) {
                const C tap = below + (MODE == 2 ? k - 1 : k);
                taps[d][k] = MODE == 2 ? inside_image(tap, size, padding, align) : tap;
                const C apart = MODE == 2 ? fabs(rest + 1 - k) : C(0);
                weights[d][k] = MODE == 1 ? C(1) : MODE == 0 ? (k ? rest : 1 - rest)
                                : k == 1 || k == 2 ? cubic_near(apart, C(-0.75)) : cubic_far(apart, C(-0.75));
            }
        }
    }
    // Whether the corner's pixel is inside the image; its index and its weight.
    inline bool corner(int number, long long& index, C& weight) const {
        bool fits = true;
        long long step = 1;
        index = 0, weight = 1;
        for (int d = DIMS - 1; d >= 0; --d, number /= TAPS) {
            const C tap = taps[d][number % TAPS];
            const bool is_inside = tap >= 0 && tap <= (C)(sizes[d] - 1);
            index += is_inside ? (long long)tap * step : 0;
            step *= sizes[d];
            fits = fits && is_inside;
            weight *= weights[d][number % TAPS];
        }
        return fits;
    }
    // The derivative of a tap's weight by the coordinate.
    inline C slope(int d, int k) const {
        if (MODE == 0) return k ? 1 : -1;
        const C apart = rests[d] + 1 - k, a = C(-0.75), x = fabs(apart);
        const C steep = k == 1 || k == 2 ? cubic_near_slope(x, a) : cubic_far_slope(x, a);
        return k < 2 ? steep : -steep;
    }
    // Add `value` times the derivatives of the corner's weight by the coordinates of the grid.
    inline void add_slopes(C* totals, int number, C value) const {
        int chosen[DIMS];
        for (int d = DIMS - 1; d >= 0; --d, number /= TAPS) chosen[d] = number % TAPS;
        for (int d = 0; d < DIMS; ++d) {
            C product = slope(d, chosen[d]);
            for (int e = 0; e < DIMS; ++e)
                if (e != d) product *= weights[e][chosen[e]];
            totals[d] += value * product;
        }
    }
};

template <int MODE, int DIMS, class C>
inline void sample_points(C* out, const C* input, const C* grid, long long channels, long long points, long long pixels,
                          const long long* sizes, long long numel, int padding, bool align) {
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += threads) {
        long long point;
        const long long plane = divide(i, points, point);
        const Reads<MODE, DIMS, C> reads(grid + (plane / channels * points + point) * DIMS, sizes, padding, align);
        const C* image = input + plane * pixels;
        C total = 0;
        for (int corner = 0; corner < reads.CORNERS; ++corner) {
            long long index;
            C weight;
            const bool fits = reads.corner(corner, index, weight);
            total += (fits ? image[index] : C(0)) * weight;
        }
        out[i] = total;
    }
}

// The gradient of the grid: a thread adds up the channels and corners of its point.
template <int MODE, int DIMS, class C>
inline void sample_points_slopes(C* out, const C* grad, const C* input, const C* grid, long long channels, long long points,
                                 long long pixels, const long long* sizes, long long numel, int padding, bool align) {
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += threads) {
        long long point;
        const long long plane = divide(i, points, point) * channels;
        const Reads<MODE, DIMS, C> reads(grid + i * DIMS, sizes, padding, align);
        C totals[DIMS];
        for (int d = 0; d < DIMS; ++d) totals[d] = 0;
        for (int corner = 0; corner < reads.CORNERS; ++corner) {
            long long index;
            C weight, value = 0;
            if (!reads.corner(corner, index, weight)) continue;
            for (long long channel = plane; channel < plane + channels; ++channel)
                value += grad[channel * points + point] * input[channel * pixels + index];
            reads.add_slopes(totals, corner, value);
        }
        for (int d = 0; d < DIMS; ++d) out[i * DIMS + DIMS - 1 - d] = totals[d] * reads.scales[d];
    }
}

// The pixel of each corner of each point, or `pixels` if it is outside the image, and its weight.
template <int MODE, int DIMS, class C>
inline void sample_points_reads(long long* places, C* weights, const C* grid, long long pixels, const long long* sizes,
                                long long numel, int padding, bool align) {
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += threads) {
        const Reads<MODE, DIMS, C> reads(grid + i * DIMS, sizes, padding, align);
        for (int corner = 0; corner < reads.CORNERS; ++corner) {
            long long index;
            const bool fits = reads.corner(corner, index, weights[i * reads.CORNERS + corner]);
            places[i * reads.CORNERS + corner] = fits ? index : pixels;
        }
    }
}

// The gradient of the images.  `places` is sorted for each image; the thread of a pixel's first read adds up all, in order.
template <class C>
inline void sample_points_back(C* out, const C* grad, const long long* places, const long long* entries, const C* weights,
                               long long images, long long channels, long long points, long long corners, long long pixels) {
    const long long threads = (long long)gridDim.x * blockDim.x, count = points * corners;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < images * channels * count; i += threads) {
        long long at;
        const long long plane = divide(i, count, at), first = plane / channels * count, pixel = places[first + at];
        if (pixel == pixels || (at > 0 && places[first + at - 1] == pixel)) continue;
        C total = 0;
        for (; at < count && places[first + at] == pixel; ++at) {
            const long long entry = entries[first + at];
            total += weights[first + entry] * grad[plane * points + entry / corners];
        }
        out[plane * pixels + pixel] = total;
    }
}
