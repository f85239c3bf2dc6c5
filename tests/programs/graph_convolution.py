"""Classify the nodes of a graph with two layers of graph convolution over a normalized adjacency matrix."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features).to(torch.get_default_dtype()))
        if bias:
            self.bias = Parameter(torch.empty(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.spmm(adj, support) if adj.is_sparse else torch.mm(adj, support)
        return output if self.bias is None else output + self.bias

    def __repr__(self):
        return self.__class__.__name__ + " (" + str(self.in_features) + " -> " + str(self.out_features) + ")"


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


def load_data(nodes=90, classes=3, features=24):
    """Nodes of one class are linked more often; features point to the class."""
    labels = torch.arange(nodes) % classes
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    chance = torch.where(same, 0.15, 0.02)
    adj = torch.bernoulli(chance).triu(1)
    adj = adj + adj.t() + torch.eye(nodes)
    rowsum = adj.sum(1)
    d_inv_sqrt = torch.pow(rowsum, -0.5).flatten()
    d_inv_sqrt[torch.isinf(d_inv_sqrt)] = 0.0
    adj = torch.diag(d_inv_sqrt) @ adj @ torch.diag(d_inv_sqrt)
    x = torch.randn(classes, features)[labels] * 0.5 + torch.randn(nodes, features)
    x = x / x.abs().sum(1, keepdim=True)
    return adj, x, labels, torch.arange(30), torch.arange(30, 60), torch.arange(60, 90)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    correct = preds.eq(labels).double()
    return correct.sum() / len(labels)


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()
torch.manual_seed(42)
adj, features, labels, idx_train, idx_val, idx_test = [each.to(args.device) for each in load_data()]
model = GCN(features.shape[1], 16, int(labels.max().item()) + 1, dropout=0.5).to(args.device)
print(model)
optimizer = optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)

for epoch in range(20):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    model.eval()
    output = model(features, adj)
    acc_val = accuracy(output[idx_val], labels[idx_val])
    print("Epoch: {:04d}".format(epoch + 1), "loss", loss_train.item(), "acc_val: {:.4f}".format(acc_val.item()))
print("test accuracy= {:.4f}".format(accuracy(output[idx_test], labels[idx_test]).item()))
