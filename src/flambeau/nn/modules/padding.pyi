# Written by scripts/stubs, not by hand.
from ..padding import CircularPad1d as CircularPad1d
from ..padding import CircularPad2d as CircularPad2d
from ..padding import CircularPad3d as CircularPad3d
from ..padding import ConstantPad1d as ConstantPad1d
from ..padding import ConstantPad2d as ConstantPad2d
from ..padding import ConstantPad3d as ConstantPad3d
from ..padding import ReflectionPad1d as ReflectionPad1d
from ..padding import ReflectionPad2d as ReflectionPad2d
from ..padding import ReflectionPad3d as ReflectionPad3d
from ..padding import ReplicationPad1d as ReplicationPad1d
from ..padding import ReplicationPad2d as ReplicationPad2d
from ..padding import ReplicationPad3d as ReplicationPad3d
from ..padding import ZeroPad1d as ZeroPad1d
from ..padding import ZeroPad2d as ZeroPad2d
from ..padding import ZeroPad3d as ZeroPad3d
from ..padding import _ConstantPad as _ConstantPadNd
