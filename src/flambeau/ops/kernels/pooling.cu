// Sums and maxima over windows of images, and their gradients; windows as columns, and their sums.
//
//  - Arrays have five dimensions (two, and three spatial ones) and any strides.  C is the compute type.
//  - I is the type of indexes: int where all of them fit 31 bits, else long long.
//  - A thread finds one place and computes the elements there of PLANES planes.  So the cost of the place is shared,
//    several loads are in flight, and neighbouring threads read neighbouring elements for any sizes.
//  - A gradient gathers: it visits the windows that hold its element, in order, so results are the same in every run.

#define SPATIAL 3
#define PLANES 4

// size: of the input; places: the number of windows.  An adaptive window o holds [o * size / places, (o + 1) * size /
// places), rounded outwards.  Others hold o * stride - padding + k * dilation for each k below `kernel`.
template <class I> struct Windows {
    I size[SPATIAL], places[SPATIAL], kernel[SPATIAL], stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL];
    bool is_adaptive;

    // The first element of a window, and the end of its range; they may be outside the input.
    void range(int dim, I o, I& first, I& end) const {
        if (is_adaptive) {
            I rest;
            first = divide(o * size[dim], places[dim], rest);
            end = divide((o + 1) * size[dim] + places[dim] - 1, places[dim], rest);
        } else {
            first = o * stride[dim] - padding[dim];
            end = first + (kernel[dim] - 1) * dilation[dim] + 1;
        }
    }

    // The part of the range inside the input.
    void inside(int dim, I o, I& first, I& end) const {
        range(dim, o, first, end);
        while (first < 0) first += dilation[dim];
        if (end > size[dim]) end = size[dim];
    }

    // The windows whose range holds element `a`.
    void holding(int dim, I a, I& first, I& end) const {
        I rest;
        if (size[dim] == 1 && places[dim] == 1) {
            first = 0;
            end = 1;
        } else if (is_adaptive) {
            first = divide(a * places[dim], size[dim], rest);
            end = divide((a + 1) * places[dim] + size[dim] - 1, size[dim], rest);
        } else {
            const I reach = (kernel[dim] - 1) * dilation[dim] + 1, at = a + padding[dim];
            first = at < reach ? 0 : divide(at - reach, stride[dim], rest) + 1;
            end = divide(at, stride[dim], rest) + 1;
        }
        if (end > places[dim]) end = places[dim];
    }

    // The index in a plane of the input.
    I flat(I a0, I a1, I a2) const { return (a0 * size[1] + a1) * size[2] + a2; }
};

template <class I> inline I within(const Layout<1>& layout, I a0, I a1, I a2) {
    return a0 * (I)layout.stride[0][2] + a1 * (I)layout.stride[0][3] + a2 * (I)layout.stride[0][4];
}

// The elements that a thread computes of an array: at one place `at`, of PLANES channels or fewer, `step` apart.
// Neighbouring threads have neighbouring places, or neighbouring channels where those are nearer in memory.
template <class I> struct Share {
    I image, channel, step, channels, at[SPATIAL];

    static I steps(const Layout<1>& layout) { return ((I)layout.size[1] + PLANES - 1) / PLANES; }
    static I count(const Layout<1>& layout) {
        return (I)layout.size[0] * steps(layout) * (I)layout.size[2] * (I)layout.size[3] * (I)layout.size[4];
    }

    Share(const Layout<1>& layout, I linear) : step(steps(layout)), channels((I)layout.size[1]) {
        const bool channels_last = layout.stride[0][1] < layout.stride[0][1 + SPATIAL];
        if (channels_last) linear = divide(linear, step, channel);
        for (int dim = SPATIAL - 1; dim >= 0; --dim) {
            at[dim] = 0;
            if (layout.size[2 + dim] > 1) linear = divide(linear, (I)layout.size[2 + dim], at[dim]);
        }
        image = linear;
        if (channels_last) return;
        channel = linear;
        image = 0;
        if (layout.size[0] > 1) image = divide(linear, step, channel);
    }

    bool has(int each) const { return channel + each * step < channels; }

    // The offset of a plane.  The first one replaces a plane that does not exist, so that reads are valid.
    I plane(const Layout<1>& layout, int each) const {
        return image * (I)layout.stride[0][0] + (has(each) ? channel + each * step : channel) * (I)layout.stride[0][1];
    }

    I place(const Layout<1>& layout, int each) const { return plane(layout, each) + within(layout, at[0], at[1], at[2]); }
};

#define EACH(I, count)                                                             \
    const I numel = count, step = (I)(gridDim.x * blockDim.x);                     \
    for (I linear = (I)(blockIdx.x * blockDim.x + threadIdx.x); linear < numel; linear += step)

#define EACH_PLANE _Pragma("unroll") for (int each = 0; each < PLANES; ++each)

