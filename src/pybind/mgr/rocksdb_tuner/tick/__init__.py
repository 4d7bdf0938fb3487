"""Components of a tick, one file each: sampling, evaluation, operations, publication."""
