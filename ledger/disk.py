"""What kind of place a folder is: of this machine, of another one, or kept in step between several.

Locks and a write-ahead log mean what they say on a disk of this machine. In a
folder that a program keeps in step with other machines, two ledgers of one
name replace each other whole, and one side's learnings with it.
"""

import os
import re

MOUNTS = "/proc/self/mountinfo"
"""What is mounted where; a system without it (macOS) says nothing of kinds."""

MOUNTS_BYTES = 1 << 20

NETWORK = frozenset((
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "orangefs", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
))  # fmt: skip
"""File systems whose files another machine, or the host of this one, may write at the same time."""

NETWORK_FUSE = re.compile(
    r"fuse\.(?:.*(?:sshfs|rclone|s3|gcs|goofys|glusterfs|vmhgfs|ceph|davfs|smb|juicefs|gdrive).*)"
)

SYNCED = re.compile(
    r"(?:dropbox|onedrive|google ?drive|my drive|nextcloud|owncloud|pcloud ?drive|megasync|seafile)(?: [(-].*)?"
    r"|icloud ?drive|mobile documents|cloudstorage",
    re.IGNORECASE,
)
"""Names of folders that such programs make."""

MARKS = (".stfolder", ".dropbox.cache", ".owncloudsync.log", ".nextcloudsync.log", ".tmp.drivedownload")
"""What such programs leave in a folder of any name."""


def synced(path: str) -> str:
    """Return the folder above a file that a program keeps in step with other machines, '' when none is known for it."""
    folder = os.path.dirname(os.path.realpath(path))
    while True:
        above, name = os.path.split(folder)
        if SYNCED.fullmatch(name) or any(os.path.lexists(os.path.join(folder, mark)) for mark in MARKS):
            return folder
        if above == folder:
            return ""
        folder = above


def network(path: str, mounts: str = MOUNTS) -> str:
    """Return the file system of a file when other machines may write there too, '' for a disk of this one."""
    real, best, kind = os.path.realpath(path), -1, ""
    for point, found in _mounted(mounts):
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= best:
            best, kind = len(point), found
    return kind if kind in NETWORK or NETWORK_FUSE.fullmatch(kind) else ""


def _mounted(path: str) -> list[tuple[str, str]]:
    """Return mount points and their file systems, the later mount of one point later."""
    try:
        with open(path, "rb") as file:
            lines = os.fsdecode(file.read(MOUNTS_BYTES)).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        before, _, after = line.partition(" - ")
        words, kind = before.split(" "), after.partition(" ")[0]
        if len(words) > 4 and kind:
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), words[4])
            found.append((point, kind))
    return found
