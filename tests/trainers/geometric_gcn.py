# SPDX-License-Identifier: Apache-2.0
"""torch-geometric: full-batch training of a graph network, with an evaluation after each step's epoch."""
import truth
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

graph = Data(x=torch.randn(60, 8), edge_index=torch.randint(0, 60, (2, 240)), y=torch.randint(0, 3, (60,)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(8, 16), GCNConv(16, 3)

    def forward(self, data):
        return self.second(self.first(data.x, data.edge_index).relu(), data.edge_index)


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
STEPS = 120
for epoch in range(STEPS):
    model.train()
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(graph), graph.y).backward()
    optimizer.step()
    if epoch % 20 == 19:
        model.eval()
        with torch.no_grad():
            model(graph).argmax(1)
truth.steps(STEPS)
