"""A cluster of Kubernetes on one machine: pods are processes, run and probed as their manifests say."""
