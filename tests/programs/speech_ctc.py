"""Recognize sequences of symbols in frames of sound: convolutions, a bidirectional LSTM and CTC."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Recognizer(nn.Module):
    def __init__(self, n_feats, n_symbols, hidden=16):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 4, 3, stride=(2, 1), padding=1), nn.InstanceNorm2d(4, affine=True), nn.GELU()
        )
        self.fully_connected = nn.Linear(4 * ((n_feats + 1) // 2), hidden)
        self.layer_norm = nn.LayerNorm(hidden)
        self.rnn = nn.LSTM(hidden, hidden, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
        self.classifier = nn.Linear(2 * hidden, n_symbols)

    def forward(self, spectrograms, lengths):
        x = self.cnn(spectrograms)
        sizes = x.size()
        x = x.view(sizes[0], sizes[1] * sizes[2], sizes[3]).transpose(1, 2)
        x = F.gelu(self.layer_norm(self.fully_connected(x)))
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        x, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=sizes[3])
        return F.log_softmax(self.classifier(x), dim=2)


def utterances(count, n_feats, n_symbols, frames=24):
    sounds = torch.randn(n_symbols, n_feats)
    specs, labels, label_lengths = torch.zeros(count, 1, n_feats, frames), [], []
    for row in range(count):
        length = int(torch.randint(3, 7, ()))
        label = torch.randint(1, n_symbols, (length,))
        specs[row, 0, :, : 4 * length] = sounds[label].repeat_interleave(4, dim=0).t()
        labels.append(label)
        label_lengths.append(length)
    specs += 0.1 * torch.randn_like(specs)
    lengths = torch.tensor(label_lengths)
    return specs, torch.cat(labels), 4 * lengths, lengths


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(7)
    model = Recognizer(8, 10).to(args.device)
    criterion = nn.CTCLoss(blank=0, zero_infinity=True)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1e-2, steps_per_epoch=10, epochs=2, anneal_strategy="linear"
    )
    spectrograms, labels, input_lengths, label_lengths = utterances(8, 8, 10)
    spectrograms, labels = spectrograms.to(args.device), labels.to(args.device)
    for step in range(20):
        optimizer.zero_grad()
        output = model(spectrograms, input_lengths)
        output = output.transpose(0, 1)  # (time, batch, symbol)
        loss = criterion(output, labels, input_lengths, label_lengths)
        loss.backward()
        optimizer.step()
        scheduler.step()
        print("step", step, "loss", loss.item())
    best = output.argmax(dim=2).t()[0]
    print("heard:", torch.unique_consecutive(best)[:8].tolist())
