// Many tensors in one launch, cut into chunks that the blocks take in turn.
//
//  - Entry i of every list belongs to tensor i.  Entries past the last tensor are {0, 0}: one kernel for every count.
//  - A chunk of 2^shift elements is within one tensor.  Which block takes which chunks depends on sizes alone.
//  - A tensor whose entries all begin at multiples of 16 bytes moves 16 bytes at a time, any other one element.

#define MANY 64
#define BLOCK 256
#define WARP 32
#define WARPS (BLOCK / WARP)
#define EVERY_LANE 0xffffffffu
#define WIDE_BYTES 16

template <class T> struct __align__(WIDE_BYTES) Wide { T at[WIDE_BYTES / sizeof(T)]; };

// N Pointers, one after another.
template <class T, int N> struct Lists { Pointers<T, MANY> of[N]; };

// Put into first[i] the number of chunks before tensor i.  The first warp counts, two tensors per lane.
template <class T> inline void count_chunks(const Pointers<T, MANY>& list, int shift, int (&first)[MANY + 1]) {
    if (threadIdx.x < WARP) {
        const int lane = threadIdx.x;
        const long long most = (1LL << shift) - 1;
        const int even = (int)((list.at[2 * lane].numel + most) >> shift);
        const int odd = (int)((list.at[2 * lane + 1].numel + most) >> shift);
        int sum = even + odd;
        for (int step = 1; step < WARP; step *= 2) {
            const int left = __shfl_up_sync(EVERY_LANE, sum, step);
            if (lane >= step) sum += left;
        }
        first[2 * lane + 1] = sum - odd;
        first[2 * lane + 2] = sum;
        if (lane == 0) first[0] = 0;
    }
    __syncthreads();
}

// Call body(tensor, start, count) for each chunk of this block.
template <class T, class Body> inline void for_each_chunk(const Pointers<T, MANY>& list, int shift, const Body& body) {
    __shared__ int first[MANY + 1];
    count_chunks(list, shift, first);
    for (int at = blockIdx.x; at < first[MANY]; at += gridDim.x) {
        int tensor = 0;
        for (int step = MANY / 2; step > 0; step /= 2) tensor += first[tensor + step] <= at ? step : 0;
        const long long start = (long long)(at - first[tensor]) << shift, left = list.at[tensor].numel - start;
        body(tensor, start, left >> shift ? 1 << shift : (int)left);
    }
}

// Change every element: step = step_of(tensor), which all threads of a block call together, is called with the element's
// value in each of the first N lists; it may change those from list `WRITTEN` on, which are stored.
template <int N, int WRITTEN, class C, class T, int M, class StepOf>
inline void update_by(const Lists<T, M>& lists, int shift, const StepOf& step_of) {
    constexpr int WIDTH = WIDE_BYTES / sizeof(T);
    for_each_chunk(lists.of[0], shift, [&](int tensor, long long start, int count) {
        const auto step = step_of(tensor);
        T* data[N];
        unsigned long long places = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) {
            data[k] = lists.of[k].at[tensor].data + start;
            places |= (unsigned long long)data[k];
        }
        const int wide = places % WIDE_BYTES == 0 ? count / WIDTH : 0;
#pragma unroll 1
        for (int i = threadIdx.x; i < wide; i += BLOCK) {
            Wide<T> moved[N];
#pragma unroll
            for (int k = 0; k < N; ++k) moved[k] = reinterpret_cast<const Wide<T>*>(data[k])[i];
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) {
                C values[N];
#pragma unroll
                for (int k = 0; k < N; ++k) values[k] = load<C>(moved[k].at[j]);
                step(values);
#pragma unroll
                for (int k = WRITTEN; k < N; ++k) moved[k].at[j] = store<T>(values[k]);
            }
#pragma unroll
            for (int k = WRITTEN; k < N; ++k) reinterpret_cast<Wide<T>*>(data[k])[i] = moved[k];
        }
#pragma unroll 1
        for (int i = wide * WIDTH + threadIdx.x; i < count; i += BLOCK) {
            C values[N];
#pragma unroll
            for (int k = 0; k < N; ++k) values[k] = load<C>(data[k][i]);
            step(values);
#pragma unroll
            for (int k = WRITTEN; k < N; ++k) data[k][i] = store<T>(values[k]);
        }
    });
}

// The same with one step for all tensors.
template <int N, int WRITTEN, class C, class T, int M, class Step>
inline void update(const Lists<T, M>& lists, int shift, const Step& step) {
    update_by<N, WRITTEN, C>(lists, shift, [&](int) { return step; });
}

// ---- optimizers: values are the gradient, the parameter and its optimizer state ----

template <class C> struct Adam {
    C size, new_mean, old_square, new_square, eps, shrink, decay, over_root, sign;
    template <int N> inline void operator()(C (&values)[N]) const {
        C grad = sign * values[0];
        if (decay != 0) grad += decay * values[1];
        values[2] += (grad - values[2]) * new_mean;
        values[3] = values[3] * old_square + new_square * grad * grad;
        C square = values[3];
        if constexpr (N > 4) square = values[4] = larger(values[4], square);
        values[1] = values[1] * shrink - size * (values[2] / (sqrt(square) * over_root + eps));
    }
};

