"""Packages of the field that import torch, under `flambeau run --as-torch`: each runs where it is installed."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.full
SOURCE = str(Path(__file__).parents[1] / "src")

ARRAY_API_COMPAT = """
from array_api_compat import array_namespace, torch as xp
x = torch.arange(6.0).reshape(2, 3).cuda()
print(array_namespace(x) is xp, xp.sum(x, axis=1).tolist() == [3.0, 12.0], xp.unique_values(x).shape == (6,))
print(xp.permute_dims(x, (1, 0)).shape == (3, 2), xp.astype(x, xp.uint16).dtype == torch.uint16)
"""
DIFFUSERS = """
from diffusers import DDPMScheduler, UNet2DModel
net = UNet2DModel(
    sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(32, 32), norm_num_groups=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
).cuda()
scheduler, x, noise, steps = DDPMScheduler(10), torch.zeros(2, 1, 16, 16).cuda(), torch.randn(2, 1, 16, 16).cuda(), 3
loss = (net(scheduler.add_noise(x, noise, torch.tensor([1, 7]).cuda()), 2).sample - noise).square().mean()
loss.backward()
scheduler.set_timesteps(steps)
with torch.no_grad():
    for at in scheduler.timesteps:
        noise = scheduler.step(net(noise, at).sample, at, noise).prev_sample
print(0 < loss.item() < 10, bool(noise.isfinite().all()))
"""
EINOPS = """
from einops import einsum, rearrange, reduce
from einops.layers.torch import Rearrange
x = torch.arange(24.0).reshape(2, 3, 4).cuda()
print(rearrange(x, "b c d -> d (b c)").shape == (4, 6), reduce(x, "b c d -> b", "mean").tolist() == [5.5, 17.5])
print(einsum(x, x, "b c d, b e d -> b c e").sum().item() == 12204.0, Rearrange("b c d -> b (c d)")(x).shape == (2, 12))
"""
SAFETENSORS = """
import tempfile
from safetensors.torch import load_file, save_file
tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.bfloat16), "c": torch.ones(3).cuda()}
with tempfile.TemporaryDirectory() as folder:
    save_file(tensors, f"{folder}/x.safetensors")
    found = load_file(f"{folder}/x.safetensors")
    print(all(found[name].equal(tensors[name].cpu()) for name in tensors))
    print(load_file(f"{folder}/x.safetensors", device="cuda:0")["a"].is_cuda)
"""
TORCHVISION = """
from torchvision import datasets, models, transforms
made = transforms.Compose([
    transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.2, 0.2, 0.2),
    transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3), transforms.RandomErasing(),
])
images, labels = next(iter(torch.utils.data.DataLoader(datasets.FakeData(4, (3, 48, 48), 10, made), 4)))
net = models.resnet18(num_classes=10).cuda()
loss = torch.nn.functional.cross_entropy(net(images.cuda()), labels.cuda())
loss.backward()
print(images.shape == (4, 3, 32, 32), bool(net.conv1.weight.grad.abs().sum() > 0))
"""
TIMM = """
import timm
from timm.optim import create_optimizer_v2
from timm.utils import ModelEmaV3
net = timm.create_model("resnet10t", num_classes=3).cuda()
average = ModelEmaV3(net)
x, y = torch.randn(4, 3, 32, 32).cuda(), torch.tensor([0, 1, 2, 0]).cuda()
for name in ("adamw", "lamb", "lion", "adan", "adopt", "madgrad", "muon"):
    optimizer = create_optimizer_v2(net, name, lr=1e-3, weight_decay=0.01)
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update(net)
    print(0 < loss.item() < 10)
print(timm.create_model("vit_tiny_patch16_224", num_classes=3).eval()(torch.randn(1, 3, 224, 224)).shape == (1, 3))
"""
TRANSFORMERS = """
from transformers import GPT2Config, GPT2LMHeadModel
net = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2))
x = torch.randint(0, 64, (2, 8))
loss = net(x, labels=x).loss
loss.backward()
print(2 < loss.item() < 6, net.generate(x[:, :3], max_new_tokens=4, do_sample=False, pad_token_id=0).shape == (2, 7))
"""
FROM_PRETRAINED = """
import tempfile
from transformers import LlamaConfig, LlamaForCausalLM
sizes = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
net = LlamaForCausalLM(LlamaConfig(vocab_size=64, **sizes)).cuda().eval()
x = torch.arange(3, 10).reshape(1, 7).cuda()
with tempfile.TemporaryDirectory() as folder:
    net.save_pretrained(folder)
    again = LlamaForCausalLM.from_pretrained(folder)
