# SPDX-License-Identifier: BSD-3-Clause
"""The paper's own numbers ("Optimizing Error-Bounded Lossy Compression for Scientific Data on GPUs"), to
stand beside ours."""

# Average ratios per dataset: bound -> (qg, qh, qhg)
QHG = {
    "hacc": {1e-2: (22.72, 20.33, 31.02), 1e-3: (7.58, 9.51, 10.01), 1e-4: (3.89, 4.82, 5.01)},
    "hurricane": {1e-2: (43.67, 24.80, 58.76), 1e-3: (18.41, 17.04, 24.65), 1e-4: (10.31, 9.76, 12.99)},
    "cesm": {1e-2: (61.21, 24.24, 75.50), 1e-3: (20.78, 18.38, 28.13), 1e-4: (9.98, 10.29, 12.50)},
    "nyx": {1e-2: (118.94, 30.24, 164.39), 1e-3: (28.25, 23.92, 40.17), 1e-4: (12.87, 15.27, 17.95)},
}

# CESM at 1e-2, the fields we have by name: (qhg, VLE, RLE, RLE+VLE)
RLE = {
    "FSDSC": (58.30, 23.88, 26.10, 71.35),
    "ICEFRAC": (159.18, 25.31, 16.57, 50.39),
    "LANDFRAC": (97.15, 23.66, 13.98, 40.50),
    "PHIS": (98.86, 25.06, 9.51, 28.87),
    "PRECSL": (142.23, 25.57, 15.39, 45.69),
    "SOLIN": (430.62, 26.10, 43.65, 119.17),
    "TREFHT": (82.50, 24.58, 8.75, 25.12),
}

# V100 / A100, GB/s: (kernel, overall) of workflow RLE and of cuSZ's Huffman, and the ratio
RLE_SPEED = {
    "rtm": (("ours, RLE", 142.4, 57.8, 212.6, 78.0, 76.0), ("cuSZ, Huffman", 135.7, 55.1, 233.9, 80.8, 31.7)),
    "cesm FSDSC": (("ours, RLE", 104.8, 47.7, 162.4, 57.8, 26.1), ("cuSZ, Huffman", 146.3, 54.8, 146.4, 55.5, 23.0)),
    "nyx baryon": (("ours, RLE", 159.1, 64.1, 214.5, 91.2, 122.7), ("cuSZ, Huffman", 130.8, 58.9, 234.2, 94.8, 31.0)),
}

# Overall GB/s at 1e-4: dataset -> (V100 compress, A100 compress, V100 decompress, A100 decompress)
OVERALL = {
    "hacc": (42.1, 84.1, 31.8, 41.4),
    "cesm": (44.8, 51.5, 30.2, 24.3),
    "hurricane": (49.3, 82.2, 35.2, 43.0),
    "nyx": (53.9, 92.4, 46.0, 67.9),
    "rtm": (52.5, 76.4, 36.1, 45.6),
    "miranda": (62.2, 87.6, 34.5, 42.6),
    "qmcpack": (56.9, 79.5, 34.2, 41.2),
}

# Lorenzo reconstruction GB/s: rank -> (cuSZ V100, naive V100, tuned V100, naive A100, tuned A100)
RECONSTRUCTION = {1: (16.8, 252.6, 313.1, 219.8, 504.5), 2: (58.5, 198.4, 254.2, 182.1, 508.6), 3: (29.7, 175.9, 238.1, 147.9, 405.1)}
