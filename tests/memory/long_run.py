"""Random operations on the caching allocator for as long as wanted, against the model of oracle/test_allocator.py.

    python -m tests.memory.long_run --operations 10000000 --seed 1

Every operation is checked for overlaps and early reuse, every hundredth one for all sums of a snapshot, and for its
equality with the memory that the recorded history tells.  A failure
prints the seed, the configuration and the number of the operation.
"""

import argparse
import random

from tests.oracle.test_allocator import CACHING, EXACTLY, MIB, Allocations

PROGRAM = 10_000  # operations on one allocator
CHECKED = 100
WEIGHTS = {
    "allocate": 40, "free": 35, "free_twice": 1, "use": 8, "work": 4, "complete": 5, "begin_capture": 0.5,
    "end_capture": 2, "release": 1, "enter_pool": 1, "leave_pool": 2, "configure": 0.5, "empty_cache": 0.3,
}  # fmt: skip
SIZES = (1, 512, 513, MIB, MIB + 1, 5 * MIB, 10 * MIB - 512, 10 * MIB, 12 * MIB + 1, 30 * MIB)


def step(model, draw):
    """Make one random operation that is possible now."""
    name = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    stream = draw.randint(1, 3)
    if name == "allocate":
        size = draw.choice(SIZES) if draw.random() < 0.3 else int(2 ** draw.uniform(0, 25))
        model.allocate(nbytes=max(size, 1), stream=stream)
    elif name == "free" and model.live:
        model.free_block(draw.randrange(len(model.live)))
    elif name == "free_twice" and model.live:
        model.free_block_twice(draw.randrange(len(model.live)))
    elif name == "use" and model.live:
        model.use_block(draw.randrange(len(model.live)), stream)
    elif name == "work":
        model.work(stream=stream)
    elif name == "complete":
        model.complete(stream=stream)
    elif name == "begin_capture" and model.capturing is None:
        model.begin_capture(pool=draw.randint(1, 2), streams={stream})
    elif name == "end_capture" and model.capturing is not None:
        model.end_capture(succeeds=draw.random() < 0.7)
    elif name == "release" and model.graphs:
        model.release()
    elif name == "enter_pool" and len(model.chosen) < 3:
        model.enter_pool(pool=draw.randint(3, 4))
    elif name == "leave_pool" and model.chosen:
        model.leave_pool()
    elif name == "configure" and not model.allocator.settings.exact:
        model.configure(configuration=draw.choice(CACHING))
    elif name == "empty_cache" and model.capturing is None and not model.chosen:
        model.empty_cache()


def run(operations, seed):
    """Make random operations; raise AssertionError, with the place, if the allocator and the model disagree."""
    done = 0
    while done < operations:
        draw = random.Random(f"{seed}/{done}")
        configuration = draw.choice([EXACTLY, *CACHING, *CACHING])
        model = Allocations()
        model.start(configuration)
        count = min(PROGRAM, operations - done)
        try:
            for at in range(count):
                step(model, draw)
                if at % CHECKED == CHECKED - 1 or at == count - 1:
                    model.sums_agree()
                    model.blocks_tile_their_segments()
                    model.the_history_tells_the_same()
                model.driver.log.clear()
        except Exception as error:
            raise AssertionError(f"seed {seed}, program at {done}, operation {at}, {configuration}") from error
        finally:
            model.teardown()
        done += count
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{run(options.operations, options.seed)} operations agree with the model, seed {options.seed}")


if __name__ == "__main__":
    main()
