// Sums and maxima over windows of images, and their gradients; windows as columns, and their sums.
//
//  - Arrays have five dimensions (two, and three spatial ones) and any strides.  C is what numbers are computed in.
//  - A thread computes one element.  A gradient gathers: it visits the windows that hold its element, in order, so
//    results are the same in every run.

#define SPATIAL 3

// size: of the input; places: the number of windows.  An adaptive window o holds [o * size / places, (o + 1) * size /
// places), rounded outwards.  Others hold o * stride - padding + k * dilation for each k below `kernel`.
struct Windows {
    long long size[SPATIAL], places[SPATIAL], kernel[SPATIAL], stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL];
    bool is_adaptive;

    // The first element of a window, and the end of its range; they may lie outside the input.
    void range(int dim, long long o, long long& first, long long& end) const {
        if (is_adaptive) {
            first = o * size[dim] / places[dim];
            end = ((o + 1) * size[dim] + places[dim] - 1) / places[dim];
        } else {
            first = o * stride[dim] - padding[dim];
            end = first + (kernel[dim] - 1) * dilation[dim] + 1;
        }
    }

    // The part of the range inside the input.
    void inside(int dim, long long o, long long& first, long long& end) const {
        range(dim, o, first, end);
        while (first < 0) first += dilation[dim];
        if (end > size[dim]) end = size[dim];
    }

    // The windows whose range holds element `a`.
    void holding(int dim, long long a, long long& first, long long& end) const {
        if (is_adaptive) {
            first = a * places[dim] / size[dim];
            end = ((a + 1) * places[dim] + size[dim] - 1) / size[dim];
        } else {
            const long long reach = (kernel[dim] - 1) * dilation[dim] + 1, at = a + padding[dim];
            first = at < reach ? 0 : (at - reach) / stride[dim] + 1;
            end = at / stride[dim] + 1;
        }
        if (end > places[dim]) end = places[dim];
    }
};

// The five indexes of element `linear` of a layout, counted in row-major order.
struct Index {
    long long at[2 + SPATIAL];
    Index(const Layout<1>& layout, long long linear) {
        for (int dim = 1 + SPATIAL; dim > 0; --dim) linear = divide(linear, layout.size[dim], at[dim]);
        at[0] = linear;
    }
};

inline long long place(const Layout<1>& layout, const Index& index) {
    long long place = 0;
    for (int dim = 0; dim < 2 + SPATIAL; ++dim) place += index.at[dim] * layout.stride[0][dim];
    return place;
}

inline long long plane(const Layout<1>& layout, const Index& index) {
    return index.at[0] * layout.stride[0][0] + index.at[1] * layout.stride[0][1];
}

inline long long within(const Layout<1>& layout, long long a0, long long a1, long long a2) {
    return a0 * layout.stride[0][2] + a1 * layout.stride[0][3] + a2 * layout.stride[0][4];
}

#define EACH_ELEMENT(layout)                                                                                  \
    const long long numel = count(layout), step = (long long)gridDim.x * blockDim.x;                          \
    for (long long linear = blockIdx.x * (long long)blockDim.x + threadIdx.x; linear < numel; linear += step)

// The largest element of each window, and where it lies in its plane.  NaN is the largest; of several NaNs the last
// counts, of other equal elements the first.
template <class C, class T>
inline void window_max(T* out, long long* indices, const T* input, const Layout<1>& out_layout,
                       const Layout<1>& indices_layout, const Layout<1>& layout, const Windows& windows) {
    EACH_ELEMENT(out_layout) {
        const Index of(out_layout, linear);
        const T* image = input + plane(layout, of);
        long long first[SPATIAL], end[SPATIAL];
        for (int dim = 0; dim < SPATIAL; ++dim) windows.inside(dim, of.at[2 + dim], first[dim], end[dim]);
        C best = lowest<C>();
        long long found = (first[0] * windows.size[1] + first[1]) * windows.size[2] + first[2];
        for (long long a0 = first[0]; a0 < end[0]; a0 += windows.dilation[0])
            for (long long a1 = first[1]; a1 < end[1]; a1 += windows.dilation[1])
                for (long long a2 = first[2]; a2 < end[2]; a2 += windows.dilation[2]) {
                    const C x = load<C>(image[within(layout, a0, a1, a2)]);
                    if (x > best || x != x) {
                        best = x;
                        found = (a0 * windows.size[1] + a1) * windows.size[2] + a2;
                    }
                }
        out[place(out_layout, of)] = store<T>(best);
        indices[place(indices_layout, of)] = found;
    }
}

// Each element is the sum of `grad` over the windows whose index names it.
template <class C, class T>
inline void window_max_backward(T* out, const long long* indices, const T* grad, const Layout<1>& out_layout,
                                const Layout<1>& indices_layout, const Layout<1>& layout, const Windows& windows) {
    EACH_ELEMENT(out_layout) {
        const Index of(out_layout, linear);
        const T* image = grad + plane(layout, of);
        const long long* named = indices + plane(indices_layout, of);
        const long long self = (of.at[2] * windows.size[1] + of.at[3]) * windows.size[2] + of.at[4];
        long long first[SPATIAL], end[SPATIAL];
        for (int dim = 0; dim < SPATIAL; ++dim) windows.holding(dim, of.at[2 + dim], first[dim], end[dim]);
        C sum = C(0);
        for (long long o0 = first[0]; o0 < end[0]; ++o0)
            for (long long o1 = first[1]; o1 < end[1]; ++o1)
                for (long long o2 = first[2]; o2 < end[2]; ++o2)
                    if (named[within(indices_layout, o0, o1, o2)] == self)
                        sum += load<C>(image[within(layout, o0, o1, o2)]);
        out[place(out_layout, of)] = store<T>(sum);
    }
}

