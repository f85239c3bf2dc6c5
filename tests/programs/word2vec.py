"""Embeddings of words by skip-grams with negative sampling."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, WeightedRandomSampler

TEXT = """one two three four five six seven eight nine ten comes after nine and one comes before two while three and
four are small and nine and ten are large but seven is not even and eight is even and so are two four and six""".split()


class SkipGram(nn.Module):
    def __init__(self, vocabulary, size):
        super().__init__()
        self.u_embeddings = nn.Embedding(vocabulary, size)
        self.v_embeddings = nn.Embedding(vocabulary, size)
        initrange = 1.0 / size
        nn.init.uniform_(self.u_embeddings.weight.data, -initrange, initrange)
        nn.init.constant_(self.v_embeddings.weight.data, 0)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u = self.u_embeddings(pos_u)
        emb_v = self.v_embeddings(pos_v)
        emb_neg_v = self.v_embeddings(neg_v)
        score = torch.sum(torch.mul(emb_u, emb_v), dim=1)
        score = -F.logsigmoid(torch.clamp(score, max=10, min=-10))
        neg_score = torch.bmm(emb_neg_v, emb_u.unsqueeze(2)).squeeze()
        neg_score = -torch.sum(F.logsigmoid(-torch.clamp(neg_score, max=10, min=-10)), dim=1)
        return torch.mean(score + neg_score)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(15)
    words = sorted(set(TEXT))
    index = {word: number for number, word in enumerate(words)}
    ids = torch.tensor([index[word] for word in TEXT])
    counts = torch.bincount(ids, minlength=len(words))
    noise = counts.pow(0.75) / counts.pow(0.75).sum()
    pairs = [
        (center, context)
        for place, center in enumerate(ids.tolist())
        for context in ids[max(0, place - 2) : place + 3].tolist()
        if context != center
    ]
    weights = [1.0 / counts[center].item() for center, _ in pairs]
    sampler = WeightedRandomSampler(weights, num_samples=10 * 16, replacement=True)
    loader = DataLoader(pairs, batch_size=16, sampler=sampler)
    model = SkipGram(len(words), 12).to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(2):
        for center, context in loader:
            negative = torch.multinomial(noise.to(torch.get_default_dtype()), 16 * 4, replacement=True).view(16, 4)
            center, context, negative = (each.to(args.device) for each in (center, context, negative))
            loss = model(center, context, negative)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print("loss", loss.item())
    vectors = F.normalize(model.u_embeddings.weight.detach(), dim=1)
    near = (vectors @ vectors[index["nine"]]).topk(4).indices.tolist()
    print("near to nine:", [words[each] for each in near])
