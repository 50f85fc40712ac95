# SPDX-License-Identifier: Apache-2.0
"""Public models in small sizes. Each function of MODELS returns a model and the inputs of a step: a tuple or a dictionary.
Packages are imported only for the models that need them, as that takes long."""
import importlib

import torch
from torch import nn
from torch.nn import functional as F


def picture(side=64, batch=2, channels=3):
    return (torch.randn(batch, channels, side, side),)


def vision(name, side=64, **kw):
    """A model of torchvision."""

    def make():
        import torchvision
        return torchvision.models.get_model(name, weights=None, **kw), picture(side)

    return make


def timm(name, side=64, **kw):
    def make():
        import timm as library
        return library.create_model(name, pretrained=False, **kw), picture(side)

    return make


def video():
    import torchvision
    return torchvision.models.get_model("r3d_18", weights=None), (torch.randn(1, 3, 4, 32, 32),)


# ---- transformers --------------------------------------------------------------------------------------

SMALL = {"vocab_size": 200, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 4}
WORDS = (2, 24)


def words():
    return torch.randint(3, 200, WORDS)


def language(kind, head="ForCausalLM", **kw):
    """A language model of transformers that learns to repeat its input."""

    def make():
        library, text = importlib.import_module("transformers"), words()
        config = getattr(library, f"{kind}Config")(**kw)
        return getattr(library, kind + head)(config), {"input_ids": text, "labels": text}

    return make


def experts(kind, **kw):
    return language(kind, num_key_value_heads=2, num_experts_per_tok=2, **SMALL, **kw)


def sound():
    import transformers
    config = transformers.Wav2Vec2Config(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                                         conv_dim=[32] * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
                                         mask_time_prob=0, layerdrop=0)
    return transformers.Wav2Vec2Model(config), {"input_values": torch.randn(2, 8000)}


def whisper():
    import transformers
    config = transformers.WhisperConfig(vocab_size=200, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                                        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=20,
                                        max_source_positions=50, max_target_positions=40, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                        decoder_start_token_id=1)
    return transformers.WhisperForConditionalGeneration(config), {"input_features": torch.randn(2, 20, 100), "labels": words()}


def clip():
    import transformers
    part = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.CLIPConfig(text_config={**part, "vocab_size": 200, "eos_token_id": 199, "max_position_embeddings": 24},
                                     vision_config={**part, "image_size": 32, "patch_size": 8}, projection_dim=32)
    return transformers.CLIPModel(config), {"input_ids": words(), "pixel_values": picture(32)[0], "return_loss": True}


def segformer():
    import transformers
    config = transformers.SegformerConfig(hidden_sizes=[16, 24, 32, 48], decoder_hidden_size=32, depths=[1, 1, 1, 1])
    return transformers.SegformerForSemanticSegmentation(config), {"pixel_values": picture()[0], "labels": torch.zeros(2, 64, 64).long()}


# ---- diffusers -----------------------------------------------------------------------------------------


def unet():
    import diffusers
    model = diffusers.UNet2DModel(32, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8, attention_head_dim=8,
                                  down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    return model, (picture(32)[0], torch.tensor([10, 20]))


def unet_text():
    import diffusers
    model = diffusers.UNet2DConditionModel(16, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8, cross_attention_dim=24,
                                           attention_head_dim=8, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                           up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    return model, (picture(16, channels=4)[0], torch.tensor([10, 20]), torch.randn(2, 7, 24))


def autoencoder_kl():
    import diffusers
    return diffusers.AutoencoderKL(block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2,
                                   up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=8), picture(32)


def dit():
    import diffusers
    model = diffusers.DiTTransformer2DModel(num_attention_heads=4, attention_head_dim=16, num_layers=2, sample_size=16, norm_num_groups=8)
    return model, {"hidden_states": picture(16, channels=4)[0], "timestep": torch.tensor([3, 9]), "class_labels": torch.tensor([1, 2])}


# ---- graphs --------------------------------------------------------------------------------------------


def graph(name, sparse=False):
    """A model of torch_geometric; its edges as a list, or as a sparse matrix."""

    def make():
        from torch_geometric import nn as library
        edges = torch.randint(0, 500, (2, 4000))
        if sparse:
            edges = torch.sparse_coo_tensor(edges, torch.ones(4000), (500, 500)).coalesce().to_sparse_csr()
        return getattr(library, name)(64, 128, 3, 7), (torch.randn(500, 64), edges)

    return make


# ---- plain PyTorch -------------------------------------------------------------------------------------


class Recurrent(nn.Module):
    def __init__(self, kind, **kw):
        super().__init__()
        self.cells = kind(48, 96, 2, batch_first=True, **kw)
        self.head = nn.LazyLinear(10)

    def forward(self, x):
        return self.head(self.cells(x)[0])


def recurrent(kind, **kw):
    def make():
        model, x = Recurrent(kind, **kw), torch.randn(8, 30, 48)
        model(x)
        return model, (x,)

    return make


def translator():
    return nn.Transformer(64, 4, 2, 2, 128, batch_first=True), (torch.randn(4, 20, 64), torch.randn(4, 16, 64))


def autoencoder():
    return nn.Sequential(nn.Conv2d(3, 24, 4, 2, 1), nn.ReLU(), nn.Conv2d(24, 48, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(48, 24, 4, 2, 1),
                         nn.ReLU(), nn.ConvTranspose2d(24, 3, 4, 2, 1)), picture()


class Adversaries(nn.Module):
    """DCGAN: both networks in one module. With gradient_penalty: WGAN-GP, a gradient of a gradient."""

    def __init__(self, gradient_penalty):
        super().__init__()
        self.gradient_penalty = gradient_penalty
        self.maker = nn.Sequential(nn.ConvTranspose2d(40, 64, 4), nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1),
                                   nn.BatchNorm2d(32), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())
        self.critic = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2),
                                    nn.Conv2d(64, 1, 4))

    def forward(self, real, noise):
        made = self.maker(noise)
        if self.gradient_penalty:
            mixed = ((real + made.detach()) / 2).requires_grad_().clone()  # the counter needs one that is not a leaf
            slope, = torch.autograd.grad(self.critic(mixed).sum(), mixed, create_graph=True)
            return self.critic(made.detach()).mean() - self.critic(real).mean() + (slope.norm(2, (1, 2, 3)) - 1).square().mean()
        return (F.softplus(self.critic(made.detach())) + F.softplus(-self.critic(real))).mean() + F.softplus(-self.critic(made)).mean()


