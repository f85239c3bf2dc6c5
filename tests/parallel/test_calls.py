"""The comparison of calls that ranks have made without a word to each other."""

import random

import flambeau as torch
from flambeau.parallel.calls import MAX_DESCRIPTIONS, Channel, Comparison, Descriptions


def described(name, same, more="", sizes=None):
    return Descriptions().of(name, (name, same), [], more, sizes)


class Rank:
    """One rank's side of a channel."""

    def __init__(self, comparison, rank):
        self.comparison, self.rank = comparison, rank
        self.channel = Channel("0:", comparison.members)

    def call(self, *calls, limit=1000):
        """Log calls, and report them; return the difference."""
        for each in calls:
            self.channel.add(each)
        found = None
        while self.channel.log:
            found = found or self.comparison.add(self.rank, self.channel.unreported(limit))
        return found


def ranks(*members):
    comparison = Comparison(members)
    return comparison, [Rank(comparison, rank) for rank in members]


def test_calls_are_described_once_per_line_and_shape():
    descriptions = Descriptions()

    def call(tensor):
        return descriptions.of("all_reduce", ("all_reduce", "SUM"), [tensor] * 5, "SUM")

    first, again, other = (call(torch.ones(size)) for size in (2, 2, 3))
    assert first is again and first.same_hash == other.same_hash and first.text_hash != other.text_hash
    assert first.text.startswith("all_reduce(float32[2], float32[2], float32[2], float32[2], ..., SUM) at ")
    assert "test_calls.py:" in first.text and len(descriptions._known) == 2
    for size in range(MAX_DESCRIPTIONS):
        call(torch.empty(0, size))
    assert len(descriptions._known) <= MAX_DESCRIPTIONS


def test_equal_calls_are_forgotten():
    comparison, (a, b) = ranks(3, 5)
    calls = [described("all_reduce", number % 3) for number in range(50)]
    assert a.call(*calls[:20]) is None and comparison.is_behind(5) and not comparison.is_behind(3)
    assert b.call(*calls, limit=7) is None and a.call(*calls[20:], limit=11) is None
    assert comparison._same == {3: [], 5: []} and not comparison.is_behind(5)
    assert comparison.unfinished() == {rank: f"{calls[-1].text} (has not ended)" for rank in (3, 5)}


def test_the_first_calls_that_differ_are_named():
    _, (a, b) = ranks(0, 1)
    same, one, other = (described("all_reduce", size, str(size)) for size in (1, 2, 3))
    assert a.call(same, same, one, same) is None
    found = b.call(same, same, other, same)
    assert found.reason == "ranks make different calls"
    assert found.texts == {0: one.text, 1: other.text}


def test_differences_are_found_in_any_order_of_reports():
    generator = random.Random(1)
    kinds = [described("all_reduce", size, str(size)) for size in range(3)]
    for _ in range(200):
        _, members = ranks(0, 1, 2)
        calls = [generator.choice(kinds) for _ in range(12)]
        wrong, place = generator.randrange(3), generator.randrange(12)
        queues = [list(calls) for _ in members]
        queues[wrong][place] = generator.choice([kind for kind in kinds if kind is not calls[place]])
        found = None
        while any(queues) and found is None:
            rank = generator.choice([rank for rank in range(3) if queues[rank]])
            count = generator.randrange(1, 5)
            taken, queues[rank][:count] = queues[rank][:count], []
            found = members[rank].call(*taken)
        assert found is not None and found.texts[wrong] not in [found.texts.get(rank) for rank in {0, 1, 2} - {wrong}]


def test_sizes_are_compared_once_all_have_called():
    _, (a, b) = ranks(0, 1)
    assert a.call(described("all_to_all", 0, sizes=((4, 8), (8, 8)))) is None
    found = b.call(described("all_to_all", 0, sizes=((8, 4), (4, 4))))
    assert found.reason == "rank 0 sends 4 bytes to rank 0, which takes 8"
    _, (a, b) = ranks(0, 1)
    assert a.call(described("all_to_all", 0, sizes=((4, 8), (4, 2)))) is None
    assert b.call(described("all_to_all", 0, sizes=((2, 4), (8, 4)))) is None


def test_texts_are_sent_once_and_anew_when_they_are_many():
    comparison, (a, _) = ranks(0, 1)
    first = described("all_reduce", 0)
    a.channel.add(first)
    assert a.channel.unreported(10)["new"] == {str(first.text_hash): [first.text, None, None]}
    a.channel.add(first)
    assert a.channel.unreported(10)["new"] == {}
    for number in range(MAX_DESCRIPTIONS):
        a.call(described("all_reduce", number, str(number)))
    a.channel.add(first)
    message = a.channel.unreported(10)
    assert message["renewed"] and str(first.text_hash) in message["new"]
    assert comparison.add(0, message) is None and comparison.latest[0] == first.text
