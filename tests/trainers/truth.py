# SPDX-License-Identifier: Apache-2.0
"""What the public trainers share: each prints how many steps it took, by its own count."""
import os
import sys
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
warnings.filterwarnings("ignore")


def steps(count):
    """Print the trainer's own count of training steps as the last word on the matter."""
    print("truth", int(count), file=sys.stderr, flush=True)


class OptimizerSteps:
    """Counts calls of Optimizer.step in this process, for trainers that keep no count."""

    def __init__(self):
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self.count = 0
        register_optimizer_step_post_hook(self._called)

    def _called(self, *_):
        self.count += 1
