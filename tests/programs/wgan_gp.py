"""A Wasserstein GAN with a gradient penalty, which needs gradients of gradients."""

import argparse

import torch
import torch.autograd as autograd
import torch.nn as nn
from torch.autograd import Variable

parser = argparse.ArgumentParser()
parser.add_argument("--latent_dim", type=int, default=8)
parser.add_argument("--n_critic", type=int, default=2, help="steps of the critic per step of the generator")
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
opt = parser.parse_args()
torch.manual_seed(77)
img_shape = (1, 8, 8)
lambda_gp = 10


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()

        def block(in_feat, out_feat, normalize=True):
            layers = [nn.Linear(in_feat, out_feat)]
            if normalize:
                layers.append(nn.BatchNorm1d(out_feat, 0.8))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers

        self.model = nn.Sequential(
            *block(opt.latent_dim, 16, normalize=False), *block(16, 32), nn.Linear(32, 64), nn.Tanh()
        )

    def forward(self, z):
        img = self.model(z)
        return img.view(img.shape[0], *img_shape)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.LayerNorm([8, 4, 4]))
        self.model = nn.Sequential(nn.Linear(128, 16), nn.SiLU(inplace=True), nn.Linear(16, 1))

    def forward(self, img):
        return self.model(self.conv(img).flatten(1))


def compute_gradient_penalty(D, real_samples, fake_samples):
    """The squared distance of the gradients' norms from one, between real and generated samples."""
    alpha = torch.rand(real_samples.size(0), 1, 1, 1, device=real_samples.device)
    interpolates = (alpha * real_samples + ((1 - alpha) * fake_samples)).requires_grad_(True)
    d_interpolates = D(interpolates)
    fake = Variable(torch.ones_like(d_interpolates), requires_grad=False)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=fake,
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


generator = Generator().to(opt.device)
discriminator = Discriminator().to(opt.device)
optimizer_G = torch.optim.Adam(generator.parameters(), lr=0.002, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=0.002, betas=(0.5, 0.999))
images = torch.sin(torch.arange(64).view(1, 1, 8, 8) / 5.0 + 6.0 * torch.rand(64, 1, 1, 1))

batches_done = 0
for epoch in range(4):
    for i, imgs in enumerate(images.to(torch.get_default_dtype()).split(16)):
        real_imgs = Variable(imgs.to(opt.device))
        optimizer_D.zero_grad()
        z = Variable(torch.randn(imgs.shape[0], opt.latent_dim, device=opt.device))
        fake_imgs = generator(z)
        real_validity = discriminator(real_imgs)
        fake_validity = discriminator(fake_imgs)
        gradient_penalty = compute_gradient_penalty(discriminator, real_imgs.data, fake_imgs.data)
        d_loss = -torch.mean(real_validity) + torch.mean(fake_validity) + lambda_gp * gradient_penalty
        d_loss.backward()
        optimizer_D.step()
        print("[Epoch %d/%d] [Batch %d/%d]" % (epoch, 4, i, 4), "D loss", d_loss.item())

        optimizer_G.zero_grad()
        if i % opt.n_critic == 0:
            g_loss = -torch.mean(discriminator(generator(z)))
            g_loss.backward()
            optimizer_G.step()
            print("G loss", g_loss.item())
            batches_done += opt.n_critic
