// Joining and reversing: every element is moved once.

// Part blockIdx.y, seen as [outer, own], goes to columns start + (what the parts before it are wide) of out [outer, width].
template <class T, int N>
inline void join(T* out, const Pointers<T, N>& parts, long long outer, long long width, long long start) {
    const int part = blockIdx.y;
    for (int before = 0; before < part; ++before) start += parts.at[before].numel / outer;
    const long long numel = parts.at[part].numel, own = numel / outer, step = (long long)gridDim.x * blockDim.x;
    const T* data = parts.at[part].data;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += step) {
        long long column;
        const long long row = divide(i, own, column);
        out[row * width + start + column] = data[i];
    }
}

// Dimension d is reversed where bit d of `mask` is set.
template <class T>
inline void reverse(T* out, const T* input, const Layout<1>& layout, long long numel, long long mask) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += step) {
        long long rest = i, at = 0;
        for (int d = (int)layout.ndim - 1; d >= 0; --d) {
            long long place;
            rest = divide(rest, layout.size[d], place);
            at += (mask >> d & 1 ? layout.size[d] - 1 - place : place) * layout.stride[0][d];
        }
        out[i] = input[at];
    }
}
