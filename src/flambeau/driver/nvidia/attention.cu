// Attention and its gradients for any strides and sizes, up to 32 * CHUNKS dimensions of a head.
//
//  - A warp holds ROWS rows of one side in registers: lane i has elements i, i + 32, ... of each.  It walks over the
//    other side's rows, 32 at a time: lane i has the score with row start + i.
//  - The warps of a block share the data that they walk over: a square of 32 rows and 32 dimensions in shared memory.
//  - ACC is the type of sums: float or double.  No result depends on the order of blocks.

#define LANES 32
#define WARPS 8
#define ROWS 2
#define CHUNKS 8
#define ALL_LANES 0xffffffffu

// The rows of one batch and head.  Elements outside are 0.
template <class T, class ACC> struct Head {
    const T* data;
    long long rows, dims, row_step, dim_step;

    Head(const T* all, const Layout<1>& layout, long long batch, long long head)
        : data(all + batch * layout.stride[0][0] + head * layout.stride[0][1]), rows(layout.size[2]),
          dims(layout.size[3]), row_step(layout.stride[0][2]), dim_step(layout.stride[0][3]) {}

    ACC at(long long row, long long dim) const {
        return row < rows && dim < dims ? load<ACC>(data[row * row_step + dim * dim_step]) : ACC(0);
    }
};

template <class ACC> struct Square { ACC at[LANES][LANES + 1]; };

template <class ACC> inline ACC from_lane(ACC x, int lane) { return __shfl_sync(ALL_LANES, x, lane); }

template <class ACC> inline ACC sum_of_lanes(ACC x) {
    for (int step = LANES / 2; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

template <class ACC> inline ACC max_of_lanes(ACC x) {
    for (int step = LANES / 2; step > 0; step /= 2) {
        ACC other = __shfl_xor_sync(ALL_LANES, x, step);
        x = x > other ? x : other;
    }
    return x;
}

template <class T, class ACC>
inline void fetch(Square<ACC>& square, const Head<T, ACC>& from, long long first_row, long long first_dim) {
    __syncthreads();  // every thread has read the former contents
#pragma unroll 1
    for (int i = threadIdx.x; i < LANES * LANES; i += LANES * WARPS)
        square.at[i / LANES][i % LANES] = from.at(first_row + i / LANES, first_dim + i % LANES);
    __syncthreads();
}

template <class T, class ACC>
inline void hold(ACC (&held)[ROWS][CHUNKS], const Head<T, ACC>& from, long long first_row) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) held[r][c] = from.at(first_row + r, c * LANES + threadIdx.x % LANES);
}

// products[r] = held row r times the lane's row of `other`.
template <class T, class ACC>
inline void multiply(ACC (&products)[ROWS], const ACC (&held)[ROWS][CHUNKS], const Head<T, ACC>& other,
                     long long start, Square<ACC>& square) {
    const int lane = threadIdx.x % LANES;
    for (int r = 0; r < ROWS; ++r) products[r] = 0;
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        if (c * LANES >= other.dims) continue;
        fetch(square, other, start, c * LANES);
#pragma unroll 4
        for (int i = 0; i < LANES; ++i)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) products[r] += from_lane(held[r][c], i) * square.at[lane][i];
    }
}

// sums row r += the sum of all lanes' weights[r] times the lane's row of `other`.
template <class T, class ACC>
inline void accumulate(ACC (&sums)[ROWS][CHUNKS], const ACC (&weights)[ROWS], const Head<T, ACC>& other,
                       long long start, Square<ACC>& square) {
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        if (c * LANES >= other.dims) continue;
        fetch(square, other, start, c * LANES);
#pragma unroll 4
        for (int i = 0; i < LANES; ++i)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) sums[r][c] += from_lane(weights[r], i) * square.at[i][lane];
    }
}

template <class T, class ACC>
inline void write(T* all, const Layout<1>& layout, long long batch, long long head, long long first_row,
                  const ACC (&sums)[ROWS][CHUNKS]) {
    T* data = all + batch * layout.stride[0][0] + head * layout.stride[0][1];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            long long row = first_row + r, dim = c * LANES + threadIdx.x % LANES;
            if (row < layout.size[2] && dim < layout.size[3])
                data[row * layout.stride[0][2] + dim * layout.stride[0][3]] = store<T>(sums[r][c]);
        }
}

// The work of a block: WARPS * ROWS rows of one head of the side that `layout` describes.
struct Place {
    long long batch, head, first, row;

    Place(const Layout<1>& layout) {
        long long parts = (layout.size[2] + WARPS * ROWS - 1) / (WARPS * ROWS), rest = blockIdx.x / parts;
        first = blockIdx.x % parts * (WARPS * ROWS);
        row = first + threadIdx.x / LANES * ROWS;
        batch = rest / layout.size[1];
        head = rest % layout.size[1];
    }
};

