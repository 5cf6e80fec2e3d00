from .checks import InputError, MissingPackageError
from .cluster import ClusterLostError, local_cluster
from .files import defuse_cell, finite, frame_csv, remove_unfinished, replaced, report_bytes, restore_cell, write_report
from .gaps import relative_gap, round_down, round_up
from .installed import app_folder, sample_file
from .jit import parallel_kernel, threads
from .mapped import disk_full_said
from .memory import MemoryLimitError, fits, format_bytes, held_memory, peak_bytes
from .output import locked_folder, new_files, output_path, reads
from .progress import NAN, IterationStats, Listener, Progress, Stopped, TerminationReason, Watch, go_on
from .registry import Solver
from .results import versions
from .words import many

__all__ = [
    "NAN",
    "ClusterLostError",
    "InputError",
    "IterationStats",
    "Listener",
    "MemoryLimitError",
    "MissingPackageError",
    "Progress",
    "Solver",
    "Stopped",
    "TerminationReason",
    "Watch",
    "app_folder",
    "defuse_cell",
    "disk_full_said",
    "finite",
    "fits",
    "format_bytes",
    "frame_csv",
    "go_on",
    "held_memory",
    "local_cluster",
    "locked_folder",
    "many",
    "new_files",
    "output_path",
    "parallel_kernel",
    "peak_bytes",
    "reads",
    "relative_gap",
    "remove_unfinished",
    "replaced",
    "report_bytes",
    "restore_cell",
    "round_down",
    "round_up",
    "sample_file",
    "threads",
    "versions",
    "write_report",
]
