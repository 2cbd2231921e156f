"""The thinking: what is due, how the target fares, what to do about it, what people are told.

Everything here is a pure function over values. No I/O, no clock, no logging, no Kubernetes client:
whoever calls passes in what was seen and the time at which it was seen, and carries out what comes
back.
"""
