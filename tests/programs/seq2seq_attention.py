"""Translate sequences of numbers into their reverse: GRUs with additive attention and teacher forcing."""

import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, RandomSampler

SOS_token, EOS_token, PAD_token = 0, 1, 2
MAX_LENGTH = 5


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size, padding_idx=PAD_token)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden_size, hidden_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input, lengths):
        embedded = self.dropout(self.embedding(input))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        output, hidden = self.gru(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        output = output[:, :, : self.hidden_size] + output[:, :, self.hidden_size :]
        return output, torch.tanh(self.bridge(torch.cat([hidden[0], hidden[1]], dim=1))).unsqueeze(0)


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys, mask):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1).masked_fill(mask.unsqueeze(1), float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1):
        super(AttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, mask, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long, device=mask.device).fill_(SOS_token)
        decoder_hidden = encoder_hidden
        decoder_outputs, attentions = [], []
        for i in range(MAX_LENGTH + 1):
            decoder_output, decoder_hidden, attn_weights = self.forward_step(
                decoder_input, decoder_hidden, encoder_outputs, mask
            )
            decoder_outputs.append(decoder_output)
            attentions.append(attn_weights)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)  # Teacher forcing
            else:
                _, topi = decoder_output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = F.log_softmax(torch.cat(decoder_outputs, dim=1), dim=-1)
        return decoder_outputs, decoder_hidden, torch.cat(attentions, dim=1)

    def forward_step(self, input, hidden, encoder_outputs, mask):
        embedded = self.dropout(self.embedding(input))
        query = hidden.permute(1, 0, 2)
        context, attn_weights = self.attention(query, encoder_outputs, mask)
        output, hidden = self.gru(torch.cat((embedded, context), dim=2), hidden)
        return self.out(output), hidden, attn_weights


def collate(pairs):
    pairs = sorted(pairs, key=lambda pair: len(pair[0]))
    lengths = torch.tensor([len(source) for source, _ in pairs])
    sources = pad_sequence([source for source, _ in pairs], batch_first=True, padding_value=PAD_token)
    targets = torch.full((len(pairs), MAX_LENGTH + 1), PAD_token)
    for row, (_, target) in enumerate(pairs):
        targets[row, : len(target)] = target
    return sources, lengths, targets


def make_pairs(count, words):
    pairs = []
    for _ in range(count):
        source = torch.randint(3, words, (random.randint(3, MAX_LENGTH),))
        pairs.append((source, torch.cat([source.flip(0), torch.tensor([EOS_token])])))
    return pairs


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    random.seed(6)
    torch.manual_seed(6)
    pairs = make_pairs(80, 9)
    loader = DataLoader(pairs, sampler=RandomSampler(pairs), batch_size=8, collate_fn=collate)
    encoder = EncoderRNN(9, 16).to(args.device)
    decoder = AttnDecoderRNN(16, 9).to(args.device)
    encoder_optimizer = optim.Adam(encoder.parameters(), lr=0.01)
    decoder_optimizer = optim.Adam(decoder.parameters(), lr=0.01)
    criterion = nn.NLLLoss(ignore_index=PAD_token)
    for epoch in range(2):
        for sources, lengths, targets in loader:
            sources, targets = sources.to(args.device), targets.to(args.device)
            encoder_optimizer.zero_grad()
            decoder_optimizer.zero_grad()
            encoder_outputs, encoder_hidden = encoder(sources, lengths)
            outputs, _, _ = decoder(encoder_outputs, encoder_hidden, sources == PAD_token, targets)
            loss = criterion(outputs.view(-1, outputs.size(-1)), targets.view(-1))
            loss.backward()
            encoder_optimizer.step()
            decoder_optimizer.step()
            print("epoch", epoch, "loss", loss.item())
    encoder.eval()
    decoder.eval()
    with torch.no_grad():
        encoder_outputs, encoder_hidden = encoder(sources, lengths)
        outputs, _, attentions = decoder(encoder_outputs, encoder_hidden, sources == PAD_token)
        print("translated", outputs.topk(1)[1].squeeze().tolist()[0], "attention", tuple(attentions.shape))
