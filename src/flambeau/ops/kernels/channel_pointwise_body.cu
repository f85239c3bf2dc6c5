  // The body of a kernel of channel_pointwise.py, which replaces names after a dollar sign.  The layout has dimensions
  // for channels, adjacent in memory, and rows.  A thread keeps its channels and walks over a piece of the rows, from
  // the last one: sums over equal pieces have just been made, and the ends of the pieces are still in the cache.
  const unsigned int columns = (unsigned int)layout.size[0] / pack, rows = (unsigned int)layout.size[1];
  const unsigned int tiles = (columns + threads - 1) / threads, lanes = (columns + tiles - 1) / tiles;
  const unsigned int together = threads / lanes, group = threadIdx.x / lanes;
  const unsigned int column = blockIdx.x % tiles * lanes + threadIdx.x % lanes;
  if (group >= together || column >= columns) return;
  const unsigned int pieces = gridDim.x / tiles, chunk = (rows + pieces - 1) / pieces;
  const unsigned int first = blockIdx.x / tiles * chunk;
  if (first >= rows) return;
  const unsigned int count = rows - first < chunk ? rows - first : chunk;
  out += column * pack;
  $CHANNELS
  #pragma unroll 1
  for (unsigned int row = group; row < count; row += loads * together) {
    $PACKS
    #pragma unroll
    for (int each = 0; each < loads; ++each) {
      const unsigned int place = first + count - 1 - (row + each * together < count ? row + each * together : row);
      $FETCH
    }
    #pragma unroll
    for (int each = 0; each < loads; ++each) {
      if (row + each * together >= count) break;
      const unsigned int place = first + count - 1 - (row + each * together);
      Pack<$T, pack> result;
      #pragma unroll
      for (int lane = 0; lane < pack; ++lane) result.at[lane] = value($VALUES);
      *reinterpret_cast<Pack<$T, pack>*>(out + place * (unsigned int)layout.stride[0][1]) = result;
    }
  }
