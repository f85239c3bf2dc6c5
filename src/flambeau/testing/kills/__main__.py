"""python -m flambeau.testing.kills"""

import sys

from . import main

sys.exit(main())