// The largest element of each window, and its index in the plane.  NaN is the largest; of several NaNs the last
// counts, of other equal elements the first.
template <class C, class I, class T>
inline void window_max(T* out, long long* indices, const T* input, const Layout<1>& out_layout,
                       const Layout<1>& indices_layout, const Layout<1>& layout, const Windows<I>& windows) {
    EACH(I, Share<I>::count(out_layout)) {
        const Share<I> share(out_layout, linear);
        I first[SPATIAL], end[SPATIAL], found[PLANES];
        for (int dim = 0; dim < SPATIAL; ++dim) windows.inside(dim, share.at[dim], first[dim], end[dim]);
        const T* image[PLANES];
        C best[PLANES], x[PLANES];
        EACH_PLANE {
            image[each] = input + share.plane(layout, each);
            best[each] = lowest<C>();
            found[each] = windows.flat(first[0], first[1], first[2]);
        }
        for (I a0 = first[0]; a0 < end[0]; a0 += windows.dilation[0])
            for (I a1 = first[1]; a1 < end[1]; a1 += windows.dilation[1])
#pragma unroll 1
                for (I a2 = first[2]; a2 < end[2]; a2 += windows.dilation[2]) {
                    const I from = within(layout, a0, a1, a2);
                    EACH_PLANE x[each] = load<C>(image[each][from]);
                    EACH_PLANE if (x[each] > best[each] || x[each] != x[each]) {
                        best[each] = x[each];
                        found[each] = windows.flat(a0, a1, a2);
                    }
                }
        EACH_PLANE if (share.has(each)) {
            out[share.place(out_layout, each)] = store<T>(best[each]);
            indices[share.place(indices_layout, each)] = found[each];
        }
    }
}

// Each element is the sum of `grad` over the windows that have its index.
template <class C, class I, class T>
inline void window_max_backward(T* out, const long long* indices, const T* grad, const Layout<1>& out_layout,
                                const Layout<1>& indices_layout, const Layout<1>& layout, const Windows<I>& windows) {
    EACH(I, Share<I>::count(out_layout)) {
        const Share<I> share(out_layout, linear);
        const I self = windows.flat(share.at[0], share.at[1], share.at[2]);
        I first[SPATIAL], end[SPATIAL];
        for (int dim = 0; dim < SPATIAL; ++dim) windows.holding(dim, share.at[dim], first[dim], end[dim]);
        const T* image[PLANES];
        const long long* named[PLANES];
        C sum[PLANES], x[PLANES];
        EACH_PLANE {
            image[each] = grad + share.plane(layout, each);
            named[each] = indices + share.plane(indices_layout, each);
            sum[each] = C(0);
        }
        for (I o0 = first[0]; o0 < end[0]; ++o0)
            for (I o1 = first[1]; o1 < end[1]; ++o1)
#pragma unroll 1
                for (I o2 = first[2]; o2 < end[2]; ++o2) {
                    const I from = within(layout, o0, o1, o2), at = within(indices_layout, o0, o1, o2);
                    long long name[PLANES];
                    EACH_PLANE name[each] = named[each][at];
                    EACH_PLANE x[each] = load<C>(image[each][from]);
                    EACH_PLANE if (name[each] == self) sum[each] += x[each];
                }
        EACH_PLANE if (share.has(each)) out[share.place(out_layout, each)] = store<T>(sum[each]);
    }
}

// The divisor of a window's sum.  given: a divisor of the call, or 0.
template <class I>
inline long long divisor(const Windows<I>& windows, I o0, I o1, I o2, bool counts_padding, long long given) {
    if (given != 0) return given;
    const I o[SPATIAL] = {o0, o1, o2};
    long long product = 1;
    for (int dim = 0; dim < SPATIAL; ++dim) {
        I first, end;
        windows.range(dim, o[dim], first, end);
        const I last = windows.size[dim] + (counts_padding && !windows.is_adaptive ? windows.padding[dim] : 0);
        if (end > last) end = last;
        if (first < 0 && !counts_padding) first = 0;
        product *= end - first;
    }
    return product;
}

template <class C, class I, class T>
inline void window_mean(T* out, const T* input, const Layout<1>& out_layout, const Layout<1>& layout,
                        const Windows<I>& windows, bool counts_padding, long long given) {
    EACH(I, Share<I>::count(out_layout)) {
        const Share<I> share(out_layout, linear);
        I first[SPATIAL], end[SPATIAL];
        for (int dim = 0; dim < SPATIAL; ++dim) windows.inside(dim, share.at[dim], first[dim], end[dim]);
        const T* image[PLANES];
        C sum[PLANES], x[PLANES];
        EACH_PLANE {
            image[each] = input + share.plane(layout, each);
            sum[each] = C(0);
        }
        for (I a0 = first[0]; a0 < end[0]; ++a0)
            for (I a1 = first[1]; a1 < end[1]; ++a1)
#pragma unroll 1
                for (I a2 = first[2]; a2 < end[2]; ++a2) {
                    const I from = within(layout, a0, a1, a2);
                    EACH_PLANE x[each] = load<C>(image[each][from]);
                    EACH_PLANE sum[each] += x[each];
                }
        const C by = (C)divisor(windows, share.at[0], share.at[1], share.at[2], counts_padding, given);
        EACH_PLANE if (share.has(each)) out[share.place(out_layout, each)] = store<T>(sum[each] / by);
    }
}

