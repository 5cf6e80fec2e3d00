"""Settings of the sharded solver."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.engine.checks import InputError, check_whole
from cflengine.engine.cluster import check_address
from cflengine.engine.settings import Limits


@dataclass(frozen=True, kw_only=True)
class ShardedSettings(Limits):
    """The guided solver over shards: how many, and where they are.

    Parameters
    ----------
    tol : float, default: 0.001
        The relative gap at which it ends, proved.
    time_limit : float or None, default: None
        Seconds, or None for none.
    shards : int, default: 4
        Into how many parts the documents are cut; one for the guided solver itself.
    scratch : str or None, default: None
        Folder for what shards leave on disk between their turns, some 130 bytes a token at K = 3; it is gone
        afterwards. None for the system's temporary folder.
    in_memory : bool, default: False
        Keep all shards in memory.
    cluster : str or None, default: None
        A Dask cluster that works on them side by side: "local" for this machine's cores, or its scheduler's address,
        such as tcp://HOST:8786; None for one after the other in this process.
    random_state : int, default: 0
        Seed of whatever is drawn.
    guided : GuidedSettings, optional
        Every other setting of the guided solver.
    """

    tol: float = 1e-3
    shards: int = 4
    scratch: str | None = None
    in_memory: bool = False
    cluster: str | None = None
    random_state: int = 0
    guided: GuidedSettings = field(default_factory=GuidedSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, {"shards": 1, "random_state": 0})
        if self.scratch is not None and not isinstance(self.scratch, str):
            raise InputError(f"scratch must be a folder's path or None, not {self.scratch!r}.")
        if self.cluster is not None:
            check_address(self.cluster)
            if self.shards == 1:
                raise InputError("a cluster has work for two shards or more; shards is 1.")
        _ = self.unsharded  # refuses what the guided solver refuses

    @property
    def place(self) -> dict[str, Any]:
        """Options of :func:`~cflengine.text.kgrams.index_kgrams`, for the whole's index to lie where shards do."""
        return {"on_disk": not self.in_memory, "folder": self.scratch}

    @property
    def unsharded(self) -> GuidedSettings:
        """The same for the guided solver itself."""
        return replace(self.guided, tol=self.tol, time_limit=self.time_limit, random_state=self.random_state)