// What the sum of a window is divided by.  given: a divisor, or 0.
inline long long divisor(const Windows& windows, long long o0, long long o1, long long o2, bool counts_padding,
                         long long given) {
    if (given != 0) return given;
    const long long o[SPATIAL] = {o0, o1, o2};
    long long product = 1;
    for (int dim = 0; dim < SPATIAL; ++dim) {
        long long first, end;
        windows.range(dim, o[dim], first, end);
        const long long last = windows.size[dim] + (counts_padding && !windows.is_adaptive ? windows.padding[dim] : 0);
        if (end > last) end = last;
        if (first < 0 && !counts_padding) first = 0;
        product *= end - first;
    }
    return product;
}

template <class C, class T>
inline void window_mean(T* out, const T* input, const Layout<1>& out_layout, const Layout<1>& layout,
                        const Windows& windows, bool counts_padding, long long given) {
    EACH_ELEMENT(out_layout) {
        const Index of(out_layout, linear);
        const T* image = input + plane(layout, of);
        long long first[SPATIAL], end[SPATIAL];
        for (int dim = 0; dim < SPATIAL; ++dim) windows.inside(dim, of.at[2 + dim], first[dim], end[dim]);
        C sum = C(0);
        for (long long a0 = first[0]; a0 < end[0]; ++a0)
            for (long long a1 = first[1]; a1 < end[1]; ++a1)
                for (long long a2 = first[2]; a2 < end[2]; ++a2) sum += load<C>(image[within(layout, a0, a1, a2)]);
        const long long by = divisor(windows, of.at[2], of.at[3], of.at[4], counts_padding, given);
        out[place(out_layout, of)] = store<T>(sum / (C)by);
    }
}

template <class C, class T>
inline void window_mean_backward(T* out, const T* grad, const Layout<1>& out_layout, const Layout<1>& layout,
                                 const Windows& windows, bool counts_padding, long long given) {
    EACH_ELEMENT(out_layout) {
        const Index of(out_layout, linear);
        const T* image = grad + plane(layout, of);
        long long first[SPATIAL], end[SPATIAL];
        for (int dim = 0; dim < SPATIAL; ++dim) windows.holding(dim, of.at[2 + dim], first[dim], end[dim]);
        C sum = C(0);
        for (long long o0 = first[0]; o0 < end[0]; ++o0)
            for (long long o1 = first[1]; o1 < end[1]; ++o1)
                for (long long o2 = first[2]; o2 < end[2]; ++o2)
                    sum += load<C>(image[within(layout, o0, o1, o2)]) /
                           (C)divisor(windows, o0, o1, o2, counts_padding, given);
        out[place(out_layout, of)] = store<T>(sum);
    }
}

// out[n, (c, k), o] = the element that window o has at k, 0 outside the input.  columns: as [n, c, *kernel, *places].
template <class C, class T>
inline void window_columns(T* out, const T* input, const Layout<1>& layout, const Windows& windows, long long numel) {
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long linear = blockIdx.x * (long long)blockDim.x + threadIdx.x; linear < numel; linear += threads) {
        long long rest = linear, at[2 * SPATIAL], a[SPATIAL];
        for (int dim = SPATIAL - 1; dim >= 0; --dim) rest = divide(rest, windows.places[dim], at[SPATIAL + dim]);
        for (int dim = SPATIAL - 1; dim >= 0; --dim) rest = divide(rest, windows.kernel[dim], at[dim]);
        long long channel;
        const long long image = divide(rest, layout.size[1], channel);
        bool is_inside = true;
        for (int dim = 0; dim < SPATIAL; ++dim) {
            a[dim] = at[SPATIAL + dim] * windows.stride[dim] - windows.padding[dim] + at[dim] * windows.dilation[dim];
            is_inside = is_inside && a[dim] >= 0 && a[dim] < windows.size[dim];
        }
        const long long from = image * layout.stride[0][0] + channel * layout.stride[0][1] + within(layout, a[0], a[1], a[2]);
        out[linear] = is_inside ? input[from] : store<T>(C(0));
    }
}

// Each element is the sum of the columns' elements that were read from it.
template <class C, class T>
inline void sum_columns(T* out, const T* columns, const Layout<1>& out_layout, const Windows& windows) {
    EACH_ELEMENT(out_layout) {
        const Index of(out_layout, linear);
        const long long terms = windows.kernel[0] * windows.kernel[1] * windows.kernel[2];
        const long long places = windows.places[0] * windows.places[1] * windows.places[2];
        const T* column = columns + (of.at[0] * out_layout.size[1] + of.at[1]) * terms * places;
        C sum = C(0);
        for (long long term = 0; term < terms; ++term) {
            long long k[SPATIAL], o[SPATIAL], remainder;
            const long long front = divide(divide(term, windows.kernel[2], k[2]), windows.kernel[1], k[1]);
            k[0] = front;
            bool is_read = true;
            for (int dim = 0; dim < SPATIAL; ++dim) {
                const long long shifted = of.at[2 + dim] + windows.padding[dim] - k[dim] * windows.dilation[dim];
                if (shifted < 0) { is_read = false; break; }
                o[dim] = divide(shifted, windows.stride[dim], remainder);
                if (remainder != 0 || o[dim] >= windows.places[dim]) { is_read = false; break; }
            }
            if (is_read)
                sum += load<C>(column[term * places + (o[0] * windows.places[1] + o[1]) * windows.places[2] + o[2]]);
        }
        out[place(out_layout, of)] = store<T>(sum);
    }
}
