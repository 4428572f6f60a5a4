# SPDX-License-Identifier: BSD-3-Clause
"""docs/zarr-codec.schema.json and the codec agree: what zarr writes for it is valid, what the codec refuses
is not, and the page shows both."""

import dataclasses
import json
import re
import unittest

import csz
from support import ROOT, needs, smooth

PAGE = ROOT / "docs" / "zarr-codec.md"
WRITTEN = (
    {"abs": 1e-3},
    {"rel": 1e-3},
    {"psnr": 60.0},
    {"pwr": 1e-3},
    {"pwr": 1e-3, "floor": 1e-6},
    {"exact": True},
    {"exact": True, "predictor": "auto", "fill": 1e20},
    *({"abs": 1e-3, "fill": fill} for fill in ("auto", "none", None, 9, 1e20, float("nan"), float("inf"), float("-inf"))),
    *({"rel": 1e-3, "predictor": predictor} for predictor in ("lorenzo", "pyramid", "auto")),
    *({"psnr": 60.0, "workflow": workflow} for workflow in ("auto", "huffman", "rle", "rle+vle")),
    {"abs": 1e-3, "unsigned_zeros": True},
    {"pwr": 1e-3, "unsigned_zeros": False},
    {"abs": 1e-3, "threads": 2},
)
WRONG = (
    {},
    {"abs": 1e-3, "rel": 1e-3},
    {"abs": 1e-3, "exact": True},
    *({mode: value} for mode in ("abs", "rel", "psnr", "pwr") for value in (0, -1, "small", True)),
    {"pwr": 1},
    {"floor": 1},
    {"abs": 1e-3, "floor": 1},
    {"exact": True, "floor": 1},
    {"pwr": 1e-3, "floor": 0},
    {"exact": True, "predictor": "pyramid"},
    {"exact": True, "workflow": "rle"},
    {"abs": 1e-3, "fill": "missing"},
    {"abs": 1e-3, "fill": [1]},
    {"abs": 1e-3, "predictor": "cubic"},
    {"abs": 1e-3, "workflow": "zip"},
    {"abs": 1e-3, "zstd": 23},
    {"abs": 1e-3, "zstd": -1},
    {"abs": 1e-3, "zstd": 1.5},
    {"abs": 1e-3, "unsigned_zeros": 1},
    {"pwr": 1e-3, "unsigned_zeros": True},
    {"exact": True, "unsigned_zeros": True},
    {"abs": 1e-3, "colour": 1},
)


@needs("zarr", "jsonschema")
@unittest.skipUnless(PAGE.exists(), "the documentation is not here")
class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import jsonschema

        cls.schema = json.loads(PAGE.with_suffix(".schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def valid(self, configuration):
        return self.validator.is_valid({"name": "csz", "configuration": configuration})

    def test_what_zarr_writes_is_valid_and_read_again(self):
        import zarr
        from csz.zarr import CszCodec

        levels = ({"abs": 1e-3, "zstd": 22},) if csz.features()["zstd"] else ()
        for settings in (*WRITTEN, *levels):
            with self.subTest(settings):
                store = zarr.storage.MemoryStore()
                array = zarr.create_array(store, shape=(5, 6), chunks=(4, 4), dtype="float32", serializer=CszCodec(**settings), compressors=None)
                array[:] = smooth((5, 6))
                (entry,) = json.loads(store._store_dict["zarr.json"].to_bytes())["codecs"]
                self.validator.validate(entry)
                self.assertEqual(CszCodec.from_dict(entry).to_dict(), entry)

    def test_what_the_codec_refuses_is_not(self):
        from csz.zarr import CszCodec

        for configuration in WRONG:
            with self.subTest(configuration):
                self.assertFalse(self.valid(configuration))
                with self.assertRaises(csz.Error):
                    CszCodec.from_dict({"name": "csz", "configuration": configuration})
        for entry in ({"name": "csz"}, {"name": "zstd", "configuration": {"abs": 1}}, {"name": "csz", "configuration": {"abs": 1}, "id": 1}):
            self.assertFalse(self.validator.is_valid(entry))

    def test_the_page_shows_every_key_and_valid_examples(self):
        from csz.zarr import CszCodec

        settings = {field.name for field in dataclasses.fields(CszCodec) if field.init} - {"threads"}
        keys = set(self.schema["properties"]["configuration"]["properties"])
        self.assertEqual(keys, settings)
        page = PAGE.read_text()
        self.assertEqual(set(re.findall(r"(?m)^\| `(\w+)` \|", page)), settings)
        examples = re.findall(r"(?ms)^```json\n(.*?)^```", page)
        self.assertGreaterEqual(len(examples), 2)
        for example in map(json.loads, examples):
            self.validator.validate(example)
            self.assertEqual(CszCodec.from_dict(example).to_dict(), example)


if __name__ == "__main__":
    unittest.main()
