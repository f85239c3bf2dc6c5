"""Classify sentences by convolutions of several widths over the embeddings of their words."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TextCNN(nn.Module):
    def __init__(self, embed_num, embed_dim=16, class_num=2, kernel_num=8, kernel_sizes=(2, 3, 4), dropout=0.5):
        super(TextCNN, self).__init__()
        self.embed = nn.Embedding(embed_num, embed_dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv2d(1, kernel_num, (K, embed_dim)) for K in kernel_sizes])
        self.conv1d = nn.Conv1d(embed_dim, kernel_num, 5, padding=2)
        self.dropout = nn.Dropout(dropout)
        self.fc1 = nn.Linear((len(kernel_sizes) + 1) * kernel_num, class_num)

    def forward(self, x):
        x = self.embed(x)  # (N, W, D)
        wide = F.relu(self.conv1d(x.transpose(1, 2))).max(dim=-1).values
        x = x.unsqueeze(1)  # (N, 1, W, D)
        x = [F.relu(conv(x)).squeeze(3) for conv in self.convs]
        x = [F.max_pool1d(i, i.size(2)).squeeze(2) for i in x]
        x = torch.cat([*x, wide], 1)
        return self.fc1(self.dropout(x))


class Sentences(Dataset):
    """Sentences of random words; those with more happy words than sad ones are of class 1."""

    vocabulary = ["<pad>", *(f"word{i}" for i in range(30)), "good", "fine", "great", "bad", "poor", "awful"]

    def __init__(self, count):
        lengths = torch.randint(6, 15, (count,)).tolist()
        self.items = [torch.randint(1, len(self.vocabulary), (length,)) for length in lengths]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        item = self.items[index]
        score = ((item >= 31) & (item < 34)).sum() - (item >= 34).sum()
        return item, int(score > 0)


def pad(batch):
    length = max(len(item) for item, _ in batch)
    text = torch.zeros(len(batch), length, dtype=torch.long)
    for row, (item, _) in enumerate(batch):
        text[row, : len(item)] = item
    return text, torch.LongTensor([label for _, label in batch])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(17)
    loader = DataLoader(Sentences(160), batch_size=16, shuffle=True, collate_fn=pad)
    model = TextCNN(len(Sentences.vocabulary)).to(args.device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    class_weights = torch.tensor([1.0, 1.5], device=args.device)
    model.train()
    for epoch in range(2):
        corrects = 0
        for feature, target in loader:
            feature, target = feature.to(args.device), target.to(args.device)
            optimizer.zero_grad()
            logit = model(feature)
            loss = F.cross_entropy(logit, target, weight=class_weights)
            loss.backward()
            optimizer.step()
            corrects += (torch.max(logit, 1)[1].view(target.size()).data == target.data).sum()
            print("epoch", epoch, "- loss:", loss.item())
        print("accuracy", (100.0 * corrects / len(loader.dataset)).item())


if __name__ == "__main__":
    main()
