// Attention of float32 heads of up to DIMS dimensions (32 or 64), and its gradients, for any strides.
//
//  - A block has SHORT_THREADS threads and works on TILE rows of one head.  It walks over the other side's rows, TILE at
//    a time, which all threads read from shared memory.
//  - Eight lanes share a row: lane i has the scores with rows i, i + 8, ... of the other side, and the dimensions 4 * i
//    to 4 * i + 3, and so on every 32.  A warp has whole rows, so only it reads their weights.
//  - No result depends on the order of blocks.

#define TILE 32
#define ROW_LANES 8
#define COLUMNS (TILE / ROW_LANES)
#define SHORT_THREADS (TILE * ROW_LANES)
#define ALL_LANES 0xffffffffu

// TILE rows of a head.  A row ends in padding, so that lanes that read several rows use different banks.
template <int DIMS> struct __align__(16) Tile { float at[TILE][DIMS + 4]; };

struct Weights { float at[TILE][TILE + 1]; };

// Four dimensions of a row, every 32.
template <int DIMS> struct Sums { float4 at[DIMS / 32]; };

// The position of a thread: a row, and a lane among the threads that share the row.
inline int own_row() { return threadIdx.x / ROW_LANES; }
inline int own_lane() { return threadIdx.x % ROW_LANES; }

inline float sum_of_row(float x) {
    for (int step = ROW_LANES / 2; step > 0; step /= 2) x += __shfl_xor_sync(ALL_LANES, x, step);
    return x;
}

inline float max_of_row(float x) {
    for (int step = ROW_LANES / 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, step));
    return x;
}

// The offset of one batch and head of an operand [batch, heads, rows, dims].
inline long long head_at(const Layout<1>& layout, long long batch, long long head) {
    return batch * layout.stride[0][0] + head * layout.stride[0][1];
}

// Rows first to first + TILE - 1 of a head; elements outside it are 0.
template <int DIMS>
inline void fetch(Tile<DIMS>& tile, const float* head, const Layout<1>& layout, long long first) {
    for (int i = threadIdx.x; i < TILE * DIMS; i += SHORT_THREADS) {
        const int row = i / DIMS, dim = i % DIMS;
        const bool is_inside = first + row < layout.size[2] && dim < layout.size[3];
        tile.at[row][dim] = is_inside ? head[(first + row) * layout.stride[0][2] + dim * layout.stride[0][3]] : 0.0f;
    }
}

// products[c] = the own row of `rows` times row own_lane() + c * ROW_LANES of `others`.
template <int DIMS>
inline void multiply(float (&products)[COLUMNS], const Tile<DIMS>& rows, const Tile<DIMS>& others) {
    for (int c = 0; c < COLUMNS; ++c) products[c] = 0.0f;
#pragma unroll 4
    for (int dim = 0; dim < DIMS; dim += 4) {
        const float4 x = *(const float4*)&rows.at[own_row()][dim];
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            const float4 y = *(const float4*)&others.at[own_lane() + c * ROW_LANES][dim];
            products[c] += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
        }
    }
}

// sums += the weights of the own row, which its warp has written, times the rows of `others`.
template <int DIMS> inline void accumulate(Sums<DIMS>& sums, const Weights& weights, const Tile<DIMS>& others) {
#pragma unroll 4
    for (int other = 0; other < TILE; ++other) {
        const float weight = weights.at[own_row()][other];
#pragma unroll
        for (int part = 0; part < DIMS / 32; ++part) {
            const float4 y = *(const float4*)&others.at[other][4 * own_lane() + 32 * part];
            float4& sum = sums.at[part];
            sum.x += weight * y.x, sum.y += weight * y.y, sum.z += weight * y.z, sum.w += weight * y.w;
        }
    }
}

template <int DIMS> inline void scale_sums(Sums<DIMS>& sums, float factor) {
#pragma unroll
    for (int part = 0; part < DIMS / 32; ++part) {
        float4& sum = sums.at[part];
        sum.x *= factor, sum.y *= factor, sum.z *= factor, sum.w *= factor;
    }
}

