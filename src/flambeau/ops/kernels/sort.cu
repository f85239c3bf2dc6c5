// Stable sorting of rows: tiles in shared memory, then merges of neighbouring runs.
//
//  - Every key carries its place in the row; equal keys are ordered by it, so no two elements are equal and any sort is stable.
//  - NaN is greater than every number.
//  - In a merge, binary search gives each element's rank in the partner run, and so its position in the merged run.

const int TILE = 1024;

template <class T> inline bool is_less(T a, T b) { return a < b || (b != b && a == a); }

// Whether element (a, at_a) comes before (b, at_b).
template <bool DESCENDING, class T> inline bool precedes(T a, long long at_a, T b, long long at_b) {
    if (DESCENDING ? is_less(b, a) : is_less(a, b)) return true;
    if (DESCENDING ? is_less(a, b) : is_less(b, a)) return false;
    return at_a < at_b;
}

// The least power of 2 that is at least the number of keys, and at least 2.
inline int sorted_size(int held) {
    int size = 2;
    while (size < held) size *= 2;
    return size;
}

// Sort `held` keys in shared memory, with their places, of which there are sorted_size.  Places beyond `held` sort behind
// everything.  All threads of the block must call it, and wait before they read a key.
template <class T, class C, bool DESCENDING> inline void sort_held(T* key, int* place, int held) {
    const int size = sorted_size(held);
    for (int run = 2; run <= size; run *= 2) {
        for (int reach = run / 2; reach > 0; reach /= 2) {
            __syncthreads();
            for (int pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
                const int low = 2 * pair - (pair & (reach - 1)), high = low + reach;
                const T a = key[low], b = key[high];
                const int at_a = place[low], at_b = place[high];
                const bool in_order =
                    at_b >= held && (at_a < held || at_a < at_b) ||
                    at_a < held && at_b < held && precedes<DESCENDING>(load<C>(a), at_a, load<C>(b), at_b);
                if (in_order != ((low & run) == 0)) {
                    key[low] = b, key[high] = a;
                    place[low] = at_b, place[high] = at_a;
                }
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

// ---- order statistics of rows of up to TILE elements, each sorted by a block ----

enum Choice { KTH, MEDIAN, NANMEDIAN, MODE };

// The rows of a layout, whose last dimension is along them.
template <class T> struct Rows {
    const T* input;
    const Layout<1>& layout;
    long long rows;
    int n, size;  // size: the least power of two that is at least n and 2
    // Sort a row into shared memory.  All threads of the block must call it.
    template <bool DESCENDING, class C> void sort(long long row, T* key, int* place) const {
        const long long start = offset(layout, 0, row * n), stride = layout.stride[0][layout.ndim - 1];
        __syncthreads();  // the row before has been read
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            place[i] = i;
            if (i < n) key[i] = input[start + i * stride];
        }
        sort_held<T, C, DESCENDING>(key, place, n);
        __syncthreads();
    }
};

// One element of each row: that of rank k (KTH); the lower median, or the first NaN; the lower median of the numbers; or
// the last one of the most frequent element, the least of several.
template <class T, class C>
inline void choose(T* values, long long* indexes, const Rows<T>& of, Choice choice, int k) {
    __shared__ T key[TILE];
    __shared__ int place[TILE], numbers;
    __shared__ unsigned long long longest;  // run of equal elements: its length, and n less where it starts
    const int n = of.n;
    for (long long row = blockIdx.x; row < of.rows; row += gridDim.x) {
        of.template sort<false, C>(row, key, place);
        if (threadIdx.x == 0) numbers = n, longest = 0;
        __syncthreads();
        int at = k;
        if (choice == MEDIAN || choice == NANMEDIAN) {
            for (int i = threadIdx.x; i < n; i += blockDim.x)
                if (is_nan(load<C>(key[i])) && (i == 0 || !is_nan(load<C>(key[i - 1])))) numbers = i;
            __syncthreads();
            if (choice == MEDIAN) at = numbers < n ? numbers : (n - 1) / 2;
            else at = numbers > 0 ? (numbers - 1) / 2 : 0;
        } else if (choice == MODE) {
            for (int i = threadIdx.x; i < n; i += blockDim.x) {
                const C own = load<C>(key[i]);
                if (i > 0 && load<C>(key[i - 1]) == own) continue;
                int low = i + 1, high = n;
                while (low < high) {
                    const int middle = (low + high) / 2;
                    if (load<C>(key[middle]) == own) low = middle + 1;
                    else high = middle;
                }
                atomicMax(&longest, (unsigned long long)(low - i) << 32 | (unsigned int)(n - i));
            }
            __syncthreads();
            at = n - (int)(longest & 0xffffffffu) + (int)(longest >> 32) - 1;
        }
        if (threadIdx.x == 0) values[row] = key[at], indexes[row] = place[at];
    }
}

// The first `count` elements of each row's order.
template <class T, class C, bool DESCENDING>
inline void take_first(T* values, long long* indexes, const Rows<T>& of, int count) {
    __shared__ T key[TILE];
    __shared__ int place[TILE];
    for (long long row = blockIdx.x; row < of.rows; row += gridDim.x) {
        of.template sort<DESCENDING, C>(row, key, place);
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            values[row * count + i] = key[i];
            indexes[row * count + i] = place[i];
        }
    }
}
