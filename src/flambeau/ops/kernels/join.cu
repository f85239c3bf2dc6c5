// Joining and reversing: every element is moved once.

// Sixteen bytes of any elements: what a thread moves at once where rows allow it.
struct __align__(16) Wide { unsigned long long low, high; };

// Part blockIdx.y, seen as [outer, own], goes to columns start + (what the parts before it are wide) of out [outer, width].
// `Moved` holds `PER` elements; rows and their starts are multiples of it.
template <class Moved, int PER, class T, int N>
inline void join(T* to, const Pointers<T, N>& parts, long long outer, long long width, long long start) {
    const int part = blockIdx.y;
    for (int before = 0; before < part; ++before) start += parts.at[before].numel / outer;
    const long long numel = parts.at[part].numel / PER, own = numel / outer, step = (long long)gridDim.x * blockDim.x;
    const Moved* data = reinterpret_cast<const Moved*>(parts.at[part].data);
    Moved* out = reinterpret_cast<Moved*>(to);
    width /= PER, start /= PER;
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
