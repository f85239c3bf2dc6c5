"""Classify the nodes of a graph with graph attention: several heads, each a masked softmax over the neighbours."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, dropout, alpha, concat=True):
        super().__init__()
        self.dropout = dropout
        self.concat = concat
        self.out_features = out_features
        self.W = nn.Parameter(torch.empty(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        Wh1 = torch.matmul(Wh, self.a[: self.out_features, :])
        Wh2 = torch.matmul(Wh, self.a[self.out_features :, :])
        e = self.leakyrelu(Wh1 + Wh2.T)
        zero_vec = -9e15 * torch.ones_like(e)
        attention = torch.where(adj > 0, e, zero_vec)
        attention = F.softmax(attention, dim=1)
        attention = F.dropout(attention, self.dropout, training=self.training)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime


class GAT(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout, alpha, nheads):
        super().__init__()
        self.dropout = dropout
        self.attentions = [GraphAttentionLayer(nfeat, nhid, dropout, alpha, concat=True) for _ in range(nheads)]
        for i, attention in enumerate(self.attentions):
            self.add_module("attention_{}".format(i), attention)
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, dropout, alpha, concat=False)

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, training=self.training)
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        x = F.dropout(x, self.dropout, training=self.training)
        x = F.elu(self.out_att(x, adj))
        return F.log_softmax(x, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(72)
    device = torch.device(args.device)

    nodes, classes = 60, 4
    labels = torch.randint(classes, (nodes,))
    edges = torch.rand(nodes, nodes) < torch.where(labels[None] == labels[:, None], 0.3, 0.05)
    adj = (edges | edges.T | torch.eye(nodes, dtype=torch.bool)).long()
    features = F.one_hot(labels, 12).to(torch.get_default_dtype()) + torch.randn(nodes, 12)
    idx_train, idx_val = torch.randperm(nodes).split([40, 20])

    model = GAT(12, 8, classes, dropout=0.4, alpha=0.2, nheads=3).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    features, adj, labels = features.to(device), adj.to(device), labels.to(device)
    best = float("inf")
    for epoch in range(20):
        model.train()
        optimizer.zero_grad(set_to_none=False)
        output = model(features, adj)
        loss_train = F.nll_loss(output[idx_train], labels[idx_train])
        loss_train.backward()
        optimizer.step()
        with torch.no_grad():
            model.eval()
            validation = F.nll_loss(model(features, adj)[idx_val], labels[idx_val])
            best = min(best, validation.data.item())
        print("Epoch {:04d} loss {} best {:.4f}".format(epoch, loss_train.data.item(), best))


if __name__ == "__main__":
    main()
