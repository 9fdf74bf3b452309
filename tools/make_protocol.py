"""Make the modules of the URLFrontier protocol from its description.

    python tools/make_protocol.py

Run it after every change of src/pollwise/frontier/protocol/urlfrontier.proto;
`tests/unit/frontier/test_protocol.py` fails until then.
"""

import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

SOURCES = Path(__file__).parents[1] / "src"
DESCRIPTION = "pollwise/frontier/protocol/urlfrontier.proto"


def make(folder: Path) -> int:
    """Write the modules below a folder; the exit status of the compiler."""
    return int(
        protoc.main(
            [
                "protoc",
                f"--proto_path={SOURCES}",
                f"--proto_path={files('grpc_tools') / '_proto'}",
                f"--python_out={folder}",
                f"--pyi_out={folder}",
                DESCRIPTION,
            ]
        )
    )


if __name__ == "__main__":
    sys.exit(make(SOURCES))
