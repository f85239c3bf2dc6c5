// Norms of the differences of rows.  Follows reduce.cu.  `lanes` neighbouring threads, one or a warp, compute one norm.

enum Power { ZERO, ONE, TWO, INFINITE, OTHER };

template <class C> struct Norm {
    typedef C State;
    Power power;
    C p, inverse;  // 1 / p
    C take(C total, C apart) const {
        const C size = fabs(apart);
        if (power == INFINITE) return larger(total, size);
        if (power == TWO) return total + size * size;
        if (power == ONE) return total + size;
        if (power == ZERO) return total + (is_nan(size) ? size : C(size != 0));
        return total + pow(size, p);
    }
    C join(C a, C b) const { return power == INFINITE ? larger(a, b) : a + b; }
    C finish(C total) const { return power == TWO ? sqrt(total) : power == OTHER ? pow(total, inverse) : total; }
};

// out[i] = the norm of a row of `a` less a row of `b`, which start at the two offsets that starts(i) returns.
template <class C, class T, class Starts>
inline void row_distances(T* out, const T* a, const T* b, const Norm<C>& norm, long long count, long long size,
                          long long along_a, long long along_b, int lanes, Starts starts) {
    const int groups = BLOCK / lanes, lane = threadIdx.x % lanes;
    const long long first = blockIdx.x * (long long)groups + threadIdx.x / lanes, step = (long long)gridDim.x * groups;
    for (long long i = first; i < count; i += step) {
        long long at_a, at_b;
        starts(i, at_a, at_b);
        C total = 0;
        for (long long k = lane; k < size; k += lanes)
            total = norm.take(total, load<C>(a[at_a + k * along_a]) - load<C>(b[at_b + k * along_b]));
        total = join_lanes(norm, total, lanes);
        if (lane == 0) out[i] = store<T>(norm.finish(total));
    }
}