template <class T, class ACC>
inline void attention(T* out, ACC* logsumexp, const T* query, const T* key, const T* value, const Layout<1>& out_layout,
                      const Layout<1>& query_layout, const Layout<1>& key_layout, const Layout<1>& value_layout,
                      ACC scale, bool is_causal) {
    __shared__ Square<ACC> square;
    const Place place(query_layout);
    const long long queries = query_layout.size[2], keys = key_layout.size[2];
    const long long group = place.head / (query_layout.size[1] / key_layout.size[1]);
    const Head<T, ACC> key_rows(key, key_layout, place.batch, group), value_rows(value, value_layout, place.batch, group);
    ACC held[ROWS][CHUNKS], sums[ROWS][CHUNKS] = {}, top[ROWS], total[ROWS] = {}, scores[ROWS];
    hold(held, Head<T, ACC>(query, query_layout, place.batch, place.head), place.row);
    for (int r = 0; r < ROWS; ++r) top[r] = -highest<ACC>();

    const long long last = place.first + WARPS * ROWS, end = is_causal && last < keys ? last : keys;
    for (long long start = 0; start < end; start += LANES) {
        multiply(scores, held, key_rows, start, square);
        const long long at = start + threadIdx.x % LANES;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            ACC score = at < keys && (!is_causal || at <= place.row + r) ? scores[r] * scale : -highest<ACC>();
            ACC best = max_of_lanes(score), before = top[r];
            top[r] = best > before ? best : before;
            scores[r] = exp(score - top[r]);
            const ACC shrink = exp(before - top[r]);
            total[r] = total[r] * shrink + sum_of_lanes(scores[r]);
#pragma unroll
            for (int c = 0; c < CHUNKS; ++c) sums[r][c] *= shrink;
        }
        accumulate(sums, scores, value_rows, start, square);
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) sums[r][c] /= total[r];
        if (threadIdx.x % LANES == 0 && place.row + r < queries)
            logsumexp[(place.batch * query_layout.size[1] + place.head) * queries + place.row + r] =
                top[r] + log(total[r]);
    }
    write(out, out_layout, place.batch, place.head, place.row, sums);
}

// along[b, h, i] = grad[b, h, i] . out[b, h, i]: one warp computes ROWS of them.
template <class T, class ACC>
inline void attention_along(ACC* along, const T* grad, const T* out, const Layout<1>& grad_layout,
                            const Layout<1>& out_layout) {
    const Place place(out_layout);
    ACC of_grad[ROWS][CHUNKS], of_out[ROWS][CHUNKS];
    hold(of_grad, Head<T, ACC>(grad, grad_layout, place.batch, place.head), place.row);
    hold(of_out, Head<T, ACC>(out, out_layout, place.batch, place.head), place.row);
    for (int r = 0; r < ROWS; ++r) {
        ACC sum = 0;
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) sum += of_grad[r][c] * of_out[r][c];
        sum = sum_of_lanes(sum);
        if (threadIdx.x % LANES == 0 && place.row + r < out_layout.size[2])
            along[(place.batch * out_layout.size[1] + place.head) * out_layout.size[2] + place.row + r] = sum;
    }
}

// One side's gradients.  OF_KEYS: rows are keys with their values, and the block walks over the queries, with their
// gradients, of all heads of the group; else rows are queries, and it walks over the keys of one group.
template <bool OF_KEYS, class T, class ACC>
inline void attention_backward(T* first_grad, T* second_grad, const T* grad, const ACC* logsumexp, const ACC* along,
                               const T* query, const T* key, const T* value, const Layout<1>& first_layout,
                               const Layout<1>& second_layout, const Layout<1>& grad_layout,
                               const Layout<1>& query_layout, const Layout<1>& key_layout,
                               const Layout<1>& value_layout, ACC scale, bool is_causal) {
    __shared__ Square<ACC> square;
    const Place place(OF_KEYS ? key_layout : query_layout);
    const long long heads = query_layout.size[1], queries = query_layout.size[2], keys = key_layout.size[2];
    const long long per_group = heads / key_layout.size[1], group = OF_KEYS ? place.head : place.head / per_group;
    const Head<T, ACC> key_rows(key, key_layout, place.batch, group), value_rows(value, value_layout, place.batch, group);
    ACC first[ROWS][CHUNKS], second[ROWS][CHUNKS], first_sums[ROWS][CHUNKS] = {}, second_sums[ROWS][CHUNKS] = {};
    ACC weights[ROWS], slopes[ROWS];

    for (long long h = 0; h < (OF_KEYS ? per_group : 1); ++h) {
        const long long head = OF_KEYS ? group * per_group + h : place.head;
        const long long rows = (place.batch * heads + head) * queries;
        const Head<T, ACC> query_rows(query, query_layout, place.batch, head), grad_rows(grad, grad_layout, place.batch, head);
        const Head<T, ACC>& walked = OF_KEYS ? query_rows : key_rows;
        const Head<T, ACC>& walked_too = OF_KEYS ? grad_rows : value_rows;
        hold(first, OF_KEYS ? key_rows : query_rows, place.row);
        hold(second, OF_KEYS ? value_rows : grad_rows, place.row);
        const long long last = place.first + WARPS * ROWS;
        const long long begin = OF_KEYS && is_causal ? place.first / LANES * LANES : 0;
        const long long end = OF_KEYS ? queries : is_causal && last < keys ? last : keys;
        for (long long start = begin; start < end; start += LANES) {
            multiply(weights, first, walked, start, square);
            multiply(slopes, second, walked_too, start, square);
            const long long lane_row = start + threadIdx.x % LANES;
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const long long i = OF_KEYS ? lane_row : place.row + r, j = OF_KEYS ? place.row + r : lane_row;
                const bool is_seen = i < queries && j < keys && (!is_causal || j <= i);
                weights[r] = is_seen ? exp(weights[r] * scale - logsumexp[rows + i]) : ACC(0);
                slopes[r] = is_seen ? weights[r] * (slopes[r] - along[rows + i]) * scale : ACC(0);
            }
            accumulate(first_sums, slopes, walked, start, square);
            if (OF_KEYS) accumulate(second_sums, weights, walked_too, start, square);
        }
    }
    write(first_grad, first_layout, place.batch, place.head, place.row, first_sums);
    if (OF_KEYS) write(second_grad, second_layout, place.batch, place.head, place.row, second_sums);
}
