// Stable sorting of rows: tiles in shared memory, then merges of neighbouring runs.
//
//  - Every key carries its place in the row; equal keys are ordered by it, so no two elements are equal and any sort is stable.
//  - NaN is greater than every number.
//  - In a merge each element finds its rank in the partner run by binary search, so it knows where it goes.

const int TILE = 1024;

template <class T> inline bool is_less(T a, T b) { return a < b || (b != b && a == a); }

// Whether element (a, at_a) comes before (b, at_b).
template <bool DESCENDING, class T> inline bool precedes(T a, long long at_a, T b, long long at_b) {
    if (DESCENDING ? is_less(b, a) : is_less(a, b)) return true;
    if (DESCENDING ? is_less(a, b) : is_less(b, a)) return false;
    return at_a < at_b;
}

// The least power of 2, and at least 2, that so many keys fit in.
inline int sorted_size(int held) {
    int size = 2;
    while (size < held) size *= 2;
    return size;
}

// Sort `held` keys in shared memory, with their places, by half as many threads as sorted_size says, or more.
// Places beyond the keys sort behind everything.
template <class T, class C, bool DESCENDING> inline void sort_held(T* key, int* place, int held) {
    const int size = sorted_size(held);
    for (int run = 2; run <= size; run *= 2) {
        for (int reach = run / 2; reach > 0; reach /= 2) {
            __syncthreads();
            const int low = 2 * threadIdx.x - (threadIdx.x & (reach - 1)), high = low + reach;
            if (low >= size) continue;
            const T a = key[low], b = key[high];
            const int at_a = place[low], at_b = place[high];
            const bool in_order = at_b >= held && (at_a < held || at_a < at_b) ||
                                  at_a < held && at_b < held && precedes<DESCENDING>(load<C>(a), at_a, load<C>(b), at_b);
            if (in_order != ((low & run) == 0)) {
                key[low] = b, key[high] = a;
                place[low] = at_b, place[high] = at_a;
            }
        }
    }
}

// One block per tile.
template <class T, class C, bool DESCENDING>
inline void sort_tile(T* keys, long long* places, const T* input, long long n, long long tiles) {
    __shared__ T key[TILE];
    __shared__ int place[TILE];
    const long long row = blockIdx.x / tiles, start = blockIdx.x % tiles * TILE;
    const int held = (int)(n - start < TILE ? n - start : TILE);
    for (int i = threadIdx.x, size = sorted_size(held); i < size; i += blockDim.x) {
        place[i] = i;
        if (i < held) key[i] = input[row * n + start + i];
    }
    sort_held<T, C, DESCENDING>(key, place, held);
    __syncthreads();
    for (int i = threadIdx.x; i < held; i += blockDim.x) {
        keys[row * n + start + i] = key[i];
        places[row * n + start + i] = start + place[i];
    }
}

template <class T, class C, bool DESCENDING>
inline void merge_runs(T* keys, long long* places, const T* old_keys, const long long* old_places, long long rows,
                       long long n, long long width) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows * n; i += step) {
        long long column;
        const long long base = divide(i, n, column) * n;
        const long long run = column / width, partner = (run ^ 1) * width;
        const T raw = old_keys[i];
        const C key = load<C>(raw);
        const long long place = old_places[i];
        long long low = 0, high = partner >= n ? 0 : (n - partner < width ? n - partner : width);
        while (low < high) {
            const long long middle = (low + high) / 2, other = base + partner + middle;
            if (precedes<DESCENDING>(load<C>(old_keys[other]), old_places[other], key, place)) low = middle + 1;
            else high = middle;
        }
        const long long target = base + (run & ~1LL) * width + (column - run * width) + low;
        keys[target] = raw;
        places[target] = place;
    }
}
