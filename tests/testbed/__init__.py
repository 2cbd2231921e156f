"""A real control plane, real registries and the operator as a process, for tests and the demo.

Only the kubelet is simulated. Nothing here may know what the operator decides: it starts
programs, publishes images, cuts connections and reports what was observed.
"""
