  // The body of a kernel of channel_pointwise.py, which replaces names after a dollar sign.  The layout has dimensions
  // for channels, adjacent in memory, and rows.  A thread keeps its channels and walks over rows, from the last one:
  // sums over all rows have just been made, and the last rows are still in the cache.
  const unsigned int columns = (unsigned int)layout.size[0] / pack, rows = (unsigned int)layout.size[1];
  const unsigned int tiles = (columns + threads - 1) / threads, lanes = (columns + tiles - 1) / tiles;
  const unsigned int together = threads / lanes, group = threadIdx.x / lanes;
  const unsigned int column = blockIdx.x % tiles * lanes + threadIdx.x % lanes;
  if (group >= together || column >= columns) return;
  const unsigned int step = gridDim.x / tiles * together;
  out += column * pack;
  $CHANNELS
  #pragma unroll 1
  for (unsigned int row = blockIdx.x / tiles * together + group; row < rows; row += loads * step) {
    $PACKS
    #pragma unroll
    for (int each = 0; each < loads; ++each) {
      const unsigned int place = rows - 1 - (row + each * step < rows ? row + each * step : row);
      $FETCH
    }
    #pragma unroll
    for (int each = 0; each < loads; ++each) {
      if (row + each * step >= rows) break;
      Pack<$T, pack> result;
      #pragma unroll
      for (int lane = 0; lane < pack; ++lane) result.at[lane] = value($VALUES);
      *reinterpret_cast<Pack<$T, pack>*>(out + (rows - 1 - row - each * step) * (unsigned int)layout.stride[0][1]) = result;
    }
  }