print(not any(each.is_meta for each in (*again.parameters(), *again.buffers())))
print(torch.equal(again.cuda().eval()(x).logits, net(x).logits))
greedy, beams = (net.generate(x, max_new_tokens=4, num_beams=n, do_sample=False, pad_token_id=0) for n in (1, 3))
print(greedy.shape[1] <= 11, beams.shape[1] <= 11)
"""
GPYTORCH = """
import gpytorch
from gpytorch.distributions import MultivariateNormal
class Process(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.RBFKernel()
    def forward(self, x):
        return MultivariateNormal(self.mean(x), self.kernel(x))
x = torch.linspace(0, 1, 15).cuda()
y, likelihood = torch.sin(6 * x), gpytorch.likelihoods.GaussianLikelihood().cuda()
net = Process(x, y, likelihood).cuda()
optimizer = torch.optim.Adam(net.parameters(), 0.1)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, net)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    losses.append(-objective(net(x), y))
    losses[-1].backward()
    optimizer.step()
net.eval(), likelihood.eval()
print(bool(losses[-1] < losses[0]), bool((likelihood(net(x)).variance > 0).all()))
"""
LIGHTNING = """
import logging, tempfile, lightning
from torch.utils.data import DataLoader, TensorDataset
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
        self.log("loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.1)
batches = DataLoader(TensorDataset(torch.randn(16, 4), torch.zeros(16, 1)), 4)
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(max_epochs=3, accelerator="gpu", devices=1, logger=False, default_root_dir=folder,
                                enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False)
    trainer.fit(Net(), batches)
print(trainer.global_step == 12, 0 < trainer.callback_metrics["loss"].item() < 2)
"""
PYRO = """
import pyro
from pyro import distributions as D
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal
torch.set_default_device("cuda")
x = torch.linspace(-1, 1, 20)
def model(y):
    slope, scale = pyro.sample("slope", D.Normal(0.0, 2.0)), pyro.sample("scale", D.LogNormal(0.0, 1.0))
    with pyro.plate("data", len(x)):
        pyro.sample("y", D.Normal(slope * x, scale), obs=y)
inference = SVI(model, AutoNormal(model), pyro.optim.Adam({"lr": 0.1}), Trace_ELBO())
losses = [inference.step(2 * x) for _ in range(20)]
chain = MCMC(NUTS(model), num_samples=2, warmup_steps=2, disable_progbar=True)
chain.run(2 * x)
print(losses[-1] < losses[0], chain.get_samples()["slope"].shape == (2,))
"""
TORCH_GEOMETRIC = """
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool
graphs = [Data(x=torch.randn(n, 3), edge_index=torch.randint(0, n, (2, 9)), y=torch.tensor([n % 2])) for n in (4, 5, 6)]
first, second = GCNConv(3, 8).cuda(), GATConv(8, 2, heads=2, concat=False).cuda()
batch = next(iter(DataLoader(graphs, 3))).to("cuda")
x = second(first(batch.x, batch.edge_index).relu(), batch.edge_index)
loss = torch.nn.functional.cross_entropy(global_mean_pool(x, batch.batch), batch.y)
loss.backward()
print(0 < loss.item() < 5, bool(first.lin.weight.grad.abs().sum() > 0))
"""
TORCHMETRICS = """
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score
metrics = MetricCollection([MulticlassAccuracy(3, average="micro"), MulticlassF1Score(3)]).cuda()
found = metrics(torch.tensor([0, 1, 2, 1]).cuda(), torch.tensor([0, 1, 1, 1]).cuda())
print(found["MulticlassAccuracy"].item() == 0.75, MeanMetric()(torch.tensor([2.0, 4.0])).item() == 3.0)
"""
VIT = """
from vit_pytorch import SimpleViT
net = SimpleViT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=1, heads=2, mlp_dim=64).cuda()
print(net(torch.randn(2, 3, 32, 32).cuda()).shape == (2, 10))
"""
X_TRANSFORMERS = """
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper
net = TransformerWrapper(
    num_tokens=64, max_seq_len=32, attn_layers=Decoder(dim=32, depth=1, heads=2, rotary_pos_emb=True)
)
net = AutoregressiveWrapper(net).cuda()
x = torch.randint(0, 64, (2, 17)).cuda()
net(x).backward()
print(net.generate(x[:, :4], 5).shape == (2, 5))
"""
KORNIA = """
import kornia
print(kornia.filters.gaussian_blur2d(torch.rand(1, 3, 16, 16), (3, 3), (1.0, 1.0)).shape == (1, 3, 16, 16))
"""
PEFT = """
from peft import LoraConfig, get_peft_model
net = get_peft_model(torch.nn.Sequential(torch.nn.Linear(4, 4)), LoraConfig(target_modules=["0"], r=2))
net(torch.ones(1, 4)).sum().backward()
print(sum(param.grad is not None for param in net.parameters()) == 2)
"""
ACCELERATE = """
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="bf16")
net = torch.nn.Linear(2, 2)
optimizer = torch.optim.AdamW(net.parameters())
batches = torch.utils.data.DataLoader([torch.randn(2) for _ in range(8)], batch_size=4)
net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
for batch in batches:
    accelerator.backward(net(batch).sum())
    accelerator.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