template <int DIMS>
inline void write(float* head, const Layout<1>& layout, long long first, const Sums<DIMS>& sums) {
    const long long row = first + own_row();
    if (row >= layout.size[2]) return;
#pragma unroll
    for (int part = 0; part < DIMS / 32; ++part) {
        const float values[4] = {sums.at[part].x, sums.at[part].y, sums.at[part].z, sums.at[part].w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int dim = 4 * own_lane() + 32 * part + i;
            if (dim < layout.size[3]) head[row * layout.stride[0][2] + dim * layout.stride[0][3]] = values[i];
        }
    }
}

// The work of a block: TILE rows of one head of the side that `layout` describes.
struct Place {
    long long batch, head, first;

    Place(const Layout<1>& layout, long long block) {
        const long long tiles = (layout.size[2] + TILE - 1) / TILE, rest = block / tiles;
        first = block % tiles * TILE;
        batch = rest / layout.size[1];
        head = rest % layout.size[1];
    }
};

template <int DIMS>
inline void short_attention(float* out, float* logsumexp, const float* query, const float* key, const float* value,
                            const Layout<1>& out_layout, const Layout<1>& query_layout, const Layout<1>& key_layout,
                            const Layout<1>& value_layout, float scale, bool is_causal) {
    __shared__ Tile<DIMS> queries, keys, values;
    __shared__ Weights weights;
    const Place place(query_layout, blockIdx.x);
    const long long key_count = key_layout.size[2], row = place.first + own_row();
    const long long group = place.head / (query_layout.size[1] / key_layout.size[1]);
    const long long end = is_causal && place.first + TILE < key_count ? place.first + TILE : key_count;
    float top = -INFINITY, total = 0.0f, scores[COLUMNS];
    Sums<DIMS> sums = {};
    fetch(queries, query + head_at(query_layout, place.batch, place.head), query_layout, place.first);

    for (long long start = 0; start < end; start += TILE) {
        __syncthreads();
        fetch(keys, key + head_at(key_layout, place.batch, group), key_layout, start);
        fetch(values, value + head_at(value_layout, place.batch, group), value_layout, start);
        __syncthreads();
        multiply(scores, queries, keys);
        float best = top, sum = 0.0f;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            const long long column = start + own_lane() + c * ROW_LANES;
            const bool is_seen = column < key_count && (!is_causal || column <= row);
            scores[c] = is_seen ? scores[c] * scale : -INFINITY;
            best = fmaxf(best, scores[c]);
        }
        best = max_of_row(best);
        const float base = best == -INFINITY ? 0.0f : best;  // until then, every score is -INFINITY
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            scores[c] = expf(scores[c] - base);
            sum += scores[c];
            weights.at[own_row()][own_lane() + c * ROW_LANES] = scores[c];
        }
        const float shrink = expf(top - base);
        total = total * shrink + sum_of_row(sum);
        top = best;
        scale_sums(sums, shrink);
        __syncwarp();
        accumulate(sums, weights, values);
    }
    scale_sums(sums, 1.0f / total);
    write(out + head_at(out_layout, place.batch, place.head), out_layout, place.first, sums);
    if (own_lane() == 0 && row < query_layout.size[2])
        logsumexp[(place.batch * query_layout.size[1] + place.head) * query_layout.size[2] + row] = top + logf(total);
}

// The own row's product of grad and out, and its logarithm of the denominator; 0 outside.
template <int DIMS>
inline void statistics(float& along, float& denominator, const Tile<DIMS>& grads, const float* out,
                       const Layout<1>& out_layout, const float* logsumexp, const Layout<1>& query_layout,
                       long long batch, long long head, long long first) {
    const long long row = first + own_row();
    const bool is_inside = row < query_layout.size[2];
    const float* const own = out + head_at(out_layout, batch, head) + row * out_layout.stride[0][2];
    float sum = 0.0f;
    if (is_inside)
        for (int dim = own_lane(); dim < out_layout.size[3]; dim += ROW_LANES)
            sum += grads.at[own_row()][dim] * own[dim * out_layout.stride[0][3]];
    along = sum_of_row(sum);
    denominator = is_inside ? logsumexp[(batch * query_layout.size[1] + head) * query_layout.size[2] + row] : 0.0f;
}