template <class C>
inline Adam<C> adam_of(double size, double beta1, double beta2, double eps, double shrink, double decay, double root,
                       double sign) {
    return {(C)size,   (C)(1 - beta1), (C)beta2,      (C)(1 - beta2), (C)eps,
            (C)shrink, (C)decay,       1 / (C)root, (C)sign};
}

template <class C, class T, class StepOf> inline void adam_by(const Lists<T, 5>& lists, int shift, const StepOf& step_of) {
    if (lists.of[4].at[0].data) update_by<5, 1, C>(lists, shift, step_of);
    else update_by<4, 1, C>(lists, shift, step_of);
}

template <class C, class T>
inline void adam(const Lists<T, 5>& lists, int shift, double size, double beta1, double beta2, double eps, double shrink,
                 double decay, double root, double sign) {
    const Adam<C> step = adam_of<C>(size, beta1, beta2, eps, shrink, decay, root, sign);
    adam_by<C>(lists, shift, [&](int) { return step; });
}

// The same, with each tensor's step count in memory: two threads of a block compute the bias corrections.
// rate: the learning rate in memory, which replaces lr, or null; pull: its multiple that is subtracted from `shrink`.
// found: a number in memory that skips the step unless it is 0, or null.
template <class C, class T>
inline void adam_counted(const Lists<T, 5>& lists, const Pointers<float, MANY>& steps, int shift, double lr, double beta1,
                         double beta2, double eps, double shrink, double decay, double sign, const float* rate,
                         double pull, const float* found) {
    __shared__ double corrections[2];
    if (found && *found != 0) return;
    if (rate) {
        lr = *rate;
        shrink -= lr * pull;
    }
    adam_by<C>(lists, shift, [&](int tensor) {
        __syncthreads();  // the chunk before may still read its corrections
        if (threadIdx.x < 2)
            corrections[threadIdx.x] = 1 - pow(threadIdx.x == 0 ? beta1 : beta2, (double)*steps.at[tensor].data);
        __syncthreads();
        return adam_of<C>(lr / corrections[0], beta1, beta2, eps, shrink, decay, sqrt(corrections[1]), sign);
    });
}

// Add 1 to each tensor's only element, unless *found is not 0.  One block.
template <class T> inline void add_one(const Lists<T, 1>& lists, const float* found) {
    if (found && *found != 0) return;
    if (threadIdx.x < MANY && lists.of[0].at[threadIdx.x].data) *lists.of[0].at[threadIdx.x].data += 1;
}

template <class C> struct Sgd {
    C rate, momentum, taken, decay, nesterov, sign;
    template <int N> inline void operator()(C (&values)[N]) const {
        C grad = sign * values[0];
        if (decay != 0) grad += decay * values[1];
        if constexpr (N > 2) {
            values[2] = values[2] * momentum + taken * grad;
            grad = nesterov != 0 ? grad + momentum * values[2] : values[2];
        }
        values[1] -= rate * grad;
    }
};

// rate, found: as in adam_counted.
template <class C, class T>
inline void sgd(const Lists<T, 3>& lists, int shift, double lr, double momentum, double taken, double decay,
                double nesterov, double sign, const float* rate, const float* found) {
    if (found && *found != 0) return;
    const Sgd<C> step = {(C)(rate ? *rate : lr), (C)momentum, (C)taken, (C)decay, (C)nesterov, (C)sign};
    if (lists.of[2].at[0].data) update<3, 1, C>(lists, shift, step);
    else update<2, 1, C>(lists, shift, step);
}

// ---- limits ----

template <class C> struct Scaled {
    C factor;
    inline void operator()(C (&values)[1]) const { values[0] *= factor; }
};

// Scale by most / (total + small) if that is below 1, or NaN.
template <class C, class T>
inline void limit(const Lists<T, 1>& lists, int shift, const C* total, double most, double small) {
    const C factor = (C)most / (*total + (C)small);
    if (!(factor >= 1)) update<1, 0, C>(lists, shift, Scaled<C>{factor});
}

template <class C> struct Clamped {
    C low, high;
    inline void operator()(C (&values)[1]) const { values[0] = smaller(larger(values[0], low), high); }
};

template <class C, class T> inline void clamp(const Lists<T, 1>& lists, int shift, double low, double high) {
    update<1, 0, C>(lists, shift, Clamped<C>{(C)low, (C)high});
}

// ---- scaling of losses ----

template <class C> struct Unscaled {
    float* found;
    C factor;
    inline void operator()(C (&values)[1]) const {
        if (!isfinite(values[0])) *found = 1;  // every thread writes the same value
        values[0] *= factor;
    }
};

