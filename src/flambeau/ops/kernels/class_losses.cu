// Losses of classes: the negative logarithm of a target's probability, from logarithms or from logits.  Follows rows.cu.

// The loss of picking class target[i] from a contiguous [n, classes, inner] array of log-probabilities, where i counts
// [n, inner]: -weight * x and weight.  Target `ignored` gives zeros; any other outside the classes stops the kernel.
template <class C, class T> struct Picked {
    const T* input;
    const long long* target;
    const T* weight;
    long long classes, inner, ignored;
    C weight_of(long long chosen) const {
        if (chosen == ignored) return C(0);
        device_assert(chosen >= 0 && chosen < classes);
        return weight ? load<C>(weight[chosen]) : C(1);
    }
    Two<C> at(long long i) const {
        const long long chosen = target[i];
        const C scale = weight_of(chosen);
        if (chosen == ignored) return {C(0), C(0)};
        const long long n = i / inner;
        return {-scale * load<C>(input[(n * classes + chosen) * inner + i - n * inner]), scale};
    }
};

template <class C, class T>
inline void nll_each(T* out, const Picked<C, T>& picked, long long count) {
    for (long long i = blockIdx.x * (long long)BLOCK + threadIdx.x; i < count; i += (long long)gridDim.x * BLOCK)
        out[i] = store<T>(picked.at(i).first);
}

// Sums of losses and weights, one pair per block.
template <class C, class T>
inline void nll_pieces(C* losses, C* weights, const Picked<C, T>& picked, long long count) {
    const long long chunk = (count + gridDim.x - 1) / gridDim.x, start = blockIdx.x * chunk;
    const long long stop = start + chunk < count ? start + chunk : count;
    Two<C> sums = {0, 0};
    for (long long i = start + threadIdx.x; i < stop; i += BLOCK) sums = PlusTwo().join(sums, picked.at(i));
    sums = join_group<BLOCK, false>(PlusTwo(), sums);
    if (threadIdx.x == 0) losses[blockIdx.x] = sums.first, weights[blockIdx.x] = sums.second;
}

// Write the loss and the total weight from the sums of the blocks.
template <class C, class Out> inline void put_loss(Out* out, C* total, Two<C> sums, bool is_mean) {
    *out = store<Out>(is_mean ? sums.first / sums.second : sums.first), *total = sums.second;
}

template <class C, class T>
inline void nll_finish(T* out, C* total, const C* losses, const C* weights, long long parts, bool is_mean) {
    Two<C> sums = {0, 0};
    for (long long i = threadIdx.x; i < parts; i += BLOCK) sums = PlusTwo().join(sums, Two<C>{losses[i], weights[i]});
    sums = join_group<BLOCK, false>(PlusTwo(), sums);
    if (threadIdx.x == 0) put_loss(out, total, sums, is_mean);
}

// The same for few targets, in one block.
template <class C, class T>
inline void nll_whole(T* out, C* total, const Picked<C, T>& picked, long long count, bool is_mean) {
    Two<C> sums = {0, 0};
    for (long long i = threadIdx.x; i < count; i += BLOCK) sums = PlusTwo().join(sums, picked.at(i));
    sums = join_group<BLOCK, false>(PlusTwo(), sums);
    if (threadIdx.x == 0) put_loss(out, total, sums, is_mean);
}

// grad has one value, or one per target; a null total is 1.  A thread writes runs of WIDEST_ACCESS bytes, in most of which
// all elements are 0.
template <class C, class T>
inline void nll_backward(T* out, const T* grad, const C* total, const Picked<C, T>& picked, long long count, bool is_single) {
    constexpr int V = length<true, T>();
    const long long numel = count * picked.classes, step = (long long)gridDim.x * BLOCK * V;
    const auto slope = [&](long long i, long long chosen) {
        return store<T>(-picked.weight_of(chosen) * load<C>(grad[is_single ? 0 : i]) / (total ? *total : C(1)));
    };
    for (long long first = (blockIdx.x * (long long)BLOCK + threadIdx.x) * V; first < numel; first += step) {
        long long inside = 0, class_index;
        const long long line = picked.inner == 1 ? first : divide(first, picked.inner, inside);
        long long n = divide(line, picked.classes, class_index);
        Run<T, V> run = {};
        if (picked.inner == 1 && class_index + V <= picked.classes) {  // elements of one target
            const long long chosen = picked.target[n], place = chosen - class_index;
            if (place >= 0 && place < V && chosen != picked.ignored) {
                const T found = slope(n, chosen);
#pragma unroll
                for (int j = 0; j < V; ++j)
                    if (j == place) run.set(j, found);
            }
        } else {
#pragma unroll
            for (int j = 0; j < V; ++j) {
                if (first + j >= numel) continue;
                const long long i = n * picked.inner + inside, chosen = picked.target[i];
                if (chosen == class_index && chosen != picked.ignored) run.set(j, slope(i, chosen));
                if (++inside < picked.inner) continue;
                inside = 0;
                if (++class_index == picked.classes) class_index = 0, ++n;
            }
        }
        if (first + V <= numel) {
            *(Run<T, V>*)(out + first) = run;
        } else {
#pragma unroll
            for (int j = 0; j < V; ++j)
                if (first + j < numel) out[first + j] = run.at(j);
        }
    }
}

