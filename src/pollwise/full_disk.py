"""How a full disk is told from other troubles with files."""

import errno

__all__ = ["FULL_DISK"]

FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The numbers of an `OSError` by which nothing more can be written."""