def adversaries(gradient_penalty=False):
    return lambda: (Adversaries(gradient_penalty), (picture(16, 8)[0], torch.randn(8, 40, 1, 1)))


class Radiance(nn.Module):
    """NeRF: a perceptron of encoded positions."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(60, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))

    def forward(self, x):
        encoded = torch.cat([f(x * 2**i) for i in range(10) for f in (torch.sin, torch.cos)], -1)
        return self.layers(encoded)


class Physics(nn.Module):
    """PINN: its loss has derivatives of the network by its input."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x):
        x = x.detach().requires_grad_().clone()  # the counter needs one that is not a leaf
        first, = torch.autograd.grad(self.layers(x).sum(), x, create_graph=True)
        second, = torch.autograd.grad(first[:, 1].sum(), x, create_graph=True)
        return first[:, 0] - second[:, 1]


class Clicks(nn.Module):
    """DLRM: bags of embeddings, products between them, perceptrons."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(1000, 32) for _ in range(6))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 32))
        self.top = nn.Sequential(nn.Linear(49 + 32, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense, ids):
        x = self.bottom(dense)
        e = torch.stack([x] + [bag(ids[:, i]) for i, bag in enumerate(self.bags)], 1)
        return self.top(torch.cat([(e @ e.transpose(1, 2)).flatten(1), x], 1))


MODELS = {
    "resnet50": vision("resnet50", 32),
    "resnext50": vision("resnext50_32x4d", 32),
    "mobilenet_v3": vision("mobilenet_v3_small"),
    "efficientnet_b0": vision("efficientnet_b0", 32),
    "shufflenet_v2": vision("shufflenet_v2_x1_0"),
    "vit_b_16": vision("vit_b_16", 32, image_size=32),
    "swin_t": vision("swin_t", 32),
    "deeplabv3": vision("deeplabv3_mobilenet_v3_large", weights_backbone=None),
    "r3d_18": video,
    "convnext": timm("convnext_atto"),
    "mixer": timm("mixer_s32_224", 64, img_size=64),
    "deit_tiny": timm("deit_tiny_patch16_224", 64, img_size=64),
    "gpt2": language("GPT2", "LMHeadModel", vocab_size=200, n_positions=24, n_embd=64, n_layer=2, n_head=4),
    "llama": language("Llama", num_key_value_heads=2, **SMALL),
    "gemma2": language("Gemma2", num_key_value_heads=2, head_dim=16, **SMALL),
    "bert": language("Bert", "ForMaskedLM", **SMALL),
    "deberta": language("DebertaV2", "ForMaskedLM", relative_attention=True, pos_att_type=["p2c", "c2p"], **SMALL),
    "bloom": language("Bloom", vocab_size=200, hidden_size=64, n_layer=2, n_head=4),
    "t5": language("T5", "ForConditionalGeneration", vocab_size=200, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4,
                   decoder_start_token_id=0),
    "mixtral": experts("Mixtral", num_local_experts=4),
    "deepseek_v3": language("DeepseekV3", num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=16,
                            v_head_dim=16, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1, moe_intermediate_size=32,
                            first_k_dense_replace=1, **SMALL),
    "mamba": language("Mamba", vocab_size=200, hidden_size=64, num_hidden_layers=2, state_size=8),
    "whisper": whisper,
    "wav2vec2": sound,
    "clip": clip,
    "segformer": segformer,
    "UNet2D": unet,
    "UNet2DCondition": unet_text,
    "AutoencoderKL": autoencoder_kl,
    "DiT": dit,
    "GCN": graph("GCN"),
    "GCN, sparse matrix": graph("GCN", sparse=True),
    "GAT": graph("GAT"),
    "GraphSAGE": graph("GraphSAGE"),
    "LSTM": recurrent(nn.LSTM),
    "LSTM, two directions": recurrent(nn.LSTM, bidirectional=True),
    "GRU": recurrent(nn.GRU),
    "nn.Transformer": translator,
    "autoencoder": autoencoder,
    "DCGAN": adversaries(),
    "WGAN-GP": adversaries(gradient_penalty=True),
    "NeRF": lambda: (Radiance(), (torch.randn(4096, 3),)),
    "PINN": lambda: (Physics(), (torch.randn(2048, 2),)),
    "DLRM": lambda: (Clicks(), (torch.randn(256, 13), torch.randint(0, 1000, (256, 6, 4)))),
}
