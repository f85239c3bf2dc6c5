// Reductions of neighbouring segments.  Follows reduce.cu.  `lanes` neighbouring threads compute one result.

enum Segments { SUM, MEAN, PROD, MAX, MIN };

template <class C> struct SegmentJoin {
    typedef C State;
    Segments how;
    C join(C a, C b) const {
        return how == PROD ? a * b : how == MAX ? larger(a, b) : how == MIN ? smaller(a, b) : a + b;
    }
    C none() const { return how == PROD ? C(1) : how == MAX ? lowest<C>() : how == MIN ? highest<C>() : C(0); }
};

// out [outer, segments, inner] from data [outer, size, inner] and the ends [outer, segments] of the segments.
template <class C, class T>
inline void reduce_segments(T* out, const T* data, const long long* ends, const SegmentJoin<C>& op, C initial,
                            bool has_initial, long long outer, long long segments, long long size, long long inner,
                            int lanes) {
    const int groups = BLOCK / lanes, lane = threadIdx.x % lanes;
    const long long first = blockIdx.x * (long long)groups + threadIdx.x / lanes, step = (long long)gridDim.x * groups;
    for (long long i = first; i < outer * segments * inner; i += step) {
        long long column, segment;
        const long long row = divide(divide(i, inner, column), segments, segment);
        const long long* own = ends + row * segments;
        long long start = segment ? own[segment - 1] : 0, stop = own[segment];
        start = start < 0 ? 0 : start < size ? start : size;  // `unsafe` calls do not check lengths
        stop = stop < start ? start : stop < size ? stop : size;
        C total = lane == 0 ? initial : op.none();
        for (long long at = start + lane; at < stop; at += lanes)
            total = op.join(total, load<C>(data[(row * size + at) * inner + column]));
        total = join_lanes(op, total, lanes);
        if (lane != 0) continue;
        if (op.how == MEAN) total /= has_initial && stop == start ? C(1) : (C)(stop - start);
        out[i] = store<T>(total);
    }
}
