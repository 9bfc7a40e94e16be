"""Control samples under pytest-xdist: who runs what, and how the processes agree.

`shares` divides items and slots, `scheduler` hands them out, `controller` is the session's side in
the process that the user started, and `membership` is what a worker is told.
"""
