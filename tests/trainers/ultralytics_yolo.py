# SPDX-License-Identifier: Apache-2.0
"""Ultralytics' YOLO: accumulates up to a nominal batch during its warm-up, validates after each epoch."""
import pathlib
import tempfile

import truth

folder = tempfile.TemporaryDirectory()
import os
os.environ["YOLO_CONFIG_DIR"] = folder.name
import cv2
import numpy
from ultralytics import YOLO

counted = truth.OptimizerSteps()
root = pathlib.Path(folder.name)
for part, count in (("train", 24), ("val", 4)):
    (root / "images" / part).mkdir(parents=True)
    (root / "labels" / part).mkdir(parents=True)
    for n in range(count):
        cv2.imwrite(str(root / "images" / part / f"{n}.png"), numpy.random.randint(0, 255, (64, 64, 3), numpy.uint8))
        (root / "labels" / part / f"{n}.txt").write_text("0 0.5 0.5 0.4 0.4\n")
(root / "data.yaml").write_text(f"path: {root}\ntrain: images/train\nval: images/val\nnames: {{0: thing}}\n")
YOLO("yolov8n.yaml").train(data=str(root / "data.yaml"), epochs=3, imgsz=64, batch=4, nbs=8, workers=0, device="cpu", plots=False,
                           project=folder.name, verbose=False, amp=False)
truth.steps(counted.count)
