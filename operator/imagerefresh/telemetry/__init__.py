"""What the process tells about itself: metrics, probes and logs.

It is told by the other packages and knows none of them; nothing may depend on whether it works.
"""