// Multiply by *factor; put 1 into *found if a value is NaN or infinite.
template <class C, class T>
inline void unscale(const Lists<T, 1>& lists, int shift, float* found, const float* factor) {
    update<1, 0, C>(lists, shift, Unscaled<C>{found, (C)*factor});
}

// One thread shrinks the scale if a value was not finite, else grows it after `interval` such calls in a row.
inline void grow_scale(float* scale, int* count, const float* found, double growth, double backoff,
                       long long interval) {
    if (blockIdx.x || threadIdx.x) return;
    if (*found != 0) {
        *scale = (float)(*scale * backoff);
        *count = 0;
    } else if (++*count == interval) {
        const float grown = (float)(*scale * growth);
        if (isfinite(grown)) *scale = grown;
        *count = 0;
    }
}

// ---- norms: the terms that each kind sums, or whose largest or smallest it takes ----

enum { SQUARES, SIZES, LARGEST, SMALLEST, POWERS };

template <int KIND, class C> struct Norm {
    static constexpr bool IS_CHEAP = KIND != POWERS;
    C order;
    C begin() const { return KIND == SMALLEST ? (C)INFINITY : (C)0; }
    C map(C x) const { return KIND == SQUARES ? x * x : KIND == POWERS ? power(absolute(x), order) : absolute(x); }
    C join(C a, C b) const { return KIND == LARGEST ? larger(a, b) : KIND == SMALLEST ? smaller(a, b) : a + b; }
    C finish(C a) const { return KIND == SQUARES ? sqrt(a) : KIND == POWERS ? power(a, 1 / order) : a; }
};

// The join of all threads' values, in thread 0.
template <class Op, class C> inline C join_block(const Op& op, C mine) {
    __shared__ C of_warps[WARPS];
    for (int step = WARP / 2; step > 0; step /= 2) mine = op.join(mine, __shfl_xor_sync(EVERY_LANE, mine, step));
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int warp = 1; warp < WARPS; ++warp) mine = op.join(mine, of_warps[warp]);
    return mine;
}

// parts[start + block] gets the result of the block's chunks.
template <class C, class Op, class T>
inline void norm_parts_of(const Lists<T, 1>& lists, double* parts, int shift, const Op& op) {
    constexpr int WIDTH = WIDE_BYTES / sizeof(T), AT_ONCE = Op::IS_CHEAP ? 4 : 1;
    C mine = op.begin();
    for_each_chunk(lists.of[0], shift, [&](int tensor, long long start, int count) {
        const T* data = lists.of[0].at[tensor].data + start;
        const int wide = (unsigned long long)data % WIDE_BYTES == 0 ? count / WIDTH : 0;
#pragma unroll AT_ONCE
        for (int i = threadIdx.x; i < wide; i += BLOCK) {
            const Wide<T> moved = reinterpret_cast<const Wide<T>*>(data)[i];
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) mine = op.join(mine, op.map(load<C>(moved.at[j])));
        }
#pragma unroll 1
        for (int i = wide * WIDTH + threadIdx.x; i < count; i += BLOCK) mine = op.join(mine, op.map(load<C>(data[i])));
    });
    mine = join_block(op, mine);
    if (threadIdx.x == 0) parts[blockIdx.x] = mine;
}

template <class C, class T>
inline void norm_parts(const Lists<T, 1>& lists, double* parts, long long start, int shift, int kind, double order) {
    parts += start;
    switch (kind) {
        case SQUARES: return norm_parts_of<C>(lists, parts, shift, Norm<SQUARES, C>{});
        case SIZES: return norm_parts_of<C>(lists, parts, shift, Norm<SIZES, C>{});
        case LARGEST: return norm_parts_of<C>(lists, parts, shift, Norm<LARGEST, C>{});
        case SMALLEST: return norm_parts_of<C>(lists, parts, shift, Norm<SMALLEST, C>{});
        default: return norm_parts_of<C>(lists, parts, shift, Norm<POWERS, C>{(C)order});
    }
}

// The norm from `count` parts.  One block.
template <class Op, class Out> inline void norm_total_of(Out* out, const double* parts, int count, const Op& op) {
    double mine = op.begin();
    for (int i = threadIdx.x; i < count; i += BLOCK) mine = op.join(mine, parts[i]);
    mine = join_block(op, mine);
    if (threadIdx.x == 0) *out = store<Out>(op.finish(mine));
}

template <class Out> inline void norm_total(Out* out, const double* parts, int count, int kind, double order) {
    switch (kind) {
        case SQUARES: return norm_total_of(out, parts, count, Norm<SQUARES, double>{});
        case SIZES: return norm_total_of(out, parts, count, Norm<SIZES, double>{});
        case LARGEST: return norm_total_of(out, parts, count, Norm<LARGEST, double>{});
        case SMALLEST: return norm_total_of(out, parts, count, Norm<SMALLEST, double>{});
        default: return norm_total_of(out, parts, count, Norm<POWERS, double>{order});
    }
}
