"""A workspace with little room: kept account of here, or a small file system of its own.

``ledger`` is the virtual quota, which counts as a tmpfs does; ``mounted`` the tmpfs itself.
"""
