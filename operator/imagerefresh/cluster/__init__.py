"""All Kubernetes I/O: policies, targets, status and events, as plain JSON dicts.

Nothing in here decides anything: it reads, writes and translates errors. Objects stay dicts on
purpose: model classes cost time and memory at a thousand policies, and drop unknown fields.
"""