// The first blocks compute the gradients of queries, the others those of keys and values.
template <int DIMS>
inline void short_attention_backward(
    float* query_grad, float* key_grad, float* value_grad, const float* grad, const float* out, const float* logsumexp,
    const float* query, const float* key, const float* value, const Layout<1>& query_grad_layout,
    const Layout<1>& key_grad_layout, const Layout<1>& value_grad_layout, const Layout<1>& grad_layout,
    const Layout<1>& out_layout, const Layout<1>& query_layout, const Layout<1>& key_layout,
    const Layout<1>& value_layout, float scale, bool is_causal) {
    __shared__ Tile<DIMS> queries, keys, values, grads;
    __shared__ Weights weights, slopes;
    __shared__ float along_of[TILE], denominator_of[TILE];
    const long long query_count = query_layout.size[2], key_count = key_layout.size[2];
    const long long per_group = query_layout.size[1] / key_layout.size[1];
    const long long query_tiles = (query_count + TILE - 1) / TILE;
    const long long query_blocks = query_layout.size[0] * query_layout.size[1] * query_tiles;
    float products[COLUMNS], steps[COLUMNS], along, denominator;

    if (blockIdx.x < query_blocks) {
        const Place place(query_layout, blockIdx.x);
        const long long group = place.head / per_group, row = place.first + own_row();
        const long long end = is_causal && place.first + TILE < key_count ? place.first + TILE : key_count;
        Sums<DIMS> sums = {};
        fetch(queries, query + head_at(query_layout, place.batch, place.head), query_layout, place.first);
        fetch(grads, grad + head_at(grad_layout, place.batch, place.head), grad_layout, place.first);
        __syncthreads();
        statistics(along, denominator, grads, out, out_layout, logsumexp, query_layout, place.batch, place.head,
                   place.first);
        for (long long start = 0; start < end; start += TILE) {
            __syncthreads();
            fetch(keys, key + head_at(key_layout, place.batch, group), key_layout, start);
            fetch(values, value + head_at(value_layout, place.batch, group), value_layout, start);
            __syncthreads();
            multiply(products, queries, keys);
            multiply(steps, grads, values);
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) {
                const int at = own_lane() + c * ROW_LANES;
                const bool is_seen = start + at < key_count && (!is_causal || start + at <= row);
                const float weight = is_seen ? expf(products[c] * scale - denominator) : 0.0f;
                slopes.at[own_row()][at] = is_seen ? weight * (steps[c] - along) * scale : 0.0f;
            }
            __syncwarp();
            accumulate(sums, slopes, keys);
        }
        write(query_grad + head_at(query_grad_layout, place.batch, place.head), query_grad_layout, place.first, sums);
        return;
    }

    const Place place(key_layout, blockIdx.x - query_blocks);
    const long long row = place.first + own_row();
    Sums<DIMS> key_sums = {}, value_sums = {};
    fetch(keys, key + head_at(key_layout, place.batch, place.head), key_layout, place.first);
    fetch(values, value + head_at(value_layout, place.batch, place.head), value_layout, place.first);
    for (long long head = place.head * per_group; head < (place.head + 1) * per_group; ++head) {
        for (long long start = is_causal ? place.first : 0; start < query_count; start += TILE) {
            __syncthreads();
            fetch(queries, query + head_at(query_layout, place.batch, head), query_layout, start);
            fetch(grads, grad + head_at(grad_layout, place.batch, head), grad_layout, start);
            __syncthreads();
            statistics(along, denominator, grads, out, out_layout, logsumexp, query_layout, place.batch, head, start);
            if (own_lane() == 0) along_of[own_row()] = along, denominator_of[own_row()] = denominator;
            __syncthreads();
            multiply(products, keys, queries);
            multiply(steps, values, grads);
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) {
                const int at = own_lane() + c * ROW_LANES;
                const bool is_seen = start + at < query_count && row < key_count && (!is_causal || row <= start + at);
                const float weight = is_seen ? expf(products[c] * scale - denominator_of[at]) : 0.0f;
                weights.at[own_row()][at] = weight;
                slopes.at[own_row()][at] = is_seen ? weight * (steps[c] - along_of[at]) * scale : 0.0f;
            }
            __syncwarp();
            accumulate(value_sums, weights, grads);
            accumulate(key_sums, slopes, queries);
        }
    }
    write(key_grad + head_at(key_grad_layout, place.batch, place.head), key_grad_layout, place.first, key_sums);
    write(value_grad + head_at(value_grad_layout, place.batch, place.head), value_grad_layout, place.first, value_sums);
}
