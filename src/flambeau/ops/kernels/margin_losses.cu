// Margin losses of classes.  Follows rows.cu.
//
//  - `lanes` neighbouring threads (a warp or a block) share one row at a time, and take rows that are a grid apart.
//  - A loss of several rows is the sum of the terms that a block has taken: one number per block.
//  - A term counts where it is above 0, so that a NaN adds nothing.

// The join of all lanes' values, in each of them.
template <class Op, class S> inline S join_row(int lanes, const Op& op, S mine) {
    return lanes == WARP ? join_lanes(WARP, op, mine) : join_group<BLOCK, false>(op, mine);
}

struct Smaller {
    template <class S> S join(S a, S b) const { return a < b ? a : b; }
};

// The margins of the other classes to the target, in contiguous rows of `size` classes.
template <class C, class T> struct ClassMargins {
    const T* input;
    const long long* target;
    const T* weight;  // per target class; null means 1
    long long rows, size, p;
    C margin, divisor;
    long long target_of(long long row) const {
        const long long chosen = target[row];
        device_assert(chosen >= 0 && chosen < size);
        return chosen;
    }
    C weight_of(long long chosen) const { return weight ? load<C>(weight[chosen]) : C(1); }
};

// out: the loss of each row if `is_each`, else one sum per block.
template <class C, class T, class Out>
inline void class_margins(Out* out, const ClassMargins<C, T>& of, int lanes, bool is_each) {
    const int groups = BLOCK / lanes, lane = threadIdx.x % lanes;
    C total = 0;
    const long long first = blockIdx.x * (long long)groups + threadIdx.x / lanes, step = (long long)gridDim.x * groups;
    for (long long row = first; row < of.rows; row += step) {
        const T* x = of.input + row * of.size;
        const long long chosen = of.target_of(row);
        const C shift = of.margin - load<C>(x[chosen]);
        C sum = 0;
        for (long long i = lane; i < of.size; i += lanes) {
            const C apart = shift + load<C>(x[i]);
            if (i != chosen && apart > 0) sum += of.p == 2 ? apart * apart : apart;
        }
        sum *= of.weight_of(chosen);
        if (is_each) {
            sum = join_row(lanes, Plus(), sum);
            if (lane == 0) out[row] = store<Out>(sum / of.divisor);
        }
        total += sum;
    }
    if (is_each) return;
    total = join_group<BLOCK, false>(Plus(), total);
    if (threadIdx.x == 0) out[blockIdx.x] = store<Out>(total / of.divisor);
}

// grad has one value, or one per row.
template <class C, class T>
inline void class_margins_backward(T* out, const T* grad, const ClassMargins<C, T>& of, int lanes, bool is_single) {
    const int groups = BLOCK / lanes, lane = threadIdx.x % lanes;
    const long long first = blockIdx.x * (long long)groups + threadIdx.x / lanes, step = (long long)gridDim.x * groups;
    for (long long row = first; row < of.rows; row += step) {
        const T* x = of.input + row * of.size;
        const long long chosen = of.target_of(row);
        const C shift = of.margin - load<C>(x[chosen]);
        const C unit = load<C>(grad[is_single ? 0 : row]) * of.weight_of(chosen) / of.divisor;
        C sum = 0;
        for (long long i = lane; i < of.size; i += lanes) {
            const C apart = shift + load<C>(x[i]);
            if (i == chosen) continue;
            const C slope = apart > 0 ? (of.p == 2 ? 2 * apart * unit : unit) : C(0);
            out[row * of.size + i] = store<T>(slope);
            sum += slope;
        }
        sum = join_row(lanes, Plus(), sum);
        if (lane == 0) out[row * of.size + chosen] = store<T>(-sum);
    }
}

// The margins of all classes that are no labels to all labels.  A row's labels end before its first negative target.
template <class C, class T> struct LabelMargins {
    const T* input;
    const long long* target;
    unsigned char* marks;  // of the classes that are labels
    long long rows, size;
    C divisor;
    // Count the labels of a row and mark them.  All threads of the block must call it.
    long long labels_of(long long row) const {
        const long long* labels = target + row * size;
        unsigned char* mark = marks + row * size;
        long long count = size;
        for (long long i = threadIdx.x; i < size; i += BLOCK) {
            mark[i] = 0;
            if (labels[i] < 0 && i < count) count = i;
        }
        count = join_group<BLOCK, false>(Smaller(), count);
        __syncthreads();
        for (long long i = threadIdx.x; i < count; i += BLOCK) {
            device_assert(labels[i] < size);
            mark[labels[i]] = 1;
        }
        __syncthreads();
        return count;
    }
};

// out: the loss of each row if `is_each`, else one sum per block.
template <class C, class T, class Out> inline void label_margins(Out* out, const LabelMargins<C, T>& of, bool is_each) {
    C total = 0;
    for (long long row = blockIdx.x; row < of.rows; row += gridDim.x) {
        const long long count = of.labels_of(row);
        const long long* labels = of.target + row * of.size;
        const unsigned char* mark = of.marks + row * of.size;
        const T* x = of.input + row * of.size;
        C sum = 0;
        for (long long at = 0; at < count; ++at) {
            const C shift = C(1) - load<C>(x[labels[at]]);
            for (long long i = threadIdx.x; i < of.size; i += BLOCK) {
                const C apart = shift + load<C>(x[i]);
                if (!mark[i] && apart > 0) sum += apart;
            }
        }
        if (is_each) {
            sum = join_group<BLOCK, false>(Plus(), sum);
            if (threadIdx.x == 0) out[row] = store<Out>(sum / of.divisor);
        }
        total += sum;
    }
    if (is_each) return;
    total = join_group<BLOCK, false>(Plus(), total);
    if (threadIdx.x == 0) out[blockIdx.x] = store<Out>(total / of.divisor);
}

// grad has one value, or one per row.
template <class C, class T>
inline void label_margins_backward(T* out, const T* grad, const LabelMargins<C, T>& of, bool is_single) {
    for (long long row = blockIdx.x; row < of.rows; row += gridDim.x) {
        const long long count = of.labels_of(row);
        const long long* labels = of.target + row * of.size;
        const unsigned char* mark = of.marks + row * of.size;
        const T* x = of.input + row * of.size;
        T* slopes = out + row * of.size;
        const C unit = load<C>(grad[is_single ? 0 : row]) / of.divisor;
        for (long long i = threadIdx.x; i < of.size; i += BLOCK) {
            long long active = 0;
            if (mark[i]) continue;
            for (long long at = 0; at < count; ++at) active += C(1) - load<C>(x[labels[at]]) + load<C>(x[i]) > 0;
            slopes[i] = store<T>((C)active * unit);
        }
        for (long long at = 0; at < count; ++at) {  // a label that occurs several times counts as often
            const long long label = labels[at];
            const C shift = C(1) - load<C>(x[label]);
            Two<long long> found = {0, 0};
            for (long long i = threadIdx.x; i < of.size; i += BLOCK) {
                found.first += !mark[i] && shift + load<C>(x[i]) > 0;
                found.second += i < count && labels[i] == label;
            }
            found = join_group<BLOCK, false>(PlusTwo(), found);
            if (threadIdx.x == 0) slopes[label] = store<T>(-(C)(found.first * found.second) * unit);
        }
    }
}
