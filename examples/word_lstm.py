"""Train an LSTM on the words of an English text; the last line is its perplexity on unseen words.

    python examples/word_lstm.py --plot losses.png
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

from training import Training, english, parser

import flambeau as torch
from flambeau import nn, optim
from flambeau.nn import functional as F

UNKNOWN = "<unknown>"
State = tuple[torch.Tensor, torch.Tensor]


class WordModel(nn.Module):
    """An LSTM between an embedding and a linear layer that share their weights."""

    def __init__(self, vocabulary: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True, dropout=dropout)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(width, vocabulary)
        self.head.weight = self.embedding.weight
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.zeros_(self.head.bias)

    def forward(self, words: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        output, last = self.lstm(self.drop(self.embedding(words)), state)
        logits: torch.Tensor = self.head(self.drop(output))
        return logits, last


def corpus(characters: int, vocabulary: int) -> tuple[torch.Tensor, list[str]]:
    """Return the text as word indices, and the vocabulary: the most frequent words, and one entry for all others."""
    words = re.findall(r"[a-z]+|[.,;:()]", english(characters).lower())
    known = [UNKNOWN, *(word for word, _ in Counter(words).most_common(vocabulary - 1))]
    number = {word: index for index, word in enumerate(known)}
    return torch.tensor([number.get(word, 0) for word in words]), known


def main(argv: Sequence[str] | None = None) -> list[float]:
    """Train and test; return the loss of every step."""
    options_of = parser("Train an LSTM on words.", steps=300, batch_size=16)
    options_of.add_argument("--length", type=int, default=20, help="words of each training sequence")
    options_of.add_argument("--width", type=int, default=64)
    options_of.add_argument("--test-words", type=int, default=2000)
    options = options_of.parse_args(argv)
    torch.manual_seed(options.seed)

    words, known = corpus(200_000, 1000)
    test = words[-options.test_words :].to(options.device)
    columns = len(words[: -options.test_words]) // options.batch_size
    rows = words[: columns * options.batch_size].view(options.batch_size, columns).to(options.device)

    net = WordModel(len(known), options.width, 2, dropout=0.2).to(options.device)
    optimizer = optim.Adam(net.parameters(), lr=5e-3)
    training = Training(options, {"net": net, "optimizer": optimizer})

    def step() -> dict[str, torch.Tensor]:
        start = int(torch.randint(columns - options.length, ()))
        piece = rows[:, start : start + options.length + 1]
        with training.autocast():
            logits, _ = net(piece[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), piece[:, 1:].flatten())
        training.update(loss, optimizer, clipped=net.parameters())
        return {"loss": loss}

    training.run(step)
    net.eval()
    with torch.no_grad():
        state, total = None, 0.0
        pieces = test[:-1].split(options.length)
        for piece, expected in zip(pieces, test[1:].split(options.length)):
            logits, state = net(piece[None], state)
            total += F.cross_entropy(logits[0], expected, reduction="sum").item()
    print(f"perplexity {math.exp(total / (len(test) - 1)):.1f} of {len(known)} words")
    return training.losses["loss"]


if __name__ == "__main__":
    main()
