"""The resource: its names, the models of its spec and status, its durations and its reasons.

Everything else may import from here. No I/O, no Kubernetes client, no decisions: what a field
means for a target is the business of `plan`.
"""
