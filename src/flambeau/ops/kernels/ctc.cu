// Connectionist temporal classification (A. Graves et al., 2006): forward and backward variables in log space.
// States: a target's labels with a blank before, between and after them, 2 * length + 1.  One block per sequence.

struct Sequence {
    const long long* labels;
    long long states, blank, classes;
    long long of(long long state) const {
        const long long label = state % 2 ? labels[state / 2] : blank;
        device_assert(label >= 0 && label < classes);
        return label;
    }
    bool may_skip(long long state) const { return state > 1 && state % 2 && of(state) != of(state - 2); }
};

template <class C> inline C log_sum(C a, C b, C c) {
    C most = a > b ? a : b;
    most = c > most ? c : most;
    if (most == -INFINITY) return most;
    return log(exp(a - most) + exp(b - most) + exp(c - most)) + most;
}

// losses[n], and alpha[t, n, state].
template <class C, class T>
inline void ctc_forward(C* losses, C* alpha, const T* logs, const long long* targets, const long long* starts,
                        const long long* lengths, const long long* target_lengths, long long batch, long long classes,
                        long long width, long long blank) {
    for (long long n = blockIdx.x; n < batch; n += gridDim.x) {
        const Sequence own{targets + starts[n], 2 * target_lengths[n] + 1, blank, classes};
        const long long times = lengths[n];
        for (long long t = 0; t < times; ++t) {
            C* row = alpha + (t * batch + n) * width;
            const C* before = row - batch * width;
            const T* log_row = logs + (t * batch + n) * classes;
            for (long long s = threadIdx.x; s < own.states; s += blockDim.x) {
                C sum = s < 2 ? C(0) : C(-INFINITY);
                if (t > 0)
                    sum = log_sum(before[s], s > 0 ? before[s - 1] : C(-INFINITY), own.may_skip(s) ? before[s - 2] : C(-INFINITY));
                row[s] = sum + load<C>(log_row[own.of(s)]);
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            if (times == 0) {
                losses[n] = own.states == 1 ? C(0) : C(INFINITY);
            } else {
                const C* last = alpha + ((times - 1) * batch + n) * width;
                losses[n] = -log_sum(last[own.states - 1], own.states > 1 ? last[own.states - 2] : C(-INFINITY), C(-INFINITY));
            }
        }
        __syncthreads();
    }
}

// both[t, n, state]: alpha + beta.  beta has two rows for each sequence.
template <class C, class T>
inline void ctc_backward(C* both, C* beta, const C* alpha, const T* logs, const long long* targets,
                         const long long* starts, const long long* lengths, const long long* target_lengths,
                         long long batch, long long classes, long long width, long long blank) {
    for (long long n = blockIdx.x; n < batch; n += gridDim.x) {
        const Sequence own{targets + starts[n], 2 * target_lengths[n] + 1, blank, classes};
        const long long times = lengths[n];
        for (long long t = times - 1; t >= 0; --t) {
            C* row = beta + (n * 2 + t % 2) * width;
            const C* behind = beta + (n * 2 + (t + 1) % 2) * width;
            const long long at = (t * batch + n) * width;
            const T* log_row = logs + (t * batch + n) * classes;
            for (long long s = threadIdx.x; s < own.states; s += blockDim.x) {
                C sum = s > own.states - 3 ? C(0) : C(-INFINITY);
                if (t < times - 1)
                    sum = log_sum(behind[s], s + 1 < own.states ? behind[s + 1] : C(-INFINITY),
                                  s + 2 < own.states && own.may_skip(s + 2) ? behind[s + 2] : C(-INFINITY));
                row[s] = sum + load<C>(log_row[own.of(s)]);
                both[at + s] = alpha[at + s] + row[s];
            }
            __syncthreads();
        }
        __syncthreads();
    }
}

// The gradient of the log probabilities, before a softmax.
template <class C, class T>
inline void ctc_gradient(T* out, const C* grad, const C* losses, const C* both, const T* logs, const long long* targets,
                         const long long* starts, const long long* lengths, const long long* target_lengths,
                         long long times, long long batch, long long classes, long long width, long long blank, bool zero) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < times * batch * classes;
         i += (long long)gridDim.x * blockDim.x) {
        long long label, n;
        const long long t = divide(divide(i, classes, label), batch, n);
        if (t >= lengths[n] || (zero && losses[n] == INFINITY)) {
            out[i] = store<T>(C(0));
            continue;
        }
        const Sequence own{targets + starts[n], 2 * target_lengths[n] + 1, blank, classes};
        const C* row = both + (t * batch + n) * width;
        C sum = -INFINITY;
        for (long long s = label == blank ? 0 : 1; s < own.states; ++s)
            if (own.of(s) == label) sum = log_sum(sum, row[s], C(-INFINITY));
        const C log_of = load<C>(logs[i]);
        out[i] = store<T>((exp(log_of) - exp(sum + losses[n] - log_of)) * grad[n]);
    }
}
