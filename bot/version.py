"""The version, said in one place."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("feedbell")
except PackageNotFoundError:  # run from a source tree that was never set up
    VERSION = "0.1.0"
