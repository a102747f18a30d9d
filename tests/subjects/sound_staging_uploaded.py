"""Five files, made in a staging, uploaded by a thread, and marked elsewhere. Sound."""

from __future__ import annotations

from tiny_staged_uploads import Uploads

if __name__ == "__main__":
    Uploads.main()