template <class C, class I, class T>
inline void window_mean_backward(T* out, const T* grad, const Layout<1>& out_layout, const Layout<1>& layout,
                                 const Windows<I>& windows, bool counts_padding, long long given) {
    EACH(I, Share<I>::count(out_layout)) {
        const Share<I> share(out_layout, linear);
        I first[SPATIAL], end[SPATIAL];
        for (int dim = 0; dim < SPATIAL; ++dim) windows.holding(dim, share.at[dim], first[dim], end[dim]);
        const T* image[PLANES];
        C sum[PLANES], x[PLANES];
        EACH_PLANE {
            image[each] = grad + share.plane(layout, each);
            sum[each] = C(0);
        }
        for (I o0 = first[0]; o0 < end[0]; ++o0)
            for (I o1 = first[1]; o1 < end[1]; ++o1)
#pragma unroll 1
                for (I o2 = first[2]; o2 < end[2]; ++o2) {
                    const I from = within(layout, o0, o1, o2);
                    EACH_PLANE x[each] = load<C>(image[each][from]);
                    const C by = (C)divisor(windows, o0, o1, o2, counts_padding, given);
                    EACH_PLANE sum[each] += x[each] / by;
                }
        EACH_PLANE if (share.has(each)) out[share.place(out_layout, each)] = store<T>(sum[each]);
    }
}

// out[n, (c, k), o] = the element that window o has at k, 0 outside the input.  columns: as [n, c, *kernel, *places].
template <class C, class I, class T>
inline void window_columns(T* out, const T* input, const Layout<1>& layout, const Windows<I>& windows, I columns) {
    EACH(I, columns) {
        I rest = linear, at[2 * SPATIAL], a[SPATIAL], channel;
        for (int dim = SPATIAL - 1; dim >= 0; --dim) rest = divide(rest, windows.places[dim], at[SPATIAL + dim]);
        for (int dim = SPATIAL - 1; dim >= 0; --dim) rest = divide(rest, windows.kernel[dim], at[dim]);
        const I image = divide(rest, (I)layout.size[1], channel);
        bool is_inside = true;
        for (int dim = 0; dim < SPATIAL; ++dim) {
            a[dim] = at[SPATIAL + dim] * windows.stride[dim] - windows.padding[dim] + at[dim] * windows.dilation[dim];
            is_inside = is_inside && a[dim] >= 0 && a[dim] < windows.size[dim];
        }
        const I plane = image * (I)layout.stride[0][0] + channel * (I)layout.stride[0][1];
        out[linear] = is_inside ? input[plane + within(layout, a[0], a[1], a[2])] : store<T>(C(0));
    }
}

// Each element is the sum of the columns' elements that were read from it.
template <class C, class I, class T>
inline void sum_columns(T* out, const T* columns, const Layout<1>& out_layout, const Windows<I>& windows) {
    const I terms = windows.kernel[0] * windows.kernel[1] * windows.kernel[2];
    const I places = windows.places[0] * windows.places[1] * windows.places[2];
    EACH(I, (I)count(out_layout)) {
        I rest = linear, of[SPATIAL], channel;
        for (int dim = SPATIAL - 1; dim >= 0; --dim) rest = divide(rest, windows.size[dim], of[dim]);
        const I plane = rest, image = divide(plane, (I)out_layout.size[1], channel);
        const T* column = columns + plane * terms * places;
        C sum = C(0);
        for (I term = 0; term < terms; ++term) {
            I k[SPATIAL], o[SPATIAL], remainder;
            k[0] = divide(divide(term, windows.kernel[2], k[2]), windows.kernel[1], k[1]);
            bool is_read = true;
            for (int dim = 0; dim < SPATIAL; ++dim) {
                const I shifted = of[dim] + windows.padding[dim] - k[dim] * windows.dilation[dim];
                if (shifted < 0) { is_read = false; break; }
                o[dim] = divide(shifted, windows.stride[dim], remainder);
                if (remainder != 0 || o[dim] >= windows.places[dim]) { is_read = false; break; }
            }
            if (is_read)
                sum += load<C>(column[term * places + (o[0] * windows.places[1] + o[1]) * windows.places[2] + o[2]]);
        }
        const I start = image * (I)out_layout.stride[0][0] + channel * (I)out_layout.stride[0][1];
        out[start + within(out_layout, of[0], of[1], of[2])] = store<T>(sum);
    }
}
