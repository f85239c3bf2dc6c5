// y[n, o, p] = sum over c, k of x[n, c, p * stride - padding + k * dilation] * w[o, c, k], and the same sums for x and w.
//
//  - Every operand has five dimensions (two, and three spatial ones) and any strides.  ACC is the type of sums.
//  - Terms are added in a fixed order, so results are the same in every run.

#define THREADS 256
#define SPATIAL 3

struct Steps {
    long long stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL];
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

// The index in x that place p of y reads for element k of the kernel, in one dimension.
inline long long source(const Steps& steps, int dim, long long p, long long k) {
    return p * steps.stride[dim] - steps.padding[dim] + k * steps.dilation[dim];
}

// Whether a place of y reads element `a` of x for element k of the kernel, in one dimension; sets p to that place.
inline bool is_read(const Steps& steps, int dim, long long a, long long k, long long places, long long& p) {
    const long long shifted = a + steps.padding[dim] - k * steps.dilation[dim];
    if (shifted < 0) return false;
    long long rest;
    p = divide(shifted, steps.stride[dim], rest);
    return rest == 0 && p < places;
}

template <class T, class ACC>
inline void convolution(const T* x, const T* w, T* y, const Layout<1>& x_layout, const Layout<1>& w_layout,
                        const Layout<1>& y_layout, const Steps& steps, long long groups) {
    const long long* size = x_layout.size;
    const long long* step = x_layout.stride[0];
    const long long* kernel = w_layout.size;
    const long long* turn = w_layout.stride[0];
    const long long numel = count(y_layout), outputs = y_layout.size[1] / groups;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel;
         i += (long long)gridDim.x * blockDim.x) {
        const Index of(y_layout, i);
        const long long first = of.at[1] / outputs * kernel[1];
        const T* image = x + of.at[0] * step[0] + first * step[1];
        const T* weights = w + of.at[1] * turn[0];
        ACC sum = ACC(0);
        for (long long c = 0; c < kernel[1]; ++c)
            for (long long k0 = 0; k0 < kernel[2]; ++k0) {
                const long long a0 = source(steps, 0, of.at[2], k0);
                if (a0 < 0 || a0 >= size[2]) continue;
                for (long long k1 = 0; k1 < kernel[3]; ++k1) {
                    const long long a1 = source(steps, 1, of.at[3], k1);
                    if (a1 < 0 || a1 >= size[3]) continue;
                    for (long long k2 = 0; k2 < kernel[4]; ++k2) {
                        const long long a2 = source(steps, 2, of.at[4], k2);
                        if (a2 < 0 || a2 >= size[4]) continue;
                        sum += load<ACC>(image[c * step[1] + a0 * step[2] + a1 * step[3] + a2 * step[4]]) *
                               load<ACC>(weights[c * turn[1] + k0 * turn[2] + k1 * turn[3] + k2 * turn[4]]);
                    }
                }
            }
        y[place(y_layout, of)] = store<T>(sum);
    }
}

template <class T, class ACC>
inline void convolution_input(T* x, const T* w, const T* y, const Layout<1>& x_layout, const Layout<1>& w_layout,
                              const Layout<1>& y_layout, const Steps& steps, long long groups) {
    const long long* places = y_layout.size;
    const long long* step = y_layout.stride[0];
    const long long* kernel = w_layout.size;
    const long long* turn = w_layout.stride[0];
    const long long numel = count(x_layout), outputs = y_layout.size[1] / groups;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel;
         i += (long long)gridDim.x * blockDim.x) {
        const Index of(x_layout, i);
        long long channel;
        const long long first = divide(of.at[1], kernel[1], channel) * outputs;
        const T* image = y + of.at[0] * step[0] + first * step[1];
        const T* weights = w + first * turn[0] + channel * turn[1];
        ACC sum = ACC(0);
        for (long long o = 0; o < outputs; ++o)
            for (long long k0 = 0; k0 < kernel[2]; ++k0) {
                long long p0, p1, p2;
                if (!is_read(steps, 0, of.at[2], k0, places[2], p0)) continue;
                for (long long k1 = 0; k1 < kernel[3]; ++k1) {
                    if (!is_read(steps, 1, of.at[3], k1, places[3], p1)) continue;
                    for (long long k2 = 0; k2 < kernel[4]; ++k2) {
                        if (!is_read(steps, 2, of.at[4], k2, places[4], p2)) continue;
                        sum += load<ACC>(image[o * step[1] + p0 * step[2] + p1 * step[3] + p2 * step[4]]) *
                               load<ACC>(weights[o * turn[0] + k0 * turn[2] + k1 * turn[3] + k2 * turn[4]]);
                    }
                }
            }
        x[place(x_layout, of)] = store<T>(sum);
    }
}

// A block sums one element of w: each thread every THREADS-th term, then the threads' sums in pairs.
template <class T, class ACC>
inline void convolution_weight(const T* x, T* w, const T* y, const Layout<1>& x_layout, const Layout<1>& w_layout,
                               const Layout<1>& y_layout, const Steps& steps, long long groups) {
    __shared__ ACC sums[THREADS];
    const long long* size = x_layout.size;
    const long long* step = x_layout.stride[0];
    const long long* turn = y_layout.stride[0];
    const long long outputs = y_layout.size[1] / groups, numel = count(w_layout);
    const long long terms = y_layout.size[0] * y_layout.size[2] * y_layout.size[3] * y_layout.size[4];
    for (long long element = blockIdx.x; element < numel; element += gridDim.x) {
        const Index of(w_layout, element);
        const T* images = x + (of.at[0] / outputs * w_layout.size[1] + of.at[1]) * step[1];
        const T* places = y + of.at[0] * turn[1];
        ACC sum = ACC(0);
        for (long long term = threadIdx.x; term < terms; term += THREADS) {
            long long p0, p1, p2;
            long long n = divide(term, y_layout.size[4], p2);
            n = divide(n, y_layout.size[3], p1);
            n = divide(n, y_layout.size[2], p0);
            const long long a0 = source(steps, 0, p0, of.at[2]), a1 = source(steps, 1, p1, of.at[3]);
            const long long a2 = source(steps, 2, p2, of.at[4]);
            if (a0 < 0 || a0 >= size[2] || a1 < 0 || a1 >= size[3] || a2 < 0 || a2 >= size[4]) continue;
            sum += load<ACC>(images[n * step[0] + a0 * step[2] + a1 * step[3] + a2 * step[4]]) *
                   load<ACC>(places[n * turn[0] + p0 * turn[2] + p1 * turn[3] + p2 * turn[4]]);
        }
        sums[threadIdx.x] = sum;
        __syncthreads();
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) w[place(w_layout, of)] = store<T>(sums[0]);
    }
}