print(batch.is_cuda, len(optimizer.state) == 2)
"""
# Programs that know no PyTorch: the packages find the array API's namespace of flambeau's tensors.
SCIPY = """
from scipy import integrate, stats
x = torch.arange(12.0).reshape(3, 4).cuda()
print(integrate.trapezoid(x, axis=1).tolist() == [4.5, 16.5, 28.5], stats.zmap(x, x)[1].equal(torch.zeros(4).cuda()))
"""
SCIKIT_LEARN = """
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler
x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).cuda()
with config_context(array_api_dispatch=True):
    print(MinMaxScaler().fit_transform(x).equal(torch.tensor([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]).cuda()))
    found = PCA(1, svd_solver="full").fit(x).explained_variance_
    print(found.is_cuda and abs(found.item() - 8.0) < 1e-4)
"""
TORCHINFO = """
from torchinfo import summary
print(summary(torch.nn.Linear(4, 8), (3, 4), verbose=0).total_params == 40)
"""
PROGRAMS = {
    "accelerate": ACCELERATE, "array_api_compat": ARRAY_API_COMPAT, "diffusers": DIFFUSERS, "einops": EINOPS,
    "gpytorch": GPYTORCH, "kornia": KORNIA, "lightning": LIGHTNING, "peft": PEFT, "pyro": PYRO,
    "safetensors": SAFETENSORS, "timm": TIMM, "torch_geometric": TORCH_GEOMETRIC, "torchinfo": TORCHINFO,
    "torchmetrics": TORCHMETRICS, "torchvision": TORCHVISION, "transformers": TRANSFORMERS,
    "transformers.modeling_utils": FROM_PRETRAINED, "vit_pytorch": VIT, "x_transformers": X_TRANSFORMERS,
}  # fmt: skip

ARRAY_API_PROGRAMS = {"scipy": SCIPY, "sklearn": SCIKIT_LEARN}


@pytest.mark.parametrize("package", PROGRAMS)
def test_a_package_runs(package, tmp_path):
    if find_spec(package.partition(".")[0]) is None:
        pytest.skip(f"{package} is not installed")
    if package.partition(".")[0] in ("peft", "transformers") and find_spec("torchaudio"):
        pytest.skip(f"{package} imports torchaudio, whose compiled extension of PyTorch cannot be loaded")
    (tmp_path / "program.py").write_text(f"import torch\ntorch.manual_seed(0)\n{PROGRAMS[package]}")
    environment = {**os.environ, "PYTHONPATH": SOURCE, "FLAMBEAU_PURE": "1"}
    command = [sys.executable, "-m", "flambeau", "run", "--gpus", "virtual:2", "--as-torch", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"True"}


@pytest.mark.parametrize("package", ARRAY_API_PROGRAMS)
def test_a_package_takes_tensors_by_the_array_api(package, tmp_path):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    (tmp_path / "program.py").write_text(f"import flambeau as torch\n{ARRAY_API_PROGRAMS[package]}")
    environment = {**os.environ, "PYTHONPATH": SOURCE, "FLAMBEAU_PURE": "1", "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-m", "flambeau", "run", "--gpus", "virtual:1", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"True"}
