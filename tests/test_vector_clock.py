"""Vector clocks against sets of operations."""

from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau.vector_clock import VectorClocks

LANES = 6
LANE = st.integers(0, LANES - 1)
STEP = st.one_of(
    st.tuples(st.just("advance"), LANE),
    st.tuples(st.just("record"), LANE),
    st.tuples(st.just("learn"), LANE, st.integers(0, 50)),
    st.tuples(st.just("host"), st.integers(0, 50)),
)


@settings(deadline=None)
@given(st.lists(STEP, max_size=60), st.integers(0, 2))
def test_what_a_lane_knows_is_the_set_of_operations_before_it(steps, few):
    """few: how many numbers a lane learns before it makes its base anew, so that bases are compared often."""
    import flambeau.vector_clock as module

    kept, module.FEW_CHANGES = module.FEW_CHANGES, few
    try:
        clocks, counts, points = VectorClocks(), [0] * LANES, []
        known = [{(lane, 0)} for lane in range(LANES)]
        host = set()
        for name, *rest in steps:
            if name == "advance":
                counts[rest[0]] += 1
                known[rest[0]] |= {(rest[0], counts[rest[0]])}
                assert clocks.advance(rest[0]).number == counts[rest[0]]
            elif name == "record":
                points.append((clocks.snapshot(rest[0]), set(known[rest[0]])))
            elif points and name == "learn":
                clock, found = points[rest[1] % len(points)]
                clocks.learn(rest[0], clock)
                known[rest[0]] |= found
            elif points:
                clock, found = points[rest[0] % len(points)]
                clocks.host_learn(clock)
                host |= found
        for lane in range(LANES):
            assert clocks.host_knows_all(lane) == (known[lane] <= host)
            for other in set(range(LANES)) - {lane}:
                for number in range(counts[other] + 1):
                    assert clocks.knows(lane, other, number) == ((other, number) in known[lane] | host)
    finally:
        module.FEW_CHANGES = kept