// ---- from logits, without the probabilities in between ----

// The results of `entropy`; null ones are not written.
template <class C, class T> struct EntropyResults {
    T* each;      // the loss of each row, or
    C* losses;    // in the wide type, with
    C* weights;   // the weight of its target
    C* norms;     // of each row its largest value and the logarithm of sum(exp(x - largest))
    T* whole;     // the loss of all rows, which are those of one block, or
    C* wide;      // in the wide type, with
    C* total;     // the total weight
    bool is_mean;
};

// The losses of the rows of contiguous logits [rows, size].
template <bool EVEN, class C, class T>
inline void entropy(const EntropyResults<C, T>& results, const Picked<C, T>& picked, long long rows, long long tiles,
                    int lanes) {
    constexpr int V = length<EVEN, T>();
    const Place place(lanes, rows);
    const T* x = picked.input + place.row * picked.classes;
    const long long stop = place.is_there ? picked.classes : 0;
    Exponentials<T, C> sums;
    Held<EVEN, C, T, V> held, next;
    fetch<EVEN, C, V>(next, x, 1, Span<V, EVEN>(place.lane, lanes, 0, stop), -INFINITY);
    for (long long tile = 1; tile <= tiles; ++tile) {
        held = next;
        if (tile < tiles) fetch<EVEN, C, V>(next, x, 1, Span<V, EVEN>(place.lane, lanes, tile, stop), -INFINITY);
        sums.template take<V>(held);
    }
    sums.join(lanes);
    Two<C> own = {0, 0};
    if (place.lane == 0 && place.is_there) {
        const long long chosen = picked.target[place.row];
        const C weight = picked.weight_of(chosen), shift = log(sums.total);
        const C loss = chosen == picked.ignored ? C(0) : weight * (shift - (load<C>(x[chosen]) - sums.peak));
        if (results.each) results.each[place.row] = store<T>(loss);
        if (results.losses) results.losses[place.row] = loss, results.weights[place.row] = weight;
        results.norms[2 * place.row] = sums.peak, results.norms[2 * place.row + 1] = shift;
        own = {loss, weight};
    }
    if (!results.total) return;
    own = join_lanes<1>((int)blockDim.x, PlusTwo(), own);
    if (threadIdx.x != 0) return;
    if (results.whole) put_loss(results.whole, results.total, own, results.is_mean);
    else put_loss(results.wide, results.total, own, results.is_mean);
}

// The gradient of the logits; `grad`, of type G, and `total` as in nll_backward.
template <bool EVEN, class C, class G, class T>
inline void entropy_backward(T* out, const G* grad, const C* total, const C* norms, const Picked<C, T>& picked,
                             long long rows, long long tiles, int lanes, bool is_single) {
    constexpr int V = length<EVEN, T>();
    const Place place(lanes, rows);
    if (!place.is_there) return;
    const long long chosen = picked.target[place.row], start = place.row * picked.classes;
    const C peak = norms[2 * place.row], shift = norms[2 * place.row + 1], weight = picked.weight_of(chosen);
    const C slope = weight * load<C>(grad[is_single ? 0 : place.row]) / (total ? *total : C(1));
    for (long long tile = 0; tile < tiles; ++tile) {
        const Span<V, EVEN> span(place.lane, lanes, tile, picked.classes);
        Held<EVEN, C, T, V> held;
        fetch<EVEN, C, V>(held, picked.input + start, 1, span, 0);
        const bool is_here = chosen >= span.start && chosen < span.start + span.left;
        const int target = is_here ? (int)(chosen - span.start) : -1;
        put(out + start, span, [&](int k, int j) {
            const C probability = exponential<T>(load<C>(held.at[k].at(j)) - peak - shift);
            return (probability - (span.place(k, j) == target ? C(1) : C(0))) * slope;
        });
    }
}
