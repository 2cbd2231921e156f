"""One run of a policy: look at the target and the registries, decide, act, tell.

`run` is the story; `looking`, `acting` and `telling` are its three kinds of I/O; `track` is what
the process remembers of a policy between runs, all of which may be lost.
"""
